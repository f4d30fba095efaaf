//! `lakebed set` and `lakebed unset`.

use crate::args::{Global, SetArgs, UnsetArgs};
use crate::commands;
use crate::error::CliError;
use crate::exit::Exit;
use std::collections::BTreeMap;

pub(crate) async fn set(args: SetArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let properties: BTreeMap<String, String> = args.properties.into_iter().collect();
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let report = table.set_properties(properties, Vec::new(), &options).await.map_err(CliError::typed)?;
    commands::finish(&table, "set", &report, global).await
}

pub(crate) async fn unset(args: UnsetArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let report = table.set_properties(BTreeMap::new(), args.keys, &options).await.map_err(CliError::typed)?;
    commands::finish(&table, "unset", &report, global).await
}
