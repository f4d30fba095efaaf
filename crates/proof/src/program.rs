//! Programs: statements over the small table, and what each does when it runs alone.

use crate::table::Bag;

/// Which rows a program looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Every row.
    All,
    /// `k = …`
    K(u8),
    /// `v = …`
    V(u8),
}

impl Filter {
    /// Whether a row is one of them.
    #[must_use]
    pub const fn holds(self, k: u8, v: u8) -> bool {
        match self {
            Self::All => true,
            Self::K(wanted) => k == wanted,
            Self::V(wanted) => v == wanted,
        }
    }
}

/// What an UPDATE sets `v` to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// This value.
    To(u8),
    /// The other value.
    Flipped,
}

impl Set {
    /// The new value.
    #[must_use]
    pub const fn of(self, v: u8) -> u8 {
        match self {
            Self::To(value) => value,
            Self::Flipped => 1 - v,
        }
    }
}

/// One statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// One row, blindly.
    Insert(u8, u8),
    /// The rows with this `v` once more, with the other `v`.
    InsertSelf(u8),
    /// `v` of the rows that are found.
    Update(Filter, Set),
    /// The rows that are found.
    Delete(Filter),
    /// Sets `v` of the rows with this `k`, or inserts one.
    Merge(u8, u8),
    /// Everything, by this row or by nothing, blindly.
    Overwrite(Option<(u8, u8)>),
    /// Everything, by those rows of it that have this `v`.
    OverwriteByPart(u8),
    /// Everything, by its rows with the other `v`.
    OverwriteFlipped,
    /// All files into one.
    Compact,
    /// The rows with this `k`, by one row or by nothing, blindly.
    OverwritePartition(u8, Option<u8>),
    /// Changes the schema to the other one.
    Alter,
    /// Changes the schema to 1 where no row has this `v`.
    AlterUnless(u8),
    /// Where the application's batch 1 has not been written: one row, and the batch.
    Stream(u8, u8),
    /// Where the application's batch 1 has not been written: sets `v` of the rows with this `k`, and the batch.
    StreamUpdate(u8, u8),
    /// One row where the application's batch 1 has been written.
    InsertAfterBatch(u8, u8),
}

/// The kinds of which the reference gives shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Adds without looking.
    Insert,
    /// Adds what it read of the table itself.
    InsertSelf,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
    /// INSERT OVERWRITE, TRUNCATE, or of a partition.
    Overwrite,
    /// INSERT OVERWRITE with rows of the table itself.
    OverwriteSelf,
    /// Compaction.
    Compact,
    /// The schema.
    Alter,
}

impl Program {
    /// What it is called.
    #[must_use]
    pub const fn statement(self) -> Statement {
        match self {
            Self::Insert(..) | Self::Stream(..) | Self::InsertAfterBatch(..) => Statement::Insert,
            Self::InsertSelf(_) => Statement::InsertSelf,
            Self::Update(..) | Self::StreamUpdate(..) => Statement::Update,
            Self::Delete(_) => Statement::Delete,
            Self::Merge(..) => Statement::Merge,
            Self::Overwrite(_) | Self::OverwritePartition(..) => Statement::Overwrite,
            Self::OverwriteByPart(_) | Self::OverwriteFlipped => Statement::OverwriteSelf,
            Self::Compact => Statement::Compact,
            Self::Alter | Self::AlterUnless(_) => Statement::Alter,
        }
    }

    /// Whether it reads rows of the table to make those that it writes anew, other than by changing them.
    #[must_use]
    pub fn reads_itself(self) -> bool {
        matches!(self.statement(), Statement::InsertSelf | Statement::OverwriteSelf)
    }

    /// The rows that it looks for; `None`: it looks for none.
    #[must_use]
    pub const fn looks_for(self) -> Option<Filter> {
        match self {
            Self::Insert(..)
            | Self::Overwrite(_)
            | Self::OverwritePartition(..)
            | Self::Alter
            | Self::Stream(..)
            | Self::InsertAfterBatch(..)
            | Self::Compact => None,
            Self::InsertSelf(v) | Self::AlterUnless(v) => Some(Filter::V(v)),
            Self::Update(filter, _) | Self::Delete(filter) => Some(filter),
            Self::Merge(k, _) | Self::StreamUpdate(k, _) => Some(Filter::K(k)),
            Self::OverwriteByPart(_) | Self::OverwriteFlipped => Some(Filter::All),
        }
    }

