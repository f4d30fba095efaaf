//! `lakebed append`.

use crate::args::{AppendArgs, Global};
use crate::commands;
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::{Input, columns_of};
use lakebed_table::Evolution;

pub(crate) async fn run(args: AppendArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let known = table.row_columns(table.snapshot())?;
    let report = if args.merge_schema {
        let columns = columns_of(&args.files, &known)?;
        let input = Input::new(args.files, table.evolved_columns(Evolution::Merge, &columns)?)?;
        table.append_merging(|| input.batches(), &columns, &options).await?
    } else {
        let input = Input::new(args.files, known)?;
        table.append(|| input.batches(), &options).await?
    };
    commands::finish(&table, "appended", &report, global).await
}
