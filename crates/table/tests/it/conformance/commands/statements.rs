//! The measured commands as statements of ours.

use crate::support::{source, unique, unique_id};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use lakebed_data::{WriteOptions, write_parquet};
use lakebed_table::{
    ColumnChange, CommitOptions, CompactRequest, Compaction, Evolution, Matched, MergeSpec, NotMatched, Prepared,
    Report, ScanRequest, Scope, Table, TableError, VersionSpec,
};
use lakebed_transaction::{Column, ColumnType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `id`, `p`, `v`.
type Row = (i64, Option<String>, i64);

type Answer = Result<Report, TableError>;

fn row(id: i64, p: &str, v: i64) -> Row {
    (id, Some(p.to_owned()), v)
}

fn batch(rows: &[Row]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter(rows.iter().map(|row| row.1.as_deref())));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2)));
    RecordBatch::try_from_iter([("id", ids), ("p", texts), ("v", values)]).unwrap()
}

/// Runs a command; `None` where our program has no such statement. `header` gives what Spark recorded of the reads of an INSERT
/// that reads its own table: the rows are ours, and they are handed in as an engine hands them in.
pub(super) async fn run(
    table: &mut Table,
    name: &str,
    text: &str,
    header: impl Fn() -> Option<String>,
    commit: &CommitOptions,
) -> Option<Answer> {
    let after = |word: &str| text.split_once(word).map(|(_, rest)| rest.to_owned());
    Some(match name {
        "IS_a" | "IS_d" | "IS_max" => insert_select(table, name, header()?, commit).await,
        "DELALL" => table.delete("TRUE", commit).await,
        "TRUNC" => table.truncate(None, commit).await,
        "UPD_mv" => table.update(&["p = 'b'".to_owned()], after("WHERE ").as_deref(), commit).await,
        name if name.starts_with("INS_") => return insert(table, name, commit).await,
        name if name.starts_with("DEL") => table.delete(&after("WHERE ")?, commit).await,
        name if name.starts_with("UPD") => {
            table.update(&["v = -1".to_owned()], after("WHERE ").as_deref(), commit).await
        }
        name if name.starts_with("MRG_") => return merge(table, name, commit).await,
        name if name.starts_with("OPT") || name == "PURGE" => return compact(table, name, commit).await,
        name if name.starts_with("TXN_") => return stream(table, name, commit).await,
        name if text.contains("SET TBLPROPERTIES") => return set(table, name, text, commit).await,
        "RESTORE" => table.restore(VersionSpec::Number(1), commit).await,
        "ADDCOL" => {
            let columns = vec![Column::new("x", ColumnType::String, true)];
            table.change_columns(&ColumnChange::Add { within: Vec::new(), columns }, false, commit).await
        }
        "OVWS" | "APPMS" => return evolve(table, name, commit).await,
        name => return overwrite(table, name, commit).await,
    })
}

async fn insert(table: &mut Table, name: &str, commit: &CommitOptions) -> Option<Answer> {
    let row = match name {
        "INS_a" => row(100, "a", 1000),
        "INS_b" => row(101, "b", 1010),
        "INS_n" => row(102, "n", 1020),
        // Into a table that numbers its rows: no base is one.
        _ => return None,
    };
    Some(table.append(source(batch(&[row])), commit).await)
}

async fn merge(table: &mut Table, name: &str, commit: &CommitOptions) -> Option<Answer> {
    let (on, rows): (&[&str], _) = match name {
        "MRG_a" => (&["id"], vec![row(3, "a", -2), row(150, "a", -2)]),
        "MRG_b" => (&["id"], vec![row(13, "b", -3), row(151, "b", -3)]),
        "MRG_pa" => (&["p", "id"], vec![row(7, "a", -4), row(152, "a", -4)]),
        "MRG_ins" => (&["id"], vec![row(100, "a", -5), row(13, "b", -5)]),
        "MRG_none" => (&["id"], vec![row(100, "a", -5)]),
        _ => return None,
    };
    let (matched, not_matched) = match name {
        "MRG_ins" => (Matched::Ignore, NotMatched::Insert),
        "MRG_none" => (Matched::Delete, NotMatched::Ignore),
        _ => (Matched::Update, NotMatched::Insert),
    };
    let on = on.iter().map(|name| (*name).to_owned()).collect();
    let spec = MergeSpec { on, matched, not_matched, ..MergeSpec::default() };
    Some(table.merge(source(batch(&rows)), &spec, commit).await)
}

async fn overwrite(table: &mut Table, name: &str, commit: &CommitOptions) -> Option<Answer> {
    let range = |text: &str| Scope::Where(text.to_owned());
    let (scope, rows) = match name {
        "OVW" => (Scope::Whole, vec![row(500, "a", 5000), row(501, "b", 5010)]),
        "RW_a" => (range("p = 'a'"), vec![row(600, "a", 6000)]),
        "RW_c" => (range("p = 'c'"), vec![row(601, "c", 6010)]),
        "RW_d" => (range("id >= 25 AND id < 200"), vec![row(125, "c", 1)]),
        "DPO_a" => (Scope::Partitions, vec![row(700, "a", 7000)]),
        "DPO_c" => (Scope::Partitions, vec![row(701, "c", 7010)]),
        _ => return None,
    };
    Some(table.overwrite(source(batch(&rows)), &scope, commit).await)
}

async fn compact(table: &mut Table, name: &str, commit: &CommitOptions) -> Option<Answer> {
    let whole = CompactRequest { compaction: Compaction::Major, ..CompactRequest::default() };
    let request = match name {
        "OPT" => whole,
        "OPT_a" => CompactRequest { predicate: Some("p = 'a'".to_owned()), ..whole },
        "OPT_z" => CompactRequest { cluster_by: vec!["id".to_owned()], ..whole },
        // Only files with deleted rows are written anew.
        "PURGE" => CompactRequest { target_size_bytes: Some(1), ..whole },
        _ => return None,
    };
    Some(table.compact(&request, commit).await)
}

