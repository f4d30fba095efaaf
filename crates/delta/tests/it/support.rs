//! What the tests share: tables on disk, loaded by hand.

use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_delta::{DeltaError, Hint, Load, LoadStep, Snapshot};
use lakebed_naming::Version;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folder with tables of real clients, or `None` (after saying so) where it is absent.
pub(crate) fn conformance(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("LAKEBED_CONFORMANCE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"), PathBuf::from)
        .join(part);
    if root.is_dir() {
        return Some(root);
    }
    println!("skipped: there is no {}", root.display());
    None
}

/// Names (relative to the table's root) and sizes of everything in the log.
pub(crate) fn names(table: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("_delta_log")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(table.join(&folder)) else { continue };
        for entry in entries {
            let entry = entry.expect("the folder can be read");
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else {
                let size = entry.metadata().expect("the file has a size").len();
                found.push((path.to_str().expect("names are UTF-8").to_owned(), size));
            }
        }
    }
    found.sort();
    found
}

/// Loads a version as a program would, with every object read at most once.
pub(crate) fn load(table: &Path, at: Option<Version>) -> Result<Snapshot, DeltaError> {
    load_names(table, &names(table), at)
}

/// Loads a version from some of the names.
pub(crate) fn load_names(table: &Path, names: &[(String, u64)], at: Option<Version>) -> Result<Snapshot, DeltaError> {
    let hint = std::fs::read(table.join("_delta_log/_last_checkpoint")).ok().and_then(|bytes| Hint::parse(&bytes));
    let all = || names.iter().map(|(name, size)| (name.as_str(), *size));
    let mut load = match hint.filter(|hint| at.is_none_or(|at| at >= hint.version)) {
        Some(hint) => Load::new(all().filter(|(name, _)| *name > hint.list_after().as_str()), false, at),
        None => Load::new(all(), true, at),
    };
    let mut asked: BTreeSet<ObjectName> = BTreeSet::new();
    loop {
        match load.step()? {
            LoadStep::Done(snapshot) => return Ok(*snapshot),
            LoadStep::Relist => load.relist(all()),
            LoadStep::Needs(needs) => {
                assert!(!needs.is_empty(), "a step that needs nothing must be done");
                for name in needs {
                    assert!(asked.insert(name.clone()), "{name} is asked for twice");
                    let bytes = std::fs::read(table.join(name.as_str())).ok().map(Bytes::from);
                    load.feed(name, bytes);
                }
            }
        }
    }
}

/// A snapshot of commits given as text, from version 0 on.
pub(crate) fn snapshot_of(commits: &[&str]) -> Snapshot {
    let name = |at: usize| ObjectName::new(lakebed_naming::delta::commit_path(Version::new(at as u64)));
    let listing = commits.iter().enumerate().map(|(at, text)| (name(at).as_str().to_owned(), text.len() as u64));
    let mut load = Load::new(listing.collect::<Vec<_>>(), true, None);
    for (at, text) in commits.iter().enumerate() {
        load.feed(name(at), Some(Bytes::from((*text).to_owned())));
    }
    match load.step().unwrap() {
        LoadStep::Done(snapshot) => *snapshot,
        other @ (LoadStep::Needs(_) | LoadStep::Relist) => panic!("{other:?}"),
    }
}

/// What two ways to one version must have in common.
pub(crate) fn state(snapshot: &Snapshot) -> String {
    let mut files: Vec<String> = snapshot
        .files()
        .map(|add| {
            format!(
                "{} {:?} {} {:?} {:?}",
                add.key(),
                add.partition_values,
                add.size,
                add.live_rows(),
                add.deletion_vector
            )
        })
        .collect();
    files.sort();
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{files:#?}",
        snapshot.protocol(),
        snapshot.metadata(),
        snapshot.app_transactions(),
        snapshot.domain_metadata()
    )
}

pub(crate) fn is_checkpoint(name: &str) -> bool {
    name.contains(".checkpoint.")
}

/// Every folder of the conformance data that is a table.
pub(crate) fn folders() -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), Vec::new());
    todo.extend(["delta", "delta-spark", "delta-commands/bases"].into_iter().filter_map(conformance));
    while let Some(folder) = todo.pop() {
        if folder.join("_delta_log").is_dir() {
            found.push(folder);
            continue;
        }
        let entries = std::fs::read_dir(&folder).expect("the folder can be read");
        todo.extend(entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()));
    }
    found
}
