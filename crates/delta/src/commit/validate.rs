//! What makes a commit valid, checked before it is offered to the store.
//!
//! Source: the protocol's action reconciliation rules, and what Spark validates before each attempt.

use super::pending::Pending;
use super::{features, row_tracking};
use crate::DeltaError;
use crate::action::{Action, Add, Metadata, Protocol, Remove};
use crate::schema::{ColumnMapping, StructType};
use std::collections::BTreeSet;

/// The operation that brings files of an old version back.
const RESTORE: &str = "RESTORE";

pub(super) fn check(pending: &Pending) -> Result<(), DeltaError> {
    let transaction = &pending.transaction;
    if transaction.id.as_str().is_empty() {
        return Err(invalid("it has no transaction id", "give it a new UUID"));
    }
    let missing = |what: &str| {
        invalid(format!("it creates a table without a {what} action"), "give both a protocol and a metaData action")
    };
    let protocol = pending.own_protocol().ok_or_else(|| missing("protocol"))?;
    let metadata = pending.own_metadata().ok_or_else(|| missing("metaData"))?;
    let schema = pending.own_schema()?;
    features::check(pending, protocol, metadata, &schema)?;
    at_most_once(&transaction.actions)?;
    if transaction.metadata().is_some() {
        check_metadata(metadata, &schema)?;
    }
    check_domains(&transaction.actions, protocol)?;
    if row_tracking::numbers(protocol, metadata) {
        row_tracking::check(&transaction.actions)?;
    }
    check_files(&transaction.actions, &FileRules::of(protocol, metadata, &schema, transaction.operation == RESTORE)?)
}

fn invalid(problem: impl Into<String>, advice: impl Into<String>) -> DeltaError {
    DeltaError::invalid(problem, advice)
}

