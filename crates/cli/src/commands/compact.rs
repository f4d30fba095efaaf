//! `lakebed compact`.

use crate::args::Global;
use crate::args_upkeep::CompactArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::{commands, predicate};
use lakebed_table::{CompactRequest, Compaction};

pub(crate) async fn run(args: CompactArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    predicate::check(args.predicate.as_deref())?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let request = CompactRequest {
        compaction: if args.minor { Compaction::Minor } else { Compaction::Major },
        predicate: args.predicate,
        target_size_bytes: args.target_size_bytes,
        cluster_by: args.cluster_by,
    };
    let report = table.compact(&request, &options).await?;
    commands::finish(&table, "compacted", &report, global).await
}
