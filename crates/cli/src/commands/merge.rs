//! `lakebed merge`.

use crate::args::Global;
use crate::args_merge::{MergeArgs, NotMatchedBySourceArg};
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::Input;
use crate::{commands, predicate};
use lakebed_table::{MergeSpec, NotMatchedBySource};

pub(crate) async fn run(args: MergeArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    predicate::check(args.by_source_where.as_deref())?;
    let spec = MergeSpec {
        on: args.on,
        matched: args.matched.into(),
        not_matched: args.not_matched.into(),
        not_matched_by_source: by_source(args.not_matched_by_source, args.by_source_where)?,
    };
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let input = Input::new(vec![args.file], table.row_columns(table.snapshot())?)?;
    let report = table.merge(|| input.batches(), &spec, &options).await?;
    commands::finish(&table, "merged", &report, global).await
}

fn by_source(asked: NotMatchedBySourceArg, predicate: Option<String>) -> Result<NotMatchedBySource, CliError> {
    match (asked, predicate) {
        (NotMatchedBySourceArg::Delete, predicate) => Ok(NotMatchedBySource::Delete(predicate)),
        (NotMatchedBySourceArg::Ignore, None) => Ok(NotMatchedBySource::Ignore),
        (NotMatchedBySourceArg::Ignore, Some(_)) => Err(CliError::usage(
            "--by-source-where selects rows that nothing is done with",
            "give --not-matched-by-source delete too",
        )),
    }
}
