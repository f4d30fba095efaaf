//! `lakebed delete` and `lakebed truncate`.

use crate::args::{DeleteArgs, Global, TruncateArgs};
use crate::commands;
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) async fn run(args: DeleteArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let mut table = commands::open(&args.table, global).await?;
    let report = table.delete(&args.predicate, &options).await?;
    commands::finish(&table, "deleted", &report, global).await
}

pub(crate) async fn truncate(args: TruncateArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let mut table = commands::open(&args.table, global).await?;
    let report = table.delete(args.predicate.as_deref().unwrap_or("TRUE"), &options).await?;
    commands::finish(&table, "truncated", &report, global).await
}
