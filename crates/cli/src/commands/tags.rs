//! `lakebed tag`.

use crate::args::Global;
use crate::args_refs::{TagAction, TagArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::{commands, output};
use lakebed_table::{Snapshot, Table, Tag, VersionSpec};
use serde_json::{Value, json};

pub(crate) async fn run(args: TagArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let tag = match args.action {
        TagAction::Add { name, version, branch } => {
            let table = match branch {
                Some(branch) => table.checkout(&branch).await.map_err(CliError::typed)?,
                None => table,
            };
            let version = version.unwrap_or_else(|| table.version().get());
            table.create_tag(&name, version).await.map_err(CliError::typed)?
        }
        TagAction::Move { name, version } => {
            let version = match version {
                Some(version) => version,
                None => of(&table, &name).await?.0.version().get(),
            };
            table.move_tag(&name, version).await.map_err(CliError::typed)?
        }
        TagAction::Remove { name } => {
            table.remove_tag(&name).await.map_err(CliError::typed)?;
            return done(global, &json!({"name": name, "removed": true}), format!("tag {name}: removed"));
        }
        TagAction::List => return list_all(&table, global).await,
    };
    let text = format!("tag {}: version {}", tag.name, tag.version);
    done(global, &document(&tag), text)
}

fn done(global: &Global, document: &Value, text: String) -> Result<Exit, CliError> {
    if global.json {
        output::document(document)?;
    } else {
        output::line(text)?;
    }
    Ok(Exit::Done)
}

async fn list_all(table: &Table, global: &Global) -> Result<Exit, CliError> {
    let tags = table.tags().await.map_err(CliError::typed)?;
    if global.json {
        output::document(&tags.iter().map(document).collect())?;
    } else {
        let rows =
            tags.iter().map(|tag| [tag.name.clone(), tag.version.to_string(), output::or_dash(tag.branch.clone())]);
        output::text(&output::table(["tag", "version", "branch"], rows))?;
    }
    Ok(Exit::Done)
}

/// `{"name","version","branch"}` of each tag, by name; the branch of a tag on the table itself is null.
pub(super) async fn list(table: &Table) -> Result<Vec<Value>, CliError> {
    Ok(table.tags().await?.iter().map(document).collect())
}

/// The line of versions that a tag stands on, at its newest version, and the version that it names.
pub(super) async fn of(table: &Table, name: &str) -> Result<(Table, Snapshot), CliError> {
    let tag = table.tag(name).await.map_err(CliError::typed)?;
    let line = table.checkout(tag.branch.as_deref().unwrap_or("main")).await?;
    let snapshot = line.at(VersionSpec::Number(tag.version)).await?;
    Ok((line, snapshot))
}

fn document(tag: &Tag) -> Value {
    json!({"name": tag.name, "version": tag.version, "branch": tag.branch})
}
