//! Where a compaction put the rows of the files that it joined.

use crate::action::{Action, Add, DeletionVector};
use crate::path;
use lakebed_transaction::{RowSet, Shift, UnitId, UnitSet};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tag under which a joined file lists where its rows come from: its sources in order, each with its path, its physical rows,
/// and the deletion vector whose rows were dropped.
pub const SOURCES: &str = "lakebed.sources";

/// A source as the tag tells it.
#[derive(Debug, Deserialize)]
struct Source {
    path: String,
    rows: u64,
    dropped: Option<DeletionVector>,
}

/// The place of one source's rows in a joined file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Move {
    /// The joined file, as the log spells it.
    pub(super) target: Arc<str>,
    /// The source, as the log spells it.
    source: Arc<str>,
    /// Where its rows stand there.
    shift: Shift,
}

impl Move {
    /// Physical rows of the source.
    pub(super) const fn rows(&self) -> u64 {
        self.shift.rows
    }

    /// Where rows of the source stand in the joined file; those that were dropped stand nowhere.
    pub(super) fn places(&self, rows: &RowSet) -> RowSet {
        self.shift.places(rows)
    }
}

/// The moves of one commit, by the source's identity.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves(BTreeMap<String, Move>);

impl Moves {
    /// What the tags of a commit's files tell, where it fits: a tag that is not understood, names a file that stays, or does not
    /// add up to the rows of its file, tells nothing.
    pub(super) fn of(actions: &[Action], vectors: super::images::Vectors<'_>) -> Self {
        let mut moves = Self::default();
        let files = actions.iter().filter_map(Action::as_add);
        files.filter_map(|add| of_file(add, vectors)).for_each(|found| moves.0.extend(found));
        if !moves.0.is_empty() {
            let gone: std::collections::BTreeSet<String> = actions
                .iter()
                .filter_map(Action::as_remove)
                .map(|remove| path::identity(&remove.path).into_owned())
                .collect();
            moves.0.retain(|source, _| gone.contains(source));
        }
        moves
    }

    /// The move of a file, by its identity.
    pub(super) fn of_source(&self, identity: &str) -> Option<&Move> {
        self.0.get(identity)
    }

    /// The files whose rows can be followed.
    pub(super) fn sources(&self) -> UnitSet {
        self.0.values().map(|moved| UnitId::file(&moved.source)).collect()
    }

    /// The files that tags name as sources.
    pub(super) fn named_sources(actions: &[Action]) -> UnitSet {
        let adds = actions.iter().filter_map(Action::as_add).filter_map(sources);
        adds.flatten().map(|source| UnitId::file(&source.path)).collect()
    }

    /// The vectors that have to be known before the tags of these files tell anything.
    pub(super) fn vectors_of(actions: &[Action]) -> impl Iterator<Item = DeletionVector> + '_ {
        let sources = actions.iter().filter_map(Action::as_add).filter_map(sources);
        sources.flatten().filter_map(|source| source.dropped)
    }
}

fn sources(add: &Add) -> Option<Vec<Source>> {
    serde_json::from_str(add.tags.as_ref()?.get(SOURCES)?).ok()
}

fn of_file(add: &Add, vectors: super::images::Vectors<'_>) -> Option<Vec<(String, Move)>> {
    let (mut offset, mut moves) = (0_u64, Vec::new());
    for source in sources(add)? {
        let dropped = match &source.dropped {
            None => RowSet::new(),
            Some(vector) => vectors(vector)?,
        };
        let shift = Shift { offset, rows: source.rows, dropped };
        offset = shift.end()?;
        let moved = Move { target: Arc::clone(&add.path), source: Arc::from(source.path.as_str()), shift };
        moves.push((path::identity(&source.path).into_owned(), moved));
    }
    (add.num_records() == Some(offset)).then_some(moves)
}
