//! A plan as the actions of a Delta commit.

use crate::append::TRUNCATE;
use crate::create::CONSTRAINT_PREFIX;
use crate::{MarkedFile, NewFile, OpsError, Plan, features};
use lakebed_delta::action::{Action, Add, AddCdc, Metadata, TextMap};
use lakebed_delta::{Core, RowChange, Snapshot, Taking, partition, stats};
use lakebed_naming::delta::encode_path;
use lakebed_transaction::{KeyProbe, ReadPredicate, UnitId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How files say that their rows stand in the order of the table's clustering columns; the name that Spark writes.
const CLUSTERING_PROVIDER: &str = "liquid";

/// A statement for a Delta table, ready to become a pending commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The actions, without `commitInfo`.
    pub actions: Vec<Action>,
    /// One list of filters for each read.
    pub predicates: Vec<ReadPredicate>,
    /// Paths of the files that were read, as the log spells them.
    pub read_files: Vec<Arc<str>>,
    /// Keys that were looked up.
    pub keys: Vec<KeyProbe>,
    /// Rows that deletion vectors of this statement delete, by file.
    pub row_changes: Vec<RowChange>,
    /// What is known of the rows that it takes out; `None` for what changes no rows.
    pub taking: Option<Taking>,
    /// The operation's name.
    pub operation: String,
    /// Its parameters as text; lists and maps as the text of their JSON.
    pub parameters: BTreeMap<String, String>,
    /// What it counted, by Delta's names.
    pub metrics: BTreeMap<String, String>,
    /// How often it was planned before and lost.
    pub lost_plannings: u32,
}

/// The actions of a plan: removes first, then adds, then files that tell of changes.
///
/// # Errors
/// The plan names a file that the version does not have, or its deletion vectors are not written.
pub fn statement(snapshot: &Snapshot, plan: &Plan, now_ms: i64) -> Result<Statement, OpsError> {
    // Who only adds needs no file of the table, and of a large one they take long to make.
    let adds_only = plan.removed.is_empty() && plan.marked.is_empty() && plan.read.is_empty();
    let files = (!adds_only).then(|| snapshot.files()).into_iter().flatten();
    let live: HashMap<UnitId, &Arc<Add>> = files.map(|add| (UnitId::file(&add.path), add)).collect();
    statement_on(snapshot.core(), &live, plan, now_ms)
}

/// The actions of a plan that only adds files, on a version of whose files nothing is known.
///
/// # Errors
/// The plan takes files out, or its deletion vectors are not written.
pub fn append_statement(core: &Core, plan: &Plan, now_ms: i64) -> Result<Statement, OpsError> {
    statement_on(core, &HashMap::new(), plan, now_ms)
}

fn statement_on(
    core: &Core,
    live: &HashMap<UnitId, &Arc<Add>>,
    plan: &Plan,
    now_ms: i64,
) -> Result<Statement, OpsError> {
    let find = |id: &UnitId| {
        live.get(id).copied().ok_or_else(|| OpsError::Invalid {
            problem: format!("version {} has no file {id}", core.version),
            advice: "plan the statement again on the version that it is committed to".to_owned(),
        })
    };
    let mut actions = Vec::with_capacity(plan.removed.len() + plan.added.len() + 2 * plan.marked.len());
    let (mut removed_bytes, mut added_bytes) = (0_i64, 0_u64);
    let (mut removed_sizes, mut vectors_removed) = (Vec::with_capacity(plan.removed.len()), 0);
    for id in &plan.removed {
        let add = find(id)?;
        removed_bytes = removed_bytes.saturating_add(add.size);
        removed_sizes.push(add.size);
        vectors_removed += usize::from(add.deletion_vector.is_some());
        actions.push(Action::Remove(add.to_remove(now_ms, !plan.layout_only)));
    }
    let mut row_changes = Vec::with_capacity(plan.marked.len());
    for marked in &plan.marked {
        let add = find(&marked.id)?;
        actions.push(Action::Remove(add.to_remove(now_ms, true)));
        actions.push(Action::Add(with_vector(add, marked)?));
        row_changes.push(RowChange { path: Arc::clone(&add.path), deleted: marked.taken.clone() });
    }
    for file in &plan.added {
        added_bytes = added_bytes.saturating_add(file.size_bytes);
        actions.push(Action::Add(add(core, file, now_ms, !plan.layout_only)?));
    }
    for file in &plan.changes {
        let file = add(core, file, now_ms, false)?;
        let (path, partition_values, size) = (file.path, file.partition_values, file.size);
        actions.push(Action::Cdc(AddCdc { path, partition_values, size, tags: None, data_change: false }));
    }
    let path = |id: &UnitId| live.get(id).map(|add| Arc::clone(&add.path));
    Ok(Statement {
        actions,
        predicates: plan.predicates.clone(),
        read_files: plan.read.iter().filter_map(path).collect(),
        keys: plan.keys.clone(),
        row_changes,
        taking: (!plan.layout_only).then(|| Taking { copies_nothing: plan.rows_copied == 0, ..plan.taking.clone() }),
        operation: plan.operation.to_owned(),
        parameters: plan.parameters.clone(),
        metrics: if plan.layout_only {
            layout_metrics(plan, removed_sizes, vectors_removed)
        } else {
            metrics(plan, added_bytes, removed_bytes)
        },
        lost_plannings: plan.lost_plannings,
    })
}

