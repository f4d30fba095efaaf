//! Statements: as the facade runs them, and as what they do alone.

use crate::rows::{scan, source};
use crate::{Row, State, TrialError};
use lakebed_table::{CommitOptions, CompactRequest, Compaction, MergeSpec, Report, Scope, Table, VersionSpec};
use lakebed_transaction::{Outcome, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which rows a statement looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Only of this partition.
    pub p: Option<i64>,
    /// `id % modulus = remainder`; a modulus of 1 takes every row.
    pub modulus: i64,
    /// See `modulus`.
    pub remainder: i64,
}

impl Filter {
    /// Every row of a partition.
    #[must_use]
    pub const fn partition(p: i64) -> Self {
        Self { p: Some(p), modulus: 1, remainder: 0 }
    }

    /// Whether a row is one of them.
    #[must_use]
    pub fn meets(&self, row: &Row) -> bool {
        self.p.is_none_or(|p| p == row.p) && row.id % self.modulus == self.remainder
    }

    /// As SQL.
    #[must_use]
    pub fn sql(&self) -> String {
        let partition = self.p.map(|p| format!("p = {p}"));
        let rest = (self.modulus != 1).then(|| format!("id % {} = {}", self.modulus, self.remainder));
        let parts: Vec<String> = partition.into_iter().chain(rest).collect();
        if parts.is_empty() { "TRUE".to_owned() } else { parts.join(" AND ") }
    }
}

/// How a table is laid out anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layout {
    /// Files are joined.
    Minor,
    /// The same, and deleted rows go.
    Major,
    /// The same, in the order of `id`.
    Clustered,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Statement {
    /// Rows, blindly.
    Append(Vec<Row>),
    /// The rows that are found once more, under ids that are `shift` larger.
    AppendRead(Filter, i64),
    /// Everything, by these rows.
    Overwrite(Vec<Row>),
    /// A partition, by these rows of it.
    OverwritePartition(i64, Vec<Row>),
    /// The rows of a partition go.
    Truncate(i64),
    /// The rows that are found go.
    Delete(Filter),
    /// `v = v + …` of the rows that are found.
    Update(Filter, i64),
    /// By `id`: rows that are there get these values, others come in.
    Merge(Vec<Row>),
    /// No row changes.
    Compact(Layout),
    /// The table as it was at a version, whose rows these are and which had no property.
    Restore(u64, Vec<Row>),
    /// A property.
    Set(String, String),
}

/// What became of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It is this version.
    Committed {
        /// The version.
        version: u64,
        /// How many entries were offered.
        attempts: u32,
    },
    /// It had nothing to do.
    Nothing,
    /// What landed is in the way.
    Refused {
        /// The version that is in the way.
        with: u64,
        /// Which check of the rules fired.
        check: String,
        /// What it says.
        verdict: String,
        /// The name that Spark's users know.
        class: Option<String>,
    },
    /// The budget ran out.
    Exhausted,
    /// Not known.
    Unknown,
}

impl Answer {
    /// The version that it is.
    #[must_use]
    pub const fn committed(&self) -> Option<u64> {
        if let Self::Committed { version, .. } = self { Some(*version) } else { None }
    }

    /// The answer that a report holds.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        match &report.outcome {
            Outcome::Committed { version, attempts } => Self::Committed { version: version.get(), attempts: *attempts },
            Outcome::Nothing { .. } => Self::Nothing,
            Outcome::Conflict(conflict) => Self::Refused {
                with: conflict.with.get(),
                check: conflict.why.reason.map_or("none", |reason| reason.check).to_owned(),
                verdict: Verdict::name(conflict.why.verdict).to_owned(),
                class: conflict.why.reason.and_then(|reason| reason.error_class).map(str::to_owned),
            },
            Outcome::Exhausted { .. } => Self::Exhausted,
            Outcome::Unknown { .. } => Self::Unknown,
        }
    }
}

