//! Finding out whose entry stands at a name after a create that was not plainly answered.

use crate::machine::{Attempt, Purpose, State};
use crate::{Answer, Commit, Format, FormatError, ObjectName, Parsed, Request, Step};
use bytes::Bytes;

impl<F: Format> Commit<F> {
    /// Reads what stands at the name. From here on the entry is in doubt until that read says whose it is.
    pub(crate) fn confirm(&mut self, attempt: Attempt, said: String) -> Step {
        self.doubt = Some((attempt.at, said));
        self.unsettled = true;
        let request = Request::Get(attempt.name.clone());
        self.ask(State::Confirming(attempt), vec![request])
    }

    pub(crate) fn confirmed(&mut self, attempt: Attempt, answers: Vec<Answer>, now_ms: u64) -> Step {
        match answers.into_iter().next() {
            Some(Answer::Bytes(bytes)) if bytes == attempt.entry => self.landed(attempt, now_ms),
            Some(Answer::Bytes(bytes)) => self.identify(attempt, bytes, now_ms),
            // By now the number may have been used and freed.
            Some(Answer::Absent) if now_ms > self.freshness.until_ms => self.list(Purpose::Absent(attempt), now_ms),
            // Absence proves nothing: the put may still land. The same bytes at the same name settle it.
            Some(
                Answer::Absent
                | Answer::Names(_)
                | Answer::Stored
                | Answer::Created
                | Answer::Exists
                | Answer::Unknown(_)
                | Answer::NotNow { .. }
                | Answer::Deleted
                | Answer::Elapsed
                | Answer::Failed(_),
            )
            | None => self.offer_again(attempt, now_ms),
        }
    }

    /// Decodes an entry that is not byte for byte ours: the same id and the same intent is still ours.
    fn identify(&mut self, attempt: Attempt, bytes: Bytes, now_ms: u64) -> Step {
        match self.format.parse(attempt.at, &bytes, &self.fetched) {
            Ok(Parsed::Done(landed)) if self.format.is_ours(&self.pending, &landed) => self.landed(attempt, now_ms),
            Ok(Parsed::Done(_)) if self.floating && now_ms > self.freshness.until_ms => {
                let said =
                    "a create was sent late and not answered; where a cleanup frees the number, it may still land";
                self.unknown(attempt.at, said.to_owned())
            }
            Ok(Parsed::Done(landed)) => {
                self.progressed();
                self.note_id(&landed);
                self.known.insert(attempt.at, landed);
                self.known_bytes.insert(attempt.at, bytes);
                if now_ms > self.freshness.until_ms {
                    // By now the number may have been freed, and what exists at the create may have been ours.
                    return self.list(Purpose::Rival(attempt), now_ms);
                }
                // Somebody else's entry stands there for good, so ours never can.
                self.doubt = None;
                self.list(Purpose::Window, now_ms)
            }
            Ok(Parsed::Needs(needs)) => {
                let requests = needs.iter().cloned().map(Request::Get).collect();
                self.ask(State::Identifying { attempt, bytes, needs }, requests)
            }
            Err(error @ (FormatError::Unsupported { .. } | FormatError::Invalid { .. })) => {
                // We never write what we cannot read, so this entry is somebody else's. Late, its number may have been freed before.
                if now_ms <= self.freshness.until_ms {
                    self.doubt = None;
                }
                self.fail(error)
            }
            Err(error @ FormatError::Damaged { .. }) => self.fail(error),
        }
    }

    pub(crate) fn identified(
        &mut self,
        attempt: Attempt,
        bytes: Bytes,
        needs: &[ObjectName],
        answers: Vec<Answer>,
        now_ms: u64,
    ) -> Step {
        let before = needs.iter().all(|name| self.fetched.get(name).is_some());
        self.remember(needs, answers);
        if before {
            return self.fail(no_progress(attempt.name.as_str()));
        }
        self.identify(attempt, bytes, now_ms)
    }

    /// Keeps what reads on behalf of the format answered.
    pub(crate) fn remember(&mut self, names: &[ObjectName], answers: Vec<Answer>) {
        for (name, answer) in names.iter().zip(answers) {
            let bytes = if let Answer::Bytes(bytes) = answer { Some(bytes) } else { None };
            self.fetched.insert(name.clone(), bytes);
        }
    }
}

/// A format that asks again for what it was given would never end.
pub(crate) fn no_progress(object: &str) -> FormatError {
    FormatError::Damaged {
        object: object.to_owned(),
        problem: "it refers to objects that do not complete it".to_owned(),
        advice: "verify the table".to_owned(),
    }
}
