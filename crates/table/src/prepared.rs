//! Transactions that were prepared elsewhere: the distributed-write path.

use crate::create::fresh_id;
use crate::load;
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::{CommitOptions, Report, Table, TableError, TableFormat, prepared_checks, prepared_checks::Keys};
use bytes::Bytes;
use lakebed_commit::Found;
use lakebed_conflict::delta::{PartitionColumn, partitions_in, split_read};
use lakebed_delta::action::{Action, Metadata, parse_actions};
use lakebed_delta::{Core, Reads, Transaction, Vouched, name_row_tracking_columns};
use lakebed_naming::Version;
use lakebed_transaction::{BinaryOp, ColumnType, Expr, Outcome, ReadPredicate, Scalar, TransactionId};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A transaction that was prepared elsewhere.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Prepared {
    /// A Lance `Transaction` message, as it stands in a `.txn` file.
    LanceTransaction(Bytes),
    /// Delta actions, one a line; the first line may hold what the writer read and is doing.
    DeltaActions(Bytes),
    /// A Delta transaction that is in memory already.
    Delta(Box<PreparedDelta>),
}

impl Prepared {
    /// The transaction that came as these bytes, for a table of this format: those of a `.json` or a `.txn` file as `lakebed commit`
    /// takes them, or of [`Transaction::to_bytes`](crate::Transaction::to_bytes).
    #[must_use]
    pub fn from_bytes(format: TableFormat, bytes: impl Into<Bytes>) -> Self {
        match format {
            TableFormat::Delta => Self::DeltaActions(bytes.into()),
            TableFormat::Lance => Self::LanceTransaction(bytes.into()),
        }
    }
}

/// What the first line of prepared Delta actions may hold. Delta readers ignore such a line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Header {
    reads: Option<HeaderReads>,
    operation: Option<String>,
    parameters: Map<String, Value>,
    changes_data: Option<bool>,
    large: Option<bool>,
    #[serde(rename = "ifNeeded")]
    if_needed: Option<bool>,
    #[serde(rename = "updateMetadata")]
    update_metadata: Option<Metadata>,
    vouched: bool,
    tags: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HeaderReads {
    predicates: Vec<Vec<Filter>>,
    files: Vec<String>,
    whole_table: bool,
    app_ids: Vec<String>,
}

/// One filter: SQL text, or the partitions that a dynamic overwrite wrote.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Filter {
    Sql(String),
    Partitions { partitions_in: Vec<BTreeMap<String, Option<String>>> },
}

/// Prepared Delta actions, read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PreparedDelta {
    /// The transaction; its id is the one in the actions' `commitInfo`, else a fresh one.
    pub transaction: Transaction,
    /// The version that its `commitInfo` says it read.
    pub read_version: Option<Version>,
    /// Whether the actions name their transaction id themselves, so that they can be recognised when they are given again.
    pub names_id: bool,
    /// Whether its metadata was given as what the table's is to become, so that names which a feature needs are still to be
    /// filled in: see [`PreparedDelta::fill_in`].
    pub updates_metadata: bool,
}

impl From<Transaction> for PreparedDelta {
    /// A transaction that is offered for the first time, on the version that the handle holds: what it read is in it.
    fn from(transaction: Transaction) -> Self {
        Self { transaction, read_version: None, names_id: false, updates_metadata: false }
    }
}

impl PreparedDelta {
    /// A transaction that read nothing, under a fresh id: its fields say more where there is more to say.
    #[must_use]
    pub fn new(operation: &str, actions: Vec<Action>) -> Self {
        Transaction::new(TransactionId::new(fresh_id().to_string()), operation, actions).into()
    }

    /// Fills in what the metadata needs on the table that it is for: names of the columns for row ids.
    pub fn fill_in(&mut self, core: &Core) {
        let protocol = self.transaction.protocol().unwrap_or(&core.protocol).clone();
        for action in &mut self.transaction.actions {
            if let (Action::Metadata(metadata), true) = (action, self.updates_metadata) {
                name_row_tracking_columns(&protocol, Some(&core.metadata), metadata, || fresh_id().to_string());
            }
        }
    }
}

