//! The machine itself: what it remembers, and how answers reach the state that waits for them.

use crate::window::Window;
use crate::{Answer, Budget, CommitError, EntryRef, Fetched, Format, Freshness, ObjectName, Request};
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_transaction::{Exhaustion, Outcome};
use std::collections::BTreeMap;

/// What the machine wants next.
#[must_use]
#[derive(Debug)]
pub enum Step {
    /// Perform these, in any order or at once, and answer each in the order given here.
    Ask(Vec<Request>),
    /// The end: an outcome, or an error after which certainly nothing was committed.
    Done(Result<Outcome, CommitError>),
}

/// One commit, from its first attempt to its answer.
///
/// ```text
/// let mut step = commit.start(now());
/// loop {
///     match step {
///         Step::Done(answer) => return answer,
///         Step::Ask(requests) => step = commit.answer(perform(requests).await, now()),
///     }
/// }
/// ```
///
/// Times are milliseconds on one clock of the caller's that does not run backwards.
pub struct Commit<F: Format> {
    pub(crate) format: F,
    pub(crate) pending: F::Pending,
    /// What `pending` follows now; `None` while the table does not exist.
    pub(crate) base: Option<Version>,
    pub(crate) budget: Budget,
    pub(crate) freshness: Freshness,
    pub(crate) started_ms: u64,
    pub(crate) attempts: u32,
    pub(crate) rebases: u32,
    failures: u32,
    repeats: u32,
    /// An entry of ours that the log may hold: its version, and what the store said last.
    pub(crate) doubt: Option<(Version, String)>,
    /// A create of the entry at hand was not plainly answered, so that another of its puts may land, or have landed.
    pub(crate) unsettled: bool,
    /// A create of the entry at hand was answered *unknown*, so that it may still be on its way.
    pub(crate) floating: bool,
    /// Landed entries that the caller already holds, above the base and without a gap.
    seeds: BTreeMap<Version, Bytes>,
    /// The bytes of the entries that ours was rebased over, ascending.
    pub(crate) followed: Vec<(Version, Bytes)>,
    /// The bytes of landed entries that were read but not yet followed.
    pub(crate) known_bytes: BTreeMap<Version, Bytes>,
    /// The entry that was offered last.
    pub(crate) offered: Option<Bytes>,
    /// Landed entries that were read but not yet followed.
    pub(crate) known: BTreeMap<Version, F::Landed>,
    pub(crate) fetched: Fetched,
    /// Objects put beside the entries that were offered.
    pub(crate) side: Vec<(ObjectName, Bytes)>,
    /// Somebody else's entry carries our id, so objects that are named by the id may be theirs.
    pub(crate) id_is_shared: bool,
    asked: Vec<Request>,
    paused: bool,
    pub(crate) state: State,
}

/// One log entry of ours, offered at one version.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) at: Version,
    pub(crate) name: ObjectName,
    pub(crate) entry: Bytes,
}

/// What a commit is busy with, for whoever watches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading the log's listing.
    Listing,
    /// Reading, judging and following landed entries.
    Following,
    /// Offering our entry, and before it what must be there.
    Publishing,
    /// Finding out what stands at the name that was tried.
    Confirming,
    /// Taking our entry out of a number that a cleanup had freed.
    Withdrawing,
    /// Letting time pass, or done.
    Waiting,
}

pub(crate) enum State {
    Idle,
    /// Reading the log's listing.
    Listing {
        purpose: Purpose,
        asked_ms: u64,
        entries: Vec<EntryRef>,
    },
    /// Fetching and following landed entries.
    Window(Window),
    /// Between a rebase and the next attempt.
    Resting,
    /// Putting what must be there before the entry.
    Side {
        attempt: Attempt,
        puts: Vec<(ObjectName, Bytes)>,
    },
    /// The create is out.
    Creating(Attempt),
    /// Reading what stands at the name.
    Confirming(Attempt),
    /// Decoding what stands there, which is not byte for byte ours.
    Identifying {
        attempt: Attempt,
        bytes: Bytes,
        needs: Vec<ObjectName>,
    },
    /// Reading what stands in a number that a cleanup had freed, before it is taken out.
    Checking(Attempt),
    /// Taking our entry back out of a number that a cleanup had freed.
    Withdrawing(Attempt),
}

/// What a listing is for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// To see what landed above the base.
    Window,
    /// To see whether what was read of a window is what had been listed.
    Settle(Box<Window>),
    /// To see whether an entry that was answered late stands in the history.
    Late(Attempt),
    /// To see whether the number of an entry that is not there was ever used.
    Absent(Attempt),
    /// To see whether somebody else's entry that was read late stands in the history.
    Rival(Attempt),
}

