//! Copies of the bases, in memory.

use lakebed_lance_data::LanceDataFiles;
use lakebed_storage::{MemoryStore, Store};
use lakebed_table::{OpenOptions, Table};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The names of objects that a winner took away.
const REMOVED: &str = "REMOVED.txt";

/// A place with the files of a folder.
pub(crate) async fn copy(folder: &Path) -> Arc<dyn Store> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("commands-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::named(&name).below("table.lance").unwrap());
    lay_over(&store, folder).await;
    store
}

/// Puts the files of a folder into the place, and takes away those that the folder names as removed.
pub(crate) async fn lay_over(store: &Arc<dyn Store>, folder: &Path) {
    for (name, path) in files(folder) {
        if name == REMOVED {
            for gone in std::fs::read_to_string(&path).unwrap().lines().filter(|line| !line.is_empty()) {
                store.delete(gone).await.unwrap();
            }
        } else {
            store.put(&name, std::fs::read(&path).unwrap().into()).await.unwrap();
        }
    }
}

/// The files below a folder, by their names in it, in reverse: an older manifest stands before a younger one.
pub(crate) fn files(folder: &Path) -> Vec<(String, std::path::PathBuf)> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).unwrap_or_else(|error| panic!("{}: {error}", at.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push((path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(), path));
            }
        }
    }
    found.sort_by(|one, other| other.cmp(one));
    found
}

/// A handle on the newest version.
pub(crate) async fn handle(store: &Arc<dyn Store>) -> Table {
    let options = OpenOptions { isolated: true, lance_files: Some(Arc::new(LanceDataFiles)), ..OpenOptions::default() };
    Table::open_store(Arc::clone(store), &options).await.unwrap()
}
