//! Delta tables on disk whose log is written by hand and whose files are as old as a test wants.

use lakebed_storage::{Durability, LocalStore, Store};
use lakebed_table::{Table, TableError, VersionSpec};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) const DAY_MS: i64 = 86_400_000;
pub(crate) const ID: &str = "0f2c6a1e-0000-4000-8000-000000000001";

/// A folder that is removed with the value.
pub(crate) struct Local {
    folder: tempfile::TempDir,
}

impl Local {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::new(LocalStore::new(self.folder.path(), Durability::None).unwrap())
    }

    pub(crate) async fn open(&self) -> Table {
        crate::support::opened(&self.store()).await
    }

    /// Writes a file, so old in milliseconds since 1970.
    pub(crate) fn put(&self, name: &str, bytes: &[u8], modified_ms: i64) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        set_modified(&path, modified_ms);
    }

    /// Writes a commit.
    pub(crate) fn commit(&self, version: u64, lines: &[String], modified_ms: i64) {
        self.put(&commit(version), lines.join("\n").as_bytes(), modified_ms);
    }

    /// Makes a file so old.
    pub(crate) fn age(&self, name: &str, modified_ms: i64) {
        set_modified(&self.path(name), modified_ms);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The names below a folder, sorted.
    pub(crate) fn names(&self, below: &str) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.path(below)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    names.push(path.strip_prefix(self.folder.path()).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        names.sort();
        names
    }
}

pub(crate) fn commit(version: u64) -> String {
    format!("_delta_log/{version:020}.json")
}

pub(crate) fn classic(version: u64) -> String {
    format!("_delta_log/{version:020}.checkpoint.parquet")
}

fn set_modified(path: &Path, ms: i64) {
    let time = UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap());
    fs::OpenOptions::new().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "files are made older than now")]
pub(crate) fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// The first commit of a table with the column `id` and these properties.
pub(crate) fn first(properties: &str) -> Vec<String> {
    vec![r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#.to_owned(), metadata(&[], properties)]
}

/// A `metaData` action; `properties` is the inside of a JSON object.
pub(crate) fn metadata(partition: &[&str], properties: &str) -> String {
    let column =
        |name: &str| format!(r#"{{\"name\":\"{name}\",\"type\":\"string\",\"nullable\":true,\"metadata\":{{}}}}"#);
    let id = r#"{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}"#.to_owned();
    let columns: Vec<_> = std::iter::once(id).chain(partition.iter().map(|name| column(name))).collect();
    let partition: Vec<_> = partition.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        r#"{{"metaData":{{"id":"{ID}","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{{\"type\":\"struct\",\"fields\":[{}]}}","partitionColumns":[{}],"configuration":{{{properties}}}}}}}"#,
        columns.join(","),
        partition.join(",")
    )
}

pub(crate) fn add(path: &str) -> String {
    crate::support::add_action(path, 1, true)
}

pub(crate) fn remove(path: &str, deleted_ms: i64) -> String {
    format!(
        r#"{{"remove":{{"path":"{path}","deletionTimestamp":{deleted_ms},"dataChange":true,"extendedFileMetadata":true,"partitionValues":{{}},"size":4}}}}"#
    )
}

pub(crate) async fn version_at(table: &Table, spec: VersionSpec) -> Result<u64, TableError> {
    Ok(table.at(spec).await?.version().get())
}
