//! The steps of a history, and what they make of a table.

use super::lines::{Line, Lines};
use super::predicate::Predicate;
use super::state::{Fill, State};
use super::statement::{Assignment, Matched};
use crate::support::Rows;

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Append(Rows),
    Overwrite(Rows),
    Delete(Predicate),
    Truncate,
    Update(Assignment, Predicate),
    /// The last is what rows meet that go because only the table has them.
    Merge(Rows, Matched, bool, Option<Predicate>),
    /// Fragments below so many rows are joined.
    Compact(u64),
    AddColumn(String, Fill),
    DropColumn(String),
    RenameColumn(String, String),
    /// Sets a key of a map, or removes it.
    Set(&'static str, String, Option<String>),
    /// Metadata of a column.
    Describe(String, String),
    CreateIndex(String, String),
    DropIndex(String),
    OptimizeIndices,
    Restore(u64),
    /// Makes the tag, or moves it.
    Tag(String, u64),
    Untag(String),
    Branch(String, u64),
    BranchAppend(String, Rows),
    BranchDelete(String, Predicate),
    Unbranch(String),
}

impl Step {
    /// What it is called in the count of steps.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Append(_) => "append",
            Self::Overwrite(_) => "overwrite",
            Self::Delete(_) => "delete",
            Self::Truncate => "truncate",
            Self::Update(..) => "update",
            Self::Merge(..) => "merge",
            Self::Compact(_) => "compact",
            Self::AddColumn(..) => "add column",
            Self::DropColumn(_) => "drop column",
            Self::RenameColumn(..) => "rename column",
            Self::Set(map, ..) => map,
            Self::Describe(..) => "field metadata",
            Self::CreateIndex(..) => "create index",
            Self::DropIndex(_) => "drop index",
            Self::OptimizeIndices => "optimize indices",
            Self::Restore(_) => "restore",
            Self::Tag(..) => "tag",
            Self::Untag(_) => "untag",
            Self::Branch(..) => "branch",
            Self::BranchAppend(..) => "append to a branch",
            Self::BranchDelete(..) => "delete on a branch",
            Self::Unbranch(_) => "remove a branch",
        }
    }

    /// Whether only pylance does it: who has no index library builds no index.
    pub(crate) const fn is_theirs_alone(&self) -> bool {
        matches!(self, Self::CreateIndex(..) | Self::OptimizeIndices)
    }

    /// Whether the table's own versions stay as they are.
    pub(crate) const fn is_beside(&self) -> bool {
        matches!(
            self,
            Self::Tag(..)
                | Self::Untag(_)
                | Self::Branch(..)
                | Self::BranchAppend(..)
                | Self::BranchDelete(..)
                | Self::Unbranch(_)
        )
    }

    /// How many versions it may make at most: a compaction of pylance reserves fragment ids first.
    pub(crate) const fn versions_max(&self) -> u64 {
        if self.is_beside() {
            0
        } else if matches!(self, Self::Compact(_)) {
            2
        } else {
            1
        }
    }

    /// What it makes of the newest version; `states` are those of every version.
    pub(crate) fn apply(&self, state: &State, states: &[State]) -> State {
        let mut left = state.clone();
        match self {
            Self::Append(more) => left.rows.extend(more.clone()),
            Self::Overwrite(more) => {
                left.rows.clone_from(more);
                left.indices.clear();
            }
            Self::Delete(predicate) => left.delete(predicate),
            Self::Truncate => left.rows.clear(),
            Self::Update(assignment, predicate) => left.update(assignment, predicate),
            Self::Merge(source, matched, insert, gone) => left.merge(source, *matched, *insert, gone.as_ref()),
            Self::AddColumn(name, fill) => left.add(name, *fill),
            Self::DropColumn(name) => left.remove(name),
            Self::RenameColumn(from, to) => left.rename(from, to),
            Self::Set(map, key, value) => left.set(map, key, value.as_ref()),
            Self::CreateIndex(name, column) => drop(left.indices.insert(name.clone(), column.clone())),
            Self::DropIndex(name) => drop(left.indices.remove(name)),
            Self::Restore(version) => left.clone_from(&states[usize::try_from(*version).unwrap()]),
            Self::Compact(_)
            | Self::Describe(..)
            | Self::OptimizeIndices
            | Self::Tag(..)
            | Self::Untag(_)
            | Self::Branch(..)
            | Self::BranchAppend(..)
            | Self::BranchDelete(..)
            | Self::Unbranch(_) => {}
        }
        left
    }

    /// What it makes of tags and branches.
    pub(crate) fn apply_beside(&self, lines: &mut Lines, states: &[State]) {
        let line = |version: u64| Line { from: version, state: states[usize::try_from(version).unwrap()].clone() };
        match self {
            Self::Tag(name, version) => drop(lines.tags.insert(name.clone(), *version)),
            Self::Untag(name) => drop(lines.tags.remove(name)),
            Self::Branch(name, version) => drop(lines.branches.insert(name.clone(), line(*version))),
            Self::BranchAppend(name, rows) => lines.branch(name).rows.extend(rows.clone()),
            Self::BranchDelete(name, predicate) => lines.branch(name).delete(predicate),
            Self::Unbranch(name) => drop(lines.branches.remove(name)),
            Self::Append(_)
            | Self::Overwrite(_)
            | Self::Delete(_)
            | Self::Truncate
            | Self::Update(..)
            | Self::Merge(..)
            | Self::Compact(_)
            | Self::AddColumn(..)
            | Self::DropColumn(_)
            | Self::RenameColumn(..)
            | Self::Set(..)
            | Self::Describe(..)
            | Self::CreateIndex(..)
            | Self::DropIndex(_)
            | Self::OptimizeIndices
            | Self::Restore(_) => {}
        }
    }
}
