//! `lakebed delete` and `lakebed truncate`.

use crate::args::{DeleteArgs, Global, TruncateArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::{commands, predicate};

pub(crate) async fn run(args: DeleteArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    predicate::check(Some(&args.predicate))?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let report = table.delete(&args.predicate, &options).await?;
    commands::finish(&table, "deleted", &report, global).await
}

pub(crate) async fn truncate(args: TruncateArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    predicate::check(args.predicate.as_deref())?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let report = table.truncate(args.predicate.as_deref(), &options).await?;
    commands::finish(&table, "truncated", &report, global).await
}
