//! The commands for which we have statements.

use crate::support::{scan, source};
use lakebed_table::{
    CommitOptions, Matched, MergeSpec, NotMatched, NotMatchedBySource, Report, ScanRequest, Scope, Table, TableError,
};
use serde_json::{Value, json};

/// What a command answered.
pub(crate) type Answer = Result<Report, TableError>;

/// What is updated, and where.
const UPDATES: &[(&str, &str, Option<&str>)] = &[
    ("upd3", "v = v + 1", Some("id = 3")),
    ("upd4", "v = v + 1", Some("id = 4")),
    ("upd13", "v = v + 1", Some("id = 13")),
    ("updall", "v = v + 1", None),
    ("updf0", "p = 'z'", Some("id < 10")),
    ("updkey", "id = id + 1000", Some("id = 3")),
    ("updnone", "v = 0", Some("id = 999")),
    ("upd_null", "v = NULL", Some("id = 3")),
    ("swap_a", "v = 130", Some("v = 30")),
    ("swap_b", "v = 30", Some("v = 130")),
    ("upd200", "v = v + 5", Some("id >= 100")),
];

/// What is deleted.
const DELETES: &[(&str, &str)] = &[
    ("del3", "id = 3"),
    ("del4", "id = 4"),
    ("del13", "id = 13"),
    ("delf0", "id < 10"),
    ("del_lt5", "id < 5"),
    ("delnone", "id = 999"),
    ("delall", "TRUE"),
    ("delpb", "p = 'b'"),
    ("delv30", "v = 30"),
    ("del_ge100", "id >= 100"),
];

/// Runs a command by its name; `None` where we have no such statement.
pub(crate) async fn run(table: &mut Table, name: &str, commit: &CommitOptions) -> Option<Answer> {
    if let Some((_, set, predicate)) = UPDATES.iter().find(|update| update.0 == name) {
        return Some(table.update(&[(*set).to_owned()], *predicate, commit).await);
    }
    if let Some((_, predicate)) = DELETES.iter().find(|delete| delete.0 == name) {
        return Some(table.delete(predicate, commit).await);
    }
    if let Some((spec, rows)) = merge(name) {
        return Some(table.merge(source(table, &rows), &spec, commit).await);
    }
    Some(match name {
        "app" => append(table, [row(100, "n", 1000)], commit).await,
        "app200" => append(table, [row(200, "n", 1)], commit).await,
        "app_null" => append(table, [json!({"id": 101, "p": "n", "v": null})], commit).await,
        "app_v30" => append(table, [row(102, "n", 30)], commit).await,
        "app_txn" => append(table, [row(103, "n", 1030)], commit).await,
        "app_sub" => append(table, [json!({"id": 104})], commit).await,
        "app_read" => append_read(table, commit).await,
        "ovw" => {
            let rows = [row(0, "o", 0), row(1, "o", 1), row(300, "o", 3)];
            table.overwrite(source(table, &rows), &Scope::Whole, commit).await
        }
        "trunc" => table.truncate(None, commit).await,
        // A compaction of ours has no second half that could be kept back: the handle stands where pylance planned.
        "cmp" | "cmp_2ph" => table.compact_fragments(None, commit).await,
        "cmp_t10" => table.compact_fragments(Some(10), commit).await,
        _ => return None,
    })
}

fn row(id: i64, p: &str, v: i64) -> Value {
    json!({"id": id, "p": p, "v": v})
}

async fn append<const N: usize>(table: &mut Table, rows: [Value; N], commit: &CommitOptions) -> Answer {
    table.append(source(table, &rows), commit).await
}

/// Rows that the handle sees, under other ids.
async fn append_read(table: &mut Table, commit: &CommitOptions) -> Answer {
    let asked = ScanRequest { predicate: Some("p = 'a'".to_owned()), ..ScanRequest::default() };
    let mut rows = scan(table, &asked).await;
    for row in &mut rows {
        row["id"] = json!(row["id"].as_i64().unwrap() + 500);
    }
    table.append(source(table, &rows), commit).await
}

/// The merges by `id`.
fn merge(name: &str) -> Option<(MergeSpec, Vec<Value>)> {
    use {Matched::Delete, Matched::Ignore as Keep, Matched::Update, NotMatched::Ignore, NotMatched::Insert};
    let (matched, not_matched, rows) = match name {
        "mi_ups3" => (Update, Insert, vec![row(3, "u", -3), row(201, "u", 1)]),
        "mi_ups4" => (Update, Insert, vec![row(4, "u", -4), row(202, "u", 2)]),
        "mi_ups13" => (Update, Insert, vec![row(13, "u", -13), row(203, "u", 3)]),
        "mi_ups200" => (Update, Insert, vec![row(200, "u", 7)]),
        "mi_ins200" => (Keep, Insert, vec![row(200, "i", 8)]),
        "mi_ins200b" => (Keep, Insert, vec![row(200, "j", 9)]),
        "mi_ins204" => (Keep, Insert, vec![row(204, "i", 10)]),
        "mi_ins3" => (Keep, Insert, vec![row(3, "i", 11)]),
        "mi_upd3" => (Update, Ignore, vec![row(3, "m", 12)]),
        "mi_upd4" => (Update, Ignore, vec![row(4, "m", 13)]),
        "mi_upd13" => (Update, Ignore, vec![row(13, "m", 14)]),
        "mi_del3" => (Delete, Ignore, vec![row(3, "", 0)]),
        "mi_del4" => (Delete, Ignore, vec![row(4, "", 0)]),
        "mi_bysrc" => (Update, Insert, vec![row(3, "s", 20), row(14, "s", 21), row(205, "b", 22)]),
        "mi_bysrc_all" => (Keep, Insert, (0..5).map(|id| row(id, "s", 0)).collect()),
        "mi_sub3" => (Update, Ignore, vec![json!({"id": 3, "v": 32})]),
        _ => return None,
    };
    let not_matched_by_source = match name {
        "mi_bysrc" => NotMatchedBySource::Delete(Some("p = 'b'".to_owned())),
        "mi_bysrc_all" => NotMatchedBySource::Delete(None),
        _ => NotMatchedBySource::Ignore,
    };
    Some((MergeSpec { on: vec!["id".to_owned()], matched, not_matched, not_matched_by_source }, rows))
}
