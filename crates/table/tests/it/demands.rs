//! What a table demands of its rows: constraints, defaults, generated and identity columns, lengths.

use crate::support::{committed, once, opened, place, source};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray, record_batch};
use arrow_schema::Field;
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_storage::Store;
use lakebed_table::{Prepared, ScanRequest, SqlEngine, Table, TableFormat};
use lakebed_transaction::Column;
use std::sync::Arc;

/// A table whose columns carry metadata, as another client would have made it.
async fn table(fields: &str, configuration: &str) -> (Arc<dyn Store>, Table) {
    let store = place(TableFormat::Delta);
    let features =
        r#"["appendOnly","invariants","checkConstraints","generatedColumns","allowColumnDefaults","identityColumns"]"#;
    let schema = serde_json::to_string(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#)).unwrap();
    let text = format!(
        r#"{{"protocol":{{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":{features}}}}}
{{"metaData":{{"id":"t","format":{{"provider":"parquet","options":{{}}}},"schemaString":{schema},"partitionColumns":[],"configuration":{{{configuration}}},"createdTime":1}}}}"#
    );
    store.put(&commit_path(Version::new(0)), Bytes::from(text)).await.unwrap();
    let table = opened(&store).await;
    (store, table)
}

fn field(name: &str, kind: &str, metadata: &str) -> String {
    format!(r#"{{"name":"{name}","type":"{kind}","nullable":true,"metadata":{{{metadata}}}}}"#)
}

async fn refused(table: &mut Table, rows: RecordBatch, part: &str) {
    let before = table.version();
    let error = table.append(source(rows), &once()).await.unwrap_err().to_string();
    assert!(error.contains(part), "{error} does not say {part}");
    assert_eq!(table.version(), before);
}

async fn longs(table: &Table, column: &str) -> Vec<Option<i64>> {
    let mut found = Vec::new();
    for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
        found.extend(batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().iter());
    }
    found.sort_unstable();
    found
}

#[tokio::test]
async fn a_constraint_holds_for_new_changed_and_merged_rows_and_null_breaks_it() {
    let (_, mut table) = table(&field("a", "long", ""), r#""delta.constraints.pos":"a > 0""#).await;
    committed(&table.append(source(record_batch!(("a", Int64, [1, 2])).unwrap()), &once()).await.unwrap());
    refused(&mut table, record_batch!(("a", Int64, [3, 0])).unwrap(), "1 of the rows violate pos (a > 0)").await;
    refused(&mut table, record_batch!(("a", Int64, [None, Some(5)])).unwrap(), "pos").await;
    let error = table.update(&["a = a - 1".to_owned()], None, &once()).await.unwrap_err().to_string();
    assert!(error.contains("pos"), "{error}");
    committed(&table.update(&["a = a + 1".to_owned()], Some("a = 2"), &once()).await.unwrap());
    assert_eq!(longs(&table, "a").await, [Some(1), Some(3)]);
    // Rows that stay are not judged again: a delete goes through, whatever they are.
    committed(&table.delete("a = 1", &once()).await.unwrap());
}

#[tokio::test]
async fn an_invariant_of_a_column_is_checked() {
    let invariant = r#""delta.invariants":"{\"expression\":{\"expression\":\"a < 10\"}}""#;
    let (_, mut table) = table(&field("a", "long", invariant), "").await;
    committed(&table.append(source(record_batch!(("a", Int64, [1])).unwrap()), &once()).await.unwrap());
    refused(&mut table, record_batch!(("a", Int64, [10])).unwrap(), "invariant of a").await;
}

/// Rows of one column `s`, a struct of one field `x`.
fn within(x: ArrayRef) -> RecordBatch {
    let field = Field::new("x", x.data_type().clone(), true);
    let s: ArrayRef = Arc::new(StructArray::from(vec![(Arc::new(field), x)]));
    RecordBatch::try_from_iter([("s", s)]).unwrap()
}

/// A struct `s` of one field `x`.
fn nested(kind: &str, own: &str, metadata: &str) -> String {
    let inner = field("x", kind, own);
    format!(r#"{{"name":"s","type":{{"type":"struct","fields":[{inner}]}},"nullable":true,"metadata":{{{metadata}}}}}"#)
}

/// Spark looks for invariants in fields of structs, too.
#[tokio::test]
async fn an_invariant_of_a_field_is_checked() {
    let invariant = r#""delta.invariants":"{\"expression\":{\"expression\":\"s.x < 10\"}}""#;
    let (_, mut table) = table(&nested("long", invariant, ""), "").await;
    let rows = |x: i64| within(Arc::new(Int64Array::from(vec![x])));
    committed(&table.append(source(rows(1)), &once()).await.unwrap());
    refused(&mut table, rows(10), "invariant of x").await;
}

/// Spark states the lengths within a column's type in the metadata of the column.
#[tokio::test]
async fn texts_within_a_column_fit_or_are_refused() {
    let stated = r#""__CHAR_VARCHAR_TYPE_STRING":"struct<x:char(3)>""#;
    let (_, mut table) = table(&nested("string", "", stated), "").await;
    let rows = |x: &str| within(Arc::new(StringArray::from(vec![x])));
    committed(&table.append(source(rows("ab")), &once()).await.unwrap());
    let batches = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap();
    let texts: &StringArray = batches[0].column(0).as_struct().column(0).as_string();
    assert_eq!(texts.value(0), "ab ");
    refused(&mut table, rows("four"), "4 characters does not fit column s.x, which takes 3").await;
}

#[tokio::test]
async fn defaults_and_generated_values_are_filled_in_where_rows_lack_them() {
    let fields = [
        field("a", "long", ""),
        field("d", "long", r#""CURRENT_DEFAULT":"7""#),
        field("g", "long", r#""delta.generationExpression":"a * 2""#),
    ];
    let (_, mut table) = table(&fields.join(","), "").await;
    committed(&table.append(source(record_batch!(("a", Int64, [1])).unwrap()), &once()).await.unwrap());
    let given = record_batch!(("a", Int64, [2]), ("d", Int64, [None]), ("g", Int64, [4])).unwrap();
    committed(&table.append(source(given), &once()).await.unwrap());
    assert_eq!(longs(&table, "d").await, [None, Some(7)], "NULL that is given stays NULL");
    assert_eq!(longs(&table, "g").await, [Some(2), Some(4)]);
    refused(&mut table, record_batch!(("a", Int64, [2]), ("g", Int64, [5])).unwrap(), "g (a * 2)").await;
    // An update makes generated values anew, and does not set them.
    committed(&table.update(&["a = 10".to_owned()], Some("a = 1"), &once()).await.unwrap());
    assert_eq!(longs(&table, "g").await, [Some(4), Some(20)]);
    let error = table.update(&["g = 1".to_owned()], None, &once()).await.unwrap_err().to_string();
    assert!(error.contains("column g is made by the table"), "{error}");
}

#[tokio::test]
async fn identity_values_must_be_supplied_where_that_is_allowed() {
    let identity = |explicit: bool| {
        format!(r#""delta.identity.start":1,"delta.identity.step":1,"delta.identity.allowExplicitInsert":{explicit}"#)
    };
    let (_, mut open) = table(&[field("a", "long", ""), field("i", "long", &identity(true))].join(","), "").await;
    refused(&mut open, record_batch!(("a", Int64, [1])).unwrap(), "identityColumns").await;
    let given = record_batch!(("a", Int64, [1]), ("i", Int64, [5])).unwrap();
    committed(&open.append(source(given.clone()), &once()).await.unwrap());
    let (_, mut closed) = table(&[field("a", "long", ""), field("i", "long", &identity(false))].join(","), "").await;
    refused(&mut closed, given, "always made by the table").await;
}

#[tokio::test]
async fn texts_fit_their_columns_or_are_refused() {
    let fields = [
        field("v", "string", r#""__CHAR_VARCHAR_TYPE_STRING":"varchar(3)""#),
        field("c", "string", r#""__CHAR_VARCHAR_TYPE_STRING":"char(3)""#),
    ];
    let (_, mut table) = table(&fields.join(","), "").await;
    let given = record_batch!(("v", Utf8, ["äöü  ", "x"]), ("c", Utf8, ["ab", "c"])).unwrap();
    committed(&table.append(source(given), &once()).await.unwrap());
    let batches = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap();
    let texts = |name: &str| {
        let array: &StringArray = batches[0].column_by_name(name).unwrap().as_string();
        array.iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((texts("v"), texts("c")), (vec!["äöü".into(), "x".into()], vec!["ab ".to_owned(), "c  ".into()]));
    refused(&mut table, record_batch!(("v", Utf8, ["four"])).unwrap(), "4 characters does not fit column v").await;
}

/// An engine that knows one function.
#[derive(Debug)]
struct Even;

impl SqlEngine for Even {
    fn evaluate(&self, sql: &str, rows: &RecordBatch, _column: &Column) -> Result<ArrayRef, String> {
        if sql != "is_even(a)" {
            return Err(format!("no {sql}"));
        }
        let a = rows.column_by_name("a").ok_or("no a")?.as_primitive::<Int64Type>();
        Ok(Arc::new(a.iter().map(|a| a.map(|a| a % 2 == 0)).collect::<BooleanArray>()))
    }
}

#[tokio::test]
async fn sql_beyond_the_grammar_is_refused_by_name_unless_an_engine_computes_it() {
    let (_, mut table) = table(&field("a", "long", ""), r#""delta.constraints.even":"is_even(a)""#).await;
    let rows = |values: Vec<i64>| {
        let array: ArrayRef = Arc::new(Int64Array::from(values));
        RecordBatch::try_from_iter([("a", array)]).unwrap()
    };
    refused(&mut table, rows(vec![2]), "the constraint even (is_even(a))").await;
    let mut options = once();
    options.engine = Some(Arc::new(Even));
    committed(&table.append(source(rows(vec![2, 4])), &options).await.unwrap());
    let error = table.append(source(rows(vec![3])), &options).await.unwrap_err().to_string();
    assert!(error.contains("violate even"), "{error}");
    // Actions that an engine prepared: it vouches for their rows, or is asked to.
    let add = r#"{"add":{"path":"x.parquet","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}"#;
    let given = |head: &str| Prepared::DeltaActions(Bytes::from(format!("{head}\n{add}")));
    let error = table.commit_prepared(given(r#"{"operation":"WRITE"}"#), &once()).await.unwrap_err().to_string();
    assert!(error.contains("even: is_even(a)"), "{error}");
    committed(&table.commit_prepared(given(r#"{"operation":"WRITE","vouched":true}"#), &once()).await.unwrap());
}
