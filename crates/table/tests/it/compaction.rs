//! Compaction and clustering: rows change their place, and nothing else.

mod cells;
mod cluster;

use crate::support::{committed, created, place, source};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use lakebed_data::{ReadOptions, read_parquet};
use lakebed_delta::action::{Action, Add, CommitInfo, parse_actions};
use lakebed_naming::Version;
use lakebed_naming::delta::{DataPath, commit_path};
use lakebed_storage::Store;
use lakebed_table::{
    CommitOptions, CompactRequest, Compaction, NewTable, ROW_COMMIT_VERSION, ROW_ID, ScanRequest, Snapshot, Table,
    TableFormat, VersionSpec,
};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const VECTORS: (&str, &str) = ("delta.enableDeletionVectors", "true");

pub(crate) fn columns() -> Vec<Column> {
    vec![
        Column::new("id", ColumnType::Long, false),
        Column::new("p", ColumnType::String, true),
        Column::new("v", ColumnType::Long, true),
    ]
}

pub(crate) async fn table(partitioned: bool, properties: &[(&str, &str)]) -> (Arc<dyn Store>, Table) {
    let store = place(TableFormat::Delta);
    let properties = properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let mut definition = NewTable::new(TableFormat::Delta, columns()).with_properties(properties);
    if partitioned {
        definition = definition.with_partition_columns(vec!["p".to_owned()]);
    }
    let table = created(&store, &definition).await;
    (store, table)
}

pub(crate) fn batch(rows: impl IntoIterator<Item = (i64, &'static str, i64)>) -> RecordBatch {
    let rows: Vec<_> = rows.into_iter().collect();
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("p", DataType::Utf8, true),
        Field::new("v", DataType::Int64, true),
    ]);
    RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1))),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))),
        ],
    )
    .unwrap()
}

pub(crate) async fn append(table: &mut Table, rows: RecordBatch) {
    committed(&table.append(source(rows), &CommitOptions::default()).await.unwrap());
}

pub(crate) fn of(compaction: Compaction) -> CompactRequest {
    CompactRequest { compaction, ..CompactRequest::default() }
}

/// The rows of a version by id, with their row ids and row commit versions where the table tracks them.
pub(crate) async fn rows(table: &Table) -> BTreeMap<i64, (String, i64, Option<(i64, i64)>)> {
    let Snapshot::Delta(held) = table.snapshot() else { panic!("not Delta") };
    let with_row_tracking = held.snapshot.protocol().supports("rowTracking");
    let request = ScanRequest { with_row_tracking, ..ScanRequest::default() };
    let mut found = BTreeMap::new();
    for batch in table.scan(table.snapshot(), &request).unwrap().all().await.unwrap() {
        let number = |name: &str| batch.column_by_name(name).map(|column| column.as_primitive::<Int64Type>().clone());
        let (ids, values) = (number("id").unwrap(), number("v").unwrap());
        let texts = batch.column_by_name("p").unwrap().as_string::<i32>();
        let tracked = number(ROW_ID).zip(number(ROW_COMMIT_VERSION));
        for at in 0..batch.num_rows() {
            let own = tracked.as_ref().map(|(ids, versions)| (ids.value(at), versions.value(at)));
            let row = (texts.value(at).to_owned(), values.value(at), own);
            assert!(found.insert(ids.value(at), row).is_none(), "row {} is there twice", ids.value(at));
        }
    }
    found
}

