//! Processes that look after the table, and one that only reads.

use crate::actor::{Actor, Next, View};
use crate::family::{Family, Looking, Names, Opening, take_page};
use bytes::Bytes;
use lakebed_commit::{Answer, ObjectName, Request};
use lakebed_naming::Version;
use std::collections::BTreeSet;

/// A cleanup, again and again: it lists, reads, and removes entries first and what only they named after them.
pub(crate) struct Cleaner {
    stage: Cleaning,
}

enum Cleaning {
    Rest,
    Listing(Names),
    /// Reading entries that go and entries that stay.
    Reading {
        old: Vec<ObjectName>,
        names: Vec<ObjectName>,
    },
    /// Removing one object after the other.
    Removing(Vec<ObjectName>),
}

impl Cleaner {
    pub(crate) const fn new() -> Self {
        Self { stage: Cleaning::Rest }
    }

    fn list<X: Family>(&mut self, names: Names, after: Option<ObjectName>, page: usize) -> Next {
        self.stage = Cleaning::Listing(names);
        Next::Ask(vec![Request::List { prefix: X::folder(), after, limit: page }])
    }

    fn listed<X: Family>(&mut self, names: &Names, view: &mut View<'_, X>) -> Next {
        let listed: Vec<(ObjectName, u64)> = names.iter().map(|(name, (_, at_ms))| (name.clone(), *at_ms)).collect();
        let mut cleanable = X::cleanable(&listed, view.now_ms.saturating_sub(view.setup.retention_ms));
        if cleanable.old.is_empty() {
            return self.rest(view);
        }
        // Where each entry stands for itself nothing may hang on the order. Of a log the oldest go first, as names sort: a hole must not lie
        // above a start from which it could be read over once somebody who slept for longer than everything filled it.
        match view.setup.seed % 3 {
            1 if !X::READS_ON => cleanable.old.reverse(),
            2 if !X::READS_ON => cleanable.old.sort_by_key(|name| crate::family::digest_of(&name.as_str())),
            _ => cleanable.old.sort(),
        }
        if cleanable.kept.is_empty() {
            return self.remove(cleanable.old, view);
        }
        let names: Vec<ObjectName> = cleanable.old.iter().chain(&cleanable.kept).cloned().collect();
        let requests = names.iter().cloned().map(Request::Get).collect();
        self.stage = Cleaning::Reading { old: cleanable.old, names };
        Next::Ask(requests)
    }

    fn read<X: Family>(
        &mut self,
        mut old: Vec<ObjectName>,
        names: &[ObjectName],
        answers: Vec<Answer>,
        view: &mut View<'_, X>,
    ) -> Next {
        let (mut going, mut staying) = (BTreeSet::new(), BTreeSet::new());
        for (name, answer) in names.iter().zip(answers) {
            let (Answer::Bytes(bytes), Some(version)) = (answer, X::entry_version(name)) else {
                return self.rest(view);
            };
            let set = if old.contains(name) { &mut going } else { &mut staying };
            set.extend(X::names(version, &bytes));
        }
        old.extend(going.difference(&staying).cloned());
        self.remove(old, view)
    }

    fn remove<X: Family>(&mut self, mut left: Vec<ObjectName>, view: &mut View<'_, X>) -> Next {
        if left.is_empty() {
            return self.rest(view);
        }
        view.stats.cleaned += 1;
        let next = left.remove(0);
        self.stage = Cleaning::Removing(left);
        Next::Ask(vec![Request::Delete(next)])
    }

    fn rest<X: Family>(&mut self, view: &mut View<'_, X>) -> Next {
        self.stage = Cleaning::Rest;
        Next::Sleep(view.rng.between(1, view.setup.retention_ms))
    }
}

impl<X: Family> Actor<X> for Cleaner {
    fn resume(&mut self, answers: Vec<Answer>, view: &mut View<'_, X>) -> Next {
        let page = view.setup.page.max(3);
        match std::mem::replace(&mut self.stage, Cleaning::Rest) {
            Cleaning::Rest if view.closing && !view.writing => Next::Over,
            Cleaning::Rest => self.list::<X>(Names::new(), None, page),
            Cleaning::Listing(mut names) => match take_page(&mut names, answers.into_iter().next(), &X::folder(), page)
            {
                Err(_) => self.rest(view),
                Ok(Some(next)) => {
                    self.stage = Cleaning::Listing(names);
                    Next::Ask(vec![next])
                }
                Ok(None) => self.listed(&names, view),
            },
            Cleaning::Reading { old, names } => self.read(old, &names, answers, view),
            // What was not removed is left to the next cleanup, but nothing that an entry names goes before the entry.
            Cleaning::Removing(left) => match answers.first() {
                Some(Answer::Deleted) => self.remove(left, view),
                _ => self.rest(view),
            },
        }
    }

    fn interrupted(&mut self, _: bool, _: &mut View<'_, X>) {
        self.stage = Cleaning::Rest;
    }

    fn writes(&self) -> bool {
        false
    }
}