impl<F: Format> Commit<F> {
    /// A commit of `pending`, which was built on `base` (`None` to create the table).
    #[must_use]
    pub fn new(format: F, pending: F::Pending, base: Option<Version>, freshness: Freshness, budget: Budget) -> Self {
        Self {
            format,
            pending,
            base,
            budget,
            freshness,
            started_ms: 0,
            attempts: 0,
            rebases: 0,
            failures: 0,
            repeats: 0,
            doubt: None,
            unsettled: false,
            floating: false,
            seeds: BTreeMap::new(),
            followed: Vec::new(),
            known_bytes: BTreeMap::new(),
            offered: None,
            known: BTreeMap::new(),
            fetched: Fetched::default(),
            side: Vec::new(),
            id_is_shared: false,
            asked: Vec::new(),
            paused: false,
            state: State::Idle,
        }
    }

    /// Hands over landed entries that the caller already holds: every one from the base's successor up to a version that
    /// was known to be the newest at a time from which the freshness counts. They are judged before the first attempt
    /// without a request. Entries after a gap are ignored.
    #[must_use]
    pub fn with_landed(mut self, entries: impl IntoIterator<Item = (Version, Bytes)>) -> Self {
        let held: BTreeMap<Version, Bytes> = entries.into_iter().collect();
        let mut next = self.base.and_then(Version::next);
        while let Some((version, bytes)) = next.and_then(|version| held.get_key_value(&version)) {
            self.seeds.insert(*version, bytes.clone());
            next = version.next();
        }
        self
    }

    /// The entry that was offered last: after `Committed`, the bytes of that version as we wrote them. `None` when nothing
    /// was offered.
    #[must_use]
    pub const fn offered(&self) -> Option<&Bytes> {
        self.offered.as_ref()
    }

    /// The bytes of the landed entries that ours was rebased over, ascending and without a gap.
    #[must_use]
    pub fn followed(&self) -> &[(Version, Bytes)] {
        &self.followed
    }

    /// The version that ours follows: the one it read, or the last one that it was rebased over.
    #[must_use]
    pub const fn base(&self) -> Option<Version> {
        self.base
    }

    /// Our transaction as it stands now (after a commit: as it was committed).
    #[must_use]
    pub const fn pending(&self) -> &F::Pending {
        &self.pending
    }

    /// The format.
    #[must_use]
    pub const fn format(&self) -> &F {
        &self.format
    }

