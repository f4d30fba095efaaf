//! `lakebed explain`: one verdict, without touching a table.

mod batch;
mod case;
mod delta;
mod lance;

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use case::{Bases, Case};

pub(crate) async fn run(args: ExplainArgs, json: bool) -> Result<Exit, CliError> {
    if let Some(file) = &args.batch {
        return batch::run(file).await;
    }
    let (Some(policy), Some(ours)) = (args.policy, args.ours) else {
        return Err(CliError::usage("--policy and --ours are missing", "name both, or a --batch"));
    };
    let answer = Case { policy, ours, landed: args.landed, base: args.base }.judge(&mut Bases::default()).await?;
    if json {
        output::document(&answer.document())?;
    } else {
        output::text(&answer.text())?;
    }
    Ok(Exit::Done)
}