/// Reads prepared Delta actions for a table with these partition columns.
///
/// A predicate that cannot be parsed counts as TRUE: whatever it was, it is covered.
///
/// # Errors
/// A line is no action.
pub fn parse_prepared_delta(
    object: &str,
    bytes: &[u8],
    partition_columns: &[PartitionColumn],
) -> Result<PreparedDelta, TableError> {
    let first = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let header = serde_json::from_slice::<Keys>(first).is_ok_and(|keys| is_header(&keys));
    prepared_checks::lines(object, bytes, header)?;
    let header = header.then(|| serde_json::from_slice::<Header>(first)).transpose();
    let header = header.map_err(|error| TableError::Invalid {
        problem: format!("the first line of {object} does not say what was read: {error}"),
        advice: r#"write it as {"reads":{"predicates":[["p = 1"]],"files":[…]},"operation":"WRITE"}"#.to_owned(),
    })?;
    let actions =
        parse_actions(object, bytes).map_err(|source| TableError::Delta { root: object.to_owned(), source })?;
    let info =
        actions.iter().find_map(|action| if let Action::CommitInfo(info) = action { Some(info.clone()) } else { None });
    let mut actions: Vec<_> = actions.into_iter().filter(|action| !matches!(action, Action::CommitInfo(_))).collect();
    let info = info.unwrap_or_default();
    let header = header.unwrap_or_default();
    let updates_metadata = header.update_metadata.is_some();
    actions.extend(header.update_metadata.map(Action::Metadata));
    let operation = header.operation.as_deref().or(info.operation()).unwrap_or("WRITE").to_owned();
    let names_id = info.transaction_id().is_some_and(|id| !id.is_empty());
    let id = info.transaction_id().filter(|id| !id.is_empty()).map_or_else(|| fresh_id().to_string(), str::to_owned);
    let mut transaction = Transaction::new(TransactionId::new(id), &operation, actions);
    transaction.reads = match header.reads {
        Some(reads) => recorded(reads, partition_columns),
        None => derived(&transaction, &info, partition_columns),
    };
    transaction.parameters = if header.parameters.is_empty() {
        info.0.get("operationParameters").and_then(Value::as_object).cloned().unwrap_or_default()
    } else {
        header.parameters.into_iter().map(|(key, text)| (key, parameter(text))).collect()
    };
    transaction.changes_data = header.changes_data.unwrap_or(transaction.changes_data);
    transaction.large = header.large.unwrap_or(transaction.large);
    transaction.skip_if_empty = header.if_needed.unwrap_or(false);
    transaction.tags = header.tags.into_iter().collect();
    transaction.vouched = Vouched { values: header.vouched, changes: header.vouched };
    let read_version = info.number("readVersion").and_then(|v| u64::try_from(v).ok()).map(Version::new);
    Ok(PreparedDelta { transaction, read_version, names_id, updates_metadata })
}

/// A parameter as it stands in `commitInfo`: the header holds the JSON text of each, as Spark's own records do. A list or map
/// stays text, which is how Spark writes those.
fn parameter(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    match serde_json::from_str::<Value>(text) {
        Ok(inner @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))) => inner,
        Ok(Value::Array(_) | Value::Object(_)) | Err(_) => value,
    }
}

/// A header names none of Delta's actions.
fn is_header(keys: &Keys) -> bool {
    let holds = |wanted: &[&str]| keys.0.iter().any(|(key, _)| wanted.contains(&key.as_str()));
    holds(&["reads", "operation"]) && !holds(&prepared_checks::ACTIONS)
}

