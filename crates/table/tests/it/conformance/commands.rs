//! The pairs of SQL commands that Spark was measured on, run through the facade by two handles.

use super::{folder, rows_of};
use crate::support::{committed, isolated, once, source, unique, unique_id};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use lakebed_data::{WriteOptions, write_parquet};
use lakebed_storage::{MemoryStore, Store};
use lakebed_table::{
    CommitOptions, CompactRequest, Compaction, Matched, MergeSpec, NotMatched, Prepared, Report, ScanRequest, Scope,
    Table,
};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// `id`, `p`, `v`.
type Row = (i64, Option<String>, i64);

/// The bases whose tables have deletion vectors.
const VECTORS: [&str; 5] =
    ["UD.Serializable", "PD.Serializable", "R.Serializable", "PR.Serializable", "T.Serializable"];

struct Case {
    base: String,
    ours: String,
    winner: String,
    /// Whether Spark committed ours.
    spark: bool,
    /// Whether that came to the winner and then ours.
    log_order: bool,
    /// The rows that Spark ended with.
    rows: String,
    rebasable: Option<bool>,
}

fn cases(root: &Path) -> Vec<Case> {
    let case = |mut cells: Vec<String>| {
        cells.resize(15, String::new());
        let [_, base, ours, winner, .., verdict, _, _, _, serial, _, hash, _, rebasable] = cells.as_slice() else {
            panic!("{cells:?}")
        };
        Case {
            base: base.clone(),
            ours: ours.clone(),
            winner: winner.clone(),
            spark: verdict == "ok",
            log_order: matches!(serial.as_str(), "both" | "equals winner-then-loser"),
            rows: hash.clone(),
            rebasable: (!rebasable.is_empty()).then(|| rebasable == "yes"),
        }
    };
    rows_of(&root.join("cases.tsv")).into_iter().map(case).collect()
}

fn batch(rows: &[Row]) -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("p", DataType::Utf8, true),
        Field::new("v", DataType::Int64, true),
    ]);
    let ids = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let texts = StringArray::from_iter(rows.iter().map(|row| row.1.as_deref()));
    let values = Int64Array::from_iter_values(rows.iter().map(|row| row.2));
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ids), Arc::new(texts), Arc::new(values)]).unwrap()
}

fn row(id: i64, p: &str, v: i64) -> Row {
    (id, Some(p.to_owned()), v)
}

async fn scanned(table: &Table) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
        let number = |name: &str, at| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(at);
        let text = batch.column_by_name("p").unwrap().as_string::<i32>();
        rows.extend(
            (0..batch.num_rows())
                .map(|at| (number("id", at), text.is_valid(at).then(|| text.value(at).to_owned()), number("v", at))),
        );
    }
    rows.sort();
    rows
}

/// The rows that Spark counted.
fn measured(root: &Path, hash: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(root.join("rows").join(format!("{hash}.json"))).unwrap();
    let rows: Vec<BTreeMap<String, serde_json::Value>> = serde_json::from_str(&text).unwrap();
    let row = |row: &BTreeMap<String, serde_json::Value>| {
        let number = |name: &str| row[name].as_i64().unwrap();
        (number("id"), row.get("p").and_then(|p| p.as_str()).map(str::to_owned), number("v"))
    };
    let mut rows: Vec<Row> = rows.iter().map(row).collect();
    rows.sort();
    rows
}

/// A copy of a base in memory.
async fn copy(folder: &Path) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::named(&format!("commands-{}", unique())));
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                store.put(&name, std::fs::read(&path).unwrap().into()).await.unwrap();
            }
        }
    }
    store
}

async fn handle(store: &Arc<dyn Store>) -> Table {
    Table::open_store(Arc::clone(store), &isolated()).await.unwrap()
}

