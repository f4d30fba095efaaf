//! Which version each file came with.

use crate::load::lance::{load_version, versions};
use crate::load::list_all;
use crate::snapshot::{LanceVersion, Snapshot};
use crate::{Table, TableError};
use lakebed_delta::action::{Action, parse_actions};
use lakebed_delta::path::identity;
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_naming::lance::VERSIONS_FOLDER;
use lakebed_ops::lance::Written;
use lakebed_transaction::UnitId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The first version of a Lance table that is no clone.
const FIRST_LANCE: Version = Version::new(1);

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

impl Table {
    /// Which version wrote the rows of each fragment of a Lance version: what the fragment says by itself, else the version that
    /// brought it, as far back as versions are kept.
    pub(crate) async fn written(&self, held: &LanceVersion) -> Result<HashMap<u64, Written>, TableError> {
        let mut found = HashMap::new();
        let mut wanted = BTreeSet::new();
        for fragment in held.snapshot.fragments() {
            match Written::of(fragment) {
                Some(written) => drop(found.insert(fragment.id, written)),
                None => drop(wanted.insert(fragment.id)),
            }
        }
        if wanted.is_empty() {
            return Ok(found);
        }
        let store = &*self.place.store;
        let mut names = versions(&list_all(store, VERSIONS_FOLDER, None).await?);
        names.retain(|name| name.version < held.snapshot.version());
        let mut later = held.snapshot.version();
        while let Some(earlier) = names.pop().map(|name| name.version).filter(|_| !wanted.is_empty()) {
            let before = load_version(store, held.scheme, earlier).await?;
            // Of fragments that came in a gap of the history, the version is not known.
            let by = (earlier.next() == Some(later)).then_some(later.get());
            for id in wanted.extract_if(.., |id| before.snapshot.fragment(*id).is_none()) {
                found.insert(id, Written::All(by));
            }
            later = earlier;
        }
        let first = (later == FIRST_LANCE).then_some(later.get());
        found.extend(wanted.into_iter().map(|id| (id, Written::All(first))));
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
