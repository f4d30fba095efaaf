//! What a transaction reads and writes, in terms that no format owns.

use crate::{Expr, RowSet, Unit, UnitId, UnitSet};
use std::sync::Arc;

/// What a transaction reads and writes.
///
/// Reads are what the writer *looked at* to decide what to write; they are captured when the transaction is built and
/// never rebuilt later. An empty footprint reads and writes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Footprint {
    /// Units whose rows were read.
    pub read_units: UnitSet,
    /// The whole table was read, including what is not in any unit yet.
    pub read_whole_table: bool,
    /// Predicates under which rows were looked for.
    pub predicates: Vec<ReadPredicate>,
    /// Keys that were probed, found or not.
    pub keys: Vec<KeyProbe>,
    /// Units that are taken out.
    pub removed_units: UnitSet,
    /// Units whose rows change in place (deletion vectors, column rewrites) and that stay.
    pub updated_units: UnitSet,
    /// Units that are put in.
    pub added_units: Vec<Unit>,
    /// Rows deleted or rewritten, by unit, where the writer knows them.
    pub rows: Vec<(UnitId, RowSet)>,
    /// Columns whose values change in place, by field id; empty where whole rows are written.
    pub columns: Vec<i64>,
    /// Registers read and written.
    pub registers: Vec<(Register, Access)>,
    /// The writer says that it read nothing of the table.
    pub blind: bool,
    /// Whether anything that a scan returns changes.
    pub data_change: bool,
}

/// One read: the filters that held together when rows were looked for. No filter matches every row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadPredicate {
    /// Filters over partition columns only.
    pub partition: Vec<Expr>,
    /// Filters that mention any other column.
    pub data: Vec<Expr>,
}

impl ReadPredicate {
    /// Every row: no filter.
    #[must_use]
    pub const fn everything() -> Self {
        Self { partition: Vec::new(), data: Vec::new() }
    }

    /// The filters as one condition.
    #[must_use]
    pub fn condition(&self) -> Expr {
        self.partition.iter().chain(&self.data).cloned().reduce(Expr::and).unwrap_or_else(Expr::always)
    }
}

/// Keys that were looked up, as a merge does, whether they were found or not.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyProbe {
    /// The key's columns.
    pub columns: Vec<Arc<str>>,
    /// The condition that a row with one of the keys meets.
    pub matches: Expr,
}

/// A named cell of table state outside the rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Register {
    /// Columns, their types and their nullability.
    Schema,
    /// Versions and features that a reader or writer must have.
    Protocol,
    /// One table property.
    Property(Arc<str>),
    /// One application's last transaction number.
    Application(Arc<str>),
    /// One named document of domain metadata.
    Domain(Arc<str>),
    /// One index.
    Index(Arc<str>),
}

/// How a register is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Its value decided something.
    Read,
    /// It is set or removed.
    Write,
    /// Something is added to it that commutes with other additions.
    Append,
    /// It is raised to at least this value; raising commutes.
    Raise(u64),
}

impl Footprint {
    /// Every unit that the transaction takes out or changes in place.
    #[must_use]
    pub fn modified_units(&self) -> UnitSet {
        self.removed_units.as_slice().iter().chain(self.updated_units.as_slice()).cloned().collect()
    }

    /// Whether the transaction looked at any row, key or the table as a whole.
    #[must_use]
    pub fn reads_rows(&self) -> bool {
        self.read_whole_table || !self.predicates.is_empty() || !self.read_units.is_empty() || !self.keys.is_empty()
    }
}
