//! Compacted logs: which are to be trusted.
//!
//! A compacted log holds the newest word about each thing in a run of commits (Delta protocol, "Log Compaction Files"). One
//! that says two things about one key was not reconciled, and no order of reading it is right: its commits are read instead.

use crate::action::{Action, FileUse, InfoUse, each_action, each_action_without_files};
use std::collections::HashSet;

/// The actions of a compacted log; `None` where it cannot be read or was not reconciled.
pub(super) fn read(object: &str, bytes: &[u8], files: FileUse) -> Option<Vec<Action>> {
    let (mut actions, mut keys, mut twice) = (Vec::new(), HashSet::new(), false);
    let take = |action: Action| {
        if let Some(key) = key(&action) {
            twice |= !keys.insert(key);
            actions.push(action);
        }
    };
    match files {
        FileUse::Keep => each_action(object, bytes, InfoUse::Skip, take).ok()?,
        FileUse::Skip => each_action_without_files(object, bytes, take).ok()?,
    }
    (!twice).then_some(actions)
}

/// What of the state the action is about; `None` for what is no part of it.
fn key(action: &Action) -> Option<(u8, String)> {
    match action {
        Action::Add(add) => Some((0, add.key().to_string())),
        Action::Remove(remove) => Some((0, remove.key().to_string())),
        Action::Metadata(_) => Some((1, String::new())),
        Action::Protocol(_) => Some((2, String::new())),
        Action::Txn(txn) => Some((3, txn.app_id.clone())),
        Action::Domain(domain) => Some((4, domain.domain.clone())),
        Action::Cdc(_) | Action::CommitInfo(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => None,
    }
}
