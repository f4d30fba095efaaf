//! `precise` on real tables: rows decide, not files.

use crate::support::{committed, created, isolated, once, opened, place, sound, source};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use lakebed_storage::Store;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_table::{
    CommitOptions, CompactRequest, Compaction, MergeSpec, NewTable, Report, ScanRequest, Scope, Snapshot, Table,
    TableFormat,
};
use lakebed_transaction::{Column, ColumnType, Outcome, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Rows = BTreeMap<i64, i64>;

fn batch(rows: &[(i64, i64)]) -> RecordBatch {
    let field = |name| Field::new(name, DataType::Int64, true);
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as _;
    let (ids, values) = rows.iter().copied().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(vec![field("id"), field("v")])), vec![column(ids), column(values)])
        .unwrap()
}

/// A table with deletion vectors and rows 0 to `rows`, each with ten times its id, in files of `per_file`.
async fn vectors(rows: i64, per_file: usize, properties: &[(&str, &str)]) -> (Arc<dyn Store>, Table) {
    let store = place(TableFormat::Delta);
    let columns = ["id", "v"].map(|name| Column::new(name, ColumnType::Long, true)).to_vec();
    let mut all = BTreeMap::from([("delta.enableDeletionVectors".to_owned(), "true".to_owned())]);
    all.extend(properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let mut table = created(&store, &NewTable::new(TableFormat::Delta, columns).with_properties(all)).await;
    let rows: Vec<_> = (0..rows).map(|id| (id, 10 * id)).collect();
    for chunk in rows.chunks(per_file) {
        committed(&table.append(source(batch(chunk)), &once()).await.unwrap());
    }
    (store, table)
}

async fn scanned(store: &Arc<dyn Store>) -> Rows {
    let table = opened(store).await;
    let mut rows = Rows::new();
    for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
        let column = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec();
        for (id, v) in column("id").into_iter().zip(column("v")) {
            assert!(rows.insert(id, v).is_none(), "row {id} is there twice");
        }
    }
    rows
}

fn refused(report: &Report, check: &str) {
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("expected {check}, got {:?}", report.outcome) };
    assert_eq!(conflict.why.verdict, Verdict::Retryable, "{conflict:?}");
    assert_eq!(conflict.why.reason.map(|reason| reason.check), Some(check), "{conflict:?}");
}

/// Eight writers delete and update rows of one file, none of them a row of another's: every commit follows by metadata, and no
/// data file is read or written for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_writers_change_disjoint_rows_of_one_file() {
    const WRITERS: i64 = 8;
    const EACH: i64 = 25;
    let (store, _) = vectors(WRITERS * EACH, 1_000, &[]).await;
    let writers = (0..WRITERS).map(|writer| {
        let counting = Arc::new(Counting::new(Arc::clone(&store)));
        tokio::spawn(async move {
            let shared: Arc<dyn Store> = Arc::clone(&counting) as _;
            let mut table = Table::open_store(shared, &isolated()).await.unwrap();
            let mut attempts = 0;
            for at in 0..EACH {
                let id = at * WRITERS + writer;
                let files: BTreeSet<String> = data_files(&table);
                counting.reset();
                let (predicate, updates) = (format!("id = {id}"), at % 2 == 0);
                let report = if updates {
                    table.update(&["v = v + 1".to_owned()], Some(&predicate), &once()).await.unwrap()
                } else {
                    table.delete(&predicate, &once()).await.unwrap()
                };
                let Outcome::Committed { attempts: tried, .. } = report.outcome else { panic!("{report:?}") };
                attempts += tried;
                let seen = counting.take();
                let is_data = |name: &&str| name.ends_with(".parquet") && !name.starts_with("_delta_log/");
                let read: Vec<&str> = [Operation::Get, Operation::GetRange]
                    .into_iter()
                    .flat_map(|operation| seen.names(operation))
                    .filter(is_data)
                    .collect();
                let once: BTreeSet<&str> = read.iter().copied().collect();
                assert_eq!(once.len(), read.len(), "a data file was read twice: {read:?}");
                assert!(once.iter().all(|name| files.contains(*name)), "what landed since was read: {read:?}");
                let written = seen.names(Operation::Put).into_iter().filter(is_data).count();
                assert_eq!(written, usize::from(updates), "data files written for one statement");
            }
            attempts
        })
    });
    let mut attempts = 0;
    for writer in writers.collect::<Vec<_>>() {
        attempts += writer.await.unwrap();
    }
    let commits = u32::try_from(WRITERS * EACH).unwrap();
    assert!(attempts > commits, "nobody met anybody: {attempts} attempts for {commits} commits");
    let log = sound(&store, TableFormat::Delta).await;
    assert_eq!(log.newest(), 1 + u64::from(commits));
    let updated = (0..WRITERS * EACH).filter(|id| (id / WRITERS) % 2 == 0);
    assert_eq!(scanned(&store).await, updated.map(|id| (id, 10 * id + 1)).collect::<Rows>());
}

