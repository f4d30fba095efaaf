//! Columns of a Lance table that change: by themselves, or along with rows that have others.

use crate::commit::Givers;
use crate::lance_rows::{Beside, head};
use crate::lance_statements::{counts, objects};
use crate::snapshot::LanceVersion;
use crate::{CommitOptions, Evolution, Report, Table, TableError};
use lakebed_lance::proto::table::Transaction as Message;
use lakebed_lance::transaction::{merge, overwrite, project, with_schema_metadata};
use lakebed_ops::lance::{self, LanceTable};
use lakebed_ops::{Batches, ColumnChange};
use lakebed_transaction::Column;
use std::collections::BTreeMap;

impl Table {
    pub(crate) async fn change_lance_columns(
        &mut self,
        change: &ColumnChange,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.lance_for("columns")?;
            let (message, written) = self.lance_change(&held, change).await?;
            let answer = self.commit_lance(&held, message, Beside::default(), Givers::One, commit).await;
            let report = self.counted(answer, BTreeMap::new(), written).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    /// The transaction of a change, and the files that were written for it.
    async fn lance_change(
        &self,
        held: &LanceVersion,
        change: &ColumnChange,
    ) -> Result<(Message, Vec<String>), TableError> {
        let snapshot = &held.snapshot;
        let fields = lance::changed_fields(snapshot, change)?;
        Ok(match (change, fields) {
            (ColumnChange::Add { .. }, Some(fields)) => {
                (merge(head(held), snapshot.fragments().to_vec(), fields), Vec::new())
            }
            (ColumnChange::Widen { path, to }, _) => {
                let table = self.lance_table(held, "widening a column")?;
                let widened = lance::widen(&table, path, to).await?;
                let written = widened.written.iter().map(|name| format!("data/{name}")).collect();
                (merge(head(held), widened.fragments, widened.fields), written)
            }
            (ColumnChange::Drop(_) | ColumnChange::Rename { .. } | ColumnChange::Add { .. }, fields) => {
                (project(head(held), fields.unwrap_or_default()), Vec::new())
            }
        })
    }

    /// A version of a Lance table with the columns of rows that are written along; `None` where it has them.
    pub(crate) fn lance_evolved(
        &self,
        held: &LanceVersion,
        evolution: Evolution,
        columns: &[Column],
    ) -> Result<(LanceTable, Option<LanceTable>), TableError> {
        let table = self.lance_table(held, evolution.statement())?;
        let evolved = match evolution {
            Evolution::Merge => table.merged(columns)?,
            Evolution::Replace => table.replaced(columns)?,
        };
        Ok((table, evolved))
    }

    /// Rows with other columns than the table's, in one commit with those.
    pub(crate) async fn write_evolving_lance(
        &mut self,
        evolution: Evolution,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        columns: &[Column],
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            if let Some(done) = self.repeated(commit) {
                return Ok(done);
            }
            let held = self.lance_for(evolution.statement())?;
            let (table, evolved) = self.lance_evolved(&held, evolution, columns)?;
            let Some(evolved) = evolved else {
                return match evolution {
                    Evolution::Merge => self.append_lance(source, commit).await,
                    Evolution::Replace => self.overwrite_lance(source, &crate::Scope::Whole, commit).await,
                };
            };
            let plan = lance::append(&evolved, source()?).await?;
            let (counts, written) = (counts(&plan), objects(&plan.added));
            let fields = evolved.snapshot().fields().to_vec();
            let message = match evolution {
                Evolution::Merge => {
                    let fragments = table.snapshot().fragments().iter().cloned().chain(plan.added);
                    merge(head(&held), fragments.collect(), fields)
                }
                Evolution::Replace => {
                    let message = overwrite(head(&held), plan.added, fields, BTreeMap::new());
                    with_schema_metadata(message, held.snapshot.schema_metadata().clone())
                }
            };
            let answer = self.commit_lance(&held, message, Beside::default(), Givers::One, commit).await;
            let report = self.counted(answer, counts, written).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }
}