/// One `metaData`, one `protocol`, one `txn` per application, one document per domain, nothing that belongs elsewhere.
fn at_most_once(actions: &[Action]) -> Result<(), DeltaError> {
    let mut seen = BTreeSet::new();
    for action in actions {
        let slot = match action {
            Action::Metadata(_) => "metaData".to_owned(),
            Action::Protocol(_) => "protocol".to_owned(),
            Action::Txn(txn) => format!("txn {}", txn.app_id),
            Action::Domain(domain) => format!("domainMetadata {}", domain.domain),
            Action::CommitInfo(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => {
                return Err(invalid(
                    "it carries a commitInfo, checkpointMetadata or sidecar action",
                    "leave it out: commitInfo is made for each attempt, the others belong into checkpoints",
                ));
            }
            Action::Add(_) | Action::Remove(_) | Action::Cdc(_) => continue,
        };
        if !seen.insert(slot.clone()) {
            return Err(invalid(format!("it carries two actions of {slot}"), "keep one of them"));
        }
    }
    Ok(())
}

fn check_metadata(metadata: &Metadata, schema: &StructType) -> Result<(), DeltaError> {
    let mut names = BTreeSet::new();
    for field in &schema.fields {
        if !names.insert(field.name.to_lowercase()) {
            return Err(invalid(
                format!("two columns are named {} (case does not count)", field.name),
                "rename one of them",
            ));
        }
    }
    for column in &metadata.partition_columns {
        if !schema.fields.iter().any(|field| field.name == *column) {
            return Err(invalid(format!("the partition column {column} is no column"), "name a column of the schema"));
        }
    }
    if !schema.fields.is_empty() && metadata.partition_columns.len() >= schema.fields.len() {
        return Err(invalid("every column is a partition column", "leave one column to the data files"));
    }
    Ok(())
}

fn check_domains(actions: &[Action], protocol: &Protocol) -> Result<(), DeltaError> {
    let carries = actions.iter().any(|action| matches!(action, Action::Domain(_)));
    if carries && !protocol.supports("domainMetadata") {
        return Err(invalid(
            "it carries domain metadata, and the table does not support the feature domainMetadata",
            "add the feature to the protocol in the same commit",
        ));
    }
    let marks = |action: &Action| matches!(action, Action::Domain(domain) if domain.domain == row_tracking::DOMAIN);
    if actions.iter().any(marks) {
        return Err(invalid("it sets the row-id high-water mark", "leave it out: it is kept by the commit itself"));
    }
    Ok(())
}

fn check_files(actions: &[Action], rules: &FileRules) -> Result<(), DeltaError> {
    let (mut added, mut removed) = (BTreeSet::new(), BTreeSet::new());
    let (mut added_keys, mut removed_keys) = (BTreeSet::new(), BTreeSet::new());
    for action in actions {
        match action {
            Action::Add(add) => {
                rules.check_add(add)?;
                if !added.insert(crate::path::identity(&add.path)) {
                    return Err(duplicate("adds", &add.path));
                }
                added_keys.insert(add.key());
            }
            Action::Remove(remove) => {
                rules.check_remove(remove)?;
                if !removed.insert(crate::path::identity(&remove.path)) {
                    return Err(duplicate("removes", &remove.path));
                }
                removed_keys.insert(remove.key());
            }
            Action::Cdc(_)
            | Action::Metadata(_)
            | Action::Protocol(_)
            | Action::Txn(_)
            | Action::Domain(_)
            | Action::CommitInfo(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => {}
        }
    }
    match added_keys.intersection(&removed_keys).next() {
        Some(key) => Err(duplicate("adds and removes", key.lines().next().unwrap_or_default())),
        None => Ok(()),
    }
}

fn duplicate(does: &str, path: &str) -> DeltaError {
    invalid(
        format!("[DELTA_DUPLICATE_ACTIONS_FOUND] it {does} the file {path} with one deletion vector twice"),
        "name each file once; a new deletion vector goes with a remove of the file under its old one",
    )
}

/// What the table demands of file actions.
struct FileRules {
    append_only: bool,
    vectors: bool,
    partition_keys: BTreeSet<String>,
}

impl FileRules {
    fn of(protocol: &Protocol, metadata: &Metadata, schema: &StructType, restores: bool) -> Result<Self, DeltaError> {
        let mapping = if protocol.supports("columnMapping") {
            ColumnMapping::parse(metadata.configuration.get("delta.columnMapping.mode"))?
        } else {
            ColumnMapping::None
        };
        let physical = |name: &String| {
            schema.field(name).map_or_else(|| name.clone(), |field| field.physical_name(mapping).to_owned())
        };
        Ok(Self {
            append_only: protocol.supports("appendOnly") && metadata.flag("delta.appendOnly"),
            // What a restore brings back was written when they were allowed.
            vectors: protocol.supports("deletionVectors") && (restores || metadata.flag("delta.enableDeletionVectors")),
            partition_keys: metadata.partition_columns.iter().map(physical).collect(),
        })
    }

    fn check_add(&self, add: &Add) -> Result<(), DeltaError> {
        let keys: BTreeSet<String> = add.partition_values.iter().map(|(key, _)| key.to_owned()).collect();
        if keys != self.partition_keys || keys.len() != add.partition_values.len() {
            return Err(invalid(
                format!(
                    "[DELTA_INVALID_PARTITIONING_SCHEMA] the file {} has partition values for {keys:?}, and the table is \
                     partitioned by {:?}",
                    add.path, self.partition_keys
                ),
                "give one value for each partition column, by its physical name",
            ));
        }
        if add.deletion_vector.is_none() {
            return Ok(());
        }
        if !self.vectors {
            return Err(invalid(
                format!("[DELTA_ADDING_DELETION_VECTORS_DISALLOWED] the file {} has a deletion vector", add.path),
                "set delta.enableDeletionVectors on a table that supports the feature",
            ));
        }
        if add.num_records().is_none() {
            return Err(invalid(
                format!("the file {} has a deletion vector and no row count", add.path),
                "give statistics with numRecords",
            ));
        }
        if add.stats.as_deref().is_some_and(crate::stats::tight_bounds) {
            return Err(invalid(
                format!(
                    "[DELTA_ADDING_DELETION_VECTORS_WITH_TIGHT_BOUNDS_DISALLOWED] the file {} has a deletion vector and \
                     tight bounds",
                    add.path
                ),
                "write tightBounds as false into its statistics",
            ));
        }
        Ok(())
    }

    fn check_remove(&self, remove: &Remove) -> Result<(), DeltaError> {
        if self.append_only && remove.data_change {
            return Err(invalid(
                format!(
                    "[DELTA_CANNOT_MODIFY_APPEND_ONLY] it removes the file {} from an append-only table",
                    remove.path
                ),
                "only add rows, or set delta.appendOnly to false first",
            ));
        }
        Ok(())
    }
}