/// The objects of the data files of the handle's version.
fn data_files(table: &Table) -> BTreeSet<String> {
    let Snapshot::Delta(held) = table.snapshot() else { panic!("a Delta table") };
    held.snapshot.files().map(|add| add.path.to_string()).collect()
}

/// What a statement of one handle answers after others of a neighbour, all on the same version; the rows in the end.
async fn after(
    rows: i64,
    per_file: usize,
    policy: &str,
    landed: impl AsyncFn(&mut Table) -> Report,
    ours: impl AsyncFn(&mut Table, &CommitOptions) -> Report,
) -> (Report, Rows) {
    let (store, _) = vectors(rows, per_file, &[]).await;
    let (mut theirs, mut table) = (opened(&store).await, opened(&store).await);
    committed(&landed(&mut theirs).await);
    let report = ours(&mut table, &CommitOptions { policy: Some(policy.to_owned()), ..once() }).await;
    sound(&store, TableFormat::Delta).await;
    (report, scanned(&store).await)
}

async fn delete(table: &mut Table, predicate: &str, options: &CommitOptions) -> Report {
    table.delete(predicate, options).await.unwrap()
}

async fn update(table: &mut Table, predicate: &str, options: &CommitOptions) -> Report {
    table.update(&["v = v + 1".to_owned()], Some(predicate), options).await.unwrap()
}

async fn compact(table: &mut Table, compaction: Compaction, options: &CommitOptions) -> Report {
    table.compact(&CompactRequest { compaction, ..CompactRequest::default() }, options).await.unwrap()
}

fn all(rows: i64) -> Rows {
    (0..rows).map(|id| (id, 10 * id)).collect()
}

#[tokio::test]
async fn a_row_that_is_gone_already_does_not_keep_a_delete_out() {
    let (report, rows) = after(
        4,
        4,
        "precise",
        async |table| delete(table, "id IN (1, 2)", &once()).await,
        async |table, options| delete(table, "id IN (2, 3)", options).await,
    )
    .await;
    committed(&report);
    assert_eq!(rows, Rows::from([(0, 0)]));
    // An update of such a row has nothing to change any more, and would bring it back.
    let (report, rows) = after(
        4,
        4,
        "precise",
        async |table| delete(table, "id IN (1, 2)", &once()).await,
        async |table, options| update(table, "id IN (2, 3)", options).await,
    )
    .await;
    refused(&report, "rows-meet");
    assert_eq!(rows, Rows::from([(0, 0), (3, 30)]));
}

/// Deletes and updates find their rows where a compaction put them, by the addresses that it left; so does a compaction leave out
/// what went meanwhile.
#[tokio::test]
async fn compactions_and_row_changes_follow_each_other() {
    for compaction in [Compaction::Minor, Compaction::Major] {
        let (report, rows) = after(
            6,
            2,
            "precise",
            async |table| {
                committed(&delete(table, "id = 2", &once()).await);
                compact(table, compaction, &once()).await
            },
            async |table, options| update(table, "id IN (0, 3, 5)", options).await,
        )
        .await;
        committed(&report);
        assert_eq!(rows, Rows::from([(0, 1), (1, 10), (3, 31), (4, 40), (5, 51)]), "{compaction:?}");

        let (report, rows) = after(
            6,
            2,
            "precise",
            async |table| {
                committed(&update(table, "id = 1", &once()).await);
                committed(&delete(table, "id IN (2, 3)", &once()).await);
                delete(table, "id = 4", &once()).await
            },
            async |table, options| compact(table, compaction, options).await,
        )
        .await;
        committed(&report);
        assert_eq!(rows, Rows::from([(0, 0), (1, 11), (5, 50)]), "{compaction:?}");
    }
}

/// Rows that another client sorted into new files, without saying where they went, are found by a look.
#[tokio::test]
async fn rows_are_looked_for_where_no_map_tells() {
    let sorted = CompactRequest { cluster_by: vec!["v".to_owned()], ..CompactRequest::default() };
    let (report, rows) = after(
        6,
        2,
        "precise",
        async |table| table.compact(&sorted, &once()).await.unwrap(),
        async |table, options| delete(table, "id IN (0, 3)", options).await,
    )
    .await;
    committed(&report);
    assert_eq!(rows, all(6).into_iter().filter(|(id, _)| ![0, 3].contains(id)).collect());
}