/// The file with its new vector. What its statistics say holds for all its rows, so the bounds are no longer tight.
fn with_vector(add: &Add, marked: &MarkedFile) -> Result<Add, OpsError> {
    let vector = marked.vector.clone().ok_or_else(|| unwritten(&marked.id))?;
    let stats = stats::loosened(add.stats.as_deref(), marked.physical_rows);
    Ok(Add { deletion_vector: Some(vector), stats: Some(Arc::from(stats)), data_change: true, ..add.clone() })
}

fn add(core: &Core, file: &NewFile, now_ms: i64, data_change: bool) -> Result<Add, OpsError> {
    let columns = core.partition_columns();
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
    add.data_change = data_change;
    if !file.tags.is_empty() {
        add.tags = Some(file.tags.iter().map(|(key, value)| (key.as_str(), Some(value.as_str()))).collect());
    }
    if file.clustered && core.protocol.supports("clustering") {
        add.clustering_provider = Some(CLUSTERING_PROVIDER.to_owned());
    }
    if !file.deleted.is_empty() {
        let vector = file.vector.clone().ok_or_else(|| unwritten(&file.object))?;
        add.stats = Some(Arc::from(stats::loosened(Some(&file.stats_json), file.num_rows)));
        add.deletion_vector = Some(vector);
    }
    Ok(add)
}

fn unwritten(what: &dyn std::fmt::Display) -> OpsError {
    OpsError::Invalid {
        problem: format!("the deletion vector of {what} is not written"),
        advice: "finish the statement's writers before its actions are made".to_owned(),
    }
}

