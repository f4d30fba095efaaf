//! The objects that versions name.

use lakebed_lance::Snapshot;
use lakebed_naming::Uuid;
use lakebed_naming::lance::TableName;
use std::collections::BTreeSet;

/// The objects that versions name, relative to the root of the table.
#[derive(Debug, Default)]
pub(crate) struct Named {
    objects: BTreeSet<String>,
    indices: BTreeSet<Uuid>,
}

impl Named {
    /// What a version of the table names in the table itself.
    pub(crate) fn take_in(&mut self, snapshot: &Snapshot) {
        self.objects.extend(snapshot.transaction_file().map(|name| name.to_string()));
        self.take_in_where(snapshot, |_| true);
    }

    /// As [`Named::take_in`], without what stands in other places, and what nobody needs: a transaction that the manifest holds itself is
    /// read there, and cleanups of other clients take its file.
    pub(crate) fn take_in_own(&mut self, snapshot: &Snapshot) {
        let file = snapshot.transaction_file().filter(|_| snapshot.transaction().is_none());
        self.objects.extend(file.map(|name| name.to_string()));
        self.take_in_where(snapshot, |base| base.is_none());
    }

    /// What a version of another line of versions names outside of itself. Whether it lies in this table is not looked at: what is
    /// named anywhere stays.
    pub(crate) fn take_in_borrowed(&mut self, snapshot: &Snapshot) {
        self.take_in_where(snapshot, |base| base.is_some());
    }

    fn take_in_where(&mut self, snapshot: &Snapshot, wanted: impl Fn(Option<u32>) -> bool) {
        for fragment in snapshot.fragments() {
            let overlays = fragment.overlays.iter().filter_map(|overlay| overlay.data_file.as_ref());
            for file in fragment.files.iter().chain(overlays).filter(|file| wanted(file.base_id)) {
                self.objects.insert(format!("data/{}", file.path));
            }
            if let Some(file) = fragment.deletion_file.filter(|file| wanted(file.base_id))
                && let Ok(name) = lakebed_lance::deletion::name_of("a deletion file", fragment.id, &file)
            {
                self.objects.insert(name.path());
            }
        }
        for index in snapshot.indices().iter().filter(|index| wanted(index.base_id)) {
            let bytes = index.uuid.as_ref().and_then(|uuid| <[u8; 16]>::try_from(uuid.uuid.as_ref()).ok());
            self.indices.extend(bytes.map(Uuid::from_bytes));
        }
    }

    /// The objects themselves; of indices and of what lies in the folders of data files nothing is listed.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &String> {
        self.objects.iter()
    }

    /// Whether a version names exactly this object.
    pub(crate) fn holds(&self, object: &str) -> bool {
        self.objects.contains(object)
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.objects.extend(more.objects);
        self.indices.extend(more.indices);
    }

    /// Whether the object is named. What lies in the folder of a data file (`data/<its name without ending>/`) belongs to it.
    pub(crate) fn names(&self, object: &str) -> bool {
        if let TableName::Index { id, .. } = TableName::parse(object) {
            return self.indices.contains(&id);
        }
        if self.objects.contains(object) {
            return true;
        }
        let folder = object.strip_prefix("data/").and_then(|rest| rest.split_once('/')).map(|(folder, _)| folder);
        folder.is_some_and(|folder| self.objects.contains(&format!("data/{folder}.lance")))
    }
}
