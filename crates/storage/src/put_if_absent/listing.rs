//! Listing after a name, in byte order, over any `object_store`.

use crate::Listed;
use futures::StreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use std::collections::BTreeMap;

pub(super) struct Listing<'a> {
    pub(super) store: &'a dyn ObjectStore,
    /// Empty, or a folder with its `/`; names are shown relative to it.
    pub(super) root: &'a str,
    /// The folder to list, from the store's own root.
    pub(super) below: &'a Path,
    /// Relative to `root`; empty for no bound.
    pub(super) after: &'a str,
    pub(super) limit: usize,
}

impl Listing<'_> {
    pub(super) async fn run(&self, sorted: bool) -> object_store::Result<Vec<Listed>> {
        if self.limit == 0 {
            return Ok(Vec::new());
        }
        if sorted && let Some(found) = self.in_order().await? {
            return Ok(found);
        }
        self.whole().await
    }

    /// Stops at the limit; `None` when the store does not list in byte order after all.
    async fn in_order(&self) -> object_store::Result<Option<Vec<Listed>>> {
        let mut found: Vec<Listed> = Vec::new();
        let mut objects = self.objects();
        while let Some(meta) = objects.next().await {
            let Some(listed) = self.wanted(&meta?) else {
                continue;
            };
            if found.last().is_some_and(|last| last.name >= listed.name) {
                return Ok(None);
            }
            found.push(listed);
            if found.len() >= self.limit {
                break;
            }
        }
        Ok(Some(found))
    }

    /// Reads to the end and keeps the first `limit` in byte order.
    async fn whole(&self) -> object_store::Result<Vec<Listed>> {
        let mut found: BTreeMap<String, Listed> = BTreeMap::new();
        let mut objects = self.objects();
        while let Some(meta) = objects.next().await {
            let Some(listed) = self.wanted(&meta?) else {
                continue;
            };
            found.insert(listed.name.clone(), listed);
            if found.len() > self.limit {
                found.pop_last();
            }
        }
        Ok(found.into_values().collect())
    }

    /// The stream may start too early (the bound is a `Path`, which cannot end in `/` as a name to list after may, and some
    /// stores include the bound itself), never too late; [`Listing::wanted`] drops the surplus.
    fn objects(&self) -> futures::stream::BoxStream<'static, object_store::Result<ObjectMeta>> {
        let folder = Some(self.below).filter(|below| !below.as_ref().is_empty());
        let bound = format!("{}{}", self.root, self.after);
        let inside =
            folder.is_none_or(|folder| bound.strip_prefix(folder.as_ref()).is_some_and(|rest| rest.starts_with('/')));
        match Path::parse(&bound) {
            Ok(offset) if inside && !self.after.is_empty() && offset.as_ref() <= bound.as_str() => {
                self.store.list_with_offset(folder, &offset)
            }
            // Before the folder, behind it, or not to be said as a path.
            Ok(_) | Err(_) => self.store.list(folder),
        }
    }

    fn wanted(&self, meta: &ObjectMeta) -> Option<Listed> {
        let name = meta.location.as_ref().strip_prefix(self.root)?;
        (!name.is_empty() && name > self.after).then(|| listed(name.to_owned(), meta))
    }
}

pub(super) fn listed(name: String, meta: &ObjectMeta) -> Listed {
    Listed { name, size_bytes: meta.size, modified_ms: meta.last_modified.timestamp_millis() }
}
