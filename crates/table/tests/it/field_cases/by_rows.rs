//! Cases that `precise` decides by rows, on tables with their files.

use crate::isolation::under;
use crate::support::{
    add_action, batch, batch_of, columns, committed, created, ids, once, opened, place, prepared_delta, remove_action,
    sound, source, three_rows, try_add, unique, unique_id,
};
use arrow_array::{Date32Array, Int64Array, RecordBatch};
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, MergeSpec, NewTable, Prepared, Report, Snapshot, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType, Conflict, Outcome, Verdict};
use std::sync::Arc;

use TableFormat::Delta;

fn refused(report: &Report) -> &Conflict {
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("expected a conflict, got {:?}", report.outcome) };
    conflict
}

fn check(report: &Report) -> &'static str {
    refused(report).why.reason.map_or("none", |reason| reason.check)
}

/// An engine's transaction that read rows by these conditions.
fn reading(prepared: Prepared, predicate: &str, operation: &str) -> Prepared {
    let Prepared::DeltaActions(actions) = prepared else { panic!("Delta actions") };
    let header = format!(r#"{{"reads":{{"predicates":[["{predicate}"]]}},"operation":"{operation}"}}"#);
    Prepared::DeltaActions([header.as_bytes(), b"\n", &actions].concat().into())
}

/// A table of two files, and an engine's replacement of both by one that holds these rows.
async fn two_files(rows: &[i64], data_change: bool) -> (Arc<dyn Store>, Table, Prepared) {
    let (store, mut table) = three_rows(Delta).await;
    committed(&try_add(&mut table, &[4, 5], &once()).await.unwrap());
    let files: Vec<String> = table.snapshot().files().into_iter().map(|file| file.path).collect();
    let new = written(&store, rows).await;
    let mut actions: Vec<String> = files.iter().map(|path| remove_action(path, data_change)).collect();
    actions.push(add_action(&new, rows.len() as u64, data_change));
    let operation = if data_change { "UPDATE" } else { "OPTIMIZE" };
    let prepared = prepared_delta(table.version(), unique_id(), operation, &actions);
    (store, table, prepared)
}

/// A data file with these rows, which no version names.
async fn written(store: &Arc<dyn Store>, rows: &[i64]) -> String {
    let aside = place(Delta);
    let mut table = created(&aside, &NewTable::new(Delta, columns())).await;
    committed(&table.append(source(batch(rows)), &once()).await.unwrap());
    let from = table.snapshot().files()[0].path.clone();
    let path = format!("part-{}.parquet", unique());
    store.put(&path, aside.get(&from).await.unwrap().unwrap()).await.unwrap();
    path
}

/// Field case 30: an append that read all rows follows a compaction; it does not follow the same files as a change of data, and
/// what also takes out a file does not follow a compaction that says nothing of where its rows went.
#[tokio::test]
async fn case_30_an_append_that_read_follows_a_compaction() {
    for (rows, data_change, also_removes, expected) in [
        (&[1, 2, 3, 4, 5][..], false, false, None),
        (&[1, 2, 3, 4, 50], true, false, Some("rows-meet")),
        (&[1, 2, 3, 4, 5], false, true, Some("rows-moved")),
    ] {
        let (store, mut ours, compaction) = two_files(rows, data_change).await;
        let added = written(&store, &[9]).await;
        let mut actions = vec![add_action(&added, 1, true)];
        if also_removes {
            actions.push(remove_action(&ours.snapshot().files()[0].path, true));
        }
        let operation = if also_removes { "MERGE" } else { "WRITE" };
        let prepared = reading(prepared_delta(ours.version(), unique_id(), operation, &actions), "TRUE", operation);
        let compaction = opened(&store).await.commit_prepared(compaction, &once()).await.unwrap();
        let version = committed(&compaction);
        let report = ours.commit_prepared(prepared, &under("precise")).await.unwrap();
        match expected {
            None => {
                assert_eq!((committed(&report), report.plannings), (version + 1, 1));
                assert_eq!(ids(&store).await, [1, 2, 3, 4, 5, 9]);
            }
            Some(expected) => {
                assert_eq!((check(&report), refused(&report).with.get()), (expected, version));
                assert_eq!(ids(&store).await, rows);
            }
        }
        sound(&store, Delta).await;
    }
}

fn day(number: i32, id: i64) -> RecordBatch {
    let days = Date32Array::from(vec![number]);
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int64Array::from(vec![id])) as _, true),
        ("day", Arc::new(days) as _, true),
    ])
    .unwrap()
}

