//! The rows that one Delta commit brought and took.
//!
//! Facts: Delta protocol, "Change Data Files" and "Deletion Vectors". Where a commit has change data files, they alone tell. Else
//! files that came and went do, unless their `dataChange` is false: a compaction moves rows and changes none. A file that only
//! changed its deletion vector lost the rows that the new vector has and the old one has not.
//!
//! Where the table keeps no change data feed, a rewritten file brings back the rows that its statement did not touch. Rows that
//! went and came back equal in one commit are left out then: they did not change.

use crate::OpsError;
use crate::names::with_column;
use crate::netted::{Netting, Unchanged};
use crate::scan::{deleted_rows, open_rows};
use crate::view::{Deleted, FileReader, SnapshotView, ViewFile};
use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use lakebed_data::{ParquetRows, ReadOptions};
use lakebed_delta::Snapshot;
use lakebed_delta::action::{Action, Add, AddCdc, Remove};
use lakebed_delta::deletion_vector::{VectorPlace, place};
use lakebed_delta::path::identity;
use lakebed_storage::Store;
use lakebed_transaction::{Column, ColumnType, RowSet};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The column of change data files that says what became of the row.
const CHANGE_TYPE: &str = "_change_type";

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It came: inserted, or the new side of an update.
    Insert,
    /// It went: deleted, or the old side of an update.
    Delete,
}

impl Change {
    /// `insert` or `delete`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }

    /// What a change data file calls a row of this kind.
    fn is_called(self, text: &str) -> bool {
        match self {
            Self::Insert => matches!(text, "insert" | "update_postimage"),
            Self::Delete => matches!(text, "delete" | "update_preimage"),
        }
    }
}

/// The changes of one commit, batch by batch: first every row that went, then every row that came, each with the columns of the
/// version in which it stood.
///
/// Memory holds one batch; where rows that came back equal must be left out, also the text of every row that went.
#[derive(Debug)]
pub struct Changes {
    store: Arc<dyn Store>,
    parts: VecDeque<Part>,
    open: Option<(ParquetRows, Part)>,
    same: Option<Unchanged>,
    is_netted: bool,
}

/// Rows of one file with what became of them.
#[derive(Clone, Debug)]
struct Part {
    change: Change,
    file: ViewFile,
    which: Which,
    columns: Arc<[Column]>,
}

#[derive(Clone, Debug)]
enum Which {
    /// All that the file's own deletion vector leaves.
    Live,
    /// Those that the first vector deletes and the second does not.
    Between(Deleted, Deleted),
    /// Those that the file itself tells.
    Told,
}

