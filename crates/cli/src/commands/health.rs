//! `lakebed verify`, `stats` and `diff`: looks at a table as a whole.

use super::show::protocol;
use crate::args::Global;
use crate::args_health::{DiffArgs, StatsArgs, VerifyArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::{commands, output, progress};
use lakebed_table::{Finding, Snapshot, Summary, Verified};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) async fn verify(args: VerifyArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let bar = progress::bar(table.version().get().saturating_add(1), "versions");
    let verified = table.verify(|version| bar.set_position(version.get())).await?;
    bar.finish_and_clear();
    if global.json {
        output::document(&verified_json(&verified))?;
    } else {
        output::text(&verified_text(&verified))?;
    }
    Ok(if verified.is_sound() { Exit::Done } else { Exit::Error })
}

fn verified_json(verified: &Verified) -> Value {
    let findings = verified.findings.iter().map(|finding| {
        json!({
            "kind": finding.kind,
            "object": finding.object,
            "version": finding.version.map(lakebed_naming::Version::get),
            "problem": finding.problem,
            "remedy": finding.remedy,
        })
    });
    let strays = verified.strays.iter().map(|(name, size)| json!({"name": name, "size_bytes": size}));
    json!({
        "sound": verified.is_sound(),
        "first_version": verified.versions.map(|(first, _)| first.get()),
        "last_version": verified.versions.map(|(_, last)| last.get()),
        "objects_checked": verified.objects_checked,
        "checkpoints_checked": verified.checkpoints_checked,
        "checksums_checked": verified.checksums_checked,
        "findings": findings.collect::<Vec<_>>(),
        "notes": verified.notes,
        "strays": strays.collect::<Vec<_>>(),
    })
}

fn verified_text(verified: &Verified) -> String {
    let mut out = String::new();
    for Finding { kind, object, version, problem, remedy } in &verified.findings {
        let at = version.map(|version| format!(" (version {version})")).unwrap_or_default();
        out.push_str(&format!("{kind}: {object}{at}: {problem}; {remedy}\n"));
    }
    for note in &verified.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    let strays = verified.strays.len() as u64;
    if strays > 0 {
        let bytes: u64 = verified.strays.iter().map(|(_, size)| size).sum();
        out.push_str(&format!(
            "note: no version names {} of {}: lakebed vacuum removes them when they are old enough\n",
            output::count(strays, "object"),
            output::count(bytes, "byte")
        ));
    }
    let versions = verified
        .versions
        .map_or_else(|| "no version".to_owned(), |(first, last)| format!("versions {first} to {last}"));
    out.push_str(&format!(
        "{}: {versions}, {}, {}, {}\n",
        if verified.is_sound() { "sound".to_owned() } else { output::count(verified.findings.len() as u64, "finding") },
        output::count(verified.objects_checked, "object"),
        output::count(verified.checkpoints_checked, "checkpoint"),
        output::count(verified.checksums_checked, "checksum file"),
    ));
    out
}

pub(crate) async fn stats(args: StatsArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let found = table.statistics(args.limit).await?;
    if global.json {
        let pairs = found.pairs.iter();
        let pairs = pairs.map(|((ours, landed), count)| json!({"ours": ours, "landed": landed, "count": count}));
        output::document(&json!({
            "commits": found.commits,
            "attempts": found.attempts,
            "conflict_rate": found.conflict_rate,
            "pairs": pairs.collect::<Vec<_>>(),
            "replanned": found.replanned,
            "num_files": found.files,
            "num_small_files": found.small_files,
            "num_rows": found.rows,
            "num_deleted_rows": found.deleted_rows,
            "size_bytes": found.size_bytes,
            "entries_above_checkpoint": found.entries_above_checkpoint,
            "advice": found.advice,
        }))?;
        return Ok(Exit::Done);
    }
    let size = output::or_dash(found.size_bytes);
    output::line(format!(
        "{} in {}, {:.1} % of which met somebody else's version",
        output::count(found.commits, "commit"),
        output::count(found.attempts, "attempt"),
        found.conflict_rate * 100.0
    ))?;
    output::line(format!(
        "{} of {size} bytes, {} small; {} rows, {} of them hidden",
        output::count(found.files, "file"),
        output::or_dash(found.small_files),
        output::or_dash(found.rows),
        output::or_dash(found.deleted_rows)
    ))?;
    if !found.pairs.is_empty() {
        let rows = found.pairs.iter().map(|((ours, landed), count)| [ours.clone(), landed.clone(), count.to_string()]);
        output::text(&output::table(["commit of", "followed", "times"], rows))?;
    }
    for (operation, count) in &found.replanned {
        output::line(format!("{operation}: planned again {}", output::count(*count, "time")))?;
    }
    if found.advice.is_empty() {
        output::line("nothing to advise")?;
    }
    found.advice.iter().try_for_each(|advice| output::line(format!("advice: {advice}")))?;
    Ok(Exit::Done)
}

