//! `lakebed show`: one version, without touching a data file.

use crate::args::{Global, ShowArgs};
use crate::clock;
use crate::commands::{self, tags};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use lakebed_naming::Version;
use lakebed_table::{FileVersions, ProtocolSummary, Snapshot, Summary, TableFormat};
use lakebed_transaction::UnitId;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

pub(crate) async fn run(args: ShowArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let snapshot = match &args.tag {
        Some(tag) => tags::of(&table, tag).await?.1,
        None => commands::at(&table, &args.version).await?,
    };
    let summary = snapshot.summary()?;
    if global.json {
        let mut document = document(&summary);
        if args.tombstones {
            document.insert("tombstones".to_owned(), tombstones_json(&snapshot));
        }
        if args.files {
            document.extend(files_json(&snapshot, &table.file_versions(&snapshot).await?));
            if snapshot.format() == TableFormat::Lance {
                document.insert("tags".to_owned(), Value::Array(tags::list(&table).await?));
            }
        }
        output::document(&Value::Object(document))?;
    } else {
        output::text(&text(&summary))?;
        if args.files {
            output::text(&files_text(&snapshot))?;
        }
        if args.tombstones {
            output::text(&tombstones_text(&snapshot))?;
        }
    }
    // The process ends after this: what a large table holds need not be given back piece by piece.
    std::mem::forget((table, snapshot));
    Ok(Exit::Done)
}

/// A protocol as `show` and `diff` tell it.
pub(super) fn protocol(protocol: &ProtocolSummary) -> Value {
    match protocol {
        ProtocolSummary::Delta { min_reader_version, min_writer_version, reader_features, writer_features } => json!({
            "min_reader_version": min_reader_version,
            "min_writer_version": min_writer_version,
            "reader_features": reader_features,
            "writer_features": writer_features,
        }),
        ProtocolSummary::Lance { reader_flags, writer_flags } => {
            json!({"reader_flags": reader_flags, "writer_flags": writer_flags})
        }
    }
}

