//! Lance tables with the columns of the scripts: `id` and `s`.

use super::{Python, Texts, alone, committed, integers, list, plainly};
use lakebed_lance::proto::table::{DataFile, DataFragment};
use lakebed_lance::transaction::new_fragment;
use lakebed_table::{NewTable, Snapshot, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A data file that pylance wrote and nobody has committed.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) path: String,
    pub(crate) fragment: DataFragment,
    /// The ids in its rows, in order.
    pub(crate) ids: Vec<i64>,
}

/// Creates an empty table, as version 1.
pub(crate) async fn create(path: &Path, config: Texts) -> Table {
    let columns = vec![Column::new("id", ColumnType::Long, true), Column::new("s", ColumnType::String, true)];
    let definition = NewTable::new(TableFormat::Lance, columns).with_properties(config);
    let (table, report) = Table::create(path.to_str().unwrap(), &alone(), &definition, &plainly()).await.unwrap();
    assert_eq!(committed(&report), 1);
    table.unwrap()
}

/// Lets pylance write data files into a table, `count` of `rows` rows each; ids count up from `start`.
pub(crate) async fn write(python: &Python, table: &Path, count: usize, rows: usize, start: i64) -> Vec<Written> {
    let numbers = [count.to_string(), rows.to_string(), start.to_string()];
    let more = ["--count", &numbers[0], "--rows", &numbers[1], "--start", &numbers[2]];
    let document = python.on("lance_fragments.py", &[], table, &more).await;
    let written: Vec<_> = list(&document["fragments"]).iter().map(read_written).collect();
    assert_eq!(written.len(), count);
    written
}

fn read_written(printed: &Value) -> Written {
    let file = &printed["files"][0];
    let numbers = |key: &str| integers(&file[key]).into_iter().map(|n| i32::try_from(n).unwrap()).collect();
    let number = |value: &Value| value.as_u64().unwrap();
    let path = file["path"].as_str().unwrap().to_owned();
    let data = DataFile {
        path: path.clone(),
        fields: numbers("fields"),
        column_indices: numbers("column_indices"),
        file_major_version: u32::try_from(number(&file["file_major_version"])).unwrap(),
        file_minor_version: u32::try_from(number(&file["file_minor_version"])).unwrap(),
        file_size_bytes: number(&file["file_size_bytes"]),
        base_id: None,
    };
    Written { path, fragment: new_fragment(data, number(&printed["physical_rows"])), ids: integers(&printed["ids"]) }
}

/// What a table should hold: live data files with the ids of their rows, and the positions that are deleted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) files: BTreeMap<String, (Vec<i64>, BTreeSet<u64>)>,
    pub(crate) config: Texts,
}

impl Model {
    pub(crate) fn add(&mut self, written: &Written) {
        self.files.insert(written.path.clone(), (written.ids.clone(), BTreeSet::new()));
    }

    /// Deletes rows of a file; a file without live rows goes.
    pub(crate) fn delete(&mut self, path: &str, positions: impl IntoIterator<Item = u64>) {
        let (ids, deleted) = self.files.get_mut(path).unwrap();
        deleted.extend(positions);
        if deleted.len() == ids.len() {
            self.files.remove(path);
        }
    }

    /// Positions of the live rows of a file, with their ids.
    pub(crate) fn live(&self, path: &str) -> Vec<(u64, i64)> {
        let (ids, deleted) = self.files.get(path).unwrap();
        let all = (0_u64..).zip(ids.iter().copied());
        all.filter(|(position, _)| !deleted.contains(position)).collect()
    }

    /// The rows in the scripts' form, sorted by id.
    pub(crate) fn rows(&self) -> Value {
        let mut ids: Vec<i64> = self.files.keys().flat_map(|path| self.live(path)).map(|(_, id)| id).collect();
        ids.sort_unstable();
        ids.into_iter().map(|id| serde_json::json!([id, format!("s{id}")])).collect()
    }

    /// Fragment, position and id of every row, sorted, when the fragments have these ids.
    pub(crate) fn addresses(&self, fragments: &BTreeMap<String, u64>) -> Value {
        let mut all: Vec<_> = self
            .files
            .keys()
            .flat_map(|path| self.live(path).into_iter().map(|(position, id)| (fragments[path], position, id)))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(fragment, position, id)| serde_json::json!([fragment, position, id])).collect()
    }
}

/// Ids of fragments by their (only) data file.
pub(crate) fn fragment_ids(snapshot: &Snapshot) -> BTreeMap<String, u64> {
    snapshot
        .fragments()
        .into_iter()
        .map(|fragment| {
            assert_eq!(fragment.files.len(), 1);
            (fragment.files[0].clone(), fragment.id)
        })
        .collect()
}

/// The fragments of a version in the scripts' form.
pub(crate) fn fragments(snapshot: &Snapshot) -> Value {
    snapshot
        .fragments()
        .into_iter()
        .map(|one| {
            let (physical_rows, num_deletions) = (one.physical_rows.unwrap(), one.num_deleted.unwrap());
            serde_json::json!({"id": one.id, "physical_rows": physical_rows, "num_deletions": num_deletions})
        })
        .collect()
}

/// Compares what this program reads of a version with what pylance printed of it.
#[track_caller]
pub(crate) fn same_version(snapshot: &Snapshot, printed: &Value) {
    let version = snapshot.version().get();
    assert_eq!(printed["version"].as_u64(), Some(version));
    let summary = snapshot.summary().unwrap();
    assert_eq!(printed["num_rows"].as_u64(), summary.num_rows, "rows of version {version}");
    assert_eq!(printed["fragments"], fragments(snapshot), "fragments of version {version}");
    assert_eq!(super::texts(&printed["config"]), summary.properties, "config of version {version}");
}

/// Lets pylance update, merge, index, compact and clean up a table that we committed to, reads what that left, and commits
/// once more: every row must still be there, and no row id twice.
pub(crate) async fn tended(python: &Python, path: &Path, table: &mut Table, start: i64) {
    let tended = python.on("lance_write.py", &["tend"], path, &[""; 0]).await;
    assert!(table.refresh().await.unwrap());
    same_version(table.snapshot(), list(&tended["commits"]).last().unwrap());
    let summary = table.snapshot().summary().unwrap();
    assert_eq!((summary.num_files, summary.num_deleted_rows), (1, Some(0)), "pylance joined all fragments");
    assert_eq!(table.snapshot().indices().iter().filter(|index| index.name == "id_idx").count(), 1);

    let file = write(python, path, 1, 3, start).await.remove(0);
    let _ = committed(&table.append_fragments(vec![file.fragment], &plainly()).await.unwrap());
    let read = python.on("lance_read.py", &[], path, &["--rows", "--addresses"]).await;
    same_version(table.snapshot(), &read);
    let mut rows: Vec<Value> = list(&tended["rows"]).to_vec();
    rows.extend(file.ids.iter().map(|id| serde_json::json!([id, format!("s{id}")])));
    rows.sort_by_key(|row| row[0].as_i64());
    assert_eq!(list(&read["rows"]), rows);
    distinct_row_ids(&read);
}

/// No two rows that pylance printed have the same row id.
#[track_caller]
pub(crate) fn distinct_row_ids(read: &Value) {
    let ids = integers(&read["row_ids"]);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert_eq!(read["num_rows"].as_u64(), Some(ids.len() as u64));
}
