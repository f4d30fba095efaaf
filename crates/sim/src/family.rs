//! What the simulator needs to know of a table format.

use crate::rng::Rng;
use crate::setup::Setup;
use crate::store::Store;
use bytes::Bytes;
use lakebed_commit::{Answer, Format, Listed, ObjectName, Request};
use lakebed_naming::Version;
use lakebed_transaction::TransactionId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;

/// Objects that were read for a plan; `None` where the object is not there.
pub(crate) type Read = HashMap<ObjectName, Option<Bytes>>;

/// What an opening wants next.
pub(crate) enum Opening<S> {
    Ask(Vec<Request>),
    /// The newest version; `None` where there is no table.
    Done(Option<S>),
    /// A request failed, or the version is not there.
    Failed(String),
}

/// An opening under way, and since when.
///
/// What a listing showed may be cleaned away while it is read, and its number filled by a sleeper. So whoever opens the newest version and took
/// longer than a look at the log is trusted for lists once more, and begins anew unless all that was read stands as it was listed.
pub(crate) struct Looking<X: Family> {
    open: X::Open,
    newest: bool,
    pub(crate) asked_ms: u64,
    trusted_ms: u64,
    page: usize,
    asked: Vec<Request>,
    listed: Names,
    read: BTreeSet<ObjectName>,
    /// What the second look showed so far, for what was opened.
    again: Option<(Names, X::Snap)>,
}

impl<X: Family> Looking<X> {
    /// Begins; from a version that is held where there is one.
    pub(crate) fn begin(
        at: Option<Version>,
        held: Option<X::Snap>,
        page: usize,
        (now_ms, setup, rng): (u64, &Setup, &mut Rng),
    ) -> Self {
        Self {
            open: X::open(at, held, rng, page),
            newest: at.is_none(),
            asked_ms: now_ms,
            trusted_ms: setup.fresh_ms,
            page,
            asked: Vec::new(),
            listed: Names::new(),
            read: BTreeSet::new(),
            again: None,
        }
    }

    /// Goes on; at first without answers.
    pub(crate) fn go_on(&mut self, answers: Vec<Answer>, now_ms: u64, rng: &mut Rng) -> Opening<X::Snap> {
        let step = match self.again.take() {
            Some((names, snap)) => self.look_again(names, snap, answers, now_ms, rng),
            None => {
                self.note(&answers);
                match X::opening(&mut self.open, answers) {
                    Opening::Done(Some(snap)) if self.newest && now_ms > self.asked_ms + self.trusted_ms => {
                        self.again = Some((Names::new(), snap));
                        Opening::Ask(vec![Request::List { prefix: X::folder(), after: None, limit: self.page }])
                    }
                    step @ (Opening::Ask(_) | Opening::Done(_) | Opening::Failed(_)) => step,
                }
            }
        };
        if let Opening::Ask(requests) = &step {
            self.asked.clone_from(requests);
        }
        step
    }

    /// Keeps what was listed and what was read.
    fn note(&mut self, answers: &[Answer]) {
        for (request, answer) in self.asked.drain(..).zip(answers) {
            match (request, answer) {
                (Request::List { .. }, Answer::Names(page)) => self.listed.extend(page.iter().map(named)),
                (Request::Get(name), Answer::Bytes(_)) => {
                    self.read.insert(name);
                }
                (_, _) => {}
            }
        }
    }

    fn look_again(
        &mut self,
        mut names: Names,
        snap: X::Snap,
        answers: Vec<Answer>,
        now_ms: u64,
        rng: &mut Rng,
    ) -> Opening<X::Snap> {
        match take_page(&mut names, answers.into_iter().next(), &X::folder(), self.page) {
            Err(problem) => Opening::Failed(problem),
            Ok(Some(next)) => {
                self.again = Some((names, snap));
                Opening::Ask(vec![next])
            }
            Ok(None) => {
                let mut read = self.listed.iter().filter(|(name, _)| self.read.contains(*name));
                if read.all(|(name, was)| names.get(name) == Some(was)) {
                    return Opening::Done(Some(snap));
                }
                self.open = X::open(None, None, rng, self.page);
                self.asked_ms = now_ms;
                self.listed.clear();
                self.read.clear();
                X::opening(&mut self.open, Vec::new())
            }
        }
    }
}

/// What a plan came to.
pub(crate) enum Plan<P, I> {
    Needs(Vec<ObjectName>),
    Ready(Box<Planned<P, I>>),
    /// There is nothing to do.
    Idle,
}

/// A transaction that is ready for its commit.
pub(crate) struct Planned<P, I> {
    pub(crate) pending: P,
    /// What it means, in the auditor's words.
    pub(crate) intent: I,
    /// Objects to put before the commit.
    pub(crate) puts: Vec<(ObjectName, Bytes)>,
}

/// Who plans, and when.
pub(crate) struct Planner<'a> {
    pub(crate) who: usize,
    pub(crate) serial: u64,
    pub(crate) now_ms: u64,
    pub(crate) setup: &'a Setup,
}

/// An entry that the auditor read by itself.
pub(crate) struct Seen {
    /// The objects that the entry names.
    pub(crate) names: Vec<ObjectName>,
    /// The state that it leaves.
    pub(crate) digest: u64,
}

