//! One JSON object per line: the form of commits.

use super::{
    Action, Add, AddCdc, CheckpointMetadata, CommitInfo, DomainMetadata, Metadata, Protocol, Remove, Sidecar, Txn,
};
use crate::DeltaError;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Every key that is an action; a well-formed line has one of them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a, A, R, C> {
    add: Option<A>,
    remove: Option<R>,
    cdc: Option<C>,
    meta_data: Option<Metadata>,
    protocol: Option<Protocol>,
    txn: Option<Txn>,
    domain_metadata: Option<DomainMetadata>,
    #[serde(borrow)]
    commit_info: Option<&'a RawValue>,
    checkpoint_metadata: Option<CheckpointMetadata>,
    sidecar: Option<Sidecar>,
}

/// Whether provenance is wanted; replay of older commits passes over it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InfoUse {
    Keep,
    Skip,
}

/// Whether actions about files are wanted; who only adds rows passes over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileUse {
    Keep,
    Skip,
}

/// What is made of an action about a file: the action, or nothing.
trait OfFile {
    fn action(self) -> Option<Action>;
}

impl OfFile for Add {
    fn action(self) -> Option<Action> {
        Some(Action::Add(self))
    }
}

impl OfFile for Remove {
    fn action(self) -> Option<Action> {
        Some(Action::Remove(self))
    }
}

impl OfFile for AddCdc {
    fn action(self) -> Option<Action> {
        Some(Action::Cdc(self))
    }
}

impl OfFile for IgnoredAny {
    fn action(self) -> Option<Action> {
        None
    }
}

/// Reads a commit: one action per line, blank lines and a missing last line feed tolerated, unknown actions ignored.
///
/// `object` names the commit in errors.
///
/// # Errors
/// A line is not JSON, or an action lacks a field that it must have.
pub fn parse_actions(object: &str, bytes: &[u8]) -> Result<Vec<Action>, DeltaError> {
    let mut actions = Vec::new();
    each_action(object, bytes, InfoUse::Keep, |action| actions.push(action))?;
    Ok(actions)
}

pub(crate) fn each_action(
    object: &str,
    bytes: &[u8],
    info: InfoUse,
    mut take: impl FnMut(Action),
) -> Result<(), DeltaError> {
    lines(bytes).try_for_each(|(at, line)| take_line(object, at, line, info, &mut take))
}

/// As [`each_action`], of which nothing about files is made.
pub(crate) fn each_action_without_files(
    object: &str,
    bytes: &[u8],
    mut take: impl FnMut(Action),
) -> Result<(), DeltaError> {
    lines(bytes).try_for_each(|(at, line)| take_line_without_files(object, at, line, InfoUse::Skip, &mut take))
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.split(|byte| *byte == b'\n').enumerate()
}

/// Reads one line, the one numbered `at` from 0.
pub(crate) fn take_line(
    object: &str,
    at: usize,
    line: &[u8],
    info: InfoUse,
    take: &mut dyn FnMut(Action),
) -> Result<(), DeltaError> {
    take_line_as::<Add, Remove, AddCdc>(object, at, line, info, take)
}

/// As [`take_line`], of which nothing about files is made.
pub(crate) fn take_line_without_files(
    object: &str,
    at: usize,
    line: &[u8],
    info: InfoUse,
    take: &mut dyn FnMut(Action),
) -> Result<(), DeltaError> {
    take_line_as::<IgnoredAny, IgnoredAny, IgnoredAny>(object, at, line, info, take)
}

fn take_line_as<'a, A, R, C>(
    object: &str,
    at: usize,
    line: &'a [u8],
    info: InfoUse,
    take: &mut dyn FnMut(Action),
) -> Result<(), DeltaError>
where
    A: Deserialize<'a> + OfFile,
    R: Deserialize<'a> + OfFile,
    C: Deserialize<'a> + OfFile,
{
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(());
    }
    let damaged =
        |error: serde_json::Error| DeltaError::damaged(object, format!("line {} cannot be read: {error}", at + 1));
    let line: Line<'_, A, R, C> = serde_json::from_slice(line).map_err(damaged)?;
    if let (Some(raw), InfoUse::Keep) = (line.commit_info, info) {
        take(Action::CommitInfo(serde_json::from_str::<CommitInfo>(raw.get()).map_err(damaged)?));
    }
    let table = [
        line.protocol.map(Action::Protocol),
        line.meta_data.map(Action::Metadata),
        line.txn.map(Action::Txn),
        line.domain_metadata.map(Action::Domain),
        line.checkpoint_metadata.map(Action::CheckpointMetadata),
        line.sidecar.map(Action::Sidecar),
    ];
    let files = [line.remove.and_then(R::action), line.add.and_then(A::action), line.cdc.and_then(C::action)];
    table.into_iter().chain(files).flatten().for_each(take);
    Ok(())
}

/// Appends one action and a line feed.
///
/// # Errors
/// Never in practice: every action has a JSON form.
pub fn write_action(action: &Action, out: &mut Vec<u8>) -> Result<(), DeltaError> {
    match action {
        Action::Add(value) => write_tagged("add", value, out),
        Action::Remove(value) => write_tagged("remove", value, out),
        Action::Cdc(value) => write_tagged("cdc", value, out),
        Action::Metadata(value) => write_tagged("metaData", value, out),
        Action::Protocol(value) => write_tagged("protocol", value, out),
        Action::Txn(value) => write_tagged("txn", value, out),
        Action::Domain(value) => write_tagged("domainMetadata", value, out),
        Action::CommitInfo(value) => write_tagged("commitInfo", value, out),
        Action::CheckpointMetadata(value) => write_tagged("checkpointMetadata", value, out),
        Action::Sidecar(value) => write_tagged("sidecar", value, out),
    }
}

/// Appends what stands under this key, and a line feed.
pub(crate) fn write_tagged<T: Serialize>(key: &str, value: &T, out: &mut Vec<u8>) -> Result<(), DeltaError> {
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
    serde_json::to_writer(&mut *out, value).map_err(|error| {
        DeltaError::invalid(format!("a {key} action has no JSON form: {error}"), "check the values that it was given")
    })?;
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// The bytes of a commit: the actions in the order given, one per line.
///
/// # Errors
/// As [`write_action`].
pub fn write_actions<'a>(actions: impl IntoIterator<Item = &'a Action>) -> Result<Vec<u8>, DeltaError> {
    let mut out = Vec::new();
    for action in actions {
        write_action(action, &mut out)?;
    }
    Ok(out)
}
