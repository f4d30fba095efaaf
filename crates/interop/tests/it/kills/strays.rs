//! What the dead left behind, and that a cleanup takes it.

use crate::support::open;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Counts the files of both tables that no version names, ages everything, cleans both up, and looks again.
pub(super) async fn counted_and_removed(place: &Path) -> usize {
    let mut strays = 0;
    for (_, name) in super::TABLES {
        let root = place.join(name);
        let before = strays_of(&root).await;
        strays += before.len();
        age(&root, 30 * DAY);
        let mut table = open(&root).await;
        let version = table.version();
        let named = named(&root).await;
        let _ = table.vacuum(Some(7 * DAY), true, false).await.unwrap();
        let after = strays_of(&root).await;
        assert_eq!(after, Vec::<String>::new(), "of {} stray files of {name} some are left", before.len());
        let again = open(&root).await;
        assert_eq!(again.version(), version);
        for file in &named {
            // Those of ours on Lance were never written: nobody reads their rows.
            let was_written = before.contains(file) || name == "delta";
            assert!(!was_written || root.join(file).is_file(), "{file} is named and gone");
        }
    }
    strays
}

/// Files in the data and transaction folders that the newest version does not name, and temporary files anywhere. No version of
/// these tables drops a file, so that what the newest does not name no version names; transaction files are named by their version.
async fn strays_of(root: &Path) -> Vec<String> {
    let named = named(root).await;
    let mut found: Vec<String> = files(root)
        .into_iter()
        .map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned())
        .filter(|name| {
            let file = name.rsplit('/').next().unwrap_or(name);
            let is_temporary = file.starts_with(".tmp") || file.contains('#');
            let is_data = name.ends_with(".parquet") && !name.contains('/') || name.starts_with("data/");
            is_temporary || is_data && !named.contains(name)
        })
        .collect();
    found.sort();
    found
}

async fn named(root: &Path) -> BTreeSet<String> {
    let table = open(root).await;
    let snapshot = table.snapshot();
    let fragments = snapshot.fragments().into_iter().flat_map(|one| one.files).map(|path| format!("data/{path}"));
    snapshot.files().into_iter().map(|one| one.path).chain(fragments).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn age(root: &Path, by: Duration) {
    for path in files(root) {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - by).unwrap();
    }
}
