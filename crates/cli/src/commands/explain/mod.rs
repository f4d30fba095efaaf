//! `lakebed explain`: one verdict, without touching a table.

mod batch;
mod case;
mod delta;
mod lance;
mod maxcompute;
mod precise;
mod rebased;

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use case::{Bases, Case};
use lakebed_conflict::maxcompute::Compaction;

pub(crate) async fn run(args: ExplainArgs, json: bool) -> Result<Exit, CliError> {
    if let Some(file) = &args.batch {
        return batch::run(file, args.rebased).await;
    }
    let (Some(policy), Some(ours)) = (args.policy, args.ours) else {
        return Err(CliError::usage("--policy and --ours are missing", "name both, or a --batch"));
    };
    let compaction = args.compaction.map_or(Compaction::Unknown, Into::into);
    let case =
        Case { policy, ours, landed: args.landed, base: args.base, at: args.at, compaction, rebased: args.rebased };
    let answer = case.judge(&mut Bases::default()).await?;
    if json {
        output::document(&answer.document())?;
    } else {
        output::text(&answer.text())?;
    }
    Ok(Exit::Done)
}
