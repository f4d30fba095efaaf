//! Following a landed commit.

use super::format::Landed;
use super::pending::Pending;
use super::{facts, row_tracking, type_changes};
use crate::DeltaError;
use crate::action::{Action, CommitInfo, DomainMetadata};
use lakebed_transaction::TransactionId;
use std::sync::Arc;

/// The tag that says whether rows kept their ids.
const ROW_TRACKING_PRESERVED: &str = "delta.rowTracking.preserved";

/// Takes over what landed changed. What ours read and does stays as it is.
pub(super) fn follow(pending: &mut Pending, landed: &Landed) -> Result<(), DeltaError> {
    let Some(core) = pending.core.as_mut() else {
        return Err(DeltaError::invalid("a table cannot be created over a landed commit", "open the table instead"));
    };
    let identity_only = landed.facts().metadata.as_ref().is_some_and(|change| change.identity_only);
    let tracked = core.metadata.flag("delta.enableRowTracking");
    core.version = landed.version();
    for action in landed.actions() {
        match action {
            Action::Protocol(protocol) => core.set_protocol(protocol.clone())?,
            Action::Metadata(metadata) if !identity_only => core.set_metadata(metadata.clone())?,
            Action::Txn(txn) => {
                Arc::make_mut(&mut core.txns).insert(Arc::from(txn.app_id.as_str()), txn.clone());
            }
            Action::Domain(domain) if domain.removed => {
                Arc::make_mut(&mut core.domains).remove(domain.domain.as_str());
            }
            Action::Domain(domain) => {
                Arc::make_mut(&mut core.domains).insert(Arc::from(domain.domain.as_str()), domain.clone());
            }
            Action::Metadata(_)
            | Action::Add(_)
            | Action::Remove(_)
            | Action::Cdc(_)
            | Action::CommitInfo(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => {}
        }
    }
    core.set_timestamp(landed.info());
    // A later winner with a lower stamp does not pull the floor down.
    pending.floor_ms = pending.floor_ms.max(core.committed_ms);
    let tag = (ROW_TRACKING_PRESERVED.to_owned(), "false".to_owned());
    if !tracked && core.metadata.flag("delta.enableRowTracking") && !pending.transaction.tags.contains(&tag) {
        pending.transaction.tags.push(tag);
    }
    pending.facts.follow(landed.facts());
    type_changes::follow(&mut pending.transaction.actions, landed.version());
    let replaced = replace_clustering(pending, landed);
    if row_tracking::follow(pending, landed) || replaced {
        pending.facts = facts::ours(pending.core.as_ref(), &pending.transaction);
    }
    Ok(())
}

/// A table that ours replaces is not clustered the way that a landed commit asked for, unless ours says so, too.
fn replace_clustering(pending: &mut Pending, landed: &Landed) -> bool {
    const CLUSTERING: &str = "delta.clustering";
    let replaces = super::render::replaces_table(&pending.transaction.operation);
    let actions = &mut pending.transaction.actions;
    let brought =
        landed.actions().iter().find_map(|action| action.domain_of(CLUSTERING)).filter(|domain| !domain.removed);
    let own = actions.iter().any(|action| action.domain_of(CLUSTERING).is_some());
    let Some(domain) = brought.filter(|_| replaces && !own) else { return false };
    let at = actions.iter().position(|action| matches!(action, Action::Domain(_))).unwrap_or(actions.len());
    actions.insert(at, Action::Domain(DomainMetadata { removed: true, ..domain.clone() }));
    true
}

/// Whether a landed commit is ours: the same id and the same actions as we would write them there.
pub(super) fn is_ours(pending: &Pending, landed: &Landed) -> bool {
    let same_id = |id: &TransactionId| {
        !id.as_str().is_empty() && landed.info().and_then(CommitInfo::transaction_id) == Some(id.as_str())
    };
    if !same_id(&pending.transaction.id) {
        return false;
    }
    let operation = landed.info().and_then(CommitInfo::operation);
    let ours = super::render::persisted(pending, landed.version(), None);
    let theirs = landed.actions().iter().filter(|action| !matches!(action, Action::CommitInfo(_)));
    operation == Some(pending.transaction.operation.as_str())
        && ours.iter().map(without_stamps).eq(theirs.map(without_stamps))
}

/// An action without the two properties that are made anew for each attempt.
fn without_stamps(action: &Action) -> Action {
    let mut action = action.clone();
    if let Action::Metadata(metadata) = &mut action {
        metadata.configuration.remove(super::render::ENABLEMENT_VERSION);
        metadata.configuration.remove(super::render::ENABLEMENT_TIMESTAMP);
    }
    action
}