fn document(summary: &Summary) -> Map<String, Value> {
    let schema: Vec<Value> = summary
        .schema
        .iter()
        .map(|(name, type_text, nullable)| json!({"name": name, "type": stored_type(type_text), "nullable": nullable}))
        .collect();
    let mut document: Map<String, Value> = [
        ("format", json!(summary.format.name())),
        ("version", json!(summary.version.get())),
        ("timestamp_ms", json!(summary.timestamp_ms)),
        ("num_files", json!(summary.num_files)),
        ("num_rows", json!(summary.num_rows)),
        ("num_deleted_rows", json!(summary.num_deleted_rows)),
        ("size_bytes", json!(summary.size_bytes)),
        ("schema", Value::Array(schema)),
        ("partition_columns", json!(summary.partition_columns)),
        ("properties", json!(summary.properties)),
        ("table_id", json!(summary.table_id)),
        ("protocol", protocol(&summary.protocol)),
        ("app_transactions", json!(summary.app_transactions)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect();
    if summary.format == TableFormat::Delta {
        document.insert("domain_metadata".to_owned(), json!(summary.domain_metadata));
    }
    document
}

/// A type as the format stores it: Delta's nested types are JSON there, everything else is a text.
fn stored_type(text: &str) -> Value {
    if text.starts_with('{')
        && let Ok(nested) = serde_json::from_str(text)
    {
        return nested;
    }
    Value::String(text.to_owned())
}

fn files_json(snapshot: &Snapshot, versions: &HashMap<UnitId, FileVersions>) -> Map<String, Value> {
    let mut out = Map::new();
    match snapshot.format() {
        TableFormat::Delta => {
            let files = snapshot.files().into_iter().map(|file| {
                let known = versions.get(&UnitId::file(&file.path)).copied().unwrap_or_default();
                json!({
                    "path": file.path,
                    "size_bytes": file.size_bytes,
                    "num_rows": file.num_rows,
                    "partition_values": file.partition_values,
                    "deleted_rows": file.deleted_rows,
                    "added_version": known.added.map(Version::get),
                    "time_version": known.time.map(Version::get),
                })
            });
            out.insert("files".to_owned(), files.collect());
        }
        TableFormat::Lance => {
            let fragments = snapshot.fragments().into_iter().map(|fragment| {
                json!({
                    "id": fragment.id,
                    "physical_rows": fragment.physical_rows,
                    "num_deleted": fragment.num_deleted,
                    "files": fragment.files,
                })
            });
            out.insert("fragments".to_owned(), fragments.collect());
            let indices = snapshot.indices().into_iter().map(|index| {
                json!({
                    "name": index.name,
                    "uuid": index.uuid,
                    "fields": index.fields,
                    "fragment_ids": index.fragment_ids,
                    "dataset_version": index.dataset_version,
                })
            });
            out.insert("indices".to_owned(), indices.collect());
        }
    }
    out
}

fn tombstones_json(snapshot: &Snapshot) -> Value {
    let tombstones = snapshot.tombstones().into_iter().map(|tombstone| {
        json!({
            "path": tombstone.path,
            "size_bytes": tombstone.size_bytes,
            "deleted_ms": tombstone.deleted_ms,
            "data_change": tombstone.data_change,
        })
    });
    tombstones.collect()
}

fn tombstones_text(snapshot: &Snapshot) -> String {
    let rows = snapshot.tombstones().into_iter().map(|tombstone| {
        [tombstone.path, output::or_dash(tombstone.deleted_ms.map(clock::utc)), output::or_dash(tombstone.size_bytes)]
    });
    output::table(["file taken out", "at", "bytes"], rows)
}

fn text(summary: &Summary) -> String {
    let unit = match summary.format {
        TableFormat::Delta => "file",
        TableFormat::Lance => "fragment",
    };
    let time = output::or_dash(summary.timestamp_ms.map(clock::utc));
    let mut out = format!("{} table, version {} of {time}\n", summary.format, summary.version);
    let rows = summary.num_rows.map_or_else(|| "rows not known".to_owned(), |rows| output::count(rows, "row"));
    out.push_str(&format!("{rows} in {}", output::count(summary.num_files, unit)));
    if let Some(bytes) = summary.size_bytes {
        out.push_str(&format!(", {}", output::count(bytes, "byte")));
    }
    if let Some(deleted @ 1..) = summary.num_deleted_rows {
        out.push_str(&format!(", {} hidden", output::count(deleted, "deleted row")));
    }
    out.push('\n');
    let columns = summary.schema.iter().map(|(name, type_text, nullable)| {
        let partition = summary.partition_columns.contains(name);
        let null = if *nullable { "" } else { "not null" };
        [name.clone(), type_text.clone(), null.to_owned(), if partition { "partition" } else { "" }.to_owned()]
    });
    out.push_str(&output::table(["column", "type", "", ""], columns));
    for (key, value) in &summary.properties {
        out.push_str(&format!("{key} = {value}\n"));
    }
    out.push_str(&match &summary.protocol {
        ProtocolSummary::Delta { min_reader_version, min_writer_version, writer_features, .. } => {
            let features =
                if writer_features.is_empty() { String::new() } else { format!(" ({})", writer_features.join(", ")) };
            format!("protocol: reader {min_reader_version}, writer {min_writer_version}{features}\n")
        }
        ProtocolSummary::Lance { reader_flags, writer_flags } => {
            format!("flags: reader {reader_flags}, writer {writer_flags}\n")
        }
    });
    out
}

fn files_text(snapshot: &Snapshot) -> String {
    match snapshot.format() {
        TableFormat::Delta => {
            let rows = snapshot.files().into_iter().map(|file| {
                let partition = file.partition_values.iter();
                let partition = partition.map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("NULL")));
                [
                    file.path.clone(),
                    output::or_dash(file.num_rows),
                    file.deleted_rows.to_string(),
                    file.size_bytes.to_string(),
                    partition.collect::<Vec<_>>().join(", "),
                ]
            });
            output::table(["file", "rows", "deleted", "bytes", "partition"], rows)
        }
        TableFormat::Lance => {
            let rows = snapshot.fragments().into_iter().map(|fragment| {
                [
                    fragment.id.to_string(),
                    output::or_dash(fragment.physical_rows),
                    output::or_dash(fragment.num_deleted),
                    fragment.files.join(", "),
                ]
            });
            let mut out = output::table(["fragment", "rows", "deleted", "files"], rows);
            let indices = snapshot.indices();
            if !indices.is_empty() {
                let rows = indices.into_iter().map(|index| {
                    [index.name, index.uuid, format!("{:?}", index.fields), index.dataset_version.to_string()]
                });
                out.push_str(&output::table(["index", "uuid", "fields", "built on"], rows));
            }
            out
        }
    }
}