/// A table format, as far as the simulator drives and audits it.
pub(crate) trait Family: Sized + 'static {
    type F: Format<Pending: Clone> + Clone + 'static;
    type Snap: Clone;
    type Open;
    type Intent;
    type Model: Default;
    /// A decoded entry.
    type Entry;

    /// The format, for searches that outlive one request.
    const FORMAT: &'static Self::F;

    /// Whether what an entry names may go when the entry is cleaned away.
    const NAMES_END_WITH_ENTRY: bool;

    /// Whether a version is read from entries before its own.
    const READS_ON: bool;

    /// The number of a new table's first entry.
    fn first_version() -> Version {
        Self::FORMAT.first_version()
    }
    /// Begins to open the newest version, or the one given; from a version that is held where there is one.
    fn open(at: Option<Version>, held: Option<Self::Snap>, rng: &mut Rng, page: usize) -> Self::Open;
    /// Goes on with it; at first without answers.
    fn opening(open: &mut Self::Open, answers: Vec<Answer>) -> Opening<Self::Snap>;
    fn version(snap: &Self::Snap) -> Version;
    /// What a reader sees of a version.
    fn digest(snap: &Self::Snap) -> u64;
    /// The version that ours became, from the version that it was built on.
    fn advance(snap: &Self::Snap, followed: &[(Version, Bytes)], ours: (Version, &Bytes)) -> Option<Self::Snap>;
    /// The table's creation.
    fn create(id: &TransactionId, planner: &Planner<'_>)
    -> Option<Planned<<Self::F as Format>::Pending, Self::Intent>>;
    /// One operation. The same `rng` gives the same operation.
    fn plan(
        id: &TransactionId,
        snap: &Self::Snap,
        read: &Read,
        rng: Rng,
        planner: &Planner<'_>,
    ) -> Plan<<Self::F as Format>::Pending, Self::Intent>;

    /// The version whose entry has this name.
    fn entry_version(name: &ObjectName) -> Option<Version>;
    /// Decodes an entry, and reads the transaction id in it.
    fn read_entry(at: Version, bytes: &Bytes) -> Result<(String, Self::Entry), String>;
    /// Checks an entry against its predecessor and against what its transaction meant, and moves the model on.
    fn follow(
        model: &mut Self::Model,
        at: Version,
        entry: &Self::Entry,
        intent: &Self::Intent,
        store: &Store,
    ) -> Result<Seen, String>;

    /// Which objects a cleanup may remove, from a whole listing and the bytes of what it asked for.
    fn cleanable(listed: &[(ObjectName, u64)], before_ms: u64) -> Cleanable;
    /// The objects that an entry names, for the cleanup.
    fn names(at: Version, bytes: &Bytes) -> Vec<ObjectName>;
    /// Objects to put, one after the other, beside a version: a checkpoint and its hint.
    fn checkpoint(snap: &Self::Snap, now_ms: u64) -> Vec<(ObjectName, Bytes)>;
    /// The folder in which the entries stand.
    fn folder() -> ObjectName;
}

/// Whether the version after this one is older than `before_ms`. Only then its number may be freed: a writer that looked before it was
/// there, and whose request comes late, could otherwise take it again while somebody still trusts a look from before the next one.
pub(crate) fn is_followed(times: &BTreeMap<Version, u64>, at: Version, before_ms: u64) -> bool {
    times.range((Bound::Excluded(at), Bound::Unbounded)).next().is_some_and(|(_, at_ms)| *at_ms < before_ms)
}

/// What a cleanup may remove.
#[derive(Default)]
pub(crate) struct Cleanable {
    /// Entries and checkpoints to remove.
    pub(crate) old: Vec<ObjectName>,
    /// Entries that stay and whose names are to be kept; read before anything is removed. Empty where only the log is cleaned.
    pub(crate) kept: Vec<ObjectName>,
}

/// A number for anything that has an order of its own.
pub(crate) fn digest_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A number for things of which each is there once, in whatever order they come.
pub(crate) fn digest_of_all<T: Hash>(all: impl Iterator<Item = T>) -> u64 {
    all.fold(0, |sum, one| sum.wrapping_add(digest_of(&one)))
}

/// Reads the answer to one request of an opening.
pub(crate) fn bytes_of(answer: Option<Answer>) -> Result<Option<Bytes>, String> {
    match answer {
        Some(Answer::Bytes(bytes)) => Ok(Some(bytes)),
        Some(Answer::Absent) => Ok(None),
        other => Err(format!("{other:?}")),
    }
}

/// Names of a listing with their sizes and times.
pub(crate) type Names = BTreeMap<ObjectName, (u64, u64)>;

fn named(listed: &Listed) -> (ObjectName, (u64, u64)) {
    (listed.name.clone(), (listed.size_bytes, u64::try_from(listed.modified_ms).unwrap_or(0)))
}

/// Takes a page of a listing: the request for the next one, or nothing where it was the last.
pub(crate) fn take_page(
    names: &mut Names,
    answer: Option<Answer>,
    prefix: &ObjectName,
    limit: usize,
) -> Result<Option<Request>, String> {
    let Some(Answer::Names(page)) = answer else { return Err(format!("{answer:?}")) };
    let last = page.last().map(|listed| listed.name.clone());
    let full = page.len() >= limit;
    names.extend(page.iter().map(named));
    Ok(last.filter(|_| full).map(|after| Request::List { prefix: prefix.clone(), after: Some(after), limit }))
}
