//! Transactions of engines that bring their own files: files are written anywhere, the transaction travels as bytes, and one
//! process commits it once.

use crate::application::ApplicationBatch;
use crate::create::fresh_id;
use crate::snapshot::{DeltaVersion, LanceVersion, Snapshot};
use crate::{Prepared, Table, TableError, TableFormat};
use bytes::Bytes;
use lakebed_delta::action::{Action, Add, Txn, write_actions};
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::transaction::{Head, append};
use lakebed_naming::delta::encode_path;
use lakebed_naming::{Uuid, Version};
use lakebed_transaction::TransactionId;
use prost::Message as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// A data file that an engine wrote below the root of a Delta table. It can be serialised, so that a worker can send it to who
/// commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewDataFile {
    /// The object's name below the root, as it is; the log's escapes are added here.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// Statistics as JSON text, as the Delta protocol spells them (*Per-file Statistics*). Without, no scan can skip the file.
    pub stats_json: Option<String>,
    /// Values of the partition columns by their names in the table, as the log spells them; `None` is NULL.
    pub partition_values: BTreeMap<String, Option<String>>,
}

impl NewDataFile {
    /// A file without statistics, for a table without partitions.
    #[must_use]
    pub fn new(path: impl Into<String>, size_bytes: u64) -> Self {
        Self { path: path.into(), size_bytes, stats_json: None, partition_values: BTreeMap::new() }
    }

    /// With statistics.
    #[must_use]
    pub fn with_stats_json(mut self, stats_json: Option<String>) -> Self {
        self.stats_json = stats_json;
        self
    }

    /// With the value of a partition column.
    #[must_use]
    pub fn with_partition_value(mut self, column: impl Into<String>, value: Option<String>) -> Self {
        self.partition_values.insert(column.into(), value);
        self
    }
}

/// What a writer read, so that what lands meanwhile can be judged against it.
#[derive(Clone, Debug, Default, Serialize)]
struct Reads {
    /// One list for each read; its filters hold together.
    predicates: Vec<Vec<String>>,
    files: Vec<String>,
    whole_table: bool,
}

/// A transaction on the version that a handle knows, under an id of its own.
///
/// [`Transaction::to_bytes`] gives what travels; [`Table::commit_prepared`] commits it, on any machine, and however often it is
/// given it lands once. After an answer of *unknown*, [`Table::outcome_of`] with [`Transaction::id`] tells.
///
/// ```
/// use lakebed_table::{CommitOptions, NewDataFile, NewTable, OpenOptions, Prepared, Table, TableFormat};
/// use lakebed_transaction::{Column, ColumnType, Outcome};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let definition = NewTable::new(TableFormat::Delta, vec![Column::new("id", ColumnType::Long, false)]);
/// let url = "memory://transaction/trips";
/// let (table, _) = Table::create(url, &OpenOptions::default(), &definition, &CommitOptions::default()).await?;
/// let mut transaction = table.ok_or("not created")?.begin("WRITE");
/// // A worker wrote this file and sent its description.
/// let file = NewDataFile::new("part-0.parquet", 4_096).with_stats_json(Some(r#"{"numRecords":100}"#.to_owned()));
/// transaction.add(&file)?;
/// let bytes = transaction.to_bytes()?;
///
/// // Elsewhere.
/// let mut table = Table::open(url, &OpenOptions::default()).await?;
/// for _ in 0..2 {
///     let prepared = Prepared::from_bytes(TableFormat::Delta, bytes.clone());
///     let report = table.commit_prepared(prepared, &CommitOptions::default()).await?;
///     assert!(matches!(report.outcome, Outcome::Committed { version, .. } if version.get() == 1));
/// }
/// assert_eq!(table.snapshot().summary()?.num_rows, Some(100));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Transaction {
    id: Uuid,
    operation: String,
    now_ms: i64,
    reads: Reads,
    on: On,
}

/// The version that it stands on, and what it adds and removes.
#[derive(Clone, Debug)]
enum On {
    Delta { held: DeltaVersion, actions: Vec<Action> },
    Lance { held: LanceVersion, fragments: Vec<DataFragment> },
}

impl Table {
    /// Begins a transaction of an engine that brings its own files, on the version that this handle knows. `operation` is the
    /// name that the history shows, such as `WRITE`, `DELETE` or `MERGE` (Delta; on Lance it is an append).
    #[must_use]
    pub fn begin(&self, operation: &str) -> Transaction {
        let on = match &self.snapshot {
            Snapshot::Delta(held) => On::Delta { held: held.clone(), actions: Vec::new() },
            Snapshot::Lance(held) => On::Lance { held: held.clone(), fragments: Vec::new() },
        };
        let now_ms = i64::try_from(self.place.clock.now_ms()).unwrap_or(i64::MAX);
        Transaction { id: fresh_id(), operation: operation.to_owned(), now_ms, reads: Reads::default(), on }
    }
}

