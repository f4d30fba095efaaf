//! Rows of tables that other clients wrote, against those clients' own answers.
//!
//! The tables stand beside the project in `../shared/conformance`; where they are absent these tests say so and do nothing.

mod answers;
mod cells;
mod changes;
mod commands;
mod spark;

use lakebed_storage::{Durability, LocalStore, Store, StoreOptions};
use lakebed_table::{OpenOptions, Table};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder with tables of real clients, or `None` (after saying so) where it is absent.
pub(crate) fn folder(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("LAKEBED_CONFORMANCE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"), PathBuf::from)
        .join(part);
    if root.is_dir() {
        return Some(root);
    }
    println!("skipped: there is no {}", root.display());
    None
}

/// The rows of a tab-separated file below its head.
fn rows_of(file: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Opens a table on local disk, where small files are read at once.
pub(crate) async fn open(root: &Path) -> Result<Table, lakebed_table::TableError> {
    let options = OpenOptions {
        isolated: true,
        store: StoreOptions::new().durability(Durability::None),
        ..OpenOptions::default()
    };
    let store: Arc<dyn Store> = Arc::new(LocalStore::new(root, Durability::None).unwrap());
    Table::open_store(store, &options).await
}

/// Copies a folder with all that is below it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            let _ = std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
