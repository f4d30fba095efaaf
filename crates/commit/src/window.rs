//! The window between what ours follows and the newest version: list it, read every entry, judge each, rebase.

use crate::confirm::no_progress;
use crate::machine::{Purpose, State};
use crate::{
    Answer, Commit, CommitError, EntryRef, Finished, Format, Judged, Listing, Need, ObjectName, Parsed, Rebased,
    Request, Step,
};
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_transaction::{Conflict, Judgement, Outcome};
use std::collections::BTreeMap;

/// Entries that are asked for at once.
const FETCHED_AT_ONCE_MAX: usize = 64;
/// Pages of one listing; beyond it the listing does not end.
const ENTRIES_LISTED_MAX: usize = 10_000_000;

/// A window being worked through.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// When the listing that shows the window was asked for; `None` for entries that the caller held, whose freshness the
    /// caller stated.
    asked_ms: Option<u64>,
    /// Versions whose entries are still to be read, ascending.
    unread: Vec<Version>,
    /// Entries that were read and wait for objects that they refer to.
    raw: BTreeMap<Version, Bytes>,
    /// What the requests that are out are for.
    targets: Vec<Target>,
    /// What the listing showed of those that are read.
    listed: Vec<EntryRef>,
    /// Whether what was listed is known to be what was read.
    is_settled: bool,
    /// Versions that were written after the one above them.
    overtaken: Vec<Version>,
}

#[derive(Clone, Debug)]
enum Target {
    Entry(Version),
    Object(ObjectName),
    Write(ObjectName),
}

impl<F: Format> Commit<F> {
    pub(crate) fn list(&mut self, purpose: Purpose, now_ms: u64) -> Step {
        let Listing { prefix, after, limit } = self.format.listing(self.base);
        let state = State::Listing { purpose, asked_ms: now_ms, entries: Vec::new() };
        self.ask(state, vec![Request::List { prefix, after, limit }])
    }

    pub(crate) fn listed(
        &mut self,
        purpose: Purpose,
        asked_ms: u64,
        mut entries: Vec<EntryRef>,
        asked: &[Request],
        answers: Vec<Answer>,
        now_ms: u64,
    ) -> Step {
        self.progressed();
        let (Some(Request::List { prefix, limit, .. }), Some(Answer::Names(page))) =
            (asked.first(), answers.into_iter().next())
        else {
            return self.list(purpose, now_ms);
        };
        let read = match self.format.read_page(self.base, &page, *limit) {
            Ok(read) => read,
            Err(error) => return self.fail(error),
        };
        entries.extend(read.entries);
        let last = page.last().map(|listed| listed.name.clone());
        if let (false, Some(after)) = (read.complete || entries.len() > ENTRIES_LISTED_MAX, last) {
            let request = Request::List { prefix: prefix.clone(), after: Some(after), limit: *limit };
            return self.ask(State::Listing { purpose, asked_ms, entries }, vec![request]);
        }
        match purpose {
            Purpose::Window => self.window_listed(&entries, asked_ms, now_ms),
            Purpose::Settle(window) => self.settled(*window, &entries, asked_ms, now_ms),
            Purpose::Late(attempt) => self.late_listed(attempt, &entries),
            Purpose::Absent(attempt) => self.absent_listed(attempt, &entries, asked_ms, now_ms),
            Purpose::Rival(attempt) => self.rival_listed(&attempt, &entries, asked_ms, now_ms),
        }
    }