/// Field case 31: upserts into two days do not meet, by typed conditions on the table's own columns; one whose condition nobody
/// here can evaluate is refused by an answer that names the file in its way, not by an error.
#[tokio::test]
async fn case_31_upserts_into_two_days_do_not_meet() {
    let columns = vec![Column::new("id", ColumnType::Long, true), Column::new("day", ColumnType::Date, true)];
    let store = place(Delta);
    let new = NewTable::new(Delta, columns).with_partition_columns(vec!["day".to_owned()]);
    let mut first = created(&store, &new).await;
    for number in [19_723, 19_724] {
        committed(&first.append(source(day(number, 1)), &once()).await.unwrap());
    }
    let (mut second, mut third) = (opened(&store).await, opened(&store).await);
    let spec = MergeSpec { on: vec!["day".to_owned(), "id".to_owned()], ..MergeSpec::default() };
    for (table, number) in [(&mut first, 19_723), (&mut second, 19_724)] {
        let report = table.merge(source(day(number, 2)), &spec, &under("precise")).await.unwrap();
        committed(&report);
        assert_eq!(report.plannings, 1);
    }
    let path = written(&store, &[7]).await;
    let add =
        add_action(&path, 1, true).replace(r#""partitionValues":{}"#, r#""partitionValues":{"day":"2024-01-01"}"#);
    let prepared = prepared_delta(third.version(), unique_id(), "MERGE", &[add]);
    let prepared = reading(prepared, "day = source_day(1)", "MERGE");
    let report = third.commit_prepared(prepared, &under("precise")).await.unwrap();
    let conflict = refused(&report);
    assert_eq!((conflict.why.verdict, check(&report)), (Verdict::Retryable, "rows-meet"), "{conflict}");
    assert!(conflict.to_string().contains("day=2024-01-01"), "{conflict}");
}

/// Field case 100: whoever makes a column NOT NULL has read that there is no NULL in it, and whoever appends has written by the old
/// schema. In either order the second is refused.
#[tokio::test]
async fn case_100_a_column_that_becomes_not_null() {
    for tightens_first in [true, false] {
        let store = place(Delta);
        let mut appends = created(&store, &NewTable::new(Delta, columns())).await;
        committed(&appends.append(source(batch_of(&[(1, Some("a")), (2, Some("b"))])), &once()).await.unwrap());
        let mut tightens = opened(&store).await;
        let (prepared, null) = (tightened(&tightens), batch(&[4]));
        let report = if tightens_first {
            committed(&tightens.commit_prepared(prepared, &under("precise")).await.unwrap());
            appends.append(source(null), &under("precise")).await.unwrap()
        } else {
            committed(&appends.append(source(null), &under("precise")).await.unwrap());
            tightens.commit_prepared(prepared, &under("precise")).await.unwrap()
        };
        let conflict = refused(&report);
        assert!(!conflict.why.verdict.accepts() && conflict.why.reason.is_some(), "{conflict}");
        assert_eq!(sound(&store, Delta).await.rows(), if tightens_first { 2 } else { 3 });
        // Told of it, the append finds that the column may hold no NULL.
        let again = opened(&store).await.append(source(batch(&[5])), &CommitOptions::default()).await;
        assert_eq!(again.is_err(), tightens_first, "{again:?}");
    }
}

/// The schema with `p` NOT NULL, from an engine that looked at every row.
fn tightened(table: &Table) -> Prepared {
    let Snapshot::Delta(held) = table.snapshot() else { panic!("a Delta table") };
    let mut metadata = held.snapshot.metadata().clone();
    let schema = metadata
        .schema_string
        .replace(r#""name":"p","type":"string","nullable":true"#, r#""name":"p","type":"string","nullable":false"#);
    assert_ne!(schema, metadata.schema_string);
    metadata.schema_string = schema;
    let line = serde_json::json!({"metaData": metadata}).to_string();
    let prepared = prepared_delta(table.version(), unique_id(), "CHANGE COLUMN", &[line]);
    reading(prepared, "TRUE", "CHANGE COLUMN")
}
