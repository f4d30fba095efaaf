//! Which version each file came with.

use crate::snapshot::Snapshot;
use crate::{Table, TableError};
use lakebed_delta::action::{Action, parse_actions};
use lakebed_delta::path::identity;
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_transaction::UnitId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// When a file came into a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileVersions {
    /// The version that wrote it; a deletion vector that came later does not count. `None` where the log does not reach back.
    pub added: Option<Version>,
    /// The newest version up to `added` that changed data.
    pub time: Option<Version>,
}

impl Table {
    /// Which version wrote each file of a Delta version, by its path in the log. Reads the log backwards until every file is
    /// found; entries that a cleanup removed are not known.
    ///
    /// # Errors
    /// An entry cannot be read.
    pub async fn file_versions(&self, snapshot: &Snapshot) -> Result<HashMap<UnitId, FileVersions>, TableError> {
        let Snapshot::Delta(held) = snapshot else { return Ok(HashMap::new()) };
        let mut wanted: BTreeMap<String, UnitId> =
            held.snapshot.files().map(|add| (identity(&add.path).into_owned(), UnitId::file(&add.path))).collect();
        let mut found: HashMap<UnitId, FileVersions> =
            wanted.values().map(|id| (id.clone(), FileVersions::default())).collect();
        // Files whose version is known, and that wait for a change of data at or below it.
        let mut timeless: Vec<UnitId> = Vec::new();
        let mut version = Some(held.snapshot.version());
        while let Some(at) = version.filter(|_| !wanted.is_empty() || !timeless.is_empty()) {
            let name = commit_path(at);
            let Some(bytes) = self.place.store.get(&name).await? else { break };
            let actions =
                parse_actions(&name, &bytes).map_err(|e| crate::load::delta::delta_error(&*self.place.store, e))?;
            for id in written(&actions).into_iter().filter_map(|path| wanted.remove(&path)) {
                if let Some(known) = found.get_mut(&id) {
                    known.added = Some(at);
                }
                timeless.push(id);
            }
            // With its first version a table comes to be.
            if at.get() == 0 || changes_data(&actions) {
                for id in timeless.drain(..) {
                    if let Some(known) = found.get_mut(&id) {
                        known.time = Some(at);
                    }
                }
            }
            version = at.get().checked_sub(1).map(Version::new);
        }
        Ok(found)
    }
}

/// The files that a commit brought: those it added and did not take out under another deletion vector.
fn written(actions: &[Action]) -> BTreeSet<String> {
    let removed: BTreeSet<_> =
        actions.iter().filter_map(Action::as_remove).map(|remove| identity(&remove.path)).collect();
    let added = actions.iter().filter_map(Action::as_add).map(|add| identity(&add.path));
    added.filter(|path| !removed.contains(path)).map(std::borrow::Cow::into_owned).collect()
}

/// Whether rows came or went.
pub(crate) fn changes_data(actions: &[Action]) -> bool {
    actions.iter().filter_map(Action::as_add).any(|add| add.data_change)
        || actions.iter().filter_map(Action::as_remove).any(|remove| remove.data_change)
}