    /// Decides which entries stand between ours and the newest; each of them will be judged.
    pub(crate) fn window_listed(&mut self, entries: &[EntryRef], asked_ms: u64, now_ms: u64) -> Step {
        let mut versions: Vec<_> =
            entries.iter().map(|entry| entry.version).chain(self.known.keys().copied()).collect();
        versions.retain(|version| self.base.is_none_or(|base| *version > base));
        versions.sort_unstable();
        versions.dedup();
        let Some(newest) = versions.last().copied() else {
            self.freshness.until_ms = asked_ms.saturating_add(self.freshness.for_ms);
            return self.publish(now_ms);
        };
        match self.base {
            // Whatever is there, the table exists; the newest entry stands for it.
            None => versions = vec![newest],
            Some(base) => {
                let refilled = refilled(entries, self.freshness.for_ms);
                // What was read before the listing and is not in it was cleaned away, or was never part of the history: an entry that
                // filled a freed number and was withdrawn.
                let is_listed = |version: &Version| entries.iter().any(|entry| entry.version == *version);
                let gone = self.known.iter().find(|(version, _)| **version > base && !is_listed(version));
                let is_own = gone.is_some_and(|(_, landed)| self.format.is_ours(&self.pending, landed));
                let gone = gone.map(|(version, _)| *version);
                if let (Some(version), true) = (gone, is_own) {
                    return self.unknown(version, "ours was there, and went before it was listed".to_owned());
                }
                if let Some(missing) = first_gap(base, &versions).or(refilled).or(gone) {
                    return self.fail(CommitError::Gap { missing, newest });
                }
            }
        }
        versions.retain(|version| !self.known.contains_key(version));
        // The newest has no version above it, and what was read before was read within its time.
        let is_below = |entry: &&EntryRef| entry.version < newest && versions.contains(&entry.version);
        let listed: Vec<EntryRef> = entries.iter().filter(is_below).copied().collect();
        let is_settled = self.base.is_none() || listed.is_empty();
        let (raw, targets, overtaken) = (BTreeMap::new(), Vec::new(), overtaken(entries));
        let window = Window { asked_ms: Some(asked_ms), unread: versions, raw, targets, listed, is_settled, overtaken };
        self.fetch(window, now_ms)
    }

    /// The log was listed again after a window was read: what carries another time by now, or is gone, may have been another entry
    /// when it was read than when it was listed.
    fn settled(&mut self, mut window: Window, entries: &[EntryRef], asked_ms: u64, now_ms: u64) -> Step {
        let changed =
            |was: &&EntryRef| !entries.iter().any(|is| is.version == was.version && is.modified_ms == was.modified_ms);
        let Some(changed) = window.listed.iter().find(changed).map(|was| was.version) else {
            window.is_settled = true;
            return self.follow(window, now_ms);
        };
        let is_own = |landed: &F::Landed| self.format.is_ours(&self.pending, landed);
        if let Some(version) = self.known.iter().find(|(_, landed)| is_own(landed)).map(|(version, _)| *version) {
            let said =
                format!("ours was read as version {version}, and a cleanup passed over version {changed} meanwhile");
            return self.unknown(version, said);
        }
        if let Some(what) = self.budget.spent(self.rebases, now_ms.saturating_sub(self.started_ms)) {
            return self.give_up(what);
        }
        // What is still there is read again; what is gone is found missing.
        for entry in entries.iter().filter(|is| window.listed.iter().any(|was| was.version == is.version)) {
            self.known.remove(&entry.version);
            self.known_bytes.remove(&entry.version);
        }
        self.window_listed(entries, asked_ms, now_ms)
    }

    /// Follows entries that the caller held.
    pub(crate) fn follow_held(&mut self, raw: BTreeMap<Version, Bytes>, now_ms: u64) -> Step {
        let (unread, targets, listed, overtaken) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self.fetch(Window { asked_ms: None, unread, raw, targets, listed, is_settled: true, overtaken }, now_ms)
    }

    /// Asks for the next entries, or goes on to follow them when all are there.
    fn fetch(&mut self, mut window: Window, now_ms: u64) -> Step {
        let mut needs = Vec::new();
        for (version, bytes) in std::mem::take(&mut window.raw) {
            match self.format.parse(version, &bytes, &self.fetched) {
                Ok(Parsed::Done(landed)) => {
                    self.known.insert(version, landed);
                    self.known_bytes.insert(version, bytes);
                }
                Ok(Parsed::Needs(names)) => {
                    if names.iter().all(|name| self.fetched.get(name).is_some()) {
                        return self.fail(no_progress(self.format.entry_name(version).as_str()));
                    }
                    needs.extend(names);
                    window.raw.insert(version, bytes);
                }
                Err(error) => return self.fail(error),
            }
        }
        if !needs.is_empty() {
            return self.ask_for(window, needs.into_iter().map(Target::Object).collect(), Vec::new());
        }
        if !window.unread.is_empty() {
            let count = window.unread.len().min(FETCHED_AT_ONCE_MAX);
            let targets = window.unread.drain(..count).map(Target::Entry).collect();
            return self.ask_for(window, targets, Vec::new());
        }
        self.follow(window, now_ms)
    }

