//! `lakebed append`.

use crate::args::{AppendArgs, Global};
use crate::commands;
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::{Input, columns_of};
use crate::report;
use lakebed_table::{Appender, Evolution};

const DONE: &str = "appended";

pub(crate) async fn run(args: AppendArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    if args.merge_schema {
        let mut table = commands::open_to_commit(&args.table, global, &options).await?;
        let columns = columns_of(&args.files, &table.row_columns(table.snapshot())?)?;
        let input = Input::new(args.files, table.evolved_columns(Evolution::Merge, &columns)?)?;
        let report = table.append_merging(|| input.batches(), &columns, &options).await?;
        return commands::finish(&table, DONE, &report, global).await;
    }
    let (url, open) = global.locate(&args.table)?;
    let mut appender = Appender::open(&url, &open).await?;
    if let Some(policy) = &options.policy {
        appender.check_policy(policy).map_err(CliError::typed)?;
    }
    let input = Input::new(args.files, appender.columns()?)?;
    let report = appender.append(|| input.batches(), &options).await?;
    let exit = report::print(DONE, &report, global.json);
    commands::warn(appender.settle().await);
    exit
}