pub(crate) async fn diff(args: DiffArgs, global: &Global) -> Result<Exit, CliError> {
    let (from, to) = (commands::point(&args.from)?, commands::point(&args.to)?);
    let table = commands::open(&args.table, global).await?;
    let (from, to) = (table.at(from).await?, table.at(to).await?);
    let document = difference(&from, &to)?;
    if global.json {
        output::document(&document)?;
    } else {
        output::text(&text(&document))?;
    }
    Ok(Exit::Done)
}

fn difference(from: &Snapshot, to: &Snapshot) -> Result<Value, CliError> {
    let (old, new) = (from.summary()?, to.summary()?);
    let (before, after) = (units(from), units(to));
    let of = |names: &BTreeMap<String, String>, others: &BTreeMap<String, String>| -> Vec<String> {
        names.keys().filter(|name| !others.contains_key(*name)).cloned().collect()
    };
    let changed: Vec<&String> = after
        .iter()
        .filter(|(name, state)| before.get(*name).is_some_and(|old| old != *state))
        .map(|(name, _)| name)
        .collect();
    Ok(json!({
        "from": old.version.get(),
        "to": new.version.get(),
        "schema": schema(&old, &new),
        "partition_columns": pair(&json!(old.partition_columns), &json!(new.partition_columns)),
        "properties": properties(&old.properties, &new.properties),
        "protocol": pair(&protocol(&old.protocol), &protocol(&new.protocol)),
        "app_transactions": pair(&json!(old.app_transactions), &json!(new.app_transactions)),
        "domain_metadata": properties(&old.domain_metadata, &new.domain_metadata),
        "files": {"added": of(&after, &before), "removed": of(&before, &after), "changed": changed},
        "num_rows": [old.num_rows, new.num_rows],
        "num_files": [old.num_files, new.num_files],
        "size_bytes": [old.size_bytes, new.size_bytes],
    }))
}

/// Files or fragments, each with what may change of it.
fn units(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let files = snapshot.files().into_iter().map(|file| (file.path, file.deleted_rows.to_string()));
    let fragments = snapshot
        .fragments()
        .into_iter()
        .map(|fragment| (fragment.id.to_string(), format!("{:?} {:?}", fragment.num_deleted, fragment.files)));
    files.chain(fragments).collect()
}

/// Both sides where they differ, NULL otherwise.
fn pair(old: &Value, new: &Value) -> Value {
    if old == new { Value::Null } else { json!([old, new]) }
}

fn schema(old: &Summary, new: &Summary) -> Value {
    let of = |summary: &Summary| -> BTreeMap<String, (String, bool)> {
        let columns = summary.schema.iter();
        columns.map(|(name, type_text, nullable)| (name.clone(), (type_text.clone(), *nullable))).collect()
    };
    let (old, new) = (of(old), of(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        match (old.get(name), new.get(name)) {
            (None, Some((type_text, nullable))) => {
                added.push(json!({"name": name, "type": type_text, "nullable": nullable}));
            }
            (Some((type_text, nullable)), None) => {
                removed.push(json!({"name": name, "type": type_text, "nullable": nullable}));
            }
            (Some(one), Some(other)) if one != other => {
                changed.push(json!({"name": name, "type": [one.0, other.0], "nullable": [one.1, other.1]}));
            }
            (_, _) => {}
        }
    }
    json!({"added": added, "removed": removed, "changed": changed})
}

fn properties(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Value {
    let set: Map<String, Value> = new
        .iter()
        .filter(|(key, value)| old.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), json!([old.get(key), value])))
        .collect();
    let unset: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
    json!({"set": set, "unset": unset})
}

fn text(document: &Value) -> String {
    let mut out = format!("from version {} to version {}\n", document["from"], document["to"]);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for (sign, key) in [("+", "added"), ("-", "removed"), ("~", "changed")] {
        for column in list(&document["schema"][key]) {
            out.push_str(&format!("{sign} column {} {}\n", plain(&column["name"]), plain(&column["type"])));
        }
    }
    for (what, key) in [("property", "properties"), ("domain", "domain_metadata")] {
        for (name, values) in document[key]["set"].as_object().into_iter().flatten() {
            out.push_str(&format!("~ {what} {name} = {} (was {})\n", plain(&values[1]), plain(&values[0])));
        }
        for name in list(&document[key]["unset"]) {
            out.push_str(&format!("- {what} {}\n", plain(&name)));
        }
    }
    for key in ["protocol", "partition_columns", "app_transactions"] {
        if !document[key].is_null() {
            out.push_str(&format!("~ {}: {} → {}\n", key.replace('_', " "), document[key][0], document[key][1]));
        }
    }
    for (sign, key) in [("+", "added"), ("-", "removed"), ("~", "changed")] {
        for name in list(&document["files"][key]) {
            out.push_str(&format!("{sign} file {}\n", plain(&name)));
        }
    }
    for (what, key) in [("rows", "num_rows"), ("files", "num_files"), ("bytes", "size_bytes")] {
        out.push_str(&format!("{what}: {} → {}\n", document[key][0], document[key][1]));
    }
    out
}
