//! Rows on their way into data files: split by partition, written, put.

use crate::OpsError;
use crate::layout::{Layout, PartitionLayout, tracking_columns};
use crate::plan::NewFile;
use crate::statement::Writing;
use crate::values::repeated;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{Field, Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use lakebed_data::{ParquetSink, WriteOptions, WrittenFile, align, arrow_schema, narrow, scalar_at};
use lakebed_delta::partition;
use lakebed_naming::Uuid;
use lakebed_naming::delta::{data_file, partition_folder};
use lakebed_storage::Store;
use lakebed_transaction::{Column, ColumnType, RowSet, Scalar};
use std::collections::HashMap;
use std::sync::Arc;

/// The folder of files that tell which rows changed.
const CHANGES_FOLDER: &str = "_change_data/";
/// The column that says what became of a row.
const CHANGE_TYPE: &str = "_change_type";

/// What the files of a writer hold beside the table's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing.
    Rows,
    /// The ids and versions of rows that moved.
    TrackedRows,
    /// What became of each row.
    Changes,
}

/// Writes rows into new files of a table, one open file for each partition that occurs.
pub(crate) struct RowWriter<'a> {
    store: &'a Arc<dyn Store>,
    columns: Vec<Column>,
    partition: Vec<PartitionLayout>,
    in_file: Vec<Column>,
    unstorable: Option<String>,
    options: WriteOptions,
    folder: &'static str,
    /// By the partition values as the log spells them, which are equal exactly when the values are.
    sinks: HashMap<Vec<Option<String>>, Sink>,
    parts: u32,
    files: Vec<NewFile>,
}

struct Sink {
    partition: Vec<(Arc<str>, Scalar)>,
    parquet: ParquetSink,
}

impl<'a> RowWriter<'a> {
    /// # Errors
    /// The table has columns that cannot be written here.
    pub(crate) fn new(
        store: &'a Arc<dyn Store>,
        layout: &Layout,
        writing: &Writing,
        content: Content,
    ) -> Result<Self, OpsError> {
        let extra: Vec<Column> = match (content, &layout.row_ids) {
            (Content::TrackedRows, Some(names)) => tracking_columns(names).into(),
            (Content::Changes, _) => vec![Column::new(CHANGE_TYPE, ColumnType::String, true)],
            (Content::Rows | Content::TrackedRows, _) => Vec::new(),
        };
        let mut options = writing.options.clone().with_stats(layout.stats.clone());
        if let Some(fields) = &layout.file_fields {
            options = options.with_file_schema(Some(named_schema(fields, &extra)?));
        }
        Ok(Self {
            store,
            columns: layout.columns.iter().chain(&extra).cloned().collect(),
            partition: layout.partition.clone(),
            in_file: layout.in_file.iter().chain(&extra).cloned().collect(),
            unstorable: layout.unstorable.clone(),
            options,
            folder: if content == Content::Changes { CHANGES_FOLDER } else { "" },
            sinks: HashMap::new(),
            parts: 0,
            files: Vec::new(),
        })
    }

    /// Takes rows, aligned to the columns by name; what is beside the table's columns may be absent. How many.
    pub(crate) async fn write(&mut self, batch: &RecordBatch) -> Result<u64, OpsError> {
        let batch = align(batch, &self.columns)?;
        for (key, partition, rows) in self.split(&batch)? {
            self.write_into(key, partition, &rows).await?;
        }
        Ok(batch.num_rows() as u64)
    }

    /// Takes rows that all belong to one partition, whose values are known.
    pub(crate) async fn write_in(
        &mut self,
        partition: &[(Arc<str>, Scalar)],
        batch: &RecordBatch,
    ) -> Result<(), OpsError> {
        let batch = align(batch, &self.columns)?;
        self.write_into(self.key(partition), partition.to_vec(), &batch).await
    }

    async fn write_into(
        &mut self,
        key: Vec<Option<String>>,
        partition: Vec<(Arc<str>, Scalar)>,
        rows: &RecordBatch,
    ) -> Result<(), OpsError> {
        if !self.sinks.contains_key(&key) {
            self.refuse_unstorable()?;
            let parquet = ParquetSink::new(&self.in_file, self.options.clone())?;
            self.sinks.insert(key.clone(), Sink { partition, parquet });
        }
        let Some(sink) = self.sinks.get_mut(&key) else { return Ok(()) };
        sink.parquet.write(&narrow(rows, &self.in_file)?)?;
        let files = sink.parquet.take_files();
        let partition = sink.partition.clone();
        self.put(files, &key, &partition).await
    }

    fn refuse_unstorable(&self) -> Result<(), OpsError> {
        let Some(column) = &self.unstorable else { return Ok(()) };
        Err(OpsError::Invalid {
            problem: format!(
                "column {column} has the type void within a list or a map, or nothing beside it, and files hold no void"
            ),
            advice: "give it another type first".to_owned(),
        })
    }

    /// The values of a partition as the log spells them.
    fn key(&self, partition: &[(Arc<str>, Scalar)]) -> Vec<Option<String>> {
        let spelled = self.partition.iter().zip(partition);
        spelled.map(|(known, (_, value))| partition::format(value, &known.column.column_type)).collect()
    }

