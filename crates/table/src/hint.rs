//! The hint at the newest version of a Lance table, where the names of manifests do not sort newest first.
//!
//! A hint is a help for clients that look there before they look further up; it may be missing, stale or nonsense. Nothing here
//! believes it: the newest version is what the names say.

use crate::Table;
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_naming::lance::{Scheme, hint_path};
use lakebed_storage::{Store, StoreError};
use serde_json::{Value, json};
use std::sync::Arc;

/// A hint that is further ahead of what was just committed is not believed to come from other writers.
const AHEAD_MAX: u64 = 1_000;

impl Table {
    /// Moves the hint behind a commit, without waiting for it. Where it does not work out, nobody misses it.
    pub(crate) fn hint_at(&self, scheme: Scheme, version: Version) {
        if scheme == Scheme::V2 {
            return;
        }
        let store = Arc::clone(self.store());
        let work = tokio::spawn(async move {
            let _ = advance(&*store, version).await;
            Ok(())
        });
        self.place.shared.keep(work);
    }
}

/// Moves the hint forward, never back.
async fn advance(store: &dyn Store, version: Version) -> Result<(), StoreError> {
    let name = hint_path();
    let before = store.get(&name).await?;
    let known = before.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let known = known.and_then(|hint| hint.get("version").and_then(Value::as_u64));
    // Another writer may have gone further by a few versions meanwhile; a hint that is far ahead is nonsense.
    if known.is_some_and(|known| known >= version.get() && known - version.get() <= AHEAD_MAX) {
        return Ok(());
    }
    store.put(&name, Bytes::from(json!({"version": version.get()}).to_string())).await
}
