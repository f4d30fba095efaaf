//! Data and helpers.

use bytes::Bytes;
use lakebed_lance::proto::table::DataFile;
use lakebed_lance::transaction::Head;
use lakebed_naming::lance::{ManifestName, Scheme};
use lakebed_naming::{Uuid, Version};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A folder of the conformance data; `None`, after a line that says so, where it is absent.
pub(crate) fn conformance(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("LAKEBED_CONFORMANCE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"), PathBuf::from);
    let path = root.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: no conformance data at {}", path.display());
    None
}

pub(crate) fn read(path: &Path) -> Bytes {
    Bytes::from(std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The sub-folders, sorted.
pub(crate) fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

/// The files of a folder, sorted; none where there is no folder.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    found.sort();
    found
}

/// The manifests of a table, by version.
pub(crate) fn manifests(table: &Path) -> BTreeMap<Version, (Scheme, PathBuf)> {
    let mut found = BTreeMap::new();
    for path in files(&table.join("_versions")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if let ManifestName::Version { scheme, version } = ManifestName::parse(name) {
            found.insert(version, (scheme, path));
        }
    }
    found
}

/// Every manifest file in the data, detached ones too.
pub(crate) fn all_manifests() -> Vec<PathBuf> {
    let Some(lance) = conformance("lance") else { return Vec::new() };
    let mut found = Vec::new();
    for set in folders(&lance) {
        found.extend(files(&set.join("table.lance/_versions")));
    }
    if let Some(commands) = conformance("lance-commands") {
        for kind in ["bases", "landed"] {
            for table in folders(&commands.join(kind)) {
                found.extend(files(&table.join("_versions")));
            }
        }
    }
    if let Some(conflicts) = conformance("lance-conflicts") {
        found.push(conflicts.join("base.manifest"));
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "manifest"));
    found
}

pub(crate) fn head(read_version: u64, id: u8) -> Head {
    Head {
        read_version: (read_version > 0).then(|| Version::new(read_version)),
        id: Uuid::from_random([id; 16]),
        properties: BTreeMap::new(),
    }
}

pub(crate) fn data_file(path: &str, fields: &[i32]) -> DataFile {
    DataFile {
        path: path.to_owned(),
        fields: fields.to_vec(),
        column_indices: (0..fields.len()).map(|at| i32::try_from(at).unwrap()).collect(),
        file_major_version: 2,
        file_minor_version: 2,
        file_size_bytes: 700,
        base_id: None,
    }
}