impl Transaction {
    /// The id that it keeps wherever it goes, and that stands in its log entry.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        TransactionId::new(self.id.to_string())
    }

    /// The version that it stands on.
    #[must_use]
    pub fn read_version(&self) -> Version {
        match &self.on {
            On::Delta { held, .. } => held.snapshot.version(),
            On::Lance { held, .. } => held.snapshot.version(),
        }
    }

    /// The format of the table.
    #[must_use]
    pub const fn format(&self) -> TableFormat {
        match &self.on {
            On::Delta { .. } => TableFormat::Delta,
            On::Lance { .. } => TableFormat::Lance,
        }
    }

    /// Adds a file whose rows are new to the table.
    ///
    /// # Errors
    /// [`TableError::Invalid`]: the table is no Delta table, or a partition column is not its.
    pub fn add(&mut self, file: &NewDataFile) -> Result<&mut Self, TableError> {
        let now_ms = self.now_ms;
        let (held, actions) = self.delta("a data file")?;
        let size = i64::try_from(file.size_bytes).unwrap_or(i64::MAX);
        let mut add = Add::new(&encode_path(&file.path), size, now_ms);
        let columns = held.snapshot.core().partition_columns();
        for (name, value) in &file.partition_values {
            let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
            let column = column.ok_or_else(|| {
                let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
                let advice = format!("the table is partitioned by: {}", names.join(", "));
                TableError::Invalid { problem: format!("{name} is no partition column of the table"), advice }
            })?;
            add.partition_values.set(&column.physical_name, value.as_deref());
        }
        add.stats = file.stats_json.as_deref().map(Into::into);
        actions.push(Action::Add(add));
        Ok(self)
    }

    /// Takes a file out, by its path as [`Snapshot::files`](crate::Snapshot::files) gives it. What it holds was read.
    ///
    /// # Errors
    /// [`TableError::Invalid`]: the table is no Delta table, or the file is not in the version that was read.
    pub fn remove(&mut self, path: &str) -> Result<&mut Self, TableError> {
        let now_ms = self.now_ms;
        let (held, actions) = self.delta("a data file")?;
        let add = held.snapshot.files().find(|add| &*add.path == path).ok_or_else(|| TableError::Invalid {
            problem: format!("`{path}` is not in version {}", held.snapshot.version()),
            advice: "name a file as the version lists it".to_owned(),
        })?;
        actions.push(Action::Remove(add.to_remove(now_ms, true)));
        self.reads.files.push(path.to_owned());
        Ok(self)
    }

    /// Adds fragments whose data files stand in the table's `data/` folder.
    ///
    /// # Errors
    /// [`TableError::Invalid`]: the table is no Lance table.
    pub fn add_fragments(&mut self, more: impl IntoIterator<Item = DataFragment>) -> Result<&mut Self, TableError> {
        match &mut self.on {
            On::Lance { fragments, .. } => fragments.extend(more),
            On::Delta { .. } => return Err(other_format("a fragment", TableFormat::Delta)),
        }
        Ok(self)
    }

    /// Says that rows were read that meet a predicate (SQL text): who adds or removes such rows meanwhile is in the way. On Lance an
    /// append reads nothing.
    pub fn read_where(&mut self, predicate: impl Into<String>) -> &mut Self {
        self.reads.predicates.push(vec![predicate.into()]);
        self
    }

    /// Says that the whole table was read.
    pub const fn read_all(&mut self) -> &mut Self {
        self.reads.whole_table = true;
        self
    }

    /// Makes it the batch of a streaming writer, which lands once whatever id the transaction has.
    ///
    /// # Errors
    /// [`TableError::Invalid`]: the table is no Delta table.
    pub fn application(&mut self, batch: &ApplicationBatch) -> Result<&mut Self, TableError> {
        let last_updated = Some(self.now_ms);
        let (_, actions) = self.delta("a batch of an application")?;
        actions.push(Action::Txn(Txn { app_id: batch.app_id.clone(), version: batch.version, last_updated }));
        Ok(self)
    }

    /// The transaction for [`Table::commit_prepared`] in this process.
    ///
    /// # Errors
    /// As [`Transaction::to_bytes`].
    pub fn prepared(&self) -> Result<Prepared, TableError> {
        Ok(Prepared::from_bytes(self.format(), self.to_bytes()?))
    }

    /// The transaction as it travels: what [`Prepared::from_bytes`] and `lakebed commit` take (a `.json` file, or a `.txn`).
    ///
    /// # Errors
    /// [`TableError::Delta`]: an action has no JSON form.
    pub fn to_bytes(&self) -> Result<Bytes, TableError> {
        match &self.on {
            On::Delta { held, actions } => {
                let version = held.snapshot.version().get();
                let header = json!({"reads": self.reads, "operation": self.operation});
                let info = json!({"commitInfo": {
                    "operation": self.operation, "txnId": self.id.to_string(), "readVersion": version,
                }});
                let mut lines = format!("{header}\n{info}\n").into_bytes();
                let written = write_actions(actions)
                    .map_err(|source| TableError::Delta { root: "the transaction".to_owned(), source })?;
                lines.extend(written);
                Ok(lines.into())
            }
            On::Lance { held, fragments } => {
                let read_version = Some(held.snapshot.version());
                let head = Head { read_version, id: self.id, properties: BTreeMap::new() };
                Ok(append(head, fragments.clone()).encode_to_vec().into())
            }
        }
    }

    fn delta(&mut self, what: &str) -> Result<(&DeltaVersion, &mut Vec<Action>), TableError> {
        match &mut self.on {
            On::Delta { held, actions } => Ok((held, actions)),
            On::Lance { .. } => Err(other_format(what, TableFormat::Lance)),
        }
    }
}

fn other_format(what: &str, format: TableFormat) -> TableError {
    TableError::Invalid {
        problem: format!("{what} has no place in a transaction on a {format} table"),
        advice: "a Delta table takes data files, a Lance table fragments".to_owned(),
    }
}
