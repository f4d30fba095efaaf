//! Steps as we carry them out: statements, and transactions that are prepared here where there is no statement.

use super::state::Fill;
use super::step::Step;
use crate::support::{Random, Rows, committed, plainly, scan, source};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lakebed_lance::proto::file::Field;
use lakebed_lance::proto::table::transaction::{CreateIndex, Merge, Operation, Project};
use lakebed_lance::proto::table::{DataFragment, Transaction as Message};
use lakebed_lance::schema::new_fields;
use lakebed_lance::transaction::{Head, MapChange, MapChanges, Transaction, update_config};
use lakebed_lance_data::LanceDataFiles;
use lakebed_naming::Uuid;
use lakebed_ops::LanceFiles;
use lakebed_ops::lance::deleted_rows;
use lakebed_table::{
    CompactRequest, MergeSpec, NotMatched, NotMatchedBySource, Prepared, Report, ScanRequest, Scope, Snapshot, Table,
    VersionSpec,
};
use lakebed_transaction::{Column, ColumnType, Outcome};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A backslash in a text of SQL.
const BACKSLASH: &str = r"\\";

/// The key of a column's metadata that steps set.
const DESCRIPTION: &str = "interop.description";

type Version = lakebed_lance::Snapshot;

/// Carries a step out on the table.
pub(crate) async fn run(table: &mut Table, step: &Step, random: &mut Random) {
    let commit = plainly();
    let report = match step {
        Step::Append(rows) => table.append(given(table, rows), &commit).await,
        Step::Overwrite(rows) => table.overwrite(given(table, rows), &Scope::Whole, &commit).await,
        Step::Delete(predicate) => table.delete(&predicate.sql(BACKSLASH), &commit).await,
        Step::Truncate => table.truncate(None, &commit).await,
        Step::Update(assignment, predicate) => {
            let (column, value) = assignment.sql();
            table.update(&[format!("{column} = {value}")], Some(&predicate.sql(BACKSLASH)), &commit).await
        }
        Step::Merge(rows, matched, insert, gone) => {
            let not_matched = if *insert { NotMatched::Insert } else { NotMatched::Ignore };
            let not_matched_by_source = match gone {
                Some(gone) => NotMatchedBySource::Delete(Some(gone.sql(BACKSLASH))),
                None => NotMatchedBySource::Ignore,
            };
            let on = vec!["id".to_owned()];
            let spec = MergeSpec { on, matched: matched.ours(), not_matched, not_matched_by_source };
            table.merge(given(table, rows), &spec, &commit).await
        }
        Step::Compact(rows) if *rows < 1_000 => table.compact_fragments(Some(*rows), &commit).await,
        Step::Compact(_) => table.compact(&CompactRequest::default(), &commit).await,
        Step::Restore(to) => table.restore(VersionSpec::Number(*to), &commit).await,
        Step::Set("config", key, Some(value)) => {
            table.set_properties([(key.clone(), value.clone())].into(), Vec::new(), &commit).await
        }
        Step::AddColumn(..)
        | Step::DropColumn(_)
        | Step::RenameColumn(..)
        | Step::Set(..)
        | Step::Describe(..)
        | Step::DropIndex(_) => {
            let prepared = prepared(table, step, random).await;
            table.commit_prepared(Prepared::LanceTransaction(prepared.encoded().clone()), &commit).await
        }
        Step::CreateIndex(..) | Step::OptimizeIndices => panic!("only pylance builds indices"),
        Step::Tag(..)
        | Step::Untag(_)
        | Step::Branch(..)
        | Step::BranchAppend(..)
        | Step::BranchDelete(..)
        | Step::Unbranch(_) => return beside(table, step).await,
    };
    done(&report.unwrap());
}

