//! Rows on their way into data files: split by partition, written, put.

use crate::plan::NewFile;
use crate::{OpsError, SnapshotView};
use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use lakebed_data::{ParquetSink, WriteOptions, WrittenFile, align, scalar_at};
use lakebed_delta::partition;
use lakebed_naming::Uuid;
use lakebed_naming::delta::{data_file, partition_folder};
use lakebed_storage::Store;
use lakebed_transaction::{Column, ColumnType, Scalar};
use std::collections::HashMap;
use std::sync::Arc;

/// Writes rows into new data files of a table, one open file for each partition that occurs.
pub(crate) struct RowWriter<'a> {
    store: &'a Arc<dyn Store>,
    columns: Vec<Column>,
    partition_columns: Vec<Column>,
    file_columns: Vec<Column>,
    options: WriteOptions,
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
    pub(crate) fn new(store: &'a Arc<dyn Store>, view: &dyn SnapshotView, options: WriteOptions) -> Self {
        let columns = view.columns();
        let names = view.partition_columns();
        let is_partition = |column: &Column| names.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
        let partition_columns = names
            .iter()
            .filter_map(|name| columns.iter().find(|c| c.name.eq_ignore_ascii_case(name)).cloned())
            .collect();
        // A column of type void is in no file.
        let is_void = |column: &Column| column.column_type == ColumnType::Other("void".to_owned());
        let in_file = |column: &&Column| !is_partition(column) && !is_void(column);
        let file_columns = columns.iter().filter(in_file).cloned().collect();
        Self {
            store,
            columns,
            partition_columns,
            file_columns,
            options,
            sinks: HashMap::new(),
            parts: 0,
            files: Vec::new(),
        }
    }

    /// Takes rows, aligned to the table's columns by name.
    pub(crate) async fn write(&mut self, batch: &RecordBatch) -> Result<u64, OpsError> {
        let batch = align(batch, &self.columns)?;
        for (key, partition, rows) in self.split(&batch)? {
            if !self.sinks.contains_key(&key) {
                let parquet = ParquetSink::new(&self.file_columns, self.options.clone())?;
                self.sinks.insert(key.clone(), Sink { partition, parquet });
            }
            let Some(sink) = self.sinks.get_mut(&key) else { continue };
            let indices: Vec<usize> =
                self.file_columns.iter().filter_map(|c| rows.schema().index_of(&c.name).ok()).collect();
            sink.parquet.write(&rows.project(&indices).map_err(OpsError::rows("a batch"))?)?;
            let files = sink.parquet.take_files();
            let partition = sink.partition.clone();
            self.put(files, &key, &partition).await?;
        }
        Ok(batch.num_rows() as u64)
    }

    /// Closes every open file and gives all files that were written.
    pub(crate) async fn finish(mut self) -> Result<Vec<NewFile>, OpsError> {
        let mut sinks: Vec<_> = std::mem::take(&mut self.sinks).into_iter().collect();
        sinks.sort_by(|a, b| a.0.cmp(&b.0));
        for (key, sink) in sinks {
            let files = sink.parquet.finish()?;
            self.put(files, &key, &sink.partition).await?;
        }
        Ok(self.files)
    }

    /// The rows of a batch by partition, in order of first occurrence.
    #[expect(clippy::type_complexity, reason = "one tuple for each partition, taken apart at once")]
    fn split(
        &self,
        batch: &RecordBatch,
    ) -> Result<Vec<(Vec<Option<String>>, Vec<(Arc<str>, Scalar)>, RecordBatch)>, OpsError> {
        if self.partition_columns.is_empty() {
            return Ok(vec![(Vec::new(), Vec::new(), batch.clone())]);
        }
        let mut order: Vec<(Vec<Option<String>>, Vec<(Arc<str>, Scalar)>, Vec<u32>)> = Vec::new();
        let mut places: HashMap<Vec<Option<String>>, usize> = HashMap::new();
        for row in 0..batch.num_rows() {
            let partition = self.partition_of(batch, row)?;
            let key: Vec<Option<String>> = self
                .partition_columns
                .iter()
                .zip(&partition)
                .map(|(column, (_, value))| partition::format(value, &column.column_type))
                .collect();
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
        self.partition_columns
            .iter()
            .map(|column| {
                let value = batch.column_by_name(&column.name).and_then(|array| scalar_at(array, row));
                let value = value.ok_or_else(|| OpsError::Invalid {
                    problem: format!("column {} cannot be a partition column with this type", column.name),
                    advice: "partition by a column of a simple type".to_owned(),
                })?;
                if !partition::is_writable(&value) {
                    return Err(OpsError::Invalid {
                        problem: format!("the bytes {value} of partition column {} are no UTF-8 text", column.name),
                        advice: "partition by another column: such bytes have no spelling in the log".to_owned(),
                    });
                }
                Ok((Arc::from(column.name.as_str()), value))
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
            let mut object = String::new();
            for (column, value) in self.partition_columns.iter().zip(key) {
                object.push_str(&partition_folder(&column.name, value.as_deref()));
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
            });
        }
        Ok(())
    }
}
