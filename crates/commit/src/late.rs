//! An entry whose create was answered after the deadline: does it stand in the history, or in a number that a cleanup freed?

use crate::machine::{Attempt, State};
use crate::{Commit, EntryRef, Format, Request, Step};

impl<F: Format> Commit<F> {
    /// The log was listed after a late answer. Ours is in the history when nothing newer is there, or when the entry right
    /// above it was written after it, hence on it. Otherwise the number had been used, aged and freed while we slept, and
    /// what stands above was not built on ours: ours is taken out again.
    pub(crate) fn late_listed(&mut self, attempt: Attempt, entries: &[EntryRef]) -> Step {
        let Some(next) = entries.iter().filter(|entry| entry.version > attempt.at).min_by_key(|entry| entry.version)
        else {
            return self.committed(attempt.at);
        };
        let ours_ms = entries.iter().find(|entry| entry.version == attempt.at).map(|entry| entry.modified_ms);
        let follows = Some(next.version) == attempt.at.next() && ours_ms.is_some_and(|ours| next.modified_ms >= ours);
        if follows {
            return self.committed(attempt.at);
        }
        let request = Request::Delete(attempt.name.clone());
        self.ask(State::Withdrawing, vec![request])
    }
}
