//! Finding a transaction by its id, after an answer of *unknown*.

use crate::{Answer, CommitError, EntryRef, Fetched, Format, FormatError, Listing, ObjectName, Parsed, Request};
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_transaction::TransactionId;
use std::collections::BTreeMap;

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is this version.
    Committed(Version),
    /// It is none of the versions from `oldest` to `newest`. An unanswered create may still land at a later version, as
    /// long as nobody else took the number that was tried.
    InNone {
        /// The oldest version that was looked at.
        oldest: Version,
        /// The newest version that was looked at.
        newest: Version,
    },
    /// The log no longer reaches down to where the search should begin, or to where the transaction was seen: in a number
    /// that a cleanup had freed and that a put which landed late filled again.
    OutOfReach {
        /// The oldest version of the history that is still there; `None` when there is none at all.
        oldest: Option<Version>,
    },
}

/// What the search wants next.
#[must_use]
#[derive(Debug)]
pub enum FindStep {
    /// Perform these and answer each in order.
    Ask(Vec<Request>),
    /// The end.
    Done(Result<Found, CommitError>),
}

/// A search through the log for one transaction id, newest entry first.
pub struct Find<'a, F: Format> {
    format: &'a F,
    id: TransactionId,
    /// The version that the transaction read: it can only stand above it.
    above: Option<Version>,
    entries: Vec<EntryRef>,
    versions: Vec<Version>,
    raw: BTreeMap<Version, Bytes>,
    fetched: Fetched,
    asked: Vec<Request>,
    targets: Vec<Option<Version>>,
    span: Option<(Version, Version)>,
    /// Where it was read; to be believed once the log was listed after that.
    read_at: Option<Version>,
    /// By how much the times of the store may lie apart.
    clocks_apart_ms: i64,
}

/// Entries that are asked for at once.
const FETCHED_AT_ONCE_MAX: usize = 64;

impl<'a, F: Format> Find<'a, F> {
    /// A search above the version that the transaction read, or through the whole log.
    #[must_use]
    pub fn new(format: &'a F, id: TransactionId, above: Option<Version>) -> Self {
        Self {
            format,
            id,
            above,
            entries: Vec::new(),
            versions: Vec::new(),
            raw: BTreeMap::new(),
            fetched: Fetched::default(),
            asked: Vec::new(),
            targets: Vec::new(),
            span: None,
            read_at: None,
            clocks_apart_ms: 0,
        }
    }

    /// By how much the times of a store with several clocks may lie apart; 0 where nothing is said. An entry is taken for one
    /// that landed late, in a number that a cleanup had freed, when one above it is older by more than that. What a writer trusts a snapshot
    /// for ([`Freshness::for_ms`](crate::Freshness::for_ms)) is a good value: cleanups keep what is younger.
    #[must_use]
    pub const fn with_clocks_apart(mut self, ms: u32) -> Self {
        self.clocks_apart_ms = ms as i64;
        self
    }

    /// Begins.
    pub fn start(&mut self) -> FindStep {
        let Listing { prefix, after, limit } = self.format.listing(self.above);
        self.ask(vec![Request::List { prefix, after, limit }])
    }

    /// Goes on, with one answer for each request.
    pub fn answer(&mut self, answers: Vec<Answer>) -> FindStep {
        let asked = std::mem::take(&mut self.asked);
        match asked.first() {
            Some(Request::List { prefix, limit, .. }) => self.listed(prefix.clone(), *limit, answers),
            Some(_) => self.read(&asked, answers),
            None => failed("the log", "answered before it was asked".to_owned()),
        }
    }

    fn ask(&mut self, requests: Vec<Request>) -> FindStep {
        self.asked.clone_from(&requests);
        FindStep::Ask(requests)
    }

    fn listed(&mut self, prefix: ObjectName, limit: usize, answers: Vec<Answer>) -> FindStep {
        let page = match answers.into_iter().next() {
            Some(Answer::Names(page)) => page,
            other => return failed(prefix.as_str(), format!("{other:?}")),
        };
        let read = match self.format.read_page(self.above, &page, limit) {
            Ok(read) => read,
            Err(error) => return FindStep::Done(Err(error.into())),
        };
        self.entries.extend(read.entries);
        if let (false, Some(last)) = (read.complete, page.last()) {
            return self.ask(vec![Request::List { prefix, after: Some(last.name.clone()), limit }]);
        }
        if let Some(version) = self.read_at {
            return FindStep::Done(Ok(self.believed(version)));
        }
        self.versions = self.entries.iter().map(|entry| entry.version).collect();
        self.versions.sort_unstable();
        self.versions.dedup();
        let (Some(oldest), Some(newest)) = (self.versions.first().copied(), self.versions.last().copied()) else {
            return FindStep::Done(Ok(match self.above {
                Some(above) => Found::InNone { oldest: above, newest: above },
                None => Found::OutOfReach { oldest: None },
            }));
        };
        self.span = Some((reach(&mut self.entries).unwrap_or(oldest), newest));
        self.next()
    }

