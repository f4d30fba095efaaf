//! Which tables, which programs, and how files are written.

use crate::program::{Filter, Program, reference_programs};
use crate::table::{File, Row, Table, every_table};
use std::fmt;

/// One way in which a universe goes beyond the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Two partitions, by `k`; programs that overwrite one.
    Partitions,
    /// A schema that changes what is stored; programs that change it.
    Schema,
    /// An application with numbered batches.
    Application,
    /// Files with deleted rows in them from the start.
    Vectors,
    /// Row changes replace files by copies instead of deleting rows in place.
    Copies,
    /// Some programs replace files by copies, others delete rows in place.
    Mixed,
    /// Nobody records where rows went.
    NoMaps,
    /// Statistics that say nothing of `v` and too little of `k`.
    WideStatistics,
}

impl Axis {
    /// Every axis.
    pub const ALL: [Self; 8] = [
        Self::Partitions,
        Self::Schema,
        Self::Application,
        Self::Vectors,
        Self::Copies,
        Self::Mixed,
        Self::NoMaps,
        Self::WideStatistics,
    ];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partitions => "two partitions",
            Self::Schema => "schema register",
            Self::Application => "application id",
            Self::Vectors => "deletion vectors",
            Self::Copies => "copy on write",
            Self::Mixed => "copies beside vectors",
            Self::NoMaps => "no address maps",
            Self::WideStatistics => "wide statistics",
        }
    }
}

/// Tables, programs and how files are written.
#[derive(Clone, Debug, Default)]
pub struct Universe {
    axes: Vec<Axis>,
    /// The tables to begin with.
    pub tables: Vec<Table>,
    /// The programs.
    pub programs: Vec<Program>,
}

impl Universe {
    /// Every table of up to `rows` rows and every program, with these axes.
    #[must_use]
    pub fn new(rows: usize, axes: &[Axis]) -> Self {
        let mut universe = Self { axes: axes.to_vec(), tables: every_table(rows), programs: reference_programs() };
        for axis in axes {
            universe.extend(*axis);
        }
        universe
    }

    /// Whether it goes along this axis.
    #[must_use]
    pub fn has(&self, axis: Axis) -> bool {
        self.axes.contains(&axis)
    }

    /// Whether row changes of this program replace files by copies.
    #[must_use]
    pub fn copies(&self, program: Program) -> bool {
        let in_the_mix = matches!(program.looks_for(), Some(Filter::V(_))) || matches!(program, Program::Merge(0, _));
        self.has(Axis::Copies) || (self.has(Axis::Mixed) && in_the_mix)
    }

    fn extend(&mut self, axis: Axis) {
        match axis {
            Axis::Partitions => {
                let one_k = |file: &File| file.rows.windows(2).all(|pair| matches!(pair, [a, b] if a.k == b.k));
                self.tables.retain(|table| table.files.iter().all(one_k));
                for k in 0..2 {
                    self.programs
                        .extend([Program::OverwritePartition(k, None), Program::OverwritePartition(k, Some(0))]);
                }
            }
            Axis::Schema => {
                self.also(|table| table.schema = 1);
                self.programs.extend([Program::Alter, Program::AlterUnless(0), Program::AlterUnless(1)]);
            }
            Axis::Application => {
                self.also(|table| table.batch = 1);
                self.programs.extend([
                    Program::Stream(0, 0),
                    Program::StreamUpdate(0, 1),
                    Program::StreamUpdate(1, 0),
                    Program::InsertAfterBatch(0, 1),
                    Program::InsertAfterBatch(1, 0),
                ]);
            }
            Axis::Vectors => self.also(with_deleted_rows),
            Axis::Copies | Axis::Mixed | Axis::NoMaps | Axis::WideStatistics => {}
        }
    }

    /// Adds a changed copy of every table.
    fn also(&mut self, change: impl Fn(&mut Table)) {
        let mut changed = self.tables.clone();
        changed.iter_mut().for_each(change);
        self.tables.extend(changed);
    }

    /// Puts rows into files, by partition where there are any.
    pub fn put(&self, table: &mut Table, rows: Vec<Row>) {
        if self.has(Axis::Partitions) {
            let (zeros, ones) = rows.into_iter().partition(|row| row.k == 0);
            table.put(zeros);
            table.put(ones);
        } else {
            table.put(rows);
        }
    }
}

/// A deleted row of the same partition and the other `v` at the beginning of every file.
fn with_deleted_rows(table: &mut Table) {
    let mut next = table.next_row;
    for file in &mut table.files {
        if let Some(first) = file.rows.first().copied() {
            file.rows.insert(0, Row { id: next, k: first.k, v: 1 - first.v });
            file.dead = file.dead << 1 | 1;
            next += 1;
        }
    }
    table.next_row = next;
}

impl fmt::Display for Universe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.axes.is_empty() {
            return f.write_str("base");
        }
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name()).collect();
        f.write_str(&names.join(" + "))
    }
}