    /// What the table is after it ran alone.
    #[must_use]
    pub fn alone(self, before: Bag) -> Bag {
        let mut after = before;
        let stored = |v: u8| v ^ before.schema;
        match self {
            Self::Insert(k, v) => after.add(k, stored(v), 1),
            Self::InsertSelf(v) => each(|k, old| {
                if old == v {
                    after.add(k, stored(1 - v), before.count(k, old))
                }
            }),
            Self::Update(filter, set) => after = updated(before, filter, set),
            Self::Delete(filter) => after = without(before, filter),
            Self::Merge(k, v) => after = merged(before, k, v),
            Self::Overwrite(row) => {
                after = without(before, Filter::All);
                row.into_iter().for_each(|(k, v)| after.add(k, stored(v), 1));
            }
            Self::OverwriteByPart(v) => {
                after = without(before, Filter::All);
                each(|k, old| {
                    if old == v {
                        after.add(k, stored(v), before.count(k, old))
                    }
                });
            }
            Self::OverwriteFlipped => {
                after = without(before, Filter::All);
                each(|k, old| after.add(k, stored(1 - old), before.count(k, old)));
            }
            Self::Compact => {}
            Self::OverwritePartition(k, row) => {
                after = without(before, Filter::K(k));
                row.into_iter().for_each(|v| after.add(k, stored(v), 1));
            }
            Self::Alter => after.schema = 1 - before.schema,
            Self::AlterUnless(v) if before.count(0, v) + before.count(1, v) == 0 => after.schema = 1,
            Self::Stream(k, v) if before.batch == 0 => {
                after.add(k, stored(v), 1);
                after.batch = 1;
            }
            Self::StreamUpdate(k, v) if before.batch == 0 => {
                after = updated(before, Filter::K(k), Set::To(v));
                after.batch = 1;
            }
            Self::InsertAfterBatch(k, v) if before.batch == 1 => after.add(k, stored(v), 1),
            Self::AlterUnless(_) | Self::Stream(..) | Self::StreamUpdate(..) | Self::InsertAfterBatch(..) => {}
        }
        after
    }
}

fn each(mut row: impl FnMut(u8, u8)) {
    for k in 0..2 {
        for v in 0..2 {
            row(k, v);
        }
    }
}

fn without(mut bag: Bag, filter: Filter) -> Bag {
    for (k, row) in (0..).zip(&mut bag.counts) {
        for (v, count) in (0..).zip(row) {
            if filter.holds(k, v) {
                *count = 0;
            }
        }
    }
    bag
}

fn updated(before: Bag, filter: Filter, set: Set) -> Bag {
    let mut after = without(before, filter);
    each(|k, v| {
        if filter.holds(k, v) {
            after.add(k, set.of(v) ^ before.schema, before.count(k, v));
        }
    });
    after
}

fn merged(before: Bag, k: u8, v: u8) -> Bag {
    let found = before.count(k, 0) + before.count(k, 1);
    let mut after = without(before, Filter::K(k));
    after.add(k, v ^ before.schema, found.max(1));
    after
}

/// The 33 programs of the reference.
#[must_use]
pub fn reference_programs() -> Vec<Program> {
    let mut programs = Vec::new();
    each(|k, v| {
        programs.extend([
            Program::Insert(k, v),
            Program::Overwrite(Some((k, v))),
            Program::Merge(k, v),
            Program::Update(Filter::K(k), Set::To(v)),
        ]);
    });
    for one in 0..2 {
        programs.extend([
            Program::Update(Filter::K(one), Set::Flipped),
            Program::Delete(Filter::K(one)),
            Program::Update(Filter::V(one), Set::To(1 - one)),
            Program::Delete(Filter::V(one)),
            Program::InsertSelf(one),
            Program::OverwriteByPart(one),
        ]);
    }
    programs.extend([
        Program::Update(Filter::All, Set::Flipped),
        Program::Delete(Filter::All),
        Program::Overwrite(None),
        Program::OverwriteFlipped,
        Program::Compact,
    ]);
    programs
}
