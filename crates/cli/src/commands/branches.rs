//! `lakebed branch` and `lakebed migrate-naming`.

use crate::args::Global;
use crate::args_refs::{BranchAction, BranchArgs, MigrateNamingArgs};
use crate::commands::{self, tags};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use lakebed_table::{Branch, Table, VersionSpec};
use serde_json::{Value, json};

pub(crate) async fn run(args: BranchArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    match args.action {
        BranchAction::Create { name, version, tag, committing } => {
            let options = committing.options()?;
            let (table, from) = match tag {
                Some(tag) => {
                    let (line, snapshot) = tags::of(&table, &tag).await?;
                    (line, VersionSpec::Number(snapshot.version().get()))
                }
                None => (table, version.map_or(VersionSpec::Newest, VersionSpec::Number)),
            };
            let branch = table.create_branch(&name, from, &options).await.map_err(CliError::typed)?;
            let version = branch.version().get();
            let path = format!("{}/tree/{name}", args.table.trim_end_matches('/'));
            let document = json!({"name": name, "version": version, "table": path});
            answer(global, &document, format!("branch {name}: version {version} at {path}"))
        }
        BranchAction::Remove { name } => {
            table.remove_branch(&name).await.map_err(CliError::typed)?;
            answer(global, &json!({"name": name, "removed": true}), format!("branch {name}: removed"))
        }
        BranchAction::List => list(&table, global).await,
    }
}

pub(crate) async fn migrate_naming(args: MigrateNamingArgs, global: &Global) -> Result<Exit, CliError> {
    let mut table = commands::open(&args.table, global).await?;
    let moved = table.migrate_naming().await.map_err(CliError::typed)?;
    let document = json!({"renamed": moved, "version": table.version().get()});
    answer(global, &document, format!("{} renamed", output::count(moved, "manifest")))
}

async fn list(table: &Table, global: &Global) -> Result<Exit, CliError> {
    let branches = table.branches().await.map_err(CliError::typed)?;
    if global.json {
        output::document(&branches.iter().map(document).collect())?;
    } else {
        let rows = branches.iter().map(|branch| {
            [branch.name.clone(), output::or_dash(branch.parent_branch.clone()), branch.parent_version.to_string()]
        });
        output::text(&output::table(["branch", "of", "from version"], rows))?;
    }
    Ok(Exit::Done)
}

fn document(branch: &Branch) -> Value {
    json!({
        "name": branch.name,
        "parent_branch": branch.parent_branch,
        "parent_version": branch.parent_version,
        "created_ms": branch.create_at.saturating_mul(1_000),
    })
}

fn answer(global: &Global, document: &Value, text: String) -> Result<Exit, CliError> {
    if global.json {
        output::document(document)?;
    } else {
        output::line(text)?;
    }
    Ok(Exit::Done)
}
