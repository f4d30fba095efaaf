//! A plan as the actions of a Delta commit.

use crate::{NewFile, OpsError, Plan};
use lakebed_delta::action::{Action, Add, Metadata, TextMap};
use lakebed_delta::{Snapshot, partition};
use lakebed_naming::delta::encode_path;
use lakebed_transaction::{ReadPredicate, UnitId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A statement for a Delta table, ready to become a pending commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The actions, without `commitInfo`.
    pub actions: Vec<Action>,
    /// One list of filters for each read.
    pub predicates: Vec<ReadPredicate>,
    /// Paths of the files that were read, as the log spells them.
    pub read_files: Vec<Arc<str>>,
    /// The operation's name.
    pub operation: String,
    /// Its parameters as text; lists and maps as the text of their JSON.
    pub parameters: BTreeMap<String, String>,
    /// What it counted, by Delta's names.
    pub metrics: BTreeMap<String, String>,
}

/// The actions of a plan: removes first, then adds.
///
/// # Errors
/// The plan names a file that the version does not have.
pub fn statement(snapshot: &Snapshot, plan: &Plan, now_ms: i64) -> Result<Statement, OpsError> {
    let live: HashMap<UnitId, &Arc<Add>> = snapshot.files().map(|add| (UnitId::file(&add.path), add)).collect();
    let mut actions = Vec::with_capacity(plan.removed.len() + plan.added.len());
    let (mut removed_bytes, mut added_bytes) = (0_i64, 0_u64);
    for id in &plan.removed {
        let add = live.get(id).ok_or_else(|| OpsError::Invalid {
            problem: format!("version {} has no file {id}", snapshot.version()),
            advice: "plan the statement again on the version that it is committed to".to_owned(),
        })?;
        removed_bytes = removed_bytes.saturating_add(add.size);
        actions.push(Action::Remove(add.to_remove(now_ms, true)));
    }
    for file in &plan.added {
        added_bytes = added_bytes.saturating_add(file.size_bytes);
        actions.push(Action::Add(add(snapshot, file, now_ms)));
    }
    let path = |id: &UnitId| live.get(id).map(|add| Arc::clone(&add.path));
    Ok(Statement {
        actions,
        predicates: plan.predicates.clone(),
        read_files: plan.read.iter().filter_map(path).collect(),
        operation: plan.operation.to_owned(),
        parameters: plan.parameters.clone(),
        metrics: metrics(plan, added_bytes, removed_bytes),
    })
}

fn add(snapshot: &Snapshot, file: &NewFile, now_ms: i64) -> Add {
    let columns = snapshot.core().partition_columns();
    let mut values = TextMap::new();
    for column in &columns {
        let value = file.partition.iter().find(|(name, _)| name.eq_ignore_ascii_case(&column.name));
        let text = value.and_then(|(_, value)| partition::format(value, &column.column_type));
        values.set(&column.physical_name, text.as_deref());
    }
    let size = i64::try_from(file.size_bytes).unwrap_or(i64::MAX);
    let mut add = Add::new(&encode_path(&file.object), size, now_ms);
    add.partition_values = values;
    add.stats = Some(Arc::from(file.stats_json.as_str()));
    add
}

fn metrics(plan: &Plan, added_bytes: u64, removed_bytes: i64) -> BTreeMap<String, String> {
    let (added, removed) = (plan.added.len(), plan.removed.len());
    let rows = plan.rows_inserted + plan.rows_copied;
    let pairs = if plan.operation == "DELETE" {
        vec![
            ("numAddedFiles", added.to_string()),
            ("numRemovedFiles", removed.to_string()),
            ("numDeletedRows", plan.rows_deleted.to_string()),
            ("numCopiedRows", plan.rows_copied.to_string()),
            ("numAddedBytes", added_bytes.to_string()),
            ("numRemovedBytes", removed_bytes.to_string()),
        ]
    } else {
        vec![
            ("numFiles", added.to_string()),
            ("numOutputBytes", added_bytes.to_string()),
            ("numOutputRows", rows.to_string()),
            ("numRemovedFiles", removed.to_string()),
            ("numRemovedBytes", removed_bytes.to_string()),
        ]
    };
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// SET and UNSET of table properties, as one metadata action, with the protocol raised where a property needs it.
///
/// # Errors
/// A property turns on a feature that is not written here, or its value cannot be used.
pub fn set_properties(
    snapshot: &Snapshot,
    set: &BTreeMap<String, String>,
    unset: &[String],
) -> Result<Statement, OpsError> {
    crate::create::check_properties(snapshot.properties(), set, unset)?;
    let mut metadata: Metadata = snapshot.metadata().clone();
    for (key, value) in set {
        metadata.configuration.set(key, Some(value));
    }
    for key in unset {
        metadata.configuration.remove(key);
    }
    let (operation, parameters) = if set.is_empty() {
        let keys = serde_json::json!(unset).to_string();
        let pairs = [("properties", keys), ("ifExists", "true".to_owned())];
        ("UNSET TBLPROPERTIES", pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
    } else {
        let pairs = serde_json::json!(set).to_string();
        ("SET TBLPROPERTIES", BTreeMap::from([("properties".to_owned(), pairs)]))
    };
    let upgrade = snapshot.protocol().upgraded_for(&metadata)?.map(Action::Protocol);
    Ok(Statement {
        actions: upgrade.into_iter().chain([Action::Metadata(metadata)]).collect(),
        predicates: Vec::new(),
        read_files: Vec::new(),
        operation: operation.to_owned(),
        parameters,
        metrics: BTreeMap::new(),
    })
}
