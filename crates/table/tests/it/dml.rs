//! Deletes, updates, merges and overwrites of Delta tables with every feature that changes how they are written: the rows are those
//! of a model, the change files tell the difference between two versions, and row ids stay with their rows.

use crate::support::{committed, created, once, opened, place, source};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use lakebed_data::{ReadOptions, read_parquet};
use lakebed_delta::action::{Action, parse_actions};
use lakebed_naming::delta::{DataPath, commit_path};
use lakebed_storage::Store;
use lakebed_table::{
    Matched, MergeSpec, NewTable, NotMatched, NotMatchedBySource, ScanRequest, Scope, Snapshot, Table, TableFormat,
};
use lakebed_transaction::{Column, ColumnType};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Row = (Option<String>, Option<i64>);
type Model = BTreeMap<i64, Row>;

fn columns() -> Vec<Column> {
    vec![
        Column::new("id", ColumnType::Long, false),
        Column::new("p", ColumnType::String, true),
        Column::new("v", ColumnType::Long, true),
    ]
}

fn rows(model: &Model) -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("p", DataType::Utf8, true),
        Field::new("v", DataType::Int64, true),
    ]);
    let ids = Int64Array::from_iter_values(model.keys().copied());
    let texts = StringArray::from_iter(model.values().map(|row| row.0.as_deref()));
    let values = model.values().map(|row| row.1).collect::<Int64Array>();
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ids), Arc::new(texts), Arc::new(values)]).unwrap()
}

fn row_at(batch: &RecordBatch, at: usize) -> (i64, Row) {
    let id = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().value(at);
    let p = batch.column_by_name("p").unwrap().as_string::<i32>();
    let v = batch.column_by_name("v").unwrap().as_primitive::<Int64Type>();
    (id, (p.is_valid(at).then(|| p.value(at).to_owned()), v.is_valid(at).then(|| v.value(at))))
}

async fn scanned(table: &Table) -> Model {
    let mut model = Model::new();
    for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
        for at in 0..batch.num_rows() {
            let (id, row) = row_at(&batch, at);
            assert!(model.insert(id, row).is_none(), "row {id} is there twice");
        }
    }
    model
}

/// Row ids and row commit versions by id, on tables that track rows.
async fn tracked(table: &Table) -> BTreeMap<i64, (i64, i64)> {
    let request = ScanRequest { with_row_tracking: true, ..ScanRequest::default() };
    let mut found = BTreeMap::new();
    for batch in table.scan(table.snapshot(), &request).unwrap().all().await.unwrap() {
        let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>();
        let [row, version] = [lakebed_table::ROW_ID, lakebed_table::ROW_COMMIT_VERSION]
            .map(|name| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone());
        for at in 0..batch.num_rows() {
            assert!(row.is_valid(at) && version.is_valid(at), "row {} has no id", ids.value(at));
            found.insert(ids.value(at), (row.value(at), version.value(at)));
        }
    }
    let distinct: BTreeSet<i64> = found.values().map(|(row, _)| *row).collect();
    assert_eq!(distinct.len(), found.len(), "two rows have one row id");
    found
}

/// What the change files of a version say, in no order.
async fn told(store: &Arc<dyn Store>, version: u64) -> Option<BTreeSet<(String, i64, Row)>> {
    let bytes = store.get(&commit_path(lakebed_naming::Version::new(version))).await.unwrap().unwrap();
    let actions = parse_actions("a commit", &bytes).unwrap();
    let mut told = BTreeSet::new();
    let mut any = false;
    for action in actions {
        let Action::Cdc(cdc) = action else { continue };
        any = true;
        let DataPath::Relative(object) = DataPath::decode(&cdc.path).unwrap() else { panic!("{}", cdc.path) };
        assert!(object.starts_with("_change_data/"), "{object}");
        let wanted: Vec<Column> =
            columns().into_iter().chain([Column::new("_change_type", ColumnType::String, true)]).collect();
        let partition = cdc.partition_values.iter().map(|(name, value)| {
            (Arc::from(name), value.map_or(lakebed_transaction::Scalar::Null, lakebed_transaction::Scalar::string))
        });
        let options = ReadOptions::new(&wanted).with_partition(partition.collect());
        for rows in read_parquet(store, &object, options).await.unwrap().collect().await.unwrap() {
            for at in 0..rows.batch.num_rows() {
                let change = rows.batch.column_by_name("_change_type").unwrap().as_string::<i32>().value(at).to_owned();
                let (id, row) = row_at(&rows.batch, at);
                assert!(told.insert((change, id, row)), "told twice");
            }
        }
    }
    any.then_some(told)
}