    fn ask_for(&mut self, mut window: Window, targets: Vec<Target>, writes: Vec<(ObjectName, Bytes)>) -> Step {
        let mut requests: Vec<_> = targets
            .iter()
            .map(|target| match target {
                Target::Entry(version) => Request::Get(self.format.entry_name(*version)),
                Target::Object(name) | Target::Write(name) => Request::Get(name.clone()),
            })
            .collect();
        window.targets = targets;
        for (name, bytes) in writes {
            requests.push(Request::Put(name.clone(), bytes));
            window.targets.push(Target::Write(name));
        }
        self.ask(State::Window(window), requests)
    }

    pub(crate) fn window_answered(
        &mut self,
        mut window: Window,
        asked: &[Request],
        answers: Vec<Answer>,
        now_ms: u64,
    ) -> Step {
        self.progressed();
        if self.is_overtaken(&window, now_ms) {
            // What was listed may have been cleaned away since, and its number filled by a writer that slept.
            return match self.budget.spent(self.rebases, now_ms.saturating_sub(self.started_ms)) {
                Some(what) => self.give_up(what),
                None => self.list(Purpose::Window, now_ms),
            };
        }
        for ((target, answer), request) in std::mem::take(&mut window.targets).into_iter().zip(answers).zip(asked) {
            match (target, answer) {
                (Target::Entry(version), Answer::Bytes(bytes)) => {
                    window.raw.insert(version, bytes);
                }
                (Target::Entry(version), _) => {
                    // It was listed, and it is gone.
                    return self.fail(CommitError::Gap { missing: version, newest: version });
                }
                (Target::Object(name), answer) => self.remember(&[name], vec![answer]),
                (Target::Write(name), _) => {
                    if let Request::Put(_, bytes) = request {
                        self.side.push((name.clone(), bytes.clone()));
                    }
                    self.fetched.mark_written(name);
                }
            }
        }
        self.fetch(window, now_ms)
    }

    /// Whether entries were read so long after they were listed that they need not be those.
    fn is_overtaken(&self, window: &Window, now_ms: u64) -> bool {
        let reads = window.targets.iter().any(|target| matches!(target, Target::Entry(_)));
        let trusted = window.asked_ms.map(|asked_ms| asked_ms.saturating_add(self.freshness.for_ms));
        reads && trusted.is_some_and(|until_ms| until_ms < now_ms)
    }

    /// Judges and follows every entry of the window, oldest first.
    ///
    /// Within the time of the base no number above it is freed. After it, a cleanup may have passed between the listing and a
    /// read, and a writer that slept, even an earlier create of ours, may have filled the number.
    fn follow(&mut self, mut window: Window, now_ms: u64) -> Step {
        if !window.is_settled && now_ms > self.freshness.until_ms {
            return self.list(Purpose::Settle(Box::new(window)), now_ms);
        }
        window.is_settled = true;
        while let Some((version, landed)) = self.known.pop_first() {
            if self.format.is_ours(&self.pending, &landed) {
                if window.overtaken.contains(&version) {
                    let said = "ours stands below a version that is older, as after a cleanup that freed its number";
                    return self.unknown(version, said.to_owned());
                }
                return self.committed(version);
            }
            self.note_id(&landed);
            let needs = match self.format.judge(&self.pending, &landed, &self.fetched) {
                Ok(Judged::Verdict(why)) if !why.verdict.accepts() => {
                    let did = self.format.describe_landed(&landed);
                    return self.conflict(version, did, why);
                }
                Ok(Judged::Verdict(_)) => match self.format.rebase(&mut self.pending, &landed, &self.fetched) {
                    Ok(Rebased::Done) => {
                        self.base = Some(version);
                        self.followed.extend(self.known_bytes.remove_entry(&version));
                        continue;
                    }
                    Ok(Rebased::Needs(names)) => names,
                    Err(error) => return self.fail(error),
                },
                Ok(Judged::Needs(names)) => names,
                Err(error) => return self.fail(error),
            };
            self.known.insert(version, landed);
            if needs.iter().all(|name| self.fetched.get(name).is_some()) {
                return self.fail(no_progress(self.format.entry_name(version).as_str()));
            }
            return self.ask_for(window, needs.into_iter().map(Target::Object).collect(), Vec::new());
        }
        self.finish(window, now_ms)
    }

