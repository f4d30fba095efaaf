//! Checkpoints that hold partition values only as columns of their types.

use crate::support::snapshot_of;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{Field, Fields, Schema};
use bytes::Bytes;
use lakebed_delta::{Load, LoadStep, Snapshot, partition, write_checkpoint};
use lakebed_transaction::Scalar;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::sync::Arc;

const COLUMNS: [(&str, &str, &str); 13] = [
    ("flag", "boolean", "true"),
    ("tiny", "byte", "-7"),
    ("small", "short", "300"),
    ("int", "integer", "-70000"),
    ("long", "long", "9007199254740993"),
    ("narrow", "float", "0.1"),
    ("wide", "double", "1.0E-5"),
    ("money", "decimal(20,2)", "12345678901234567.80"),
    ("day", "date", "2024-02-29"),
    ("instant", "timestamp", "2024-02-29T12:34:56.000789Z"),
    ("wall", "timestamp_ntz", "1969-12-31 23:59:59.5"),
    ("text", "string", "a b/c=ü"),
    ("bytes", "binary", "plain"),
];

fn first() -> String {
    let field = |(name, kind, _): &(&str, &str, &str)| {
        format!(r#"{{\"name\":\"{name}\",\"type\":\"{kind}\",\"nullable\":true,\"metadata\":{{}}}}"#)
    };
    let id = field(&("id", "long", ""));
    let fields: Vec<String> = std::iter::once(id).chain(COLUMNS.iter().map(field)).collect();
    let names: Vec<String> = COLUMNS.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
    let values: Vec<String> = COLUMNS.iter().map(|(name, _, text)| format!("\"{name}\":\"{text}\"")).collect();
    let nulls: Vec<String> = COLUMNS.iter().map(|(name, ..)| format!("\"{name}\":null")).collect();
    let add = |path: &str, values: &[String]| {
        format!(
            r#"{{"add":{{"path":"{path}","partitionValues":{{{}}},"size":1,"modificationTime":1,"dataChange":true}}}}"#,
            values.join(",")
        )
    };
    [
        r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["timestampNtz"],"writerFeatures":["timestampNtz"]}}"#
            .to_owned(),
        format!(
            r#"{{"metaData":{{"id":"t","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{{\"type\":\"struct\",\"fields\":[{}]}}","partitionColumns":[{}],"configuration":{{"delta.checkpoint.writeStatsAsStruct":"true"}}}}}}"#,
            fields.join(","),
            names.join(",")
        ),
        add("full.parquet", &values),
        add("none.parquet", &nulls),
    ]
    .join("\n")
}

/// The bytes of a checkpoint whose `add` has no `partitionValues`.
fn without_texts(bytes: &Bytes) -> Bytes {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(|batch| stripped(&batch.unwrap())).collect();
    let schema = batches[0].schema();
    for batch in &batches {
        assert_eq!(batch.schema(), schema);
    }
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    Bytes::from(writer.into_inner().unwrap())
}

fn stripped(batch: &RecordBatch) -> RecordBatch {
    let (mut fields, mut columns): (Vec<Arc<Field>>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if field.name() != "add" {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
            continue;
        }
        let add = column.as_struct();
        let kept = add.fields().iter().zip(add.columns()).filter(|(field, _)| field.name() != "partitionValues");
        let (inner, arrays): (Vec<Arc<Field>>, Vec<ArrayRef>) =
            kept.map(|(field, array)| (Arc::clone(field), Arc::clone(array))).unzip();
        assert_eq!(inner.len() + 1, add.num_columns());
        let inner = Fields::from(inner);
        fields.push(Arc::new(Field::new("add", arrow_schema::DataType::Struct(inner.clone()), true)));
        columns.push(Arc::new(StructArray::new(inner, arrays, add.nulls().cloned())));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn values(snapshot: &Snapshot, path: &str) -> Vec<Scalar> {
    let add = snapshot.file(path).unwrap();
    let of = |column: lakebed_conflict::delta::PartitionColumn| {
        partition::parse(add.partition_values.get(&column.physical_name), &column.column_type).unwrap()
    };
    snapshot.core().partition_columns().into_iter().map(of).collect()
}

#[test]
fn partition_values_that_stand_only_in_columns_are_read() {
    let source = snapshot_of(&[&first()]);
    let file = write_checkpoint(&source, 0).unwrap();
    let bytes = without_texts(&file.bytes);
    let mut load = Load::new([(file.name.to_string(), bytes.len() as u64)], true, None);
    let LoadStep::Needs(_) = load.step().unwrap() else { panic!("the checkpoint is read") };
    load.feed(file.name, Some(bytes));
    let LoadStep::Done(read) = load.step().unwrap() else { panic!("nothing more is needed") };
    assert_eq!(values(&read, "full.parquet"), values(&source, "full.parquet"));
    assert!(values(&source, "full.parquet").iter().all(|value| *value != Scalar::Null));
    assert!(values(&read, "none.parquet").iter().all(|value| *value == Scalar::Null));
    // They are texts again, under their names, so that a commit may name them.
    let add = read.file("full.parquet").unwrap();
    assert_eq!(add.partition_values.iter().count(), COLUMNS.len());
    assert_eq!(add.partition_values.get("money"), Some("12345678901234567.80"));
}
