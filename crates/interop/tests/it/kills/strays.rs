//! What the dead left behind, and that a cleanup takes it.

use crate::support::alone;
use lakebed_storage::testing::Aged;
use lakebed_storage::{Store, StoreOptions};
use lakebed_table::Table;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Names asked for at once.
const PAGE: usize = 1_000;

/// Counts the files of both tables that no version names, cleans both up with everything aged, and looks again.
pub(super) async fn counted_and_removed(place: &str) -> usize {
    let mut strays = 0;
    for (_, name) in super::TABLES {
        let store = lakebed_storage::open(&format!("{place}/{name}"), &StoreOptions::new()).unwrap();
        let before = strays_of(&store).await;
        strays += before.len();
        let aged: Arc<dyn Store> = Aged::by(&store, 30 * DAY);
        let mut table = opened(&aged).await;
        let version = table.version();
        let named = named(&store).await;
        let there: BTreeSet<String> = files(&store).await.into_iter().collect();
        let _ = table.vacuum(Some(7 * DAY), true, false).await.unwrap();
        let after = strays_of(&store).await;
        assert_eq!(after, Vec::<String>::new(), "of {} stray files of {name} some are left", before.len());
        assert_eq!(opened(&store).await.version(), version);
        // Data files of ours on Lance were never written: nobody reads their rows.
        let left: BTreeSet<String> = files(&store).await.into_iter().collect();
        let gone: Vec<&String> = named.intersection(&there).filter(|file| !left.contains(*file)).collect();
        assert!(gone.is_empty(), "named and gone: {gone:?}");
    }
    strays
}

async fn opened(store: &Arc<dyn Store>) -> Table {
    Table::open_store(Arc::clone(store), &alone()).await.unwrap()
}

/// Files in the data folders that the newest version does not name, and temporary files anywhere. No version of these tables
/// drops a file, so that what the newest does not name no version names; transaction files are named by their version.
async fn strays_of(store: &Arc<dyn Store>) -> Vec<String> {
    let named = named(store).await;
    let is_data = |name: &str| name.ends_with(".parquet") && !name.contains('/') || name.starts_with("data/");
    let mut found: Vec<String> = files(store).await;
    found.retain(|name| {
        let file = name.rsplit('/').next().unwrap_or(name);
        file.starts_with(".tmp") || file.contains('#') || is_data(name) && !named.contains(name)
    });
    found.sort();
    found
}

async fn named(store: &Arc<dyn Store>) -> BTreeSet<String> {
    let table = opened(store).await;
    let snapshot = table.snapshot();
    let fragments = snapshot.fragments().into_iter().flat_map(|one| one.files).map(|path| format!("data/{path}"));
    snapshot.files().into_iter().map(|one| one.path).chain(fragments).collect()
}

/// Every file, temporary ones that no listing shows included.
async fn files(store: &Arc<dyn Store>) -> Vec<String> {
    let mut found: Vec<String> = store.strays().await.unwrap().into_iter().map(|entry| entry.name).collect();
    let mut after: Option<String> = None;
    loop {
        let page = store.list("", after.as_deref(), PAGE).await.unwrap();
        found.extend(page.iter().map(|entry| entry.name.clone()));
        if page.len() < PAGE {
            return found;
        }
        after = page.last().map(|last| last.name.clone());
    }
}