impl Statement {
    /// The kind, for tallies.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Append(_) => "append",
            Self::AppendRead(..) => "append with reads",
            Self::Overwrite(_) => "overwrite",
            Self::OverwritePartition(..) => "overwrite of a partition",
            Self::Truncate(_) => "truncate of a partition",
            Self::Delete(_) => "delete",
            Self::Update(..) => "update",
            Self::Merge(_) => "merge",
            Self::Compact(Layout::Minor) => "minor compaction",
            Self::Compact(Layout::Major) => "major compaction",
            Self::Compact(Layout::Clustered) => "clustering",
            Self::Restore(..) => "restore",
            Self::Set(..) => "set property",
        }
    }

    /// What a table holds after it ran alone.
    #[must_use]
    pub fn alone(&self, before: &State) -> State {
        let mut after = before.clone();
        match self {
            Self::Append(rows) => after.add(rows.iter().copied()),
            Self::AppendRead(filter, shift) => {
                let found = before.found(|row| filter.meets(row));
                after.add(found.into_iter().map(|row| Row { id: row.id + shift, ..row }));
            }
            Self::Overwrite(rows) => {
                after.rows.clear();
                after.add(rows.iter().copied());
            }
            Self::OverwritePartition(p, rows) => {
                let _ = after.take(|row| row.p == *p);
                after.add(rows.iter().copied());
            }
            Self::Truncate(p) => drop(after.take(|row| row.p == *p)),
            Self::Delete(filter) => drop(after.take(|row| filter.meets(row))),
            Self::Update(filter, by) => {
                for (row, count) in after.take(|row| filter.meets(row)) {
                    *after.rows.entry(Row { v: row.v + by, ..row }).or_default() += count;
                }
            }
            Self::Merge(rows) => {
                for new in rows {
                    let met: u32 = after.take(|row| row.id == new.id).iter().map(|(_, count)| count).sum();
                    *after.rows.entry(*new).or_default() += met.max(1);
                }
            }
            Self::Compact(_) => {}
            Self::Restore(_, rows) => {
                after = State::default();
                after.add(rows.iter().copied());
            }
            Self::Set(key, value) => drop(after.properties.insert(key.clone(), value.clone())),
        }
        after
    }

    /// Runs it on a handle, on the version that the handle knows.
    ///
    /// # Errors
    /// The facade could not ask, or the format has no such statement.
    pub async fn run(&self, table: &mut Table, commit: &CommitOptions) -> Result<Answer, TrialError> {
        let report = match self {
            Self::Append(rows) => table.append(source(rows), commit).await?,
            Self::AppendRead(filter, shift) => {
                let shifted = |row: Row| Row { id: row.id + shift, ..row };
                return append_read(table, &filter.sql(), shifted, commit).await;
            }
            Self::Overwrite(rows) => table.overwrite(source(rows), &Scope::Whole, commit).await?,
            Self::OverwritePartition(p, rows) => {
                table.overwrite(source(rows), &Scope::Where(format!("p = {p}")), commit).await?
            }
            Self::Truncate(p) => table.truncate(Some(&format!("p = {p}")), commit).await?,
            Self::Delete(filter) => table.delete(&filter.sql(), commit).await?,
            Self::Update(filter, by) => table.update(&[format!("v = v + {by}")], Some(&filter.sql()), commit).await?,
            Self::Merge(rows) => {
                let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
                table.merge(source(rows), &spec, commit).await?
            }
            Self::Compact(layout) => table.compact(&request(*layout), commit).await?,
            Self::Restore(version, _) => table.restore(VersionSpec::Number(*version), commit).await?,
            Self::Set(key, value) => {
                let set = BTreeMap::from([(key.clone(), value.clone())]);
                table.set_properties(set, Vec::new(), commit).await?
            }
        };
        Ok(Answer::of(&report))
    }
}

fn request(layout: Layout) -> CompactRequest {
    let (compaction, cluster_by) = match layout {
        Layout::Minor => (Compaction::Minor, Vec::new()),
        Layout::Major => (Compaction::Major, Vec::new()),
        Layout::Clustered => (Compaction::Major, vec!["id".to_owned()]),
    };
    CompactRequest { compaction, cluster_by, ..CompactRequest::default() }
}

/// An INSERT whose rows come from the table itself: from those that meet all the conditions.
pub(crate) async fn append_read(
    table: &mut Table,
    condition: &str,
    made: impl Fn(Row) -> Row,
    commit: &CommitOptions,
) -> Result<Answer, TrialError> {
    let found = scan(table, table.snapshot(), Some(condition.to_owned())).await?;
    if found.is_empty() {
        return Ok(Answer::Nothing);
    }
    let rows: Vec<Row> = found.into_iter().map(made).collect();
    let batches = source(&rows)()?;
    Ok(Answer::of(&table.append_having_read(batches, &[condition.to_owned()], commit).await?))
}
