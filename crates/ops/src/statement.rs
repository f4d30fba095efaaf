//! What a statement writes with.

use crate::rows::{Content, RowWriter};
use crate::{Layout, OpsError, Plan, SqlEngine};
use arrow_array::RecordBatch;
use lakebed_data::{WriteOptions, filter_mask};
use lakebed_delta::deletion_vector::VectorFile;
use lakebed_naming::Uuid;
use lakebed_storage::Store;
use lakebed_transaction::Expr;
use std::sync::Arc;

/// How statements write.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Writing {
    /// How files are written.
    pub options: WriteOptions,
    /// Computes what our grammar does not cover.
    pub engine: Option<Arc<dyn SqlEngine>>,
}

impl Writing {
    /// With an engine.
    #[must_use]
    pub fn with_engine(mut self, engine: Option<Arc<dyn SqlEngine>>) -> Self {
        self.engine = engine;
        self
    }
}

/// The writers of one statement: rows, and what became of them.
pub(crate) struct Writers<'a> {
    pub(crate) layout: &'a Layout,
    engine: Option<Arc<dyn SqlEngine>>,
    pub(crate) rows: RowWriter<'a>,
    /// Tells which rows changed, on tables that want that.
    pub(crate) changes: Option<RowWriter<'a>>,
}

impl<'a> Writers<'a> {
    /// Writers of new rows alone: files that only come are their own record of changes.
    pub(crate) fn appending(
        store: &'a Arc<dyn Store>,
        layout: &'a Layout,
        writing: &Writing,
    ) -> Result<Self, OpsError> {
        let rows = RowWriter::new(store, layout, writing, Content::Rows)?;
        Ok(Self { layout, engine: writing.engine.clone(), rows, changes: None })
    }

    /// Writers of new, moved and changed rows.
    pub(crate) fn changing(store: &'a Arc<dyn Store>, layout: &'a Layout, writing: &Writing) -> Result<Self, OpsError> {
        let rows = RowWriter::new(store, layout, writing, Content::TrackedRows)?;
        let changes =
            if layout.change_feed { Some(RowWriter::new(store, layout, writing, Content::Changes)?) } else { None };
        Ok(Self { layout, engine: writing.engine.clone(), rows, changes })
    }

    /// Takes new rows, completed and checked; how many.
    pub(crate) async fn insert(&mut self, batch: &RecordBatch) -> Result<u64, OpsError> {
        let rows = self.layout.values.complete(batch, self.engine.as_deref())?;
        self.note(&rows, "insert").await?;
        self.rows.write(&rows).await
    }

    /// Takes new rows, each of which must meet a predicate, too.
    pub(crate) async fn insert_within(
        &mut self,
        batch: &RecordBatch,
        predicate: &Expr,
        text: &str,
    ) -> Result<u64, OpsError> {
        let rows = self.layout.values.complete(batch, self.engine.as_deref())?;
        let outside = rows.num_rows() - filter_mask(predicate, &rows)?.true_count();
        if outside > 0 {
            return Err(OpsError::Invalid {
                problem: format!("{outside} of the new rows do not meet the overwritten range `{text}`"),
                advice: "overwrite only the range that the new rows belong to".to_owned(),
            });
        }
        self.note(&rows, "insert").await?;
        self.rows.write(&rows).await
    }

    /// Rows that a statement changed, made whole and checked.
    pub(crate) fn recheck(&self, batch: &RecordBatch) -> Result<RecordBatch, OpsError> {
        self.layout.values.recheck(batch, self.engine.as_deref())
    }

    /// Writes down what became of rows.
    pub(crate) async fn note(&mut self, rows: &RecordBatch, change: &str) -> Result<(), OpsError> {
        match &mut self.changes {
            Some(changes) => changes.write_change(rows, change).await,
            None => Ok(()),
        }
    }

    /// Closes the files and writes the deletion vectors; they go into the plan.
    pub(crate) async fn finish(self, store: &Arc<dyn Store>, plan: &mut Plan) -> Result<(), OpsError> {
        plan.added = self.rows.finish().await?;
        if let Some(changes) = self.changes {
            plan.changes = changes.finish().await?;
        }
        write_vectors(store, plan).await
    }
}

/// One file for all vectors of the statement.
#[expect(clippy::disallowed_methods, reason = "names of new files are random")]
pub(crate) async fn write_vectors(store: &Arc<dyn Store>, plan: &mut Plan) -> Result<(), OpsError> {
    if plan.marked.is_empty() && plan.added.iter().all(|file| file.deleted.is_empty()) {
        return Ok(());
    }
    let mut file = VectorFile::new(Uuid::from_random(*uuid::Uuid::new_v4().as_bytes()));
    for marked in &mut plan.marked {
        marked.vector = Some(file.push(&marked.rows)?);
    }
    for added in plan.added.iter_mut().filter(|added| !added.deleted.is_empty()) {
        added.vector = Some(file.push(&added.deleted)?);
    }
    let (object, bytes) = file.finish();
    Ok(store.put(&object, bytes).await?)
}