/// What touches only tags and branches.
async fn beside(table: &Table, step: &Step) {
    let commit = plainly();
    match step {
        Step::Tag(name, version) => {
            let there = table.tags().await.unwrap().iter().any(|tag| tag.name == *name);
            let tag = if there { table.move_tag(name, *version).await } else { table.create_tag(name, *version).await };
            assert_eq!(tag.unwrap().version, *version);
        }
        Step::Untag(name) => table.remove_tag(name).await.unwrap(),
        Step::Branch(name, version) => {
            let branch = table.create_branch(name, VersionSpec::Number(*version), &commit).await.unwrap();
            assert_eq!(branch.version().get(), *version);
        }
        Step::BranchAppend(name, rows) => {
            let mut branch = table.checkout(name).await.unwrap();
            committed(&branch.append(given(&branch, rows), &commit).await.unwrap());
        }
        Step::BranchDelete(name, predicate) => {
            let mut branch = table.checkout(name).await.unwrap();
            done(&branch.delete(&predicate.sql(BACKSLASH), &commit).await.unwrap());
        }
        Step::Unbranch(name) => table.remove_branch(name).await.unwrap(),
        Step::Append(_)
        | Step::Overwrite(_)
        | Step::Delete(_)
        | Step::Truncate
        | Step::Update(..)
        | Step::Merge(..)
        | Step::Compact(_)
        | Step::AddColumn(..)
        | Step::DropColumn(_)
        | Step::RenameColumn(..)
        | Step::Set(..)
        | Step::Describe(..)
        | Step::CreateIndex(..)
        | Step::DropIndex(_)
        | Step::OptimizeIndices
        | Step::Restore(_) => panic!("{step:?} makes a version"),
    }
}

fn given(
    table: &Table,
    rows: &Rows,
) -> impl FnMut() -> Result<lakebed_table::Batches, lakebed_table::TableError> + use<> {
    source(table, &rows.values().cloned().collect::<Vec<_>>())
}