/// What Spark counts of an OPTIMIZE.
fn layout_metrics(plan: &Plan, removed: Vec<i64>, vectors_removed: usize) -> BTreeMap<String, String> {
    let mut added: Vec<u64> = plan.added.iter().map(|file| file.size_bytes).collect();
    added.sort_unstable();
    let at = |percent: usize| {
        let place = (added.len().saturating_sub(1) * percent).div_ceil(100);
        added.get(place).copied().unwrap_or(0).to_string()
    };
    let pairs = [
        ("numRemovedFiles", removed.len().to_string()),
        ("numAddedFiles", added.len().to_string()),
        ("numRemovedBytes", removed.iter().fold(0_i64, |sum, size| sum.saturating_add(*size)).to_string()),
        ("numAddedBytes", added.iter().fold(0_u64, |sum, size| sum.saturating_add(*size)).to_string()),
        ("numDeletionVectorsRemoved", vectors_removed.to_string()),
        ("minFileSize", at(0)),
        ("p25FileSize", at(25)),
        ("p50FileSize", at(50)),
        ("p75FileSize", at(75)),
        ("maxFileSize", at(100)),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn metrics(plan: &Plan, added_bytes: u64, removed_bytes: i64) -> BTreeMap<String, String> {
    let (added, removed, marked) = (plan.added.len(), plan.removed.len(), plan.marked.len());
    let changes = plan.changes.len();
    let mut pairs: Vec<(&str, String)> = Vec::new();
    let mut count = |name: &'static str, value: &dyn ToString| pairs.push((name, value.to_string()));
    match plan.operation {
        "DELETE" | TRUNCATE | "UPDATE" => {
            count("numAddedFiles", &added);
            count("numRemovedFiles", &removed);
            count("numDeletionVectorsAdded", &marked);
            count("numAddedChangeFiles", &changes);
            if plan.operation == "UPDATE" {
                count("numUpdatedRows", &plan.rows_updated);
            } else {
                count("numDeletedRows", &plan.rows_deleted);
            }
            count("numCopiedRows", &plan.rows_copied);
            count("numAddedBytes", &added_bytes);
            count("numRemovedBytes", &removed_bytes);
        }
        "MERGE" => {
            count("numSourceRows", &plan.rows_given);
            count("numTargetRowsInserted", &plan.rows_inserted);
            count("numTargetRowsUpdated", &plan.rows_updated);
            count("numTargetRowsDeleted", &plan.rows_deleted);
            count("numTargetRowsCopied", &plan.rows_copied);
            count("numTargetFilesAdded", &added);
            count("numTargetFilesRemoved", &removed);
            count("numTargetDeletionVectorsAdded", &marked);
            count("numTargetChangeFilesAdded", &changes);
            count("numTargetBytesAdded", &added_bytes);
            count("numTargetBytesRemoved", &removed_bytes);
            count("numOutputRows", &(plan.rows_inserted + plan.rows_updated + plan.rows_copied));
        }
        _ => {
            count("numFiles", &added);
            count("numOutputBytes", &added_bytes);
            count("numOutputRows", &(plan.rows_inserted + plan.rows_copied));
            count("numRemovedFiles", &removed);
            count("numRemovedBytes", &removed_bytes);
        }
    }
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
    refuse_unproved(snapshot, set)?;
    let upgrade = features::turn_on(Some((snapshot.protocol(), snapshot.metadata())), &mut metadata)?;
    let unnumbered = unnumbered(snapshot, &metadata);
    // Files that land meanwhile would have no numbers, so they must be seen as conflicts.
    let (predicates, read_files) = if unnumbered.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        (vec![ReadPredicate::default()], snapshot.files().map(|add| Arc::clone(&add.path)).collect())
    };
    let upgrade = upgrade.map(Action::Protocol).into_iter();
    Ok(Statement {
        actions: upgrade.chain([Action::Metadata(metadata)]).chain(unnumbered).collect(),
        predicates,
        read_files,
        keys: Vec::new(),
        row_changes: Vec::new(),
        taking: None,
        operation: operation.to_owned(),
        parameters,
        metrics: BTreeMap::new(),
        lost_plannings: 0,
    })
}

/// The files that have no row ids yet, put in again so that they get some, where the metadata promises ids to every row.
fn unnumbered(snapshot: &Snapshot, metadata: &Metadata) -> Vec<Action> {
    const PROMISE: &str = "delta.enableRowTracking";
    if !metadata.flag(PROMISE) || snapshot.metadata().flag(PROMISE) {
        return Vec::new();
    }
    let bare = |add: &&Arc<Add>| add.base_row_id.is_none();
    let again = |add: &Arc<Add>| Action::Add(Add { data_change: false, ..Add::clone(add) });
    snapshot.files().filter(bare).map(again).collect()
}

/// A new constraint would say something of rows that nobody has checked.
fn refuse_unproved(snapshot: &Snapshot, set: &BTreeMap<String, String>) -> Result<(), OpsError> {
    let key = set.keys().find(|key| key.starts_with(CONSTRAINT_PREFIX));
    match key.filter(|_| snapshot.num_files() > 0) {
        None => Ok(()),
        Some(key) => Err(OpsError::Invalid {
            problem: format!("{key} cannot be set on a table with rows, which may not meet it"),
            advice: "give constraints when the table is created, or add them with an engine that checks the rows"
                .to_owned(),
        }),
    }
}