async fn set(table: &mut Table, name: &str, text: &str, commit: &CommitOptions) -> Option<Answer> {
    if name == "UNSET" {
        return None;
    }
    let pair = text.split_once('(')?.1.trim_end_matches(')');
    let (key, value) = pair.split_once(" = ")?;
    let unquoted = |text: &str| text.trim_matches('\'').to_owned();
    Some(table.set_properties(BTreeMap::from([(unquoted(key), unquoted(value))]), Vec::new(), commit).await)
}

async fn evolve(table: &mut Table, name: &str, commit: &CommitOptions) -> Option<Answer> {
    let long = |name: &str| Column::new(name, ColumnType::Long, true);
    let text = |name: &str| Column::new(name, ColumnType::String, true);
    let number = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let word = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    if name == "OVWS" {
        let rows = [("id", number(900)), ("p", word("a")), ("w", number(9000))];
        let columns = [long("id"), text("p"), long("w")];
        let batch = RecordBatch::try_from_iter(rows).unwrap();
        return Some(table.overwrite_replacing(source(batch), &columns, commit).await);
    }
    let columns = [long("id"), text("p"), long("v"), text("y")];
    // The table's own columns first, in its order.
    let order = table.evolved_columns(Evolution::Merge, &columns).ok()?;
    let mut rows = BTreeMap::from([("id", number(950)), ("p", word("a")), ("v", number(9500)), ("y", word("y"))]);
    // What others have added meanwhile is a text.
    let none = || arrow_array::new_null_array(&DataType::Utf8, 1);
    let fields =
        order.iter().map(|column| (column.name.clone(), rows.remove(column.name.as_str()).unwrap_or_else(none)));
    let batch = RecordBatch::try_from_iter_with_nullable(fields.map(|(name, values)| (name, values, true))).unwrap();
    Some(table.append_merging(source(batch), &columns, commit).await)
}

async fn stream(table: &mut Table, name: &str, commit: &CommitOptions) -> Option<Answer> {
    let (application, number, row) = match name {
        "TXN_1" => ("app1", 1, row(800, "a", 8000)),
        "TXN_1b" => ("app1", 2, row(801, "b", 8010)),
        "TXN_2" => ("app2", 1, row(802, "a", 8020)),
        _ => return None,
    };
    let header = format!(r#"{{"reads":{{"app_ids":["{application}"]}},"operation":"WRITE"}}"#);
    let txn = format!(r#"{{"txn":{{"appId":"{application}","version":{number}}}}}"#);
    Some(append_prepared(table, &[row], header, Some(txn), commit).await)
}

/// INSERT of rows that the table itself gives: read, written, and given with what was read.
async fn insert_select(table: &mut Table, name: &str, header: String, commit: &CommitOptions) -> Answer {
    let mut rows = held(table).await;
    match name {
        "IS_a" => rows.retain(|row| row.1.as_deref() == Some("a")),
        "IS_d" => rows.retain(|row| row.0 >= 25),
        _ => {
            let newest = rows.iter().map(|row| row.0).max().unwrap_or_default();
            rows = vec![(newest + 1, Some("z".to_owned()), i64::try_from(rows.len()).unwrap())];
        }
    }
    let offset = match name {
        "IS_a" => 200,
        "IS_d" => 300,
        _ => 0,
    };
    rows.iter_mut().for_each(|row| row.0 += offset);
    append_prepared(table, &rows, header, None, commit).await
}

/// The rows of the handle's version.
async fn held(table: &Table) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
        let number = |name: &str, at| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(at);
        let text = batch.column_by_name("p").unwrap().as_string::<i32>();
        let value = |at| text.is_valid(at).then(|| text.value(at).to_owned());
        rows.extend((0..batch.num_rows()).map(|at| (number("id", at), value(at), number("v", at))));
    }
    rows
}

/// Rows of one partition, in a file that the caller writes.
async fn append_prepared(
    table: &mut Table,
    rows: &[Row],
    header: String,
    more: Option<String>,
    commit: &CommitOptions,
) -> Answer {
    let partitioned = table.snapshot().summary()?.partition_columns == ["p"];
    let mut columns = vec![
        Column::new("id", ColumnType::Long, true),
        Column::new("p", ColumnType::String, true),
        Column::new("v", ColumnType::Long, true),
    ];
    let mut batch = batch(rows);
    let mut values = String::new();
    if partitioned {
        columns.remove(1);
        batch = batch.project(&[0, 2]).unwrap();
        values = format!(r#""p":"{}""#, rows[0].1.as_deref().unwrap());
    }
    let file = write_parquet(&[batch], &columns, &WriteOptions::default()).unwrap();
    let (path, size) = (format!("part-{}.parquet", unique()), file.bytes.len());
    table.store().put(&path, file.bytes).await?;
    let stats = serde_json::Value::String(file.stats_json);
    let add = format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{{values}}},"size":{size},"modificationTime":1,"dataChange":true,"stats":{stats}}}}}"#
    );
    let info = format!(
        r#"{{"commitInfo":{{"operation":"WRITE","txnId":"{}","readVersion":{},"operationParameters":{{}}}}}}"#,
        unique_id(),
        table.version()
    );
    let lines: Vec<String> = [header, info, add].into_iter().chain(more).collect();
    table.commit_prepared(Prepared::DeltaActions(lines.join("\n").into()), commit).await
}
