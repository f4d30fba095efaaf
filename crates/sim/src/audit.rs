//! The auditor: it sees every object that comes and goes and every answer that is given, and knows what must hold.

use crate::family::Family;
use crate::store::Store;
use bytes::Bytes;
use lakebed_commit::{CommitError, FormatError, Found, ObjectName};
use lakebed_naming::Version;
use lakebed_transaction::Outcome;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule, always in the same words.
    pub rule: &'static str,
    /// What broke it.
    pub detail: String,
}

/// What its writer knows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is under way.
    Open,
    Committed(u64),
    Nothing,
    /// The answer was *unknown*, or there is nobody left to hear one.
    Unknown,
}

struct Case<I> {
    intent: I,
    fate: Fate,
    /// It was offered by more than one commit, of which each speaks for itself alone.
    again: bool,
    /// The versions at which its entry was part of the history.
    real: Vec<u64>,
    /// The freed numbers that its entry filled, for a while or for good.
    strayed: Vec<u64>,
    /// Of `real`, what stood when a search for it began; what lands during the search, it may see or not.
    searched: Vec<u64>,
}

struct Entry {
    id: String,
    bytes: Bytes,
    names: Vec<ObjectName>,
    /// It fills a number that a cleanup freed, and is no part of the history.
    stray: bool,
}

/// Who removes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remover {
    Writer,
    Cleaner,
}

/// What the auditor knows.
pub(crate) struct Audit<X: Family> {
    model: X::Model,
    entries: BTreeMap<u64, Entry>,
    digests: BTreeMap<u64, u64>,
    cases: HashMap<String, Case<X::Intent>>,
    /// Data that entries of the history named, while nothing may remove it.
    named: BTreeMap<ObjectName, u64>,
    pub(crate) tip: Option<u64>,
    /// Entries that a cleanup removed.
    cleaned: BTreeSet<u64>,
    /// Freed numbers that were filled again, for a while or for good.
    refilled: BTreeSet<u64>,
    /// Entries that landed in freed numbers.
    pub(crate) strays: u64,
    pub(crate) violation: Option<Violation>,
}

impl<X: Family> Audit<X> {
    pub(crate) fn new() -> Self {
        Self {
            model: X::Model::default(),
            entries: BTreeMap::new(),
            digests: BTreeMap::new(),
            cases: HashMap::new(),
            named: BTreeMap::new(),
            tip: None,
            cleaned: BTreeSet::new(),
            refilled: BTreeSet::new(),
            strays: 0,
            violation: None,
        }
    }

    /// How many versions landed.
    pub(crate) fn landed_count(&self) -> u64 {
        self.digests.len() as u64
    }

    fn break_rule(&mut self, rule: &'static str, detail: String) {
        self.violation.get_or_insert(Violation { rule, detail });
    }

    /// A transaction is about to be offered.
    pub(crate) fn begin(&mut self, id: &str, intent: X::Intent) {
        self.cases.insert(
            id.to_owned(),
            Case {
                intent,
                fate: Fate::Open,
                again: false,
                real: Vec::new(),
                strayed: Vec::new(),
                searched: Vec::new(),
            },
        );
    }

    /// Its writer died, or dropped it.
    pub(crate) fn abandoned(&mut self, id: &str) {
        if let Some(case) = self.cases.get_mut(id) {
            case.fate = Fate::Unknown;
        }
    }

    /// It is offered once more after *unknown*.
    pub(crate) fn reopened(&mut self, id: &str) {
        if let Some(case) = self.cases.get_mut(id) {
            case.fate = Fate::Open;
            case.again = true;
        }
    }