    /// The whole window was accepted: do what the rebase still needs, then rest and publish on top of it.
    fn finish(&mut self, window: Window, now_ms: u64) -> Step {
        match self.format.finish(&mut self.pending, &self.fetched) {
            Ok(Finished::Ready) => {
                let Some(asked_ms) = window.asked_ms else {
                    return self.publish(now_ms);
                };
                self.rebases += 1;
                self.freshness.until_ms = asked_ms.saturating_add(self.freshness.for_ms);
                if let Some(what) = self.budget.spent(self.rebases, now_ms.saturating_sub(self.started_ms)) {
                    return self.give_up(what);
                }
                let ms = self.budget.backoff.draw_after_loss(self.rebases - 1, now_ms.saturating_sub(asked_ms));
                if ms == 0 { self.publish(now_ms) } else { self.ask(State::Resting, vec![Request::Wait { ms }]) }
            }
            Ok(Finished::Needs(needs)) => {
                let (mut reads, mut writes) = (Vec::new(), Vec::new());
                for need in needs {
                    match need {
                        Need::Read(name) if self.fetched.get(&name).is_none() => reads.push(Target::Object(name)),
                        Need::Write(name, bytes) if !self.fetched.is_written(&name) => writes.push((name, bytes)),
                        Need::Read(_) | Need::Write(..) => {}
                    }
                }
                if reads.is_empty() && writes.is_empty() {
                    return self.fail(no_progress("the rebase"));
                }
                self.ask_for(window, reads, writes)
            }
            Ok(Finished::Conflict { with, landed, why }) => self.conflict(with, landed, why),
            Err(error) => self.fail(error),
        }
    }

    fn conflict(&mut self, with: Version, landed: String, why: Judgement) -> Step {
        self.state = State::Idle;
        let ours = self.format.describe_ours(&self.pending);
        let policy = self.format.policy(&self.pending);
        let conflict = Conflict { with, ours, landed, policy, why };
        Step::Done(Ok(Outcome::Conflict(Box::new(conflict))))
    }
}

/// The first version after `base` that is not there although a later one is.
fn first_gap(base: Version, versions: &[Version]) -> Option<Version> {
    let mut expected = base.next();
    for version in versions {
        if expected != Some(*version) {
            return expected;
        }
        expected = version.next();
    }
    None
}

/// The versions that were written after the one right above them: what stands above may not have been built on them.
fn overtaken(entries: &[EntryRef]) -> Vec<Version> {
    let mut sorted: Vec<&EntryRef> = entries.iter().collect();
    sorted.sort_unstable_by_key(|entry| entry.version);
    let is_overtaken = |pair: &[&EntryRef]| match pair {
        [one, next] if one.version.next() == Some(next.version) && next.modified_ms < one.modified_ms => {
            Some(one.version)
        }
        _ => None,
    };
    sorted.windows(2).filter_map(is_overtaken).collect()
}

/// The first version that was written long after a later one: a cleanup had freed its number, a writer that slept has filled it,
/// and what stood there before cannot be judged any more. Times of a store with several clocks may lie apart by `slack_ms`.
fn refilled(entries: &[EntryRef], slack_ms: u64) -> Option<Version> {
    let slack_ms = i64::try_from(slack_ms).unwrap_or(i64::MAX);
    let mut sorted: Vec<&EntryRef> = entries.iter().collect();
    sorted.sort_unstable_by_key(|entry| entry.version);
    let long_after = |pair: &&[&EntryRef]| match pair {
        [one, next] => next.modified_ms.saturating_add(slack_ms) < one.modified_ms,
        _ => false,
    };
    sorted.windows(2).find(long_after).and_then(|pair| pair.first()).map(|entry| entry.version)
}