fn recorded(reads: HeaderReads, columns: &[PartitionColumn]) -> Reads {
    let filter = |filter: Filter| match filter {
        Filter::Sql(text) => lakebed_sql::parse_predicate(&text).unwrap_or_else(|_| Expr::always()),
        Filter::Partitions { partitions_in: list } => {
            let partitions: Vec<Vec<_>> = list
                .into_iter()
                .map(|values| values.into_iter().map(|(k, v)| (Arc::from(k), v.map(Arc::from))).collect())
                .collect();
            partitions_in(&partitions, columns)
        }
    };
    Reads {
        predicates: reads
            .predicates
            .into_iter()
            .map(|filters| split_read(filters.into_iter().map(filter).collect(), columns))
            .collect(),
        files: reads.files.into_iter().map(Arc::from).collect(),
        whole_table: reads.whole_table,
        keys: Vec::new(),
        app_ids: reads.app_ids.into_iter().map(Arc::from).collect(),
    }
}

/// The reads of a writer that did not say: from its own note of the predicate, else the whole table for operations that
/// read, else nothing.
fn derived(transaction: &Transaction, info: &lakebed_delta::action::CommitInfo, columns: &[PartitionColumn]) -> Reads {
    let removes = transaction.actions.iter().any(|action| matches!(action, Action::Remove(_)));
    let reading = removes
        || matches!(transaction.operation.as_str(), "DELETE" | "UPDATE" | "MERGE" | "TRUNCATE" | "OPTIMIZE" | "REORG");
    // The condition of a MERGE joins two relations; what it says of the target alone cannot be told from its text.
    if let Some(text) = info.parameter("predicate").filter(|_| reading && transaction.operation != "MERGE") {
        let list = serde_json::from_str::<Vec<String>>(&text).unwrap_or_else(|_| vec![text]);
        let parsed = |sql: &String| lakebed_sql::parse_predicate(sql).ok().filter(|filter| !ambiguous(filter, columns));
        let filters: Vec<_> = list.iter().map(|sql| parsed(sql).unwrap_or_else(Expr::always)).collect();
        return Reads { predicates: vec![split_read(filters, columns)], ..Reads::default() };
    }
    if reading {
        return Reads { whole_table: true, predicates: vec![ReadPredicate::default()], ..Reads::default() };
    }
    Reads::default()
}

/// Engines print text literals without quotes in places, so a text column that meets a bare number may have met a text.
fn ambiguous(filter: &Expr, columns: &[PartitionColumn]) -> bool {
    let is_text = |expr: &Expr| {
        let Expr::Column(path) = expr else { return false };
        let named = |column: &PartitionColumn| path.last().is_some_and(|name| column.name.eq_ignore_ascii_case(name));
        columns.iter().any(|column| column.column_type == ColumnType::String && named(column))
    };
    let is_bare =
        |expr: &Expr| matches!(expr, Expr::Literal(literal) if !matches!(literal, Scalar::String(_) | Scalar::Null));
    let here = if let Expr::Binary(op, a, b) = filter {
        !matches!(op, BinaryOp::And | BinaryOp::Or) && ((is_text(a) && is_bare(b)) || (is_bare(a) && is_text(b)))
    } else if let Expr::In { operand, list, .. } = filter {
        is_text(operand) && list.iter().any(is_bare)
    } else if let Expr::Between { operand, low, high, .. } = filter {
        is_text(operand) && (is_bare(low) || is_bare(high))
    } else {
        false
    };
    here || filter.children().into_iter().any(|child| ambiguous(child, columns))
}