pub(crate) fn files(table: &Table) -> Vec<Arc<Add>> {
    let Snapshot::Delta(held) = table.snapshot() else { panic!("not Delta") };
    let mut files: Vec<_> = held.snapshot.files().cloned().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Every physical row of a file, deleted ones included, by the Parquet reader alone.
pub(crate) async fn physical(store: &Arc<dyn Store>, add: &Add) -> Vec<i64> {
    let DataPath::Relative(object) = DataPath::decode(&add.path).unwrap() else { panic!("{}", add.path) };
    let wanted = [Column::new("id", ColumnType::Long, false)];
    let read = read_parquet(store, &object, ReadOptions::new(&wanted)).await.unwrap().collect().await.unwrap();
    read.iter().flat_map(|rows| rows.batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

pub(crate) async fn actions(store: &Arc<dyn Store>, version: u64) -> Vec<Action> {
    let bytes = store.get(&commit_path(Version::new(version))).await.unwrap().unwrap();
    parse_actions("a commit", &bytes).unwrap()
}

fn info(actions: &[Action]) -> &CommitInfo {
    actions.iter().find_map(|action| if let Action::CommitInfo(info) = action { Some(info) } else { None }).unwrap()
}

/// Nothing in the commit says that rows came or went.
async fn changes_no_data(store: &Arc<dyn Store>, table: &Table) {
    let version = table.version().get();
    let actions = actions(store, version).await;
    assert_eq!(info(&actions).operation(), Some("OPTIMIZE"));
    for action in &actions {
        match action {
            Action::Add(add) => assert!(!add.data_change, "{}", add.path),
            Action::Remove(remove) => assert!(!remove.data_change, "{}", remove.path),
            Action::CommitInfo(_) | Action::Domain(_) => {}
            Action::Cdc(_)
            | Action::Metadata(_)
            | Action::Protocol(_)
            | Action::Txn(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => panic!("{action:?}"),
        }
    }
    assert!(!table.history(Some(1)).await.unwrap()[0].data_change);
    let mut changes = table.changes(VersionSpec::Number(version - 1), VersionSpec::Number(version)).await.unwrap();
    assert_eq!(changes.next().await.unwrap(), None);
}

/// A table of four files with deletion vectors on three of them, row ids kept.
async fn four_files(more: &[(&str, &str)]) -> (Arc<dyn Store>, Table) {
    let properties: Vec<_> =
        [VECTORS, ("delta.enableRowTracking", "true")].into_iter().chain(more.iter().copied()).collect();
    let (store, mut table) = table(false, &properties).await;
    for first in [0, 10, 20, 30] {
        append(&mut table, batch((first..first + 10).map(|id| (id, "a", id * 2)))).await;
    }
    committed(&table.delete("id IN (1, 9, 10, 35)", &CommitOptions::default()).await.unwrap());
    committed(&table.update(&["v = -1".to_owned()], Some("id = 22"), &CommitOptions::default()).await.unwrap());
    (store, table)
}

#[tokio::test]
async fn a_minor_compaction_keeps_every_physical_row_in_its_order() {
    let (store, mut table) = four_files(&[]).await;
    let (before, old) = (rows(&table).await, files(&table));
    let mut expected = Vec::new();
    for add in &old {
        expected.extend(physical(&store, add).await);
    }
    let report = table.compact(&of(Compaction::Minor), &CommitOptions::default()).await.unwrap();
    committed(&report);
    assert_eq!(rows(&table).await, before, "rows, their ids and their versions");
    let [joined] = files(&table).try_into().unwrap();
    assert_eq!(physical(&store, &joined).await, expected);
    // Four deleted, and one that an update replaced.
    assert_eq!((joined.num_records(), joined.deleted_rows()), (Some(41), 5));
    assert!(!lakebed_delta::stats::tight_bounds(joined.stats.as_deref().unwrap()));
    let sources: Vec<BTreeMap<String, serde_json::Value>> =
        serde_json::from_str(joined.tags.as_ref().unwrap().get("lakebed.sources").unwrap()).unwrap();
    let listed: Vec<_> =
        sources.iter().map(|source| (source["path"].as_str().unwrap(), source["rows"].as_u64())).collect();
    let removed: Vec<_> = old.iter().map(|add| (&*add.path, add.num_records())).collect();
    assert_eq!(listed, removed);
    changes_no_data(&store, &table).await;
    let metrics = &table.history(Some(1)).await.unwrap()[0].metrics;
    let metric = |name: &str| metrics[name].parse::<i64>().unwrap();
    assert_eq!((metric("numRemovedFiles"), metric("numAddedFiles"), metric("numDeletionVectorsRemoved")), (5, 1, 4));
    assert_eq!(metric("numRemovedBytes"), old.iter().map(|add| add.size).sum::<i64>());
    assert_eq!([metric("minFileSize"), metric("p50FileSize"), metric("maxFileSize")], [joined.size; 3]);

    let report = table.compact(&of(Compaction::Minor), &CommitOptions::default()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Nothing { .. }), "{report:?}");
}

#[tokio::test]
async fn a_major_compaction_drops_deleted_rows_and_keeps_the_ids_of_the_others() {
    let (store, mut table) = four_files(&[]).await;
    let before = rows(&table).await;
    committed(&table.compact(&of(Compaction::Minor), &CommitOptions::default()).await.unwrap());
    // One file is enough of a reason when rows of it are hidden.
    committed(&table.compact(&of(Compaction::Major), &CommitOptions::default()).await.unwrap());
    assert_eq!(rows(&table).await, before);
    let [joined] = files(&table).try_into().unwrap();
    assert_eq!((joined.num_records(), joined.deletion_vector.clone()), (Some(36), None));
    assert_eq!(physical(&store, &joined).await.len(), 36);
    changes_no_data(&store, &table).await;
    let report = table.compact(&of(Compaction::Major), &CommitOptions::default()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Nothing { .. }), "{report:?}");
}

#[tokio::test]
async fn columns_keep_their_names_and_ids_in_files() {
    let (store, mut table) = four_files(&[("delta.columnMapping.mode", "name")]).await;
    let before = rows(&table).await;
    committed(&table.compact(&of(Compaction::Major), &CommitOptions::default()).await.unwrap());
    assert_eq!(rows(&table).await, before);
    changes_no_data(&store, &table).await;
}

/// The statistics of a new file are those of its rows.
#[tokio::test]
async fn joined_files_have_statistics() {
    let (_, mut table) = four_files(&[]).await;
    committed(&table.compact(&of(Compaction::Major), &CommitOptions::default()).await.unwrap());
    let [joined] = files(&table).try_into().unwrap();
    let stats: serde_json::Value = serde_json::from_str(joined.stats.as_deref().unwrap()).unwrap();
    assert_eq!((stats["minValues"]["id"].as_i64(), stats["maxValues"]["id"].as_i64()), (Some(0), Some(39)));
    assert_eq!((stats["minValues"]["v"].as_i64(), stats["nullCount"]["v"].as_i64()), (Some(-1), Some(0)));
}

#[tokio::test]
async fn a_compaction_goes_by_partitions() {
    let (_, mut table) = table(true, &[]).await;
    for ids in [0..10, 10..20] {
        append(&mut table, batch(ids.map(|id| (id, if id % 2 == 0 { "a" } else { "b" }, id)))).await;
    }
    let before = rows(&table).await;
    let in_a = CompactRequest { predicate: Some("p = 'a'".to_owned()), ..of(Compaction::Major) };
    committed(&table.compact(&in_a, &CommitOptions::default()).await.unwrap());
    let per_partition = |table: &Table| {
        files(table).iter().fold(BTreeMap::new(), |mut counts, add| {
            *counts.entry(add.partition_values.get("p").unwrap().to_owned()).or_insert(0) += 1;
            counts
        })
    };
    assert_eq!(per_partition(&table), BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]));
    assert!(matches!(table.compact(&in_a, &CommitOptions::default()).await.unwrap().outcome, Outcome::Nothing { .. }));
    committed(&table.compact(&of(Compaction::Minor), &CommitOptions::default()).await.unwrap());
    assert_eq!(per_partition(&table), BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)]));
    assert_eq!(rows(&table).await, before);
    let by_data = CompactRequest { predicate: Some("p = 'a' AND v > 3".to_owned()), ..of(Compaction::Major) };
    let error = table.compact(&by_data, &CommitOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("partition"), "{error}");
}