#[track_caller]
fn done(report: &Report) {
    match &report.outcome {
        Outcome::Committed { .. } | Outcome::Nothing { .. } => {}
        other @ (Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => panic!("{other:?}"),
    }
}

/// The transaction of a step for which there is no statement.
async fn prepared(table: &Table, step: &Step, random: &mut Random) -> Transaction {
    let Snapshot::Lance(held) = table.snapshot() else { panic!("a Lance table") };
    let version = &*held.snapshot;
    let id = Uuid::from_random(random.bytes());
    let operation = match step {
        Step::AddColumn(name, fill) => Operation::Merge(added(table, version, name, *fill).await),
        Step::DropColumn(name) => Operation::Project(Project {
            schema: version.fields().iter().filter(|field| field.name != *name).cloned().collect(),
            preserves_nullability: true,
        }),
        Step::RenameColumn(from, to) => {
            let renamed = |field: &Field| {
                let name = if field.name == *from { to.clone() } else { field.name.clone() };
                Field { name, ..field.clone() }
            };
            Operation::Project(Project {
                schema: version.fields().iter().map(renamed).collect(),
                preserves_nullability: true,
            })
        }
        Step::DropIndex(name) => Operation::CreateIndex(CreateIndex {
            new_indices: Vec::new(),
            removed_indices: version.indices().iter().filter(|entry| entry.name == *name).cloned().collect(),
        }),
        Step::Set(map, key, value) => return maps(version, id, map, key, value.as_ref()),
        Step::Describe(column, text) => return described(version, id, column, text),
        Step::Append(_)
        | Step::Overwrite(_)
        | Step::Delete(_)
        | Step::Truncate
        | Step::Update(..)
        | Step::Merge(..)
        | Step::Compact(_)
        | Step::CreateIndex(..)
        | Step::OptimizeIndices
        | Step::Restore(_)
        | Step::Tag(..)
        | Step::Untag(_)
        | Step::Branch(..)
        | Step::BranchAppend(..)
        | Step::BranchDelete(..)
        | Step::Unbranch(_) => panic!("{step:?} is no prepared transaction"),
    };
    let (read_version, uuid) = (version.version().get(), id.to_string());
    Transaction::new(Message { read_version, uuid, operation: Some(operation), ..Message::default() })
}

fn head(version: &Version, id: Uuid) -> Head {
    Head { read_version: Some(version.version()), id, properties: BTreeMap::new() }
}

fn maps(version: &Version, id: Uuid, map: &str, key: &str, value: Option<&String>) -> Transaction {
    let change = Some(MapChange { entries: [(key.to_owned(), value.cloned())].into(), replace: false });
    let changes = match map {
        "config" => MapChanges { config: change, ..MapChanges::default() },
        "metadata" => MapChanges { table_metadata: change, ..MapChanges::default() },
        "schema_metadata" => MapChanges { schema_metadata: change, ..MapChanges::default() },
        other => panic!("no map {other}"),
    };
    Transaction::new(update_config(head(version, id), changes))
}

fn described(version: &Version, id: Uuid, column: &str, text: &str) -> Transaction {
    let field = version.fields().iter().find(|field| field.name == column).unwrap();
    let change = MapChange { entries: [(DESCRIPTION.to_owned(), Some(text.to_owned()))].into(), replace: false };
    let changes = MapChanges { field_metadata: [(field.id, change)].into(), ..MapChanges::default() };
    Transaction::new(update_config(head(version, id), changes))
}

/// The fragments with a column more, in a file of its own where it has values.
async fn added(table: &Table, version: &Version, name: &str, fill: Fill) -> Merge {
    let kind = if fill.is_text() { ColumnType::String } else { ColumnType::Long };
    let mut field = new_fields(&[Column::new(name, kind, true)]).unwrap().remove(0);
    let files = version.fragments().iter().flat_map(|fragment| &fragment.files);
    let ids = version.fields().iter().map(|field| field.id).chain(files.flat_map(|file| file.fields.clone()));
    field.id = ids.max().unwrap() + 1;
    let mut fragments = version.fragments().to_vec();
    if let Fill::Times(_) | Fill::Copy = fill {
        let rows = scan(table, &ScanRequest::default()).await;
        let mut rows = rows.iter();
        for fragment in &mut fragments {
            add_file(table, version, &field, fill, fragment, &mut rows).await;
        }
    }
    let mut schema = version.fields().to_vec();
    schema.push(field);
    let schema_metadata = version.schema_metadata().clone();
    Merge { fragments, schema, schema_metadata, preserves_nullability: true }
}

/// Writes the values for every row of a fragment, NULL for those that are deleted.
async fn add_file(
    table: &Table,
    version: &Version,
    field: &Field,
    fill: Fill,
    fragment: &mut DataFragment,
    rows: &mut std::slice::Iter<'_, Value>,
) {
    let deleted = deleted_rows(table.store(), version, fragment).await.unwrap();
    let live: Vec<Option<&Value>> =
        (0..fragment.physical_rows).map(|row| (!deleted.contains(row)).then(|| rows.next().unwrap())).collect();
    let values: ArrayRef = match fill {
        Fill::Times(by) => {
            Arc::new(live.iter().map(|row| Some(row.as_ref()?["id"].as_i64()? * by)).collect::<Int64Array>())
        }
        Fill::Copy => Arc::new(live.iter().map(|row| row.as_ref()?["s"].as_str()).collect::<StringArray>()),
        Fill::NoNumber | Fill::NoText => panic!("{fill:?} needs no file"),
    };
    let files = LanceDataFiles;
    let schema = files.schema(std::slice::from_ref(field)).unwrap();
    let format = version.header().data_format.as_ref().unwrap().version.clone();
    let mut sink = files.create(std::slice::from_ref(field), &format).unwrap();
    sink.write(&RecordBatch::try_new(schema, vec![values]).unwrap()).await.unwrap();
    let (bytes, mut file) = sink.finish().await.unwrap();
    file.path = format!("{}-{}-{}.lance", version.version(), fragment.id, field.id);
    table.store().put(&format!("data/{}", file.path), bytes).await.unwrap();
    fragment.files.push(file);
}
