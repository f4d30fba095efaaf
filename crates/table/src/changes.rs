//! The rows that came and went between two versions.

use crate::load;
use crate::snapshot::Snapshot;
use crate::{Table, TableError, VersionSpec};
use arrow_array::RecordBatch;
use lakebed_data::DataError;
use lakebed_delta::action::parse_actions;
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_ops::lance::{LanceChanges, LanceTable};
use lakebed_ops::{Change, OpsError};
use lakebed_storage::Store;
use std::collections::HashSet;
use std::sync::Arc;

/// Rows that came or went with one version.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedRows {
    /// The version.
    pub version: Version,
    /// What became of them.
    pub change: Change,
    /// The rows, with the columns of the version in which they stood.
    pub batch: RecordBatch,
}

/// The changes between two versions, oldest first, and within a version first what went. Memory holds one batch, and of a version
/// that rewrote files the text of the rows that went.
#[derive(Debug)]
pub struct Changes {
    line: Line,
    to: Version,
}

/// The versions that are walked, by their format.
#[derive(Debug)]
enum Line {
    Delta {
        store: Arc<dyn Store>,
        before: Arc<lakebed_delta::Snapshot>,
        commit: Option<(Version, Box<lakebed_ops::Changes>)>,
    },
    Lance {
        table: Table,
        before: LanceTable,
        commit: Option<(Version, Box<LanceChanges>)>,
    },
}

impl Table {
    /// The rows that came and went after `from` up to and with `to`. An update is a row that went and one that came.
    ///
    /// # Errors
    /// A version is not there (any more), `from` lies above `to`, or the rows of the format are not read here.
    pub async fn changes(&self, from: VersionSpec, to: VersionSpec) -> Result<Changes, TableError> {
        if let Snapshot::Lance(held) = &self.snapshot {
            self.lance_table(held, "changes")?;
        }
        let to = self.at(to).await?.version();
        let before = self.at(from).await?;
        let from = before.version();
        if from > to {
            return Err(TableError::Invalid {
                problem: format!("the range begins at version {from}, which is newer than its end, version {to}"),
                advice: "give the older version first".to_owned(),
            });
        }
        let line = match before {
            Snapshot::Delta(before) => {
                Line::Delta { store: Arc::clone(self.store()), before: before.snapshot, commit: None }
            }
            Snapshot::Lance(before) => {
                let before = self.lance_table(&before, "changes")?;
                Line::Lance { table: self.clone(), before, commit: None }
            }
        };
        Ok(Changes { line, to })
    }
}

impl Changes {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A version of the range is not there any more, or a file cannot be read. Where a vacuum took a file, the error says at which
    /// version to begin instead.
    pub async fn next(&mut self) -> Result<Option<ChangedRows>, TableError> {
        loop {
            match self.line.next().await {
                Ok(Some(changed)) => return Ok(Some(changed)),
                Ok(None) => {}
                Err(error) => {
                    let Line::Delta { store, before: reached, commit: Some(_) } = &self.line else { return Err(error) };
                    return Err(with_beginning(error, store, reached, self.to).await);
                }
            }
            match self.line.version().next().filter(|version| *version <= self.to) {
                Some(version) => self.line.step(version).await?,
                None => return Ok(None),
            }
        }
    }
}

/// The log outlives the files that a vacuum takes: whoever meets a gap is told from where on all of them are there.
async fn with_beginning(
    error: TableError,
    store: &Arc<dyn Store>,
    reached: &Arc<lakebed_delta::Snapshot>,
    to: Version,
) -> TableError {
    let TableError::Ops(OpsError::Data(DataError::MissingFile { file, .. }) | OpsError::MissingVector { object: file }) =
        &error
    else {
        return error;
    };
    let Ok(begin) = first_whole(store, reached, to).await else { return error };
    let version = reached.version();
    let advice = if begin == to {
        format!("files of every range up to version {begin} are gone; begin at it once there are newer ones")
    } else {
        format!("begin at version {begin}, from which on every file is there")
    };
    TableError::Unavailable {
        root: store.root().to_owned(),
        problem: format!("{file} is gone, so what version {version} changed cannot be told any more"),
        advice,
    }
}

/// The version after which, up to and with `to`, nothing is gone; `reached` is one whose files are.
async fn first_whole(
    store: &Arc<dyn Store>,
    reached: &Arc<lakebed_delta::Snapshot>,
    to: Version,
) -> Result<Version, TableError> {
    let there: HashSet<String> =
        load::list_all(&**store, "", None).await?.into_iter().map(|entry| entry.name).collect();
    let (mut before, mut begin) = (Arc::clone(reached), reached.version());
    while let Some(version) = before.version().next().filter(|version| *version <= to) {
        let (after, changes) = delta_step(store, &before, version).await?;
        if changes.objects()?.iter().any(|object| !there.contains(object)) {
            begin = version;
        }
        before = after;
    }
    Ok(begin)
}

impl Line {
    /// The version that was reached.
    fn version(&self) -> Version {
        match self {
            Self::Delta { before, .. } => before.version(),
            Self::Lance { before, .. } => before.snapshot().version(),
        }
    }

    /// The next rows of that version.
    async fn next(&mut self) -> Result<Option<ChangedRows>, TableError> {
        let (version, next) = match self {
            Self::Delta { commit: Some((version, commit)), .. } => (*version, commit.next().await?),
            Self::Lance { commit: Some((version, commit)), .. } => (*version, commit.next().await?),
            Self::Delta { commit: None, .. } | Self::Lance { commit: None, .. } => return Ok(None),
        };
        Ok(next.map(|(change, batch)| ChangedRows { version, change, batch }))
    }

    /// Goes on to the next version.
    async fn step(&mut self, version: Version) -> Result<(), TableError> {
        match self {
            Self::Delta { store, before, commit } => {
                let (after, changes) = delta_step(store, before, version).await?;
                *commit = Some((version, Box::new(changes)));
                *before = after;
            }
            Self::Lance { table, before, commit } => {
                let Snapshot::Lance(after) = table.load(version).await? else { return Err(table.vanished()) };
                let after = table.lance_table(&after, "changes")?;
                *commit = Some((version, Box::new(LanceChanges::new(before.clone(), after.clone()))));
                *before = after;
            }
        }
        Ok(())
    }
}

async fn delta_step(
    store: &Arc<dyn Store>,
    before: &Arc<lakebed_delta::Snapshot>,
    version: Version,
) -> Result<(Arc<lakebed_delta::Snapshot>, lakebed_ops::Changes), TableError> {
    let name = commit_path(version);
    let bytes = store.get(&name).await?.ok_or_else(|| TableError::Unavailable {
        root: store.root().to_owned(),
        problem: format!("version {version} is not there any more ({name}), so what it changed is not known"),
        advice: "begin at a newer version; a cleanup removes old ones".to_owned(),
    })?;
    let wrong = |source| load::delta::delta_error(&**store, source);
    let actions = parse_actions(&name, &bytes).map_err(wrong)?;
    let after = Arc::new(before.advance(version, &bytes).map_err(wrong)?);
    let changes = lakebed_ops::Changes::new(Arc::clone(store), before, &after, &actions)?;
    Ok((after, changes))
}