/// A file that is large enough already stays, and others are joined up to the size that is asked for.
#[tokio::test]
async fn files_are_joined_up_to_the_target() {
    let (_, mut table) = table(false, &[]).await;
    for first in 0..6 {
        append(&mut table, batch((first * 10..first * 10 + 10).map(|id| (id, "a", id)))).await;
    }
    let size = u64::try_from(files(&table)[0].size).unwrap();
    let two = CompactRequest { target_size_bytes: Some(size * 5 / 2), ..of(Compaction::Major) };
    committed(&table.compact(&two, &CommitOptions::default()).await.unwrap());
    assert_eq!(files(&table).iter().map(|add| add.num_records().unwrap()).collect::<Vec<_>>(), [20, 20, 20]);
    let none = CompactRequest { target_size_bytes: Some(size / 2), ..of(Compaction::Major) };
    assert!(matches!(table.compact(&none, &CommitOptions::default()).await.unwrap().outcome, Outcome::Nothing { .. }));
}

/// Without the feature in force, files that have vectors from earlier are left to a major compaction.
#[tokio::test]
async fn vectors_are_not_written_where_the_table_does_not_want_them_any_more() {
    let (_, mut table) = four_files(&[]).await;
    let before = rows(&table).await;
    let off = BTreeMap::from([(VECTORS.0.to_owned(), "false".to_owned())]);
    committed(&table.set_properties(off, Vec::new(), &CommitOptions::default()).await.unwrap());
    let report = table.compact(&of(Compaction::Minor), &CommitOptions::default()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Nothing { .. }), "{report:?}");
    committed(&table.compact(&of(Compaction::Major), &CommitOptions::default()).await.unwrap());
    assert_eq!(rows(&table).await, before);
    assert!(files(&table).iter().all(|add| add.deletion_vector.is_none()));
}
