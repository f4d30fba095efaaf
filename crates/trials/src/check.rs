//! What a policy promises of a history, computed from the rows of every version.
//!
//! Definitions are those of Crooks, Pu, Alvisi and Clement (2017), by the states that transactions read; a version is a state.

use crate::statement::Layout;
use crate::{Row, State, Statement, TrialError};
use std::collections::BTreeSet;

/// One committed statement.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Which state it read: 0 is the one that the history began with.
    pub read: usize,
    /// What it was.
    pub statement: Statement,
    /// What the table held after it.
    pub after: State,
}

impl Commit {
    /// A version that reserves ids for a compaction of a Lance table: no row changes.
    #[must_use]
    pub const fn reservation(read: usize, after: State) -> Self {
        Self { read, statement: Statement::Compact(Layout::Minor), after }
    }
}

/// A history: a state, and the commits that followed, in the order of the log.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What the table held to begin with.
    pub start: State,
    /// The commits.
    pub commits: Vec<Commit>,
}

/// What holds of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Every version is what its statement makes of the version before: serialisable in log order.
    LogOrder,
    /// Every version is what the statements up to it make in some order that keeps real time: write serialisable.
    SomeOrder,
    /// Every statement changed what it read, and no two that ran beside each other changed one row or one register.
    Snapshot,
    /// The same, but an overwrite of the whole table replaces what it meets.
    SnapshotButOverwrites,
}

impl Promise {
    /// The promise of the policy of this name; `None` for one that promises nothing of rows, as MaxCompute's matrix does, or is not known.
    #[must_use]
    pub fn of(policy: &str) -> Option<Self> {
        Some(match policy {
            "precise" | "delta-serializable" => Self::LogOrder,
            "precise-reorder" | "delta-write-serializable" => Self::SomeOrder,
            "delta-snapshot" => Self::Snapshot,
            "lance" => Self::SnapshotButOverwrites,
            _ => return None,
        })
    }

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LogOrder => "serialisable in log order",
            Self::SomeOrder => "write serialisable",
            Self::Snapshot => "snapshot isolation",
            Self::SnapshotButOverwrites => "snapshot isolation, overwrites replace what they meet",
        }
    }

    /// Holds a history against it.
    ///
    /// # Errors
    /// [`TrialError::Broken`]: it does not hold.
    pub fn check(self, history: &History) -> Result<(), TrialError> {
        match self {
            Self::LogOrder => log_order(history),
            Self::SomeOrder => some_order(history),
            Self::Snapshot => snapshot(history, false),
            Self::SnapshotButOverwrites => snapshot(history, true),
        }
    }
}

impl History {
    /// The state of a version; that of the newest beyond.
    fn state(&self, version: usize) -> &State {
        match version.checked_sub(1) {
            None => &self.start,
            Some(at) => self.commits.get(at).or(self.commits.last()).map_or(&self.start, |commit| &commit.after),
        }
    }

    /// Commits with their versions.
    fn versions(&self) -> impl Iterator<Item = (usize, &Commit)> {
        (1..).zip(&self.commits)
    }
}

fn broken(version: usize, problem: impl Into<String>) -> TrialError {
    TrialError::Broken { version, problem: problem.into() }
}

fn log_order(history: &History) -> Result<(), TrialError> {
    for (version, commit) in history.versions() {
        let expected = commit.statement.alone(history.state(version - 1));
        if expected != commit.after {
            return Err(broken(version, format!("{:?} {}", commit.statement, differs(&expected, &commit.after))));
        }
    }
    Ok(())
}

/// How two states differ, in a few rows.
fn differs(expected: &State, found: &State) -> String {
    let (missing, extra) = change(expected, found);
    let few = |rows: &[Row]| format!("{} rows, such as {:?}", rows.len(), rows.iter().take(3).collect::<Vec<_>>());
    format!("leaves out {}, and holds beyond {}", few(&missing), few(&extra))
}

/// The rows that went and those that came from one state to another, each as often as it did.
fn change(before: &State, after: &State) -> (Vec<Row>, Vec<Row>) {
    let beyond = |one: &State, other: &State| {
        let surplus = one.rows.iter().flat_map(|(row, count)| {
            let there = other.rows.get(row).copied().unwrap_or_default();
            (there..*count).map(|_| *row)
        });
        surplus.collect()
    };
    (beyond(before, after), beyond(after, before))
}

/// An order of the commits so far, with the state before each.
#[derive(Default)]
struct Order {
    /// Versions in the order.
    placed: Vec<usize>,
    /// The state before each; one more, the state at the end.
    states: Vec<State>,
}

/// Puts every commit at the latest place that explains its version. An order that explains all of them shows that the history
/// is write serialisable; that none is found in this way does not show that there is none, and is said as it is.
fn some_order(history: &History) -> Result<(), TrialError> {
    let mut order = Order { placed: Vec::new(), states: vec![history.start.clone()] };
    for (version, commit) in history.versions() {
        if !order.place(history, version, commit) {
            let problem = format!("no place in the order of those before explains {:?}", commit.statement);
            return Err(broken(version, problem));
        }
    }
    Ok(())
}

impl Order {
    fn place(&mut self, history: &History, version: usize, commit: &Commit) -> bool {
        for at in (0..=self.placed.len()).rev() {
            if let Some(states) = self.with(history, at, commit) {
                self.placed.insert(at, version);
                self.states.truncate(at + 1);
                self.states.extend(states);
                return true;
            }
            // What it had seen stays before it.
            let stays = at.checked_sub(1).and_then(|before| self.placed.get(before));
            if stays.is_some_and(|seen| *seen <= commit.read) {
                return false;
            }
        }
        false
    }

    /// The states from a place on when a commit is put there, if the last of them is the commit's.
    fn with(&self, history: &History, at: usize, commit: &Commit) -> Option<Vec<State>> {
        let mut state = commit.statement.alone(self.states.get(at)?);
        let mut states = vec![state.clone()];
        for later in self.placed.get(at..)? {
            state = history.commits.get(later - 1)?.statement.alone(&state);
            states.push(state.clone());
        }
        (state == commit.after).then_some(states)
    }
}

fn snapshot(history: &History, overwrites_replace: bool) -> Result<(), TrialError> {
    let mut written: Vec<BTreeSet<Row>> = Vec::new();
    let mut set: Vec<Option<&str>> = Vec::new();
    for (version, commit) in history.versions() {
        let replaces = matches!(commit.statement, Statement::Overwrite(_) | Statement::Restore(..));
        let read = history.state(commit.read);
        let base = if overwrites_replace && replaces { history.state(version - 1) } else { read };
        let expected = change(base, &commit.statement.alone(base));
        let found = change(history.state(version - 1), &commit.after);
        if expected != found {
            let problem =
                format!("{:?} changed {found:?}, and on what it read it changes {expected:?}", commit.statement);
            return Err(broken(version, problem));
        }
        let rows: BTreeSet<Row> =
            if overwrites_replace && replaces { BTreeSet::new() } else { found.0.into_iter().collect() };
        let key = if let Statement::Set(key, _) = &commit.statement { Some(key.as_str()) } else { None };
        for beside in commit.read..version - 1 {
            if let Some(row) = written.get(beside).and_then(|others| others.intersection(&rows).next()) {
                return Err(broken(version, format!("{row:?} was changed by version {}, too", beside + 1)));
            }
            if key.is_some() && set.get(beside).copied().flatten() == key {
                return Err(broken(version, format!("{key:?} was set by version {}, too", beside + 1)));
            }
        }
        written.push(rows);
        set.push(key);
    }
    Ok(())
}
