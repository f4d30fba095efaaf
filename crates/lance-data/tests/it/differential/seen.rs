//! What we read of a version, in the words of the worker's answers.

use crate::support::scan;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::proto::table::data_fragment::{
    CreatedAtVersionSequence as Created, LastUpdatedAtVersionSequence as Updated, RowIdSequence,
};
use lakebed_lance::row_ids::{RowIds, RowVersions};
use lakebed_lance::{Snapshot as Version, index, reuse};
use lakebed_ops::lance::deleted_rows;
use lakebed_table::{ScanRequest, Snapshot, Table};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Everything that the worker's `read` answers, from the newest version that the handle knows.
pub(crate) async fn seen(table: &Table) -> Value {
    let Snapshot::Lance(held) = table.snapshot() else { panic!("a Lance table") };
    let version = &*held.snapshot;
    let rows = scan(table, &ScanRequest::default()).await;
    let addresses = addresses(table, version, &rows).await;
    let mut sorted = rows.clone();
    sorted.sort_by_key(|row| row["id"].as_i64());
    json!({
        "version": version.version().get(),
        "rows": sorted,
        "fragments": fragments(table, version).await,
        "schema": schema(version),
        "config": version.config(),
        "metadata": version.table_metadata(),
        "schema_metadata": texts(version.schema_metadata()),
        "indices": indices(version),
        "rows_at": addresses,
        "stable": version.has_stable_row_ids(),
    })
}

fn texts(map: &BTreeMap<String, bytes::Bytes>) -> Value {
    map.iter()
        .map(|(key, value)| (key.clone(), json!(std::str::from_utf8(value).unwrap())))
        .collect::<Map<_, _>>()
        .into()
}

async fn fragments(table: &Table, version: &Version) -> Value {
    let mut found = Vec::new();
    for fragment in version.fragments() {
        let files: Vec<Value> = fragment.files.iter().map(|file| json!([file.path, file.fields])).collect();
        let deleted: Vec<u64> = deleted_rows(table.store(), version, fragment).await.unwrap().iter().collect();
        let file = fragment.deletion_file.as_ref();
        assert_eq!(file.map_or(0, |file| file.num_deleted_rows), deleted.len() as u64, "fragment {}", fragment.id);
        let file = file.map(|file| json!([file.read_version, file.id, file.file_type]));
        found.push(json!([fragment.id, fragment.physical_rows, files, deleted, file]));
    }
    found.into()
}

/// Name, type, nullability, id and metadata of every column.
fn schema(version: &Version) -> Value {
    let fields = version.fields().iter();
    fields.map(|one| json!([one.name, one.logical_type, one.nullable, one.id, texts(&one.metadata)])).collect()
}

/// Name, id, fields and the fragments that it covers, led on by the record of fragment reuse, of every index entry.
fn indices(version: &Version) -> Value {
    let mut found: Vec<Value> = Vec::new();
    for entry in version.indices() {
        let uuid: String = entry.uuid.as_ref().unwrap().uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut covered: Vec<u32> = reuse::coverage(version, entry).unwrap().iter().collect();
        if index::is_system(entry) {
            // Of what the record covers pylance tells the fragments that are still there.
            covered.retain(|id| version.fragment(u64::from(*id)).is_some());
        }
        found.push(json!([entry.name, uuid, entry.fields, covered, entry.dataset_version]));
    }
    found.sort_by_key(|entry| (entry[0].to_string(), entry[1].to_string()));
    found.into()
}

/// Fragment, position, row id, and the versions that created and last changed it, of the row with each `id`.
async fn addresses(table: &Table, version: &Version, rows: &[Value]) -> Value {
    let mut found = Map::new();
    let mut rows = rows.iter();
    for fragment in version.fragments() {
        let deleted = deleted_rows(table.store(), version, fragment).await.unwrap();
        let lineage = version.has_stable_row_ids().then(|| Lineage::of(fragment));
        for position in (0..fragment.physical_rows).filter(|position| !deleted.contains(*position)) {
            let row = rows.next().unwrap_or_else(|| panic!("fragment {} has more rows than were read", fragment.id));
            let (id, created, updated) = match &lineage {
                Some(lineage) => lineage.at(position),
                None => (fragment.id << 32 | position, None, None),
            };
            found.insert(row["id"].to_string(), json!([fragment.id, position, id, created, updated]));
        }
    }
    assert!(rows.next().is_none(), "more rows were read than the fragments have");
    found.into()
}

/// What is known of the rows of a fragment.
struct Lineage {
    ids: Vec<u64>,
    created: RowVersions,
    updated: RowVersions,
}

impl Lineage {
    fn of(fragment: &DataFragment) -> Self {
        let (
            Some(RowIdSequence::InlineRowIds(ids)),
            Some(Created::InlineCreatedAtVersions(created)),
            Some(Updated::InlineLastUpdatedAtVersions(updated)),
        ) = (
            &fragment.row_id_sequence,
            &fragment.created_at_version_sequence,
            &fragment.last_updated_at_version_sequence,
        )
        else {
            panic!("fragment {} says nothing of its rows", fragment.id)
        };
        Self {
            ids: RowIds::decode(ids).unwrap().iter().collect(),
            created: RowVersions::decode(created).unwrap(),
            updated: RowVersions::decode(updated).unwrap(),
        }
    }

    fn at(&self, position: u64) -> (u64, Option<u64>, Option<u64>) {
        let id = self.ids[usize::try_from(position).unwrap()];
        (id, self.created.at(position), self.updated.at(position))
    }
}
