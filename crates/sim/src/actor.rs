//! Processes of the simulated world.

use crate::audit::Audit;
use crate::family::Family;
use crate::rng::Rng;
use crate::setup::Setup;
use lakebed_commit::{Answer, Request};

/// What a process sees of the world while it thinks.
pub(crate) struct View<'a, X: Family> {
    /// Its own clock, in milliseconds; it may stand apart from the store's.
    pub(crate) now_ms: u64,
    pub(crate) rng: &'a mut Rng,
    pub(crate) audit: &'a mut Audit<X>,
    pub(crate) setup: &'a Setup,
    pub(crate) stats: &'a mut Stats,
    /// No new work is begun.
    pub(crate) closing: bool,
    /// A writer is still at work.
    pub(crate) writing: bool,
    pub(crate) trace: Option<&'a mut Vec<String>>,
}

impl<X: Family> View<'_, X> {
    /// Notes something for who reads the trace.
    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(text());
        }
    }
}

/// What a process wants next.
pub(crate) enum Next {
    /// These requests, at once.
    Ask(Vec<Request>),
    /// To sleep so many milliseconds.
    Sleep(u64),
    /// Nothing any more.
    Over,
}

/// One process: it is woken with answers, thinks without taking time, and asks again.
pub(crate) trait Actor<X: Family> {
    /// Goes on: after a sleep without answers, after requests with one for each.
    fn resume(&mut self, answers: Vec<Answer>, view: &mut View<'_, X>) -> Next;
    /// Loses what it was doing; with `memory`, not what it knew of the table.
    fn interrupted(&mut self, memory: bool, view: &mut View<'_, X>);
    /// Whether it commits transactions.
    fn writes(&self) -> bool;
}

/// What happened in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Versions that landed.
    pub commits: u64,
    /// Commits answered *conflict*.
    pub conflicts: u64,
    /// Commits answered *unknown*.
    pub unknowns: u64,
    /// Commits whose budget ran out.
    pub exhausted: u64,
    /// Commits that ended with an error.
    pub errors: u64,
    /// Faults that struck.
    pub faults: u64,
    /// Entries that landed in numbers that a cleanup had freed.
    pub strays: u64,
    /// Searches for a transaction that ended.
    pub searches: u64,
    /// Versions and other objects that cleanups removed.
    pub cleaned: u64,
    /// Checkpoints that were written.
    pub checkpoints: u64,
    /// Versions that readers opened.
    pub reads: u64,
    /// Requests that the store saw.
    pub requests: u64,
}

impl Stats {
    /// Adds another run.
    pub const fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.conflicts += other.conflicts;
        self.unknowns += other.unknowns;
        self.exhausted += other.exhausted;
        self.errors += other.errors;
        self.faults += other.faults;
        self.strays += other.strays;
        self.searches += other.searches;
        self.cleaned += other.cleaned;
        self.checkpoints += other.checkpoints;
        self.reads += other.reads;
        self.requests += other.requests;
    }
}
