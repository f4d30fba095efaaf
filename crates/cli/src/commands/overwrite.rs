//! `lakebed overwrite`.

use crate::args::{Global, OverwriteArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::{Input, columns_of};
use crate::{commands, predicate};
use lakebed_table::{Evolution, Scope};

pub(crate) async fn run(args: OverwriteArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    predicate::check(args.predicate.as_deref())?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let known = table.row_columns(table.snapshot())?;
    if args.replace_schema {
        let columns = columns_of(&args.files, &known)?;
        let input = Input::new(args.files, table.evolved_columns(Evolution::Replace, &columns)?)?;
        let report = table.overwrite_replacing(|| input.batches(), &columns, &options).await?;
        return commands::finish(&table, "overwritten", &report, global).await;
    }
    let input = Input::new(args.files, known)?;
    let scope = match args.predicate {
        Some(text) => Scope::Where(text),
        None if args.by_partition => Scope::Partitions,
        None => Scope::Whole,
    };
    let report = table.overwrite(|| input.batches(), &scope, &options).await?;
    commands::finish(&table, "overwritten", &report, global).await
}