impl Changes {
    /// The changes of the commit with these actions, between the versions on either side of it.
    ///
    /// # Errors
    /// An action cannot be read as a file of the table.
    pub fn new(
        store: Arc<dyn Store>,
        before: &Snapshot,
        after: &Snapshot,
        actions: &[Action],
    ) -> Result<Self, OpsError> {
        let told: Vec<&AddCdc> =
            actions.iter().filter_map(|action| if let Action::Cdc(cdc) = action { Some(cdc) } else { None }).collect();
        let mut parts = if told.is_empty() { moved(before, after, actions)? } else { told_parts(after, &told)? };
        parts.sort_by_key(|part| part.change == Change::Insert);
        let both = parts.iter().any(|part| part.change == Change::Delete)
            && parts.iter().any(|part| part.change == Change::Insert);
        let is_netted = both && told.is_empty() && !after.metadata().flag("delta.enableChangeDataFeed");
        Ok(Self { store, parts: parts.into(), open: None, same: None, is_netted })
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read.
    pub async fn next(&mut self) -> Result<Option<(Change, RecordBatch)>, OpsError> {
        if self.is_netted && self.same.is_none() {
            let look = self.again();
            self.same = Some(look.unchanged().await?);
        }
        while let Some((change, batch)) = self.raw().await? {
            let batch = match &mut self.same {
                None => batch,
                Some(same) => same.leave_out(change, &batch)?,
            };
            if batch.num_rows() > 0 {
                return Ok(Some((change, batch)));
            }
        }
        Ok(None)
    }

    /// The objects below the table's root that the rows not yet read are read from, deletion vectors included.
    ///
    /// # Errors
    /// A deletion vector's place cannot be read.
    pub fn objects(&self) -> Result<Vec<String>, OpsError> {
        let mut objects = Vec::new();
        for part in &self.parts {
            if !part.file.outside {
                objects.push(part.file.object.clone());
            }
            let vectors = match &part.which {
                Which::Live => vec![&part.file.deleted],
                Which::Between(with, without) => vec![with, without],
                Which::Told => Vec::new(),
            };
            for vector in vectors {
                if let Deleted::Vector(vector) = vector
                    && let VectorPlace::Object { object, .. } = place(vector)?
                {
                    objects.push(object);
                }
            }
        }
        Ok(objects)
    }

    /// The same changes from their beginning, as the files tell them.
    fn again(&self) -> Self {
        let parts = self.parts.clone();
        Self { store: Arc::clone(&self.store), parts, open: None, same: None, is_netted: false }
    }

    /// How many rows of each text went and came back.
    async fn unchanged(mut self) -> Result<Unchanged, OpsError> {
        let mut netting = Netting::default();
        while let Some((change, batch)) = self.raw().await? {
            netting.see(change, &batch)?;
        }
        Ok(netting.unchanged())
    }

    /// The next rows of the files, those that came back included.
    async fn raw(&mut self) -> Result<Option<(Change, RecordBatch)>, OpsError> {
        loop {
            let (mut rows, part) = match self.open.take() {
                Some(open) => open,
                None => match self.parts.pop_front() {
                    Some(part) => match part.open(&self.store).await? {
                        Some(rows) => (rows, part),
                        None => continue,
                    },
                    None => return Ok(None),
                },
            };
            let Some(read) = rows.next().await? else { continue };
            let change = part.change;
            let batch = if matches!(part.which, Which::Told) { of_kind(&read.batch, change)? } else { read.batch };
            self.open = Some((rows, part));
            if batch.num_rows() > 0 {
                return Ok(Some((change, batch)));
            }
        }
    }
}

impl Part {
    /// The file, opened; `None` where nothing of it is wanted.
    async fn open(&self, store: &Arc<dyn Store>) -> Result<Option<ParquetRows>, OpsError> {
        let (file, columns) = (&self.file, &self.columns);
        let rows = match &self.which {
            Which::Live => {
                let deleted = deleted_rows(store, file).await?;
                open_rows(store, file, |options| options.with_deleted(deleted), columns, None).await
            }
            Which::Between(with, without) => {
                let with = rows_of(store, file, with).await?;
                let without = rows_of(store, file, without).await?;
                let only = with.difference(&without);
                if only.is_empty() {
                    return Ok(None);
                }
                let only = |options: ReadOptions| options.with_only(Some(only));
                open_rows(store, file, only, columns, None).await
            }
            Which::Told => {
                let own: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
                let names = with_column(file.names.as_ref(), &own, (CHANGE_TYPE, CHANGE_TYPE));
                let told = ViewFile { names: Some(names), ..file.clone() };
                let change_type = Column::new(CHANGE_TYPE, ColumnType::String, true);
                let columns: Vec<Column> = columns.iter().cloned().chain([change_type]).collect();
                open_rows(store, &told, |options| options, &columns, None).await
            }
        };
        rows.map(Some)
    }
}

async fn rows_of(store: &Arc<dyn Store>, file: &ViewFile, deleted: &Deleted) -> Result<RowSet, OpsError> {
    let file = ViewFile { deleted: deleted.clone(), ..file.clone() };
    Ok(deleted_rows(store, &file).await?.unwrap_or_default())
}

/// The rows of one kind, without the column that tells it.
fn of_kind(batch: &RecordBatch, change: Change) -> Result<RecordBatch, OpsError> {
    let last = batch.num_columns().saturating_sub(1);
    let is_this = |text: Option<&str>| Some(text.is_some_and(|text| change.is_called(text)));
    let kinds = batch.column(last).as_string_opt::<i32>();
    let mask: BooleanArray = kinds.into_iter().flat_map(|kinds| kinds.iter().map(is_this)).collect();
    let own: Vec<usize> = (0..last).collect();
    let rows = batch.project(&own).map_err(OpsError::rows("a change data file"))?;
    filter_record_batch(&rows, &mask).map_err(OpsError::rows("a change data file"))
}

fn told_parts(after: &Snapshot, told: &[&AddCdc]) -> Result<Vec<Part>, OpsError> {
    let (reader, columns) = (FileReader::new(after)?, columns(after));
    let mut parts = Vec::new();
    for cdc in told {
        let file = reader.file(&cdc.path, &cdc.partition_values, cdc.size)?;
        for change in [Change::Delete, Change::Insert] {
            parts.push(Part { change, file: file.clone(), which: Which::Told, columns: Arc::clone(&columns) });
        }
    }
    Ok(parts)
}

fn columns(snapshot: &Snapshot) -> Arc<[Column]> {
    SnapshotView::columns(snapshot).into()
}

/// What the files that came and went hold.
fn moved(before: &Snapshot, after: &Snapshot, actions: &[Action]) -> Result<Vec<Part>, OpsError> {
    let (old, new) = (FileReader::new(before)?, FileReader::new(after)?);
    let (old_columns, new_columns) = (columns(before), columns(after));
    // Live files that went, by the file they name; a remove of what was not there changes nothing.
    let mut gone: HashMap<String, (&Arc<Add>, bool)> = HashMap::new();
    for remove in actions.iter().filter_map(as_remove) {
        if let Some(live) = before.file(&remove.key()) {
            gone.insert(identity(&live.path).into_owned(), (live, remove.data_change));
        }
    }
    let mut parts = Vec::new();
    for add in actions.iter().filter_map(as_add) {
        let part = |change, which| -> Result<Part, OpsError> {
            Ok(Part { change, file: new.live(add)?, which, columns: Arc::clone(&new_columns) })
        };
        match gone.remove(&*identity(&add.path)) {
            Some((was, changed)) => {
                if add.data_change || changed {
                    let (was, is) = (vector_of(was), vector_of(add));
                    parts.push(part(Change::Delete, Which::Between(is.clone(), was.clone()))?);
                    parts.push(part(Change::Insert, Which::Between(was, is))?);
                }
            }
            // What is live already only gets other statistics.
            None if !add.data_change || before.file(&add.key()).is_some() => {}
            None => parts.push(part(Change::Insert, Which::Live)?),
        }
    }
    let mut gone: Vec<_> = gone.into_values().filter(|(_, changed)| *changed).collect();
    gone.sort_by(|a, b| a.0.path.cmp(&b.0.path));
    for (was, _) in gone {
        let (file, columns) = (old.live(was)?, Arc::clone(&old_columns));
        parts.push(Part { change: Change::Delete, file, which: Which::Live, columns });
    }
    Ok(parts)
}

fn vector_of(add: &Add) -> Deleted {
    add.deletion_vector.clone().map_or(Deleted::Nothing, Deleted::Vector)
}

const fn as_add(action: &Action) -> Option<&Add> {
    if let Action::Add(add) = action { Some(add) } else { None }
}

const fn as_remove(action: &Action) -> Option<&Remove> {
    if let Action::Remove(remove) = action { Some(remove) } else { None }
}