    fn next(&mut self) -> FindStep {
        let mut needs = Vec::new();
        for (version, bytes) in std::mem::take(&mut self.raw) {
            match self.format.parse(version, &bytes, &self.fetched) {
                Ok(Parsed::Done(landed)) => {
                    if self.format.landed_transaction_id(&landed).as_ref() == Some(&self.id) {
                        self.read_at = Some(version);
                        self.entries.clear();
                        return self.start();
                    }
                }
                Ok(Parsed::Needs(names)) if names.iter().any(|name| self.fetched.get(name).is_none()) => {
                    needs.extend(names);
                    self.raw.insert(version, bytes);
                }
                // An entry that we cannot read was not written by us.
                Ok(Parsed::Needs(_)) | Err(FormatError::Unsupported { .. } | FormatError::Invalid { .. }) => {}
                Err(error @ FormatError::Damaged { .. }) => return FindStep::Done(Err(error.into())),
            }
        }
        if !needs.is_empty() {
            self.targets = vec![None; needs.len()];
            return self.ask(needs.into_iter().map(Request::Get).collect());
        }
        if self.versions.is_empty() {
            return FindStep::Done(Ok(self.not_found()));
        }
        let from = self.versions.len().saturating_sub(FETCHED_AT_ONCE_MAX);
        let batch = self.versions.split_off(from);
        self.targets = batch.iter().map(|version| Some(*version)).collect();
        let requests = batch.iter().map(|version| Request::Get(self.format.entry_name(*version))).collect();
        self.ask(requests)
    }

    fn read(&mut self, asked: &[Request], answers: Vec<Answer>) -> FindStep {
        let targets = std::mem::take(&mut self.targets);
        for ((request, answer), target) in asked.iter().zip(answers).zip(targets) {
            let (Request::Get(name), bytes) = (request, answer) else {
                return failed("the log", "an answer is missing".to_owned());
            };
            let bytes = match bytes {
                Answer::Bytes(bytes) => Some(bytes),
                Answer::Absent => None,
                other @ (Answer::Names(_)
                | Answer::Stored
                | Answer::Created
                | Answer::Exists
                | Answer::Unknown(_)
                | Answer::NotNow { .. }
                | Answer::Deleted
                | Answer::Elapsed
                | Answer::Failed(_)) => return failed(name.as_str(), format!("{other:?}")),
            };
            match (target, bytes) {
                (Some(version), Some(bytes)) => {
                    self.raw.insert(version, bytes);
                }
                // Cleaned up since it was listed: the log reaches less far than it did.
                (Some(version), None) => {
                    if let Some((oldest, _)) = &mut self.span {
                        *oldest = (*oldest).max(version.next().unwrap_or(version));
                    }
                }
                (None, bytes) => self.fetched.insert(name.clone(), bytes),
            }
        }
        self.next()
    }

    /// The log was listed after the entry was read: it counts when every version above it is there and none of them is older. Over a
    /// hole nobody can tell: it may have been written when its number had been freed and those right above it still stood.
    fn believed(&mut self, version: Version) -> Found {
        self.entries.sort_unstable_by_key(|entry| entry.version);
        self.entries.dedup_by_key(|entry| entry.version);
        let from = self.entries.iter().skip_while(|entry| entry.version < version);
        let above: Vec<&EntryRef> = from.collect();
        let is_there = above.first().is_some_and(|first| first.version == version);
        let written_ms = above.first().map(|first| first.modified_ms);
        let follows = |pair: &[&EntryRef]| matches!(pair, [one, next] if one.version.next() == Some(next.version));
        let is_older = |entry: &&EntryRef| Some(entry.modified_ms.saturating_add(self.clocks_apart_ms)) < written_ms;
        if is_there && above.windows(2).all(follows) && !above.iter().any(is_older) {
            return Found::Committed(version);
        }
        let oldest = reach(&mut self.entries).map(|oldest| version.next().map_or(oldest, |next| oldest.max(next)));
        Found::OutOfReach { oldest }
    }

    fn not_found(&self) -> Found {
        let Some((oldest, newest)) = self.span else {
            return Found::OutOfReach { oldest: None };
        };
        match self.above {
            Some(above) if above.next().is_some_and(|first| oldest > first) => {
                Found::OutOfReach { oldest: Some(oldest) }
            }
            Some(_) | None => Found::InNone { oldest, newest },
        }
    }
}

/// The lowest version from which on every one is there, each written after the one before it.
///
/// A cleanup that takes versions away in any order leaves holes, and a writer that slept may fill one for a while: what stood
/// there cannot be told, and neither what stood below.
fn reach(entries: &mut [EntryRef]) -> Option<Version> {
    entries.sort_unstable_by_key(|entry| entry.version);
    let mut from = entries.last()?;
    for entry in entries.iter().rev().skip(1) {
        let follows = entry.version == from.version || entry.version.next() == Some(from.version);
        if !follows || entry.modified_ms > from.modified_ms {
            break;
        }
        from = entry;
    }
    Some(from.version)
}

fn failed(object: &str, detail: String) -> FindStep {
    FindStep::Done(Err(CommitError::Unreadable { object: object.to_owned(), detail }))
}