    /// An object was created or written.
    pub(crate) fn appeared(&mut self, name: &ObjectName, bytes: &Bytes, store: &Store) {
        let Some(version) = X::entry_version(name) else { return };
        let at = version.get();
        if let Some(entry) = self.entries.get(&at) {
            if entry.bytes != *bytes {
                let detail = format!("version {at}, which {} wrote, was written over", entry.id);
                self.break_rule("the content of a version never changes", detail);
            }
            return;
        }
        let (id, entry) = match X::read_entry(version, bytes) {
            Ok(read) => read,
            Err(problem) => return self.break_rule("every entry can be read", format!("version {at}: {problem}")),
        };
        let Some(case) = self.cases.get_mut(&id) else {
            return self
                .break_rule("every entry carries the id of its transaction", format!("version {at} carries {id}"));
        };
        let next = self.tip.map_or(X::first_version().get(), |tip| tip + 1);
        // The create of an offer that ended in *unknown* can outlive the answer to the next offer of the same transaction; in a number that retention
        // freed it is outside the history, and the first answer said that it may come.
        let outlived = case.again && at < next && self.cleaned.contains(&at);
        if !outlived && (case.fate == Fate::Nothing || matches!(case.fate, Fate::Committed(v) if v != at)) {
            let detail = format!("{id} was answered {:?}, and then landed at version {at}", case.fate);
            return self.break_rule("what is answered stays so", detail);
        }
        if at > next {
            return self.break_rule("no gap opens", format!("version {at} landed where {next} was next"));
        }
        if at < next {
            case.strayed.push(at);
            self.strays += 1;
            self.refilled.insert(at);
            self.entries.insert(at, Entry { id, bytes: bytes.clone(), names: Vec::new(), stray: true });
            return;
        }
        case.real.push(at);
        if case.real.len() > 1 {
            let detail = format!("{id} is in the versions {:?}", case.real);
            return self.break_rule("an id is in at most one entry", detail);
        }
        match X::follow(&mut self.model, version, &entry, &case.intent, store) {
            Err(problem) => {
                self.break_rule("an entry follows its predecessor", format!("version {at} ({id}): {problem}"))
            }
            Ok(seen) => {
                for name in &seen.names {
                    *self.named.entry(name.clone()).or_insert(0) += 1;
                }
                self.tip = Some(at);
                self.digests.insert(at, seen.digest);
                self.entries.insert(at, Entry { id, bytes: bytes.clone(), names: seen.names, stray: false });
            }
        }
    }

    /// An object was removed.
    pub(crate) fn removed(&mut self, name: &ObjectName, by: Remover) {
        if let Some(version) = X::entry_version(name) {
            let Some(entry) = self.entries.remove(&version.get()) else { return };
            match (entry.stray, by) {
                (true, _) => {}
                (false, Remover::Writer) => {
                    let detail = format!("version {version} of {} was taken out", entry.id);
                    self.break_rule("no entry of the history is withdrawn", detail);
                }
                (false, Remover::Cleaner) => {
                    self.cleaned.insert(version.get());
                    // A commit of Delta that is cleaned away lives on in a checkpoint, with all that it named.
                    if X::NAMES_END_WITH_ENTRY {
                        for name in &entry.names {
                            if let Some(count) = self.named.get_mut(name) {
                                *count -= 1;
                            }
                        }
                    }
                }
            }
            return;
        }
        if self.named.get(name).is_some_and(|count| *count > 0) {
            self.break_rule("nothing that an entry names is deleted", format!("{name} was deleted ({by:?})"));
        }
    }

