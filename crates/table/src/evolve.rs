//! Columns that change: by themselves, or along with rows that have others.

use crate::delta_rows::discard_lost;
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::{CommitOptions, Report, Table, TableError, application};
use lakebed_ops::{
    Batches, ColumnChange, Evolved, Layout, OpsError, OverwriteScope, Writing, append, change_columns, merged_schema,
    overwrite, replaced_schema,
};
use lakebed_transaction::Column;
use std::collections::BTreeMap;

/// How rows and columns of a table meet that do not fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evolution {
    /// Columns that the rows have and the table has not come to the table.
    Merge,
    /// The table gets the columns of the rows.
    Replace,
}

impl Evolution {
    pub(crate) const fn statement(self) -> &'static str {
        match self {
            Self::Merge => "append",
            Self::Replace => "overwrite",
        }
    }

    fn of(self, held: &DeltaVersion, columns: &[Column]) -> Result<Option<Evolved>, OpsError> {
        match self {
            Self::Merge => merged_schema(&held.snapshot, columns),
            Self::Replace => replaced_schema(&held.snapshot, columns),
        }
    }
}

impl Table {
    /// Changes columns. `upgrade` turns on what that needs of a Delta table: column mapping to drop or rename, type widening to
    /// widen. On a Lance table a wider column is written anew.
    ///
    /// # Errors
    /// The change does not fit the table, or the store cannot be asked. Nothing was committed.
    pub async fn change_columns(
        &mut self,
        change: &ColumnChange,
        upgrade: bool,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        if let Snapshot::Lance(_) = &self.snapshot {
            return self.change_lance_columns(change, commit).await;
        }
        let held = self.delta_for("columns")?;
        let statement = change_columns(&held.snapshot, change, upgrade)?;
        self.commit_statement(&held, statement, BTreeMap::new(), commit).await
    }

    /// The columns that rows are to be brought to when the table follows those of `columns`.
    ///
    /// # Errors
    /// They do not fit the table.
    pub fn evolved_columns(&self, evolution: Evolution, columns: &[Column]) -> Result<Vec<Column>, TableError> {
        if let Snapshot::Lance(held) = &self.snapshot {
            let (table, evolved) = self.lance_evolved(held, evolution, columns)?;
            return Ok(evolved.unwrap_or(table).columns().to_vec());
        }
        let held = self.delta_for("a change of columns along with rows")?;
        let evolved = evolution.of(&held, columns)?;
        Ok(evolved.map_or_else(|| held.snapshot.schema().columns(), |evolved| evolved.snapshot.schema().columns()))
    }

    /// Appends rows, and in the same commit adds the columns of `columns` that the table does not have. `source` gives rows
    /// that fit [`Table::evolved_columns`].
    ///
    /// # Errors
    /// As [`Table::append`].
    pub async fn append_merging(
        &mut self,
        source: impl FnMut() -> Result<Batches, TableError>,
        columns: &[Column],
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        self.write_evolving(Evolution::Merge, source, columns, commit).await
    }

    /// Replaces all rows, and in the same commit the columns by `columns`.
    ///
    /// # Errors
    /// As [`Table::overwrite`].
    pub async fn overwrite_replacing(
        &mut self,
        source: impl FnMut() -> Result<Batches, TableError>,
        columns: &[Column],
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        self.write_evolving(Evolution::Replace, source, columns, commit).await
    }

    async fn write_evolving(
        &mut self,
        evolution: Evolution,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        columns: &[Column],
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        if let Snapshot::Lance(_) = &self.snapshot {
            return self.write_evolving_lance(evolution, source, columns, commit).await;
        }
        let writing = Writing::default().with_engine(commit.engine.clone());
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.delta_for(evolution.statement())?;
            if let Some(done) = application::repeated(held.snapshot.core(), commit) {
                return Ok(done);
            }
            let evolved = evolution.of(&held, columns)?;
            let view = evolved.as_ref().map_or(&*held.snapshot, |evolved| &evolved.snapshot);
            let (mut plan, allowed) = match evolution {
                Evolution::Merge => {
                    let layout = Layout::of(view.core())?;
                    (append(self.store(), &layout, source()?, &writing).await?, "canMergeSchema")
                }
                Evolution::Replace => {
                    let plan = overwrite(self.store(), view, source()?, &OverwriteScope::Whole, &writing).await?;
                    (plan, "canOverwriteSchema")
                }
            };
            plan.parameters.insert(allowed.to_owned(), "true".to_owned());
            plan.lost_plannings = plannings - 1;
            let answer = self.commit_evolved(&held, evolved.as_ref(), &plan, commit).await;
            let report = discard_lost(&**self.store(), answer, plan.objects()).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }
}
