//! The rows that came and went between two versions.

use crate::load;
use crate::snapshot::Snapshot;
use crate::{Table, TableError, VersionSpec};
use arrow_array::RecordBatch;
use lakebed_delta::action::parse_actions;
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_ops::Change;
use lakebed_storage::Store;
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
    store: Arc<dyn Store>,
    before: Arc<lakebed_delta::Snapshot>,
    to: Version,
    commit: Option<(Version, lakebed_ops::Changes)>,
}

impl Table {
    /// The rows that came and went after `from` up to and with `to`. An update is a row that went and one that came.
    ///
    /// # Errors
    /// A version is not there (any more), `from` lies above `to`, or the rows of the format are not read here.
    pub async fn changes(&self, from: VersionSpec, to: VersionSpec) -> Result<Changes, TableError> {
        if !matches!(self.snapshot, Snapshot::Delta(_)) {
            return Err(TableError::Invalid {
                problem:
                    "changes on a lance table needs to read rows of Lance data files, which this build does not do (it \
                          was built without lance-data)"
                        .to_owned(),
                advice: "read it with a Lance client, or use a build with lance-data".to_owned(),
            });
        }
        let to = self.at(to).await?.version();
        let Snapshot::Delta(before) = self.at(from).await? else { return Err(self.vanished()) };
        let from = before.snapshot.version();
        if from > to {
            return Err(TableError::Invalid {
                problem: format!("the range begins at version {from}, which is newer than its end, version {to}"),
                advice: "give the older version first".to_owned(),
            });
        }
        Ok(Changes { store: Arc::clone(self.store()), before: before.snapshot, to, commit: None })
    }
}

impl Changes {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A version of the range is not there any more, or a file cannot be read.
    pub async fn next(&mut self) -> Result<Option<ChangedRows>, TableError> {
        loop {
            if let Some((version, commit)) = &mut self.commit {
                if let Some((change, batch)) = commit.next().await? {
                    return Ok(Some(ChangedRows { version: *version, change, batch }));
                }
                self.commit = None;
            }
            match self.before.version().next().filter(|version| *version <= self.to) {
                Some(version) => self.step(version).await?,
                None => return Ok(None),
            }
        }
    }

    /// Goes on to the next version.
    async fn step(&mut self, version: Version) -> Result<(), TableError> {
        let name = commit_path(version);
        let bytes = self.store.get(&name).await?.ok_or_else(|| TableError::Unavailable {
            root: self.store.root().to_owned(),
            problem: format!("version {version} is not there any more ({name}), so what it changed is not known"),
            advice: "begin at a newer version; a cleanup removes old ones".to_owned(),
        })?;
        let wrong = |source| load::delta::delta_error(&*self.store, source);
        let actions = parse_actions(&name, &bytes).map_err(wrong)?;
        let after = Arc::new(self.before.advance(version, &bytes).map_err(wrong)?);
        let changes = lakebed_ops::Changes::new(Arc::clone(&self.store), &self.before, &after, &actions)?;
        self.commit = Some((version, changes));
        self.before = after;
        Ok(())
    }
}
