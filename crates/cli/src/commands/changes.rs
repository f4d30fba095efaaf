//! `lakebed changes`: the rows that came and went between two versions.

use crate::args::{ChangesArgs, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::rows::JsonArray;
use crate::{commands, output};
use lakebed_data::json_row;
use lakebed_table::{Changes, VersionSpec};

pub(crate) async fn run(args: ChangesArgs, global: &Global) -> Result<Exit, CliError> {
    let from = commands::point(&args.from)?;
    let to = args.to.as_deref().map_or(Ok(VersionSpec::Newest), commands::point)?;
    let table = commands::open(&args.table, global).await?;
    let changes = table.changes(from, to).await?;
    if global.json {
        to_json(changes).await?
    } else {
        to_table(changes).await?
    }
    Ok(Exit::Done)
}

async fn to_json(mut changes: Changes) -> Result<(), CliError> {
    let mut array = JsonArray::new();
    while let Some(changed) = changes.next().await? {
        let head = format!("\"version\":{},\"change\":\"{}\"", changed.version, changed.change.name());
        array.push_within(&head, &changed.batch)?;
    }
    array.finish()
}

async fn to_table(mut changes: Changes) -> Result<(), CliError> {
    let mut rows = Vec::new();
    while let Some(changed) = changes.next().await? {
        for row in 0..changed.batch.num_rows() {
            let json = json_row(&changed.batch, row)?;
            rows.push([changed.version.to_string(), changed.change.name().to_owned(), json]);
        }
    }
    let count = rows.len() as u64;
    output::text(&output::table(["version", "change", "row"], rows))?;
    output::line(output::count(count, "changed row"))
}