impl Table {
    /// Commits a transaction that was prepared elsewhere, on the version that it says it read (Delta actions that do not
    /// say: the newest version).
    ///
    /// # Errors
    /// The bytes are no transaction, the version that it read is gone, it does not fit the table, or the store cannot be
    /// asked. Nothing was committed.
    pub async fn commit_prepared(&mut self, prepared: Prepared, commit: &CommitOptions) -> Result<Report, TableError> {
        match prepared {
            Prepared::LanceTransaction(bytes) => {
                let transaction = lakebed_lance::transaction::Transaction::decode("the prepared transaction", &bytes)
                    .map_err(|source| load::lance::format_error(&**self.store(), source))?;
                prepared_checks::known(&transaction)?;
                self.commit_lance_message(transaction.message().clone(), commit).await
            }
            Prepared::DeltaActions(bytes) => {
                let held = self.held_delta()?;
                let columns = held.snapshot.core().partition_columns();
                let mut prepared = parse_prepared_delta("the prepared actions", &bytes, &columns)?;
                prepared.fill_in(held.snapshot.core());
                self.commit_prepared_delta(held, prepared, commit).await
            }
            Prepared::Delta(prepared) => {
                let held = self.held_delta()?;
                self.commit_prepared_delta(held, *prepared, commit).await
            }
        }
    }

    fn held_delta(&self) -> Result<DeltaVersion, TableError> {
        match &self.snapshot {
            Snapshot::Delta(held) => Ok(held.clone()),
            Snapshot::Lance(_) => Err(TableError::Invalid {
                problem: "Delta actions cannot be committed to a Lance table".to_owned(),
                advice: "give a Lance transaction message (.txn)".to_owned(),
            }),
        }
    }

    /// Looks whether the data files that prepared Delta actions add are there, and as large as the actions say: one request for
    /// each. A commit does not look, because who prepared it has just written them.
    ///
    /// # Errors
    /// The bytes are no transaction, a file is missing or has another size, or the store cannot be asked.
    pub async fn check_prepared_files(&self, prepared: &Prepared) -> Result<(), TableError> {
        let parsed;
        let actions = match prepared {
            Prepared::LanceTransaction(_) => return Ok(()),
            Prepared::Delta(prepared) => &prepared.transaction.actions,
            Prepared::DeltaActions(bytes) => {
                let object = "the prepared actions";
                parsed = parse_actions(object, bytes)
                    .map_err(|source| TableError::Delta { root: object.to_owned(), source })?;
                &parsed
            }
        };
        prepared_checks::files_are_there(&**self.store(), actions).await
    }

    async fn commit_prepared_delta(
        &mut self,
        held: DeltaVersion,
        prepared: PreparedDelta,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let PreparedDelta { mut transaction, read_version, names_id, updates_metadata: _ } = prepared;
        let base = match read_version {
            Some(read) if read != held.snapshot.version() => self.delta_at(read).await?,
            // Without a read version nothing says since when a repetition could stand in the log, so all of it is searched.
            None if names_id => match self.outcome_of(&transaction.id).await? {
                Found::Committed(version) => {
                    return Ok(Report::of(Outcome::Committed { version, attempts: 0 }, transaction.id));
                }
                // It was seen where nobody can tell whether it was committed: it must not land a second time.
                Found::OutOfReach { oldest: Some(oldest) } => {
                    let last_answer =
                        format!("an entry with its id stands below version {oldest}, where a cleanup left a hole");
                    return Ok(Report::of(
                        Outcome::Unknown { tried: oldest, attempts: 0, last_answer },
                        transaction.id,
                    ));
                }
                Found::InNone { .. } | Found::OutOfReach { oldest: None } => held,
            },
            Some(_) | None => held,
        };
        if prepared_checks::repeats(&base.snapshot, &transaction.actions) {
            return Ok(Report::of(Outcome::Nothing { version: base.snapshot.version() }, transaction.id));
        }
        prepared_checks::actions(&base.snapshot, &transaction.actions)?;
        let looked_up = transaction.actions.iter().filter_map(|action| {
            if let Action::Txn(txn) = action { Some(Arc::from(txn.app_id.as_str())) } else { None }
        });
        let looked_up: Vec<_> = looked_up.collect();
        transaction.reads.app_ids.extend(looked_up);
        self.commit_delta(&base, transaction, commit).await
    }

    async fn delta_at(&self, version: Version) -> Result<DeltaVersion, TableError> {
        match self.load(version).await? {
            Snapshot::Delta(delta) => Ok(delta),
            Snapshot::Lance(_) => Err(self.vanished()),
        }
    }
}