/// What became of each row between two versions, as change files say it.
fn difference(before: &Model, after: &Model) -> BTreeSet<(String, i64, Row)> {
    let mut changes = BTreeSet::new();
    for (id, row) in before {
        match after.get(id) {
            None => drop(changes.insert(("delete".to_owned(), *id, row.clone()))),
            Some(new) if new != row => {
                changes.insert(("update_preimage".to_owned(), *id, row.clone()));
                changes.insert(("update_postimage".to_owned(), *id, new.clone()));
            }
            Some(_) => {}
        }
    }
    for (id, row) in after.iter().filter(|(id, _)| !before.contains_key(id)) {
        changes.insert(("insert".to_owned(), *id, row.clone()));
    }
    changes
}

struct World {
    name: String,
    store: Arc<dyn Store>,
    table: Table,
    model: Model,
    vectors: bool,
    feed: bool,
    tracks: bool,
}

impl World {
    async fn new(name: &str, properties: &[(&str, &str)], partitioned: bool) -> Self {
        let store = place(TableFormat::Delta);
        let has = |key: &str| properties.iter().any(|(known, _)| *known == key);
        let definition = NewTable::new(TableFormat::Delta, columns())
            .with_partition_columns(if partitioned { vec!["p".to_owned()] } else { Vec::new() })
            .with_properties(properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect());
        let table = created(&store, &definition).await;
        Self {
            name: name.to_owned(),
            store,
            table,
            model: Model::new(),
            vectors: has("delta.enableDeletionVectors"),
            feed: has("delta.enableChangeDataFeed"),
            tracks: has("delta.enableRowTracking"),
        }
    }

    /// The new version holds the rows of the model; the other rules of the features hold, too.
    async fn check(&mut self, what: &str, before: &Model, version: u64) {
        let name = format!("{}: {what}", self.name);
        let fresh = opened(&self.store).await;
        assert_eq!(fresh.version().get(), version, "{name}");
        assert_eq!(scanned(&fresh).await, self.model, "{name}");
        let summary = fresh.snapshot().summary().unwrap();
        assert_eq!(summary.num_rows, Some(self.model.len() as u64), "{name}: by statistics");
        if let (true, Some(told)) = (self.feed, told(&self.store, version).await) {
            assert_eq!(told, difference(before, &self.model), "{name}: change files");
        } else {
            assert!(!self.feed || what == "append" || what == "whole", "{name} wrote no change files");
        }
    }

    fn files(&self) -> BTreeSet<String> {
        self.table.snapshot().files().into_iter().map(|file| file.path).collect()
    }
}

fn p_of(id: i64) -> Option<String> {
    ["a", "b c"].get(usize::try_from(id % 3).unwrap()).map(|text| (*text).to_owned())
}

