//! `lakebed checkpoint`, `compact-log`, `vacuum` and `clean-log`.

use crate::args::Global;
use crate::args_upkeep::{CheckpointArgs, CleanLogArgs, CompactLogArgs, VacuumArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::{commands, output};
use lakebed_table::CommitOptions;
use serde_json::json;

pub(crate) async fn checkpoint(args: CheckpointArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let version = table.checkpoint().await?;
    if global.json {
        output::document(&json!({"version": version.get()}))?;
    } else {
        output::line(format!("checkpoint written: version {version}"))?;
    }
    Ok(Exit::Done)
}

pub(crate) async fn compact_log(args: CompactLogArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let written = table.compact_log().await?;
    if global.json {
        output::document(&json!({
            "first": written.as_ref().map(|log| log.first.get()),
            "last": written.as_ref().map(|log| log.last.get()),
            "object": written.as_ref().map(|log| log.object.as_str()),
        }))?;
    } else if let Some(log) = written {
        output::line(format!("log compacted: versions {} to {} in {}", log.first, log.last, log.object))?;
    } else {
        output::line("nothing to do: fewer than two log entries stand above the newest checkpoint")?;
    }
    Ok(Exit::Done)
}

pub(crate) async fn vacuum(args: VacuumArgs, global: &Global) -> Result<Exit, CliError> {
    let mut table = commands::open(&args.table, global).await?;
    let removed = if args.note {
        table.vacuum_noted(args.retain, args.allow_shorter, &CommitOptions::default()).await?
    } else {
        table.vacuum(args.retain, args.allow_shorter, args.dry_run).await?
    };
    if global.json {
        output::document(&json!({
            "dry_run": args.dry_run,
            "num_files": removed.files.len(),
            "size_bytes": removed.size_bytes,
            "files": removed.files,
        }))?;
        return Ok(Exit::Done);
    }
    if args.dry_run {
        list(&removed.files)?;
    }
    let files = output::count(removed.files.len() as u64, "file");
    output::line(format!("{} {files} of {}", verb(args.dry_run), output::count(removed.size_bytes, "byte")))?;
    Ok(Exit::Done)
}

pub(crate) async fn clean_log(args: CleanLogArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let removed = table.clean_log(args.dry_run).await?;
    if global.json {
        output::document(&json!({
            "dry_run": args.dry_run,
            "num_objects": removed.objects.len(),
            "first_kept": removed.first_kept.map(lakebed_naming::Version::get),
            "objects": removed.objects,
        }))?;
        return Ok(Exit::Done);
    }
    if args.dry_run {
        list(&removed.objects)?;
    }
    let objects = output::count(removed.objects.len() as u64, "object");
    let kept = removed.first_kept.map(|version| format!("; version {version} is the oldest that stays"));
    output::line(format!("{} {objects} of the log{}", verb(args.dry_run), kept.unwrap_or_default()))?;
    Ok(Exit::Done)
}

const fn verb(dry_run: bool) -> &'static str {
    if dry_run { "would remove" } else { "removed" }
}

fn list(names: &[String]) -> Result<(), CliError> {
    names.iter().try_for_each(output::line)
}