/// Runs a command; `None` where our program has no such statement.
async fn run(table: &mut Table, name: &str, text: &str, commit: &CommitOptions) -> Option<Report> {
    let after = |word: &str| text.split_once(word).map(|(_, rest)| rest.to_owned());
    let insert = |rows: Vec<Row>| source(batch(&rows));
    Some(match name {
        "INS_a" => table.append(insert(vec![row(100, "a", 1000)]), commit).await.unwrap(),
        "INS_b" => table.append(insert(vec![row(101, "b", 1010)]), commit).await.unwrap(),
        "INS_n" => table.append(insert(vec![row(102, "n", 1020)]), commit).await.unwrap(),
        "IS_a" => insert_select(table, "p = 'a'", 200, commit).await,
        "IS_d" => insert_select(table, "id >= 25", 300, commit).await,
        "DELALL" => table.delete("TRUE", commit).await.unwrap(),
        "TRUNC" => table.truncate(None, commit).await.unwrap(),
        name if name.starts_with("DEL") => table.delete(&after("WHERE ")?, commit).await.unwrap(),
        "UPD_mv" => table.update(&["p = 'b'".to_owned()], after("WHERE ").as_deref(), commit).await.unwrap(),
        name if name.starts_with("UPD") => {
            table.update(&["v = -1".to_owned()], after("WHERE ").as_deref(), commit).await.unwrap()
        }
        "MRG_a" => merge(table, &["id"], [row(3, "a", -2), row(150, "a", -2)], Matched::Update, commit).await,
        "MRG_b" => merge(table, &["id"], [row(13, "b", -3), row(151, "b", -3)], Matched::Update, commit).await,
        "MRG_pa" => merge(table, &["p", "id"], [row(7, "a", -4), row(152, "a", -4)], Matched::Update, commit).await,
        "MRG_ins" => merge(table, &["id"], [row(100, "a", -5), row(13, "b", -5)], Matched::Ignore, commit).await,
        "OVW" => overwrite(table, vec![row(500, "a", 5000), row(501, "b", 5010)], None, commit).await,
        "RW_a" => overwrite(table, vec![row(600, "a", 6000)], Some("p = 'a'"), commit).await,
        "RW_c" => overwrite(table, vec![row(601, "c", 6010)], Some("p = 'c'"), commit).await,
        "RW_d" => overwrite(table, vec![row(125, "c", 1)], Some("id >= 25 AND id < 200"), commit).await,
        "DPO_a" => partitions(table, row(700, "a", 7000), commit).await,
        "DPO_c" => partitions(table, row(701, "c", 7010), commit).await,
        "OPT" => compact(table, None, None, commit).await,
        "OPT_a" => compact(table, Some("p = 'a'"), None, commit).await,
        // Only files with deleted rows are written anew.
        "PURGE" => compact(table, None, Some(1), commit).await,
        "TXN_1" => stream(table, row(800, "a", 8000), "app1", 1, commit).await,
        _ => return None,
    })
}

async fn merge<const N: usize>(
    table: &mut Table,
    on: &[&str],
    rows: [Row; N],
    matched: Matched,
    commit: &CommitOptions,
) -> Report {
    let on = on.iter().map(|name| (*name).to_owned()).collect();
    let spec = MergeSpec { on, matched, not_matched: NotMatched::Insert };
    table.merge(source(batch(&rows)), &spec, commit).await.unwrap()
}

async fn overwrite(table: &mut Table, rows: Vec<Row>, range: Option<&str>, commit: &CommitOptions) -> Report {
    let scope = range.map_or(Scope::Whole, |range| Scope::Where(range.to_owned()));
    table.overwrite(source(batch(&rows)), &scope, commit).await.unwrap()
}

async fn partitions(table: &mut Table, row: Row, commit: &CommitOptions) -> Report {
    table.overwrite(source(batch(&[row])), &Scope::Partitions, commit).await.unwrap()
}

async fn compact(table: &mut Table, range: Option<&str>, target: Option<u64>, commit: &CommitOptions) -> Report {
    let predicate = range.map(str::to_owned);
    let request = CompactRequest {
        compaction: Compaction::Major,
        predicate,
        target_size_bytes: target,
        ..CompactRequest::default()
    };
    table.compact(&request, commit).await.unwrap()
}

/// INSERT of rows that the table itself gives: read, written, and given with what was read.
async fn insert_select(table: &mut Table, predicate: &str, offset: i64, commit: &CommitOptions) -> Report {
    let mut rows = scanned(table).await;
    rows.retain(|row| if offset == 200 { row.1.as_deref() == Some("a") } else { row.0 >= 25 });
    rows.iter_mut().for_each(|row| row.0 += offset);
    let header = format!(r#"{{"reads":{{"predicates":[["{predicate}"]]}},"operation":"WRITE"}}"#);
    append_prepared(table, &rows, Some(header), None, commit).await
}

async fn stream(table: &mut Table, row: Row, application: &str, number: u64, commit: &CommitOptions) -> Report {
    let header = format!(r#"{{"reads":{{"app_ids":["{application}"]}},"operation":"WRITE"}}"#);
    let txn = format!(r#"{{"txn":{{"appId":"{application}","version":{number}}}}}"#);
    append_prepared(table, &[row], Some(header), Some(txn), commit).await
}

/// Rows of one partition, in a file that the caller writes.
async fn append_prepared(
    table: &mut Table,
    rows: &[Row],
    header: Option<String>,
    more: Option<String>,
    commit: &CommitOptions,
) -> Report {
    let partitioned = table.snapshot().summary().unwrap().partition_columns == ["p"];
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
    table.store().put(&path, file.bytes).await.unwrap();
    let stats = serde_json::Value::String(file.stats_json);
    let add = format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{{values}}},"size":{size},"modificationTime":1,"dataChange":true,"stats":{stats}}}}}"#
    );
    let info = format!(
        r#"{{"commitInfo":{{"operation":"WRITE","txnId":"{}","readVersion":{},"operationParameters":{{}}}}}}"#,
        unique_id(),
        table.version()
    );
    let lines: Vec<String> = header.into_iter().chain([info, add]).chain(more).collect();
    table.commit_prepared(Prepared::DeltaActions(lines.join("\n").into()), commit).await.unwrap()
}