/// Merges of every kind; `ids` has row ids and row commit versions of before.
async fn merges(w: &mut World, ids: &BTreeMap<i64, (i64, i64)>) {
    // A merge that updates, inserts and leaves the rest alone.
    let before = w.model.clone();
    let given: Model =
        [(4, (p_of(4), Some(-4))), (7, (Some("z".to_owned()), Some(-7))), (20, (None, Some(-20)))].into();
    let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
    let report = w.table.merge(source(rows(&given)), &spec, &once()).await.unwrap();
    assert_eq!((report.metrics["rows_updated"], report.metrics["rows_inserted"]), (2, 1), "{}", w.name);
    w.model.extend(given);
    w.check("merge", &before, committed(&report)).await;
    if w.tracks {
        let now = tracked(&w.table).await;
        assert_eq!((now[&4].0, now[&7].0), (ids[&4].0, ids[&7].0), "{}: merged rows keep their ids", w.name);
        assert!(!ids.values().any(|(row, _)| *row == now[&20].0), "{}: a new row has a new id", w.name);
    }

    // A merge that deletes.
    let before = w.model.clone();
    let given: Model = [(7, (None, None)), (99, (None, None))].into();
    let spec = MergeSpec {
        on: vec!["ID".to_owned()],
        matched: Matched::Delete,
        not_matched: NotMatched::Ignore,
        ..MergeSpec::default()
    };
    let report = w.table.merge(source(rows(&given)), &spec, &once()).await.unwrap();
    w.model.remove(&7);
    w.check("merge delete", &before, committed(&report)).await;

    // A merge that takes rows out which the source does not have.
    let before = w.model.clone();
    let given: Model = [(1, (p_of(1), Some(-1))), (21, (Some("b c".to_owned()), Some(21)))].into();
    let spec = MergeSpec {
        on: vec!["id".to_owned()],
        not_matched_by_source: NotMatchedBySource::Delete(Some("p = 'z' OR v IS NULL".to_owned())),
        ..MergeSpec::default()
    };
    let report = w.table.merge(source(rows(&given)), &spec, &once()).await.unwrap();
    let goes = |id: &i64, row: &Row| !given.contains_key(id) && (row.0.as_deref() == Some("z") || row.1.is_none());
    let gone = before.iter().filter(|(id, row)| goes(id, row)).count() as u64;
    assert!(gone > 0 && gone < before.len() as u64, "{}: {gone}", w.name);
    assert_eq!(report.metrics["rows_deleted"], gone, "{}", w.name);
    w.model.retain(|id, row| !goes(id, row));
    w.model.extend(given);
    w.check("merge without what the source lacks", &before, committed(&report)).await;
}

async fn history(mut w: World) {
    let first: Model = (0..12).map(|id| (id, (p_of(id), Some(id * 10)))).collect();
    let before = std::mem::replace(&mut w.model, first.clone());
    let version = committed(&w.table.append(source(rows(&first)), &once()).await.unwrap());
    w.check("append", &before, version).await;
    let ids = if w.tracks { tracked(&w.table).await } else { BTreeMap::new() };

    // An update of some rows.
    let (before, files) = (w.model.clone(), w.files());
    let set = ["v = v + 1".to_owned()];
    let report = w.table.update(&set, Some("id % 4 = 0"), &once()).await.unwrap();
    assert_eq!(report.metrics["rows_updated"], 3, "{}", w.name);
    w.model.iter_mut().filter(|(id, _)| *id % 4 == 0).for_each(|(_, row)| row.1 = row.1.map(|v| v + 1));
    w.check("update", &before, committed(&report)).await;
    assert_eq!(files.is_subset(&w.files()), w.vectors, "{}: vectors keep the files", w.name);
    if w.tracks {
        let now = tracked(&w.table).await;
        for (id, (row, at)) in &ids {
            let expected = if id % 4 == 0 { (*row, w.table.version().get() as i64) } else { (*row, *at) };
            assert_eq!(now[id], expected, "{}: row {id} after an update", w.name);
        }
    }

    // Rows move to another partition; one loses its value.
    let before = w.model.clone();
    let set = ["p = 'z'".to_owned(), "v = NULL".to_owned()];
    let report = w.table.update(&set, Some("id IN (1, 2)"), &once()).await.unwrap();
    for id in [1, 2] {
        w.model.insert(id, (Some("z".to_owned()), None));
    }
    w.check("move", &before, committed(&report)).await;

    // Deletes: some rows, then more of the same files.
    for (predicate, ids) in [("id = 5 OR v = 30", vec![5, 3]), ("id >= 10", vec![10, 11])] {
        let (before, files) = (w.model.clone(), w.files());
        let report = w.table.delete(predicate, &once()).await.unwrap();
        ids.iter().for_each(|id| drop(w.model.remove(id)));
        w.check("delete", &before, committed(&report)).await;
        if w.vectors && report.metrics["files_removed"] == 0 {
            assert_eq!(w.files(), files, "{}: vectors keep the files", w.name);
        }
    }

    merges(&mut w, &ids).await;

    // A range is replaced, then everything.
    let before = w.model.clone();
    let given: Model = [(30, (Some("a".to_owned()), Some(1))), (31, (Some("a".to_owned()), None))].into();
    let scope = Scope::Where("p = 'a' OR id >= 30".to_owned());
    let report = w.table.overwrite(source(rows(&given)), &scope, &once()).await.unwrap();
    w.model.retain(|_, row| row.0.as_deref() != Some("a"));
    w.model.extend(given);
    w.check("range", &before, committed(&report)).await;
    let before = w.model.clone();
    w.model = [(1, (None, None))].into();
    let report = w.table.overwrite(source(rows(&w.model)), &Scope::Whole, &once()).await.unwrap();
    w.check("whole", &before, committed(&report)).await;
}