    /// Takes rows with what became of them.
    pub(crate) async fn write_change(&mut self, batch: &RecordBatch, change: &str) -> Result<(), OpsError> {
        if batch.num_rows() > 0 {
            let names = [Field::new(CHANGE_TYPE, arrow_schema::DataType::Utf8, true)];
            self.write(&widened(batch, names, [repeated(change, batch.num_rows())])?).await?;
        }
        Ok(())
    }

    /// Closes every open file and gives all files that were written.
    pub(crate) async fn finish(mut self) -> Result<Vec<NewFile>, OpsError> {
        self.take().await
    }

    /// Closes every open file and gives the files that were written since the last time.
    pub(crate) async fn take(&mut self) -> Result<Vec<NewFile>, OpsError> {
        let mut sinks: Vec<_> = std::mem::take(&mut self.sinks).into_iter().collect();
        sinks.sort_by(|a, b| a.0.cmp(&b.0));
        for (key, sink) in sinks {
            let files = sink.parquet.finish()?;
            self.put(files, &key, &sink.partition).await?;
        }
        Ok(std::mem::take(&mut self.files))
    }

    /// The rows of a batch by partition, in order of first occurrence.
    #[expect(clippy::type_complexity, reason = "one tuple for each partition, taken apart at once")]
    fn split(
        &self,
        batch: &RecordBatch,
    ) -> Result<Vec<(Vec<Option<String>>, Vec<(Arc<str>, Scalar)>, RecordBatch)>, OpsError> {
        if self.partition.is_empty() {
            return Ok(vec![(Vec::new(), Vec::new(), batch.clone())]);
        }
        let mut order: Vec<(Vec<Option<String>>, Vec<(Arc<str>, Scalar)>, Vec<u32>)> = Vec::new();
        let mut places: HashMap<Vec<Option<String>>, usize> = HashMap::new();
        for row in 0..batch.num_rows() {
            let partition = self.partition_of(batch, row)?;
            let key = self.key(&partition);
            let place = *places.entry(key.clone()).or_insert_with(|| {
                order.push((key, partition, Vec::new()));
                order.len() - 1
            });
            if let (Some((_, _, rows)), Ok(row)) = (order.get_mut(place), u32::try_from(row)) {
                rows.push(row);
            }
        }
        let pick = |rows: Vec<u32>| take_record_batch(batch, &UInt32Array::from(rows));
        order
            .into_iter()
            .map(|(key, partition, rows)| Ok((key, partition, pick(rows).map_err(OpsError::rows("a batch"))?)))
            .collect()
    }

    fn partition_of(&self, batch: &RecordBatch, row: usize) -> Result<Vec<(Arc<str>, Scalar)>, OpsError> {
        self.partition
            .iter()
            .map(|known| {
                let name = &known.column.name;
                let value = batch.column_by_name(name).and_then(|array| scalar_at(array, row));
                let value = value.ok_or_else(|| OpsError::Invalid {
                    problem: format!("column {name} cannot be a partition column with this type"),
                    advice: "partition by a column of a simple type".to_owned(),
                })?;
                if !partition::is_writable(&value) {
                    return Err(OpsError::Invalid {
                        problem: format!("the bytes {value} of partition column {name} are no UTF-8 text"),
                        advice: "partition by another column: such bytes have no spelling in the log".to_owned(),
                    });
                }
                Ok((Arc::from(name.as_str()), value))
            })
            .collect()
    }

    #[expect(clippy::disallowed_methods, reason = "names of new data files are random")]
    async fn put(
        &mut self,
        files: Vec<WrittenFile>,
        key: &[Option<String>],
        partition: &[(Arc<str>, Scalar)],
    ) -> Result<(), OpsError> {
        for file in files {
            let mut object = self.folder.to_owned();
            for (known, value) in self.partition.iter().zip(key) {
                object.push_str(&partition_folder(&known.physical, value.as_deref()));
                object.push('/');
            }
            object.push_str(&data_file(self.parts, Uuid::from_random(*uuid::Uuid::new_v4().as_bytes()), "snappy"));
            self.parts += 1;
            let size_bytes = file.bytes.len() as u64;
            self.store.put(&object, file.bytes).await?;
            self.files.push(NewFile {
                object,
                size_bytes,
                num_rows: file.num_rows,
                partition: partition.to_vec(),
                stats_json: file.stats_json,
                bounds: file.bounds,
                tags: Vec::new(),
                clustered: false,
                deleted: RowSet::new(),
                vector: None,
            });
        }
        Ok(())
    }
}

/// The columns of a file under its own names, and what stands beside them.
fn named_schema(fields: &[Field], extra: &[Column]) -> Result<SchemaRef, OpsError> {
    let extra = arrow_schema(extra)?;
    let all = fields.iter().cloned().map(Arc::new).chain(extra.fields().iter().cloned());
    Ok(Arc::new(Schema::new(all.collect::<Vec<_>>())))
}

/// Rows with columns more.
pub(crate) fn widened<const N: usize>(
    batch: &RecordBatch,
    fields: [Field; N],
    arrays: [ArrayRef; N],
) -> Result<RecordBatch, OpsError> {
    let fields: Vec<_> = batch.schema_ref().fields().iter().cloned().chain(fields.map(Arc::new)).collect();
    let arrays: Vec<_> = batch.columns().iter().cloned().chain(arrays).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(OpsError::rows("a batch"))
}