/// The winner, then ours on what the winner left.
async fn one_after_the_other(folder: &Path, winner: (&str, &str), ours: (&str, &str)) -> Vec<Row> {
    let store = copy(folder).await;
    let mut table = handle(&store).await;
    let _ = run(&mut table, winner.0, winner.1, &once()).await.unwrap();
    let mut table = handle(&store).await;
    let _ = run(&mut table, ours.0, ours.1, &once()).await.unwrap();
    scanned(&handle(&store).await).await
}

#[derive(Default)]
struct Tally {
    pairs: usize,
    rebasable: usize,
    spark: usize,
    accepted: usize,
    refused: BTreeMap<String, usize>,
    against_measured: usize,
}

/// `precise` on tables with deletion vectors: whatever it accepts comes to the winner and then ours, nothing is accepted that no
/// rebase can reach, and of what one can, nearly all.
#[tokio::test]
async fn precise_accepts_nearly_all_that_a_rebase_can_reach_and_nothing_else() {
    let Some(root) = folder("delta-commands") else { return };
    let commands: BTreeMap<String, String> =
        rows_of(&root.join("commands.tsv")).into_iter().map(|cells| (cells[0].clone(), cells[1].clone())).collect();
    let precise = CommitOptions { policy: Some("precise".to_owned()), ..once() };
    let mut tally = Tally::default();
    for case in cases(&root).into_iter().filter(|case| VECTORS.contains(&case.base.as_str())) {
        let Some(rebasable) = case.rebasable else { continue };
        let name = format!("{} {} after {}", case.base, case.ours, case.winner);
        let base = root.join("bases").join(&case.base);
        let (winner, ours) = ((&*case.winner, &*commands[&case.winner]), (&*case.ours, &*commands[&case.ours]));
        let store = copy(&base).await;
        let (mut theirs, mut table) = (handle(&store).await, handle(&store).await);
        let landed = run(&mut theirs, winner.0, winner.1, &once()).await.unwrap_or_else(|| panic!("{name}"));
        if !matches!(landed.outcome, Outcome::Nothing { .. }) {
            committed(&landed);
        }
        let report = run(&mut table, ours.0, ours.1, &precise).await.unwrap_or_else(|| panic!("{name}"));
        tally.pairs += 1;
        tally.rebasable += usize::from(rebasable);
        tally.spark += usize::from(case.spark);
        match &report.outcome {
            Outcome::Committed { .. } | Outcome::Nothing { .. } => {
                let rows = scanned(&handle(&store).await).await;
                assert!(rebasable, "{name} was accepted, and no rebase reaches log order");
                assert_eq!(rows, one_after_the_other(&base, winner, ours).await, "{name}");
                if case.spark && case.log_order {
                    assert_eq!(rows, measured(&root, &case.rows), "{name}");
                    tally.against_measured += 1;
                }
                tally.accepted += 1;
            }
            Outcome::Conflict(conflict) => {
                let check = conflict.why.reason.map_or("none", |reason| reason.check);
                if rebasable {
                    println!("refused: {name}: {check}");
                }
                *tally.refused.entry(format!("{check} ({})", if rebasable { "yes" } else { "no" })).or_default() += 1;
            }
            Outcome::Exhausted { .. } | Outcome::Unknown { .. } => panic!("{name}: {report:?}"),
        }
    }
    println!(
        "of {} pairs {} can be rebased; Spark accepts {}, precise {} ({} against measured rows); refused: {:?}",
        tally.pairs, tally.rebasable, tally.spark, tally.accepted, tally.against_measured, tally.refused
    );
    assert_eq!((tally.pairs, tally.rebasable, tally.spark), (260, 229, 87));
    assert!(tally.accepted >= 210, "{} accepted", tally.accepted);
}