#[tokio::test]
async fn a_mixed_history_gives_the_rows_of_a_model_under_every_feature() {
    let vectors = ("delta.enableDeletionVectors", "true");
    let feed = ("delta.enableChangeDataFeed", "true");
    let tracking = ("delta.enableRowTracking", "true");
    let stamps = ("delta.enableInCommitTimestamps", "true");
    for partitioned in [false, true] {
        for (name, properties) in [
            ("plain", vec![]),
            ("vectors", vec![vectors]),
            ("feed", vec![feed]),
            ("vectors and feed", vec![vectors, feed]),
            ("tracking", vec![tracking]),
            ("tracking and vectors", vec![tracking, vectors, stamps]),
            ("mapped by name", vec![("delta.columnMapping.mode", "name"), vectors]),
            ("mapped by id", vec![("delta.columnMapping.mode", "id"), tracking]),
        ] {
            let name = format!("{name}{}", if partitioned { ", partitioned" } else { "" });
            history(World::new(&name, &properties, partitioned).await).await;
        }
    }
}

#[tokio::test]
async fn a_key_that_the_source_has_twice_is_refused_and_rows_without_a_key_are_new() {
    let mut w = World::new("keys", &[], false).await;
    let first: Model = [(1, (None, Some(1))), (2, (Some("a".to_owned()), Some(2)))].into();
    committed(&w.table.append(source(rows(&first)), &once()).await.unwrap());
    let spec = MergeSpec { on: vec!["p".to_owned()], ..MergeSpec::default() };
    let twice: Model = [(8, (Some("a".to_owned()), None)), (9, (Some("a".to_owned()), None))].into();
    let error = w.table.merge(source(rows(&twice)), &spec, &once()).await.unwrap_err().to_string();
    assert!(error.contains("two rows of the source"), "{error}");
    // NULL is in no key: the row of the source is new, and the row of the table stays.
    let given: Model = [(8, (Some("a".to_owned()), None)), (9, (None, Some(9)))].into();
    committed(&w.table.merge(source(rows(&given)), &spec, &once()).await.unwrap());
    let expected: Model = [(1, (None, Some(1))), (8, (Some("a".to_owned()), None)), (9, (None, Some(9)))].into();
    assert_eq!(scanned(&w.table).await, expected);
    let Snapshot::Delta(held) = w.table.snapshot() else { panic!("not Delta") };
    let info = held.snapshot.commit_info().unwrap();
    assert_eq!((info.operation(), info.flag("isBlindAppend")), (Some("MERGE"), Some(false)));
    let spec = MergeSpec { on: vec!["nope".to_owned()], ..MergeSpec::default() };
    let error = w.table.merge(source(rows(&given)), &spec, &once()).await.unwrap_err().to_string();
    assert!(error.contains("id, p, v"), "{error}");
}

#[tokio::test]
async fn row_tracking_that_is_turned_on_later_numbers_the_files_that_are_there() {
    let mut w = World::new("later", &[], false).await;
    let first: Model = (0..3).map(|id| (id, (None, Some(id)))).collect();
    committed(&w.table.append(source(rows(&first)), &once()).await.unwrap());
    committed(&w.table.append(source(rows(&[(9, (None, None))].into())), &once()).await.unwrap());
    let set = [("delta.enableRowTracking".to_owned(), "true".to_owned())].into();
    committed(&w.table.set_properties(set, Vec::new(), &once()).await.unwrap());
    committed(&w.table.append(source(rows(&[(10, (None, None))].into())), &once()).await.unwrap());
    let ids: Vec<i64> = tracked(&w.table).await.into_values().map(|(row, _)| row).collect();
    let distinct: BTreeSet<i64> = ids.iter().copied().collect();
    assert_eq!((ids.len(), distinct), (5, (0..5).collect()));
    let Snapshot::Delta(held) = w.table.snapshot() else { panic!("not Delta") };
    assert_eq!(held.snapshot.core().row_id_high_water_mark(), Some(4));
}