    /// What it is busy with: what the requests of the last [`Step::Ask`] are for.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        if self.paused {
            return Phase::Waiting;
        }
        match &self.state {
            State::Listing { .. } => Phase::Listing,
            State::Window(_) => Phase::Following,
            State::Side { .. } | State::Creating(_) => Phase::Publishing,
            State::Confirming(_) | State::Identifying { .. } => Phase::Confirming,
            State::Checking(_) | State::Withdrawing(_) => Phase::Withdrawing,
            State::Idle | State::Resting => Phase::Waiting,
        }
    }

    /// How often an entry of ours was offered.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How often ours was rebased over landed entries.
    #[must_use]
    pub const fn rebases(&self) -> u32 {
        self.rebases
    }

    /// Ends the commit and gives back the format and our transaction.
    #[must_use]
    pub fn into_parts(self) -> (F, F::Pending) {
        (self.format, self.pending)
    }

    /// Objects put beside entries of ours that certainly did not land; they may be removed after the answer. Empty while
    /// anything is in doubt, and where somebody else committed under our id.
    #[must_use]
    pub fn leftovers(&self, outcome: &Result<Outcome, CommitError>) -> Vec<ObjectName> {
        if self.id_is_shared {
            return Vec::new();
        }
        let committed = match outcome {
            Ok(Outcome::Unknown { .. }) => return Vec::new(),
            Ok(Outcome::Committed { .. }) => true,
            Ok(Outcome::Nothing { .. } | Outcome::Conflict(_) | Outcome::Exhausted { .. }) | Err(_) => false,
        };
        // What a rebase wrote, such as a merged deletion vector, may stand in the entry that landed.
        let written = |name: &ObjectName| self.fetched.is_written(name);
        let last = self.side.iter().rev().map(|(name, _)| name).find(|name| !written(name));
        let keep = |name: &ObjectName| committed && (Some(name) == last || written(name));
        let mut names: Vec<_> = self.side.iter().map(|(name, _)| name).filter(|name| !keep(name)).cloned().collect();
        names.sort();
        names.dedup();
        names
    }

    /// Begins.
    pub fn start(&mut self, now_ms: u64) -> Step {
        self.started_ms = now_ms;
        let trusted = self.base.is_some() && !self.format.lists_first() && now_ms <= self.freshness.until_ms;
        let seeds = std::mem::take(&mut self.seeds);
        if trusted && !seeds.is_empty() {
            self.follow_held(seeds, now_ms)
        } else if trusted {
            self.publish(now_ms)
        } else {
            self.list(Purpose::Window, now_ms)
        }
    }

    /// Goes on. One answer for each request of the last [`Step::Ask`], in order. An answer that does not fit its request
    /// counts as *unknown* for a create and as a failure for everything else; so does a missing one.
    pub fn answer(&mut self, answers: Vec<Answer>, now_ms: u64) -> Step {
        if self.paused {
            self.paused = false;
            return self.resume(now_ms);
        }
        let mut given = answers.into_iter();
        let asked = std::mem::take(&mut self.asked);
        let answers: Vec<_> = asked.iter().map(|request| fitting(request, given.next())).collect();
        if let Some(step) = self.turned_away(&asked, &answers, now_ms) {
            return step;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => Step::Done(Err(CommitError::Unreadable {
                object: "the log".to_owned(),
                detail: "the commit was answered before it was started or after it ended".to_owned(),
            })),
            State::Listing { purpose, asked_ms, entries } => {
                self.listed(purpose, asked_ms, entries, &asked, answers, now_ms)
            }
            State::Window(window) => self.window_answered(window, &asked, answers, now_ms),
            State::Resting => self.publish(now_ms),
            State::Side { attempt, puts } => self.side_put(attempt, puts, now_ms),
            State::Creating(attempt) => self.created(attempt, answers, now_ms),
            State::Confirming(attempt) => self.confirmed(attempt, answers, now_ms),
            State::Identifying { attempt, bytes, needs } => self.identified(attempt, bytes, &needs, answers, now_ms),
            State::Checking(attempt) => self.checked(attempt, answers),
            State::Withdrawing(attempt) => self.withdrawn(attempt, now_ms),
        }
    }

    pub(crate) fn ask(&mut self, state: State, requests: Vec<Request>) -> Step {
        self.state = state;
        self.asked.clone_from(&requests);
        Step::Ask(requests)
    }

    /// Handles, for all states alike, a store that said *not now* and requests that failed: wait, then ask the same again.
    /// `None` when every answer is one that the state itself must see.
    fn turned_away(&mut self, asked: &[Request], answers: &[Answer], now_ms: u64) -> Option<Step> {
        let mut wait_ms = None;
        let mut failure = None;
        for (request, answer) in asked.iter().zip(answers) {
            match answer {
                Answer::NotNow { after_ms } => wait_ms = wait_ms.max(Some(*after_ms)),
                Answer::Failed(detail) if !matches!(request, Request::Create(..)) => {
                    failure.get_or_insert_with(|| (request.clone(), detail.clone()));
                }
                Answer::Failed(_)
                | Answer::Bytes(_)
                | Answer::Absent
                | Answer::Names(_)
                | Answer::Stored
                | Answer::Created
                | Answer::Exists
                | Answer::Unknown(_)
                | Answer::Deleted
                | Answer::Elapsed => {}
            }
        }
        if let Some((request, detail)) = failure {
            self.failures += 1;
            if self.failures > self.budget.failures_max {
                return Some(self.unanswerable(&request, detail));
            }
            return Some(self.pause(asked.to_vec(), 0, self.failures, now_ms));
        }
        if let Some(after_ms) = wait_ms {
            return Some(self.repeat(asked.to_vec(), after_ms, now_ms));
        }
        self.failures = 0;
        None
    }

    /// Asks the same again after a wait, as long as repetitions last.
    pub(crate) fn repeat(&mut self, requests: Vec<Request>, after_ms: u64, now_ms: u64) -> Step {
        self.repeats += 1;
        if self.repeats > self.budget.repeats_max {
            return self.give_up(Exhaustion::Attempts);
        }
        self.pause(requests, after_ms, self.repeats, now_ms)
    }

    pub(crate) const fn progressed(&mut self) {
        self.repeats = 0;
    }

    /// After a pause: the same requests. An entry is not offered again once the snapshot may no longer be the newest: one that
    /// certainly is not in the log waits for a new look at the log, and one in doubt is looked for first.
    fn resume(&mut self, now_ms: u64) -> Step {
        if now_ms <= self.freshness.until_ms {
            return Step::Ask(self.asked.clone());
        }
        match (std::mem::replace(&mut self.state, State::Idle), self.doubt.clone()) {
            (State::Creating(_), None) => self.list(Purpose::Window, now_ms),
            (State::Creating(attempt), Some((_, said))) => self.confirm(attempt, said),
            (other, _) => {
                self.state = other;
                Step::Ask(self.asked.clone())
            }
        }
    }

    fn pause(&mut self, requests: Vec<Request>, after_ms: u64, tries: u32, now_ms: u64) -> Step {
        if let Some(what) = self.budget.spent(0, now_ms.saturating_sub(self.started_ms)) {
            return self.give_up(what);
        }
        // At least one millisecond: a pause that takes no time would let a stuck store spin.
        let ms = after_ms.saturating_add(self.budget.backoff.draw(tries).max(1));
        self.asked = requests;
        self.paused = true;
        Step::Ask(vec![Request::Wait { ms }])
    }

    /// The budget is spent: unknown while an entry of ours is in doubt, exhausted otherwise.
    pub(crate) fn give_up(&mut self, what: Exhaustion) -> Step {
        self.state = State::Idle;
        if let Some((tried, last_answer)) = self.doubt.clone() {
            return self.unknown(tried, last_answer);
        }
        let newest = self.known.last_key_value().map(|(version, _)| *version).or(self.base);
        let newest = newest.unwrap_or_else(|| self.format.first_version());
        Step::Done(Ok(Outcome::Exhausted { what, attempts: self.attempts, newest }))
    }

    pub(crate) fn unknown(&mut self, tried: Version, last_answer: String) -> Step {
        self.state = State::Idle;
        Step::Done(Ok(Outcome::Unknown { tried, attempts: self.attempts, last_answer }))
    }

    pub(crate) fn fail(&mut self, error: impl Into<CommitError>) -> Step {
        self.state = State::Idle;
        match self.doubt.clone() {
            Some((tried, last_answer)) => self.unknown(tried, format!("{last_answer}; then: {}", error.into())),
            None => Step::Done(Err(error.into())),
        }
    }

    fn unanswerable(&mut self, request: &Request, detail: String) -> Step {
        match request {
            Request::Put(name, _) | Request::Create(name, _) => {
                let object = name.to_string();
                self.fail(CommitError::Refused { object, detail })
            }
            Request::Get(name)
            | Request::GetRange(name, _)
            | Request::Delete(name)
            | Request::List { prefix: name, .. } => {
                let object = name.to_string();
                self.fail(CommitError::Unreadable { object, detail })
            }
            Request::Wait { .. } => self.fail(CommitError::Unreadable { object: "the clock".to_owned(), detail }),
        }
    }

    /// Takes note of somebody else's entry that carries our id.
    pub(crate) fn note_id(&mut self, landed: &F::Landed) {
        let theirs = self.format.landed_transaction_id(landed);
        self.id_is_shared |= theirs.as_ref() == Some(self.format.transaction_id(&self.pending));
    }

    pub(crate) fn committed(&mut self, version: Version) -> Step {
        self.doubt = None;
        self.state = State::Idle;
        Step::Done(Ok(Outcome::Committed { version, attempts: self.attempts.max(1) }))
    }
}

