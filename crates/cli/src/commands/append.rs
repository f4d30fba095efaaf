//! `lakebed append`.

use crate::args::{AppendArgs, Global};
use crate::commands;
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::Input;

pub(crate) async fn run(args: AppendArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let input = Input::new(args.files, table.snapshot().summary()?.columns)?;
    let report = table.append(|| input.batches(), &options).await?;
    commands::finish(&table, "appended", &report, global).await
}
