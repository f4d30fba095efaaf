//! `lakebed overwrite`.

use crate::args::{Global, OverwriteArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::Input;
use crate::{commands, predicate};
use lakebed_table::Scope;

pub(crate) async fn run(args: OverwriteArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    predicate::check(args.predicate.as_deref())?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let input = Input::new(args.files, table.snapshot().summary()?.columns)?;
    let scope = match args.predicate {
        Some(text) => Scope::Where(text),
        None => Scope::Whole,
    };
    let report = table.overwrite(|| input.batches(), &scope, &options).await?;
    commands::finish(&table, "overwritten", &report, global).await
}
