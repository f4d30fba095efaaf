//! Offering our entry to the store.

use crate::machine::{Attempt, Purpose, State};
use crate::{Answer, Commit, CommitError, Format, ObjectName, Request, Step};
use bytes::Bytes;

impl<F: Format> Commit<F> {
    /// Renders ours at the next version and asks for it to be created, after what must be there before it.
    pub(crate) fn publish(&mut self, now_ms: u64) -> Step {
        if let Some(what) = self.budget.spent(self.rebases, now_ms.saturating_sub(self.started_ms)) {
            return self.give_up(what);
        }
        if now_ms > self.freshness.until_ms {
            return self.list(Purpose::Window, now_ms);
        }
        let at = match self.base {
            None => self.format.first_version(),
            Some(base) => match base.next() {
                Some(next) => next,
                None => return self.fail(CommitError::NoNextVersion(base)),
            },
        };
        let rendered = match self.format.render(&mut self.pending, at, now_ms) {
            Ok(rendered) => rendered,
            Err(error) => return self.fail(error),
        };
        let attempt = Attempt { at, name: self.format.entry_name(at), entry: rendered.entry };
        let puts: Vec<_> = rendered.side.into_iter().filter(|object| !self.side.contains(object)).collect();
        if puts.is_empty() {
            return self.create(attempt);
        }
        let requests = puts.iter().map(|(name, bytes)| Request::Put(name.clone(), bytes.clone())).collect();
        self.ask(State::Side { attempt, puts }, requests)
    }

    /// Everything beside the entry is there; the entry comes last.
    pub(crate) fn side_put(&mut self, attempt: Attempt, puts: Vec<(ObjectName, Bytes)>, now_ms: u64) -> Step {
        self.progressed();
        self.side.extend(puts);
        if now_ms > self.freshness.until_ms {
            // The puts took so long that the snapshot may no longer be the newest.
            return self.list(Purpose::Window, now_ms);
        }
        self.create(attempt)
    }

    pub(crate) fn create(&mut self, attempt: Attempt) -> Step {
        self.attempts += 1;
        self.unsettled = false;
        self.floating = false;
        self.offered = Some(attempt.entry.clone());
        let request = Request::Create(attempt.name.clone(), attempt.entry.clone());
        self.ask(State::Creating(attempt), vec![request])
    }

    /// The same bytes at the same name once more, after a wait: what an unanswered create asks for.
    pub(crate) fn offer_again(&mut self, attempt: Attempt, now_ms: u64) -> Step {
        let request = Request::Create(attempt.name.clone(), attempt.entry.clone());
        self.state = State::Creating(attempt);
        self.repeat(vec![request], 0, now_ms)
    }

    /// The create was answered.
    pub(crate) fn created(&mut self, attempt: Attempt, answers: Vec<Answer>, now_ms: u64) -> Step {
        match answers.into_iter().next() {
            Some(Answer::Created) => self.landed(attempt, now_ms),
            Some(Answer::Exists) => self.confirm(attempt, "the store says that the entry exists".to_owned()),
            Some(Answer::Unknown(said)) => {
                self.floating = true;
                self.confirm(attempt, said)
            }
            Some(Answer::Failed(detail)) if self.doubt.is_none() => {
                let object = attempt.name.to_string();
                self.fail(CommitError::Refused { object, detail })
            }
            // This request had no effect, but an earlier one at the same name may have had.
            Some(Answer::Failed(detail)) => self.confirm(attempt, detail),
            Some(
                Answer::Bytes(_)
                | Answer::Absent
                | Answer::Names(_)
                | Answer::Stored
                | Answer::NotNow { .. }
                | Answer::Deleted
                | Answer::Elapsed,
            )
            | None => self.confirm(attempt, "the store gave no usable answer".to_owned()),
        }
    }

    /// Our entry stands at its name. In time: committed. Late: first see whether it stands in the history.
    pub(crate) fn landed(&mut self, attempt: Attempt, now_ms: u64) -> Step {
        if now_ms <= self.freshness.until_ms {
            return self.committed(attempt.at);
        }
        self.doubt =
            Some((attempt.at, "the create was answered late, and the log could not be read after it".to_owned()));
        self.list(Purpose::Late(attempt), now_ms)
    }
}
