//! `lakebed update`.

use crate::args::{Global, UpdateArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::{commands, predicate};

pub(crate) async fn run(args: UpdateArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    predicate::check(args.predicate.as_deref())?;
    for text in &args.set {
        lakebed_sql::parse_assignment(text)?;
    }
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let report = table.update(&args.set, args.predicate.as_deref(), &options).await?;
    commands::finish(&table, "updated", &report, global).await
}
