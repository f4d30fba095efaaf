//! `lakebed merge`.

use crate::args::{Global, MergeArgs};
use crate::commands;
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::Input;
use lakebed_table::MergeSpec;

pub(crate) async fn run(args: MergeArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let spec = MergeSpec { on: args.on, matched: args.matched.into(), not_matched: args.not_matched.into() };
    let input = Input::new(vec![args.file], table.row_columns(table.snapshot())?)?;
    let report = table.merge(|| input.batches(), &spec, &options).await?;
    commands::finish(&table, "merged", &report, global).await
}