/// The answer, or what an answer that does not fit its request amounts to.
fn fitting(request: &Request, answer: Option<Answer>) -> Answer {
    let Some(answer) = answer else {
        return misfit(request, "no answer was given");
    };
    let fits = match (request, &answer) {
        (
            Request::Get(_) | Request::GetRange(..),
            Answer::Bytes(_) | Answer::Absent | Answer::NotNow { .. } | Answer::Failed(_),
        )
        | (Request::List { .. }, Answer::Names(_) | Answer::NotNow { .. } | Answer::Failed(_))
        | (Request::Put(..), Answer::Stored | Answer::NotNow { .. } | Answer::Failed(_))
        | (
            Request::Create(..),
            Answer::Created | Answer::Exists | Answer::Unknown(_) | Answer::NotNow { .. } | Answer::Failed(_),
        )
        | (Request::Delete(_), Answer::Deleted | Answer::NotNow { .. } | Answer::Failed(_))
        | (Request::Wait { .. }, Answer::Elapsed) => true,
        (Request::Put(..), Answer::Unknown(text)) => return Answer::Failed(text.clone()),
        (_, _) => false,
    };
    if fits { answer } else { misfit(request, "the answer does not fit the request") }
}

fn misfit(request: &Request, problem: &str) -> Answer {
    match request {
        Request::Create(..) => Answer::Unknown(problem.to_owned()),
        Request::Wait { .. } => Answer::Elapsed,
        Request::Get(_) | Request::GetRange(..) | Request::List { .. } | Request::Put(..) | Request::Delete(_) => {
            Answer::Failed(problem.to_owned())
        }
    }
}