    /// The machine answered.
    pub(crate) fn ended(&mut self, id: &str, answer: &Result<Outcome, CommitError>) {
        let Some(case) = self.cases.get_mut(id) else { return };
        let real = case.real.first().copied();
        let (rule, holds) = match answer {
            Ok(Outcome::Committed { version, .. }) => {
                case.fate = Fate::Committed(version.get());
                ("committed means at that version", real == Some(version.get()))
            }
            Ok(Outcome::Unknown { .. }) => {
                case.fate = Fate::Unknown;
                ("unknown is always allowed", true)
            }
            Ok(Outcome::Nothing { .. } | Outcome::Conflict(_) | Outcome::Exhausted { .. }) | Err(_) if case.again => {
                // Nothing was committed by this commit; the one before may have landed.
                case.fate = Fate::Unknown;
                ("unknown is always allowed", true)
            }
            Ok(Outcome::Nothing { .. } | Outcome::Conflict(_) | Outcome::Exhausted { .. }) | Err(_) => {
                case.fate = Fate::Nothing;
                ("nothing committed means nowhere", real.is_none())
            }
        };
        if !holds {
            self.break_rule(rule, format!("{id} was answered {answer:?}, and its entry stands at {real:?}"));
        }
        // Objects that an old version names go with it, under the eyes of whoever still follows it.
        let overtaken =
            |problem: &FormatError| matches!(problem, FormatError::Damaged { .. }) && !self.cleaned.is_empty();
        if let Err(CommitError::Format(problem)) = answer
            && !overtaken(problem)
        {
            self.break_rule("a format can always go on", format!("{id}: {problem}"));
        }
    }

    /// A search for a transaction begins.
    pub(crate) fn searches(&mut self, id: &str) {
        if let Some(case) = self.cases.get_mut(id) {
            case.searched.clone_from(&case.real);
        }
    }

    /// A search for a transaction ended.
    pub(crate) fn found(&mut self, id: &str, above: Option<Version>, found: Found) {
        let Some(case) = self.cases.get(id) else { return };
        let first = above.and_then(Version::next).map(Version::get);
        let holds = match found {
            Found::Committed(version) => case.real.contains(&version.get()),
            Found::InNone { oldest, newest } => {
                let within = |at: &u64| (oldest.get()..=newest.get()).contains(at);
                // Down to the version that was read everything must have been seen.
                !case.real.iter().any(within) && first.is_none_or(|first| oldest.get() <= first)
            }
            Found::OutOfReach { oldest: Some(oldest) } => {
                !case.searched.iter().any(|at| *at >= oldest.get())
                    && first.is_none_or(|first| self.cleaned.range(first..oldest.get()).next().is_some())
            }
            Found::OutOfReach { oldest: None } => case.searched.is_empty(),
        };
        if !holds {
            let detail = format!("{id} was found {found:?} above {above:?}; it is in {:?}", case.real);
            self.break_rule("a search answers rightly", detail);
        }
    }

    /// Somebody read a version.
    pub(crate) fn read(&mut self, version: Version, digest: u64, least: Option<u64>) {
        // Between a stray's landing and its withdrawal, whoever asks for the version that retention removed reads the stray.
        let stray = self.cleaned.contains(&version.get()) && self.refilled.contains(&version.get());
        if !stray && self.digests.get(&version.get()) != Some(&digest) {
            let detail = format!("version {version} was read otherwise than it was committed");
            self.break_rule("a version reads the same for ever", detail);
        }
        if least.is_some_and(|least| version.get() < least) {
            let detail = format!("version {version} was opened as the newest, and {least:?} stood already");
            self.break_rule("opening never picks an older version", detail);
        }
    }

    /// Somebody could not read a version that was asked for.
    pub(crate) fn unreadable(&mut self, version: Version, problem: &str) {
        // A Delta version needs commits below it; a Lance version only its own manifest.
        let least = if X::NAMES_END_WITH_ENTRY { version.get() } else { 0 };
        if self.cleaned.range(least..=version.get()).next().is_none() {
            let detail = format!("version {version}, from which nothing was cleaned away: {problem}");
            self.break_rule("a version can be read until retention removes it", detail);
        }
    }

    /// Everything has come to rest.
    pub(crate) fn finish(&mut self) {
        let left = self.entries.iter().find(|(_, entry)| {
            entry.stray && self.cases.get(&entry.id).is_some_and(|case| case.fate != Fate::Unknown && !case.again)
        });
        if let Some((at, entry)) = left {
            let detail = format!("version {at} holds {}, which is not in the history and was not withdrawn", entry.id);
            self.break_rule("a freed number is filled by nobody who can still withdraw", detail);
        }
    }
}
