//! Ours as it would be written next, after what landed.

use super::case::read;
use crate::clock;
use crate::error::CliError;
use lakebed_commit::{Fetched, Format};
use lakebed_conflict::delta::{DeltaPolicy, IsolationLevel};
use lakebed_delta::{Core, DeltaFormat, Landed, Pending, Transaction};
use lakebed_naming::Version;
use serde_json::Value;
use std::path::PathBuf;

/// The lines of the entry; none where an empty commit would be left out. The inner error says why ours cannot be written.
pub(super) fn written_next(
    core: &Core,
    transaction: Transaction,
    policy: DeltaPolicy,
    landed: &[PathBuf],
) -> Result<Result<Vec<Value>, String>, CliError> {
    let facts = transaction.facts(Some(core));
    let left_out = facts.skip_if_empty && facts.is_empty();
    if left_out && policy.effective_level(&facts).is_ok_and(|level| level != IsolationLevel::WriteSerializable) {
        return Ok(Ok(Vec::new()));
    }
    let format = DeltaFormat::new(policy);
    let mut at = core.version;
    let mut pending = match Pending::on(core, transaction) {
        Ok(pending) => pending,
        Err(error) => return Ok(Err(error.to_string())),
    };
    for path in landed {
        at = next(at)?;
        let theirs = Landed::parse(at, &read(path)?).map_err(|error| {
            CliError::failed(format!("{}: {error}", path.display()), "give the file of a Delta commit")
        })?;
        if let Err(error) = format.rebase(&mut pending, &theirs, &Fetched::default()) {
            return Ok(Err(error.to_string()));
        }
    }
    let now_ms = u64::try_from(clock::now_micros().div_euclid(1_000)).unwrap_or_default();
    match format.render(&mut pending, next(at)?, now_ms) {
        Ok(rendered) => lines(&rendered.entry).map(Ok),
        Err(error) => Ok(Err(error.to_string())),
    }
}

fn next(at: Version) -> Result<Version, CliError> {
    at.next().ok_or_else(|| CliError::failed("the versions are used up", "start a new table"))
}

fn lines(entry: &[u8]) -> Result<Vec<Value>, CliError> {
    let lines = entry.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            serde_json::from_slice(line).map_err(|error| {
                CliError::failed(format!("our own entry cannot be read: {error}"), "report this as a bug")
            })
        })
        .collect()
}