/// Statistics do not rule the new file out, its rows do.
#[tokio::test]
async fn rows_of_a_rival_are_looked_at() {
    for (born, accepted) in [([3, 9], true), ([3, 7], false)] {
        let (report, rows) = after(
            6,
            6,
            "precise",
            async |table| {
                let rows = born.map(|id| (100 + id, id));
                table.append(source(batch(&rows)), &once()).await.unwrap()
            },
            async |table, options| update(table, "v = 7 OR id = 1", options).await,
        )
        .await;
        if accepted {
            committed(&report);
            assert_eq!(rows.get(&1), Some(&11));
        } else {
            refused(&report, "rows-meet");
        }
        assert_eq!(rows.len(), 8);
    }
}

#[tokio::test]
async fn an_overwrite_replaces_what_stands_when_it_commits() {
    let (report, rows) = after(
        4,
        2,
        "precise",
        async |table| {
            committed(&delete(table, "id = 0", &once()).await);
            table.append(source(batch(&[(9, 9)])), &once()).await.unwrap()
        },
        async |table, options| table.overwrite(source(batch(&[(7, 7)])), &Scope::Whole, options).await.unwrap(),
    )
    .await;
    committed(&report);
    assert_eq!(rows, Rows::from([(7, 7)]));
}

/// A key that was looked up in vain counts; two merges do not add one key twice.
#[tokio::test]
async fn a_key_that_was_not_found_is_remembered() {
    let merge = async |table: &mut Table, ids: [i64; 2], options: &CommitOptions| {
        let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
        table.merge(source(batch(&ids.map(|id| (id, -id)))), &spec, options).await.unwrap()
    };
    for (ours, accepted) in [([20, 3], false), ([21, 3], true)] {
        let (report, rows) = after(
            4,
            4,
            "precise",
            async |table| merge(table, [20, 1], &once()).await,
            async |table, options| merge(table, ours, options).await,
        )
        .await;
        if accepted {
            committed(&report);
            assert_eq!(rows, Rows::from([(0, 0), (1, -1), (2, 20), (3, -3), (20, -20), (21, -21)]));
        } else {
            refused(&report, "rows-meet");
            assert_eq!(rows, Rows::from([(0, 0), (1, -1), (2, 20), (3, 30), (20, -20)]));
        }
    }
}

/// The two policies differ in what a blind insert does to a statement that would have met its rows.
#[tokio::test]
async fn only_the_reordering_policy_goes_before_an_insert() {
    for (policy, accepted) in [("precise", false), ("precise-reorder", true)] {
        let (report, rows) = after(
            2,
            2,
            policy,
            async |table| table.append(source(batch(&[(2, 0)])), &once()).await.unwrap(),
            async |table, options| delete(table, "v = 0", options).await,
        )
        .await;
        if accepted {
            committed(&report);
            assert_eq!(rows, Rows::from([(1, 10), (2, 0)]));
        } else {
            refused(&report, "rows-meet");
        }
    }
}

/// Two deletes of the same rows: the second finds them gone, and neither its answer nor its entry counts them once more.
#[tokio::test]
async fn a_row_is_deleted_by_one_of_two() {
    for (rows, per_file, first, second, left) in [
        // The whole file goes, twice.
        (1, 1, "id = 0", "id = 0", (0, 0)),
        // One of the two rows is gone already; the file stays.
        (10, 10, "id = 3", "id IN (3, 4)", (1, 0)),
        // What is left of the file goes with it.
        (3, 3, "id = 0", "id >= 0", (2, 1)),
    ] {
        let (store, mut ours) = vectors(rows, per_file, &[]).await;
        let mut theirs = opened(&store).await;
        committed(&theirs.delete(first, &once()).await.unwrap());
        let report = ours.delete(second, &once()).await.unwrap();
        let counts = (report.metrics["rows_deleted"], report.metrics["files_removed"]);
        assert_eq!(counts, left, "{first}, then {second}: {report:?}");
        let version = committed(&report);
        let history = opened(&store).await.history(Some(1)).await.unwrap();
        assert_eq!(history[0].version.get(), version);
        assert_eq!(history[0].metrics["numDeletedRows"], left.0.to_string());
        let gone = if first == second { 1 } else { 1 + left.0 };
        assert_eq!(scanned(&store).await.len() as u64, rows as u64 - gone);
    }
}