/// A process that writes checkpoints, slowly.
pub(crate) struct Checkpointer<X: Family> {
    stage: Checkpointing<X>,
    last: Option<X::Snap>,
}

enum Checkpointing<X: Family> {
    Rest,
    Opening { looking: Looking<X>, tip: Option<u64> },
    Putting(Vec<(ObjectName, Bytes)>),
}

impl<X: Family> Checkpointer<X> {
    pub(crate) const fn new() -> Self {
        Self { stage: Checkpointing::Rest, last: None }
    }

    fn put(&mut self, left: Vec<(ObjectName, Bytes)>, view: &mut View<'_, X>) -> Next {
        let Some((name, bytes)) = left.first().cloned() else {
            view.stats.checkpoints += 1;
            return self.rest(view);
        };
        self.stage = Checkpointing::Putting(left);
        Next::Ask(vec![Request::Put(name, bytes)])
    }

    fn rest(&mut self, view: &mut View<'_, X>) -> Next {
        self.stage = Checkpointing::Rest;
        Next::Sleep(view.rng.between(view.setup.retention_ms / 2, view.setup.retention_ms * 2))
    }
}

impl<X: Family> Actor<X> for Checkpointer<X> {
    fn resume(&mut self, answers: Vec<Answer>, view: &mut View<'_, X>) -> Next {
        match std::mem::replace(&mut self.stage, Checkpointing::Rest) {
            Checkpointing::Rest if view.closing => Next::Over,
            Checkpointing::Rest => {
                let page = view.setup.page.max(4);
                let looking = Looking::begin(None, self.last.clone(), page, (view.now_ms, view.setup, &mut *view.rng));
                self.stage = Checkpointing::Opening { looking, tip: view.audit.tip };
                self.resume(Vec::new(), view)
            }
            Checkpointing::Opening { mut looking, tip } => match looking.go_on(answers, view.now_ms, view.rng) {
                Opening::Ask(requests) => {
                    self.stage = Checkpointing::Opening { looking, tip };
                    Next::Ask(requests)
                }
                Opening::Done(Some(snap)) => {
                    view.audit.read(X::version(&snap), X::digest(&snap), tip);
                    self.last = Some(snap.clone());
                    let objects = X::checkpoint(&snap, view.now_ms);
                    self.put(objects, view)
                }
                Opening::Done(None) | Opening::Failed(_) => self.rest(view),
            },
            Checkpointing::Putting(mut left) => {
                if answers.first() == Some(&Answer::Stored) {
                    left.remove(0);
                    return self.put(left, view);
                }
                self.rest(view)
            }
        }
    }

    fn interrupted(&mut self, _: bool, _: &mut View<'_, X>) {
        self.stage = Checkpointing::Rest;
    }

    fn writes(&self) -> bool {
        false
    }
}

/// A reader that opens the newest version and then stays with it.
pub(crate) struct Reader<X: Family> {
    pinned: Option<Version>,
    stage: Option<(Looking<X>, Option<u64>)>,
    turns: u32,
}

impl<X: Family> Reader<X> {
    pub(crate) const fn new() -> Self {
        Self { pinned: None, stage: None, turns: 0 }
    }

    fn rest(&mut self, view: &mut View<'_, X>) -> Next {
        self.turns += 1;
        if self.turns.is_multiple_of(3) {
            self.pinned = None;
        }
        Next::Sleep(view.rng.between(view.setup.retention_ms / 4, view.setup.retention_ms))
    }
}

impl<X: Family> Actor<X> for Reader<X> {
    fn resume(&mut self, answers: Vec<Answer>, view: &mut View<'_, X>) -> Next {
        let Some((mut looking, tip)) = self.stage.take() else {
            if view.closing && !view.writing {
                return Next::Over;
            }
            let page = view.setup.page.max(4);
            let looking = Looking::begin(self.pinned, None, page, (view.now_ms, view.setup, &mut *view.rng));
            self.stage = Some((looking, view.audit.tip));
            return self.resume(Vec::new(), view);
        };
        let asked_all =
            answers.iter().all(|answer| matches!(answer, Answer::Bytes(_) | Answer::Absent | Answer::Names(_)));
        match looking.go_on(answers, view.now_ms, view.rng) {
            Opening::Ask(requests) => {
                self.stage = Some((looking, tip));
                Next::Ask(requests)
            }
            Opening::Done(Some(snap)) => {
                let version = X::version(&snap);
                view.stats.reads += 1;
                let least = if self.pinned.is_some() { self.pinned.map(Version::get) } else { tip };
                view.audit.read(version, X::digest(&snap), least);
                self.pinned = Some(version);
                self.rest(view)
            }
            Opening::Done(None) => self.rest(view),
            Opening::Failed(problem) => {
                if let (true, Some(pinned)) = (asked_all, self.pinned) {
                    view.audit.unreadable(pinned, &problem);
                    self.pinned = None;
                }
                self.rest(view)
            }
        }
    }

    fn interrupted(&mut self, _: bool, _: &mut View<'_, X>) {
        self.stage = None;
    }

    fn writes(&self) -> bool {
        false
    }
}
