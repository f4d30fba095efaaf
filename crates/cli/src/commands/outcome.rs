//! `lakebed outcome`: what became of a transaction.

use crate::args::{Global, OutcomeArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::{commands, output};
use lakebed_commit::Found;
use lakebed_transaction::TransactionId;
use serde_json::json;

pub(crate) async fn run(args: OutcomeArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let id = TransactionId::new(args.transaction_id);
    let found = table.outcome_of(&id).await?;
    let (document, text) = match found {
        Found::Committed(version) => (
            json!({"outcome": "committed", "version": version.get(), "transaction_id": id.as_str()}),
            format!("committed: version {version}"),
        ),
        Found::InNone { oldest, newest } => (
            json!({
                "outcome": "not-found", "version": null, "transaction_id": id.as_str(),
                "oldest": oldest.get(), "newest": newest.get(),
            }),
            format!("not committed: it is none of the versions {oldest} to {newest}"),
        ),
        Found::OutOfReach { oldest } => (
            json!({
                "outcome": "out-of-reach", "version": null, "transaction_id": id.as_str(),
                "oldest": oldest.map(lakebed_naming::Version::get),
            }),
            match oldest {
                Some(oldest) => format!("unknown: the log no longer reaches below version {oldest}"),
                None => "unknown: the log holds no version any more".to_owned(),
            },
        ),
    };
    if global.json {
        output::document(&document)?;
    } else {
        output::line(text)?;
    }
    Ok(match found {
        Found::Committed(_) | Found::InNone { .. } => Exit::Done,
        Found::OutOfReach { .. } => Exit::Unknown,
    })
}
