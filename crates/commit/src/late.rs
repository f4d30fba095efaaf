//! An entry whose create was answered after the deadline: does it stand in the history, or in a number that a cleanup freed?

use crate::machine::{Attempt, Purpose, State};
use crate::{Answer, Commit, EntryRef, Format, Request, Step};
use lakebed_naming::Version;

/// How an entry stands to those above it.
enum Standing {
    /// In the history: every version from it to the newest is there, none written before it.
    Within,
    /// In a number that was used, aged and freed: something above it was written long before it.
    Stray,
    /// Not to be told: it is gone, or some version between it and the newest is, or the store's times are too close to be
    /// believed.
    Untold,
}

impl<F: Format> Commit<F> {
    /// The log was listed after a late answer. Ours is in the history when nothing newer is there, or when everything above
    /// it was written after it, hence on it. Where something above it is older, the number had been used, aged and freed while we slept,
    /// and what stands above was not built on ours: ours is taken out again. Where that cannot be told any more, ours may have been
    /// part of the history before a cleanup passed, so that nothing is certain.
    pub(crate) fn late_listed(&mut self, attempt: Attempt, entries: &[EntryRef]) -> Step {
        match standing(attempt.at, entries, self.freshness.for_ms) {
            Standing::Within => self.committed(attempt.at),
            Standing::Stray => {
                let request = Request::Get(attempt.name.clone());
                self.ask(State::Checking(attempt), vec![request])
            }
            Standing::Untold => {
                let said = "the create was answered late, and a cleanup has passed over what it became".to_owned();
                self.unknown(attempt.at, said)
            }
        }
    }

    /// The log was listed after an entry in doubt was not found, late. Where its number was never used the same bytes are offered
    /// once more; where something stands there by now, it is read again; where only later versions are there, the number was
    /// used and freed, and ours may have been what stood there.
    pub(crate) fn absent_listed(&mut self, attempt: Attempt, entries: &[EntryRef], asked_ms: u64, now_ms: u64) -> Step {
        if entries.iter().any(|entry| entry.version == attempt.at) {
            return self.confirm(attempt, "the entry appeared late".to_owned());
        }
        if entries.iter().any(|entry| entry.version > attempt.at) {
            let said = "the create was not answered, and a cleanup has passed over its number".to_owned();
            return self.unknown(attempt.at, said);
        }
        self.freshness.until_ms = asked_ms.saturating_add(self.freshness.for_ms);
        self.offer_again(attempt, now_ms)
    }

    /// The log was listed after somebody else's entry was read late where ours was tried. In the history it stands for good, so that
    /// ours never can. Elsewhere the number was used and freed, and ours may have been what stood there before.
    pub(crate) fn rival_listed(&mut self, attempt: &Attempt, entries: &[EntryRef], asked_ms: u64, now_ms: u64) -> Step {
        match standing(attempt.at, entries, self.freshness.for_ms) {
            Standing::Within => {
                self.doubt = None;
                self.window_listed(entries, asked_ms, now_ms)
            }
            Standing::Stray | Standing::Untold => {
                let said = "the entry was there already and was read late, and a cleanup has passed over its number";
                self.unknown(attempt.at, said.to_owned())
            }
        }
    }

    /// Only what is byte for byte ours is taken out. Where another sleeper's entry fills the number, ours may have stood there
    /// before a cleanup freed it, as part of the history.
    pub(crate) fn checked(&mut self, attempt: Attempt, answers: Vec<Answer>) -> Step {
        if answers.into_iter().next() == Some(Answer::Bytes(attempt.entry.clone())) {
            let request = Request::Delete(attempt.name.clone());
            return self.ask(State::Withdrawing(attempt), vec![request]);
        }
        self.unknown(attempt.at, "the create was answered late, and its number holds something else by now".to_owned())
    }

    /// Ours was taken out of a freed number. Where every create of it was plainly answered it is nowhere now; otherwise another
    /// put of it may have been part of the history, or may land again.
    pub(crate) fn withdrawn(&mut self, attempt: Attempt, now_ms: u64) -> Step {
        if self.unsettled {
            let said = "a create was not answered, and a later one filled a number that a cleanup had freed".to_owned();
            return self.unknown(attempt.at, said);
        }
        self.doubt = None;
        self.list(Purpose::Window, now_ms)
    }
}

/// `slack_ms` is by how much the times of a store with several clocks may lie apart. An entry of the history is never taken for
/// a stray because of it.
fn standing(at: Version, entries: &[EntryRef], slack_ms: u64) -> Standing {
    let Some(ours) = entries.iter().find(|entry| entry.version == at) else { return Standing::Untold };
    let slack_ms = i64::try_from(slack_ms).unwrap_or(i64::MAX);
    let mut above: Vec<&EntryRef> = entries.iter().filter(|entry| entry.version > at).collect();
    above.sort_unstable_by_key(|entry| entry.version);
    if above.iter().any(|entry| entry.modified_ms.saturating_add(slack_ms) < ours.modified_ms) {
        return Standing::Stray;
    }
    let mut next = at.next();
    for entry in above {
        if next != Some(entry.version) || entry.modified_ms < ours.modified_ms {
            return Standing::Untold;
        }
        next = entry.version.next();
    }
    Standing::Within
}
