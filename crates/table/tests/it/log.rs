//! The log of a table, read without the code under test: JSON lines of Delta by a JSON parser, manifests of Lance by
//! their footer and their protobuf message.

use bytes::Bytes;
use lakebed_lance::proto::table::Manifest;
use lakebed_storage::Store;
use lakebed_table::TableFormat;
use prost::Message as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What one version holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The transaction that made it.
    pub(crate) id: String,
    /// Live files: path → deletion vector as the log spells it, null where there is none (Delta).
    vectors: BTreeMap<String, Value>,
    /// Live files: path → live rows.
    pub(crate) files: BTreeMap<String, u64>,
    /// Further objects that it names.
    pub(crate) side: BTreeSet<String>,
    /// What `commitInfo` says (Delta).
    pub(crate) info: Value,
}

/// Every version of a table.
#[derive(Debug)]
pub(crate) struct Log(pub(crate) BTreeMap<u64, State>);

impl Log {
    pub(crate) fn newest(&self) -> u64 {
        *self.0.last_key_value().unwrap().0
    }

    pub(crate) fn state(&self) -> &State {
        self.0.last_key_value().unwrap().1
    }

    pub(crate) fn rows(&self) -> u64 {
        self.state().files.values().sum()
    }

    pub(crate) fn files(&self) -> &BTreeMap<String, u64> {
        &self.state().files
    }

    /// The versions whose entries carry an id.
    pub(crate) fn versions_of(&self, id: &str) -> Vec<u64> {
        self.0.iter().filter(|(_, state)| state.id == id).map(|(version, _)| *version).collect()
    }

    /// Versions follow each other, and every object that one of them names is there.
    pub(crate) async fn assert_whole(&self, store: &Arc<dyn Store>) {
        let first = *self.0.first_key_value().unwrap().0;
        let versions: Vec<_> = self.0.keys().copied().collect();
        assert_eq!(versions, (first..first + versions.len() as u64).collect::<Vec<_>>(), "versions are contiguous");
        for version in versions {
            self.assert_held(store, version).await;
        }
    }

    /// Every object that this version names is there.
    pub(crate) async fn assert_held(&self, store: &Arc<dyn Store>, version: u64) {
        let state = &self.0[&version];
        for object in state.files.keys().chain(&state.side) {
            assert!(store.head(object).await.unwrap().is_some(), "version {version} names {object}, which is gone");
        }
    }
}

pub(crate) async fn read_log(store: &Arc<dyn Store>, format: TableFormat) -> Log {
    match format {
        TableFormat::Delta => delta(store).await,
        TableFormat::Lance => lance(store).await,
    }
}

async fn delta(store: &Arc<dyn Store>) -> Log {
    let mut log = BTreeMap::new();
    let mut state = State::default();
    for listed in store.list("_delta_log", None, 100_000).await.unwrap() {
        let Some(number) = listed.name.strip_prefix("_delta_log/").and_then(|name| name.strip_suffix(".json")) else {
            continue;
        };
        // Checkpoints and compacted logs may be JSON too.
        if number.len() != 20 {
            continue;
        }
        let bytes = store.get(&listed.name).await.unwrap().unwrap();
        state.id.clear();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let action: Value = serde_json::from_slice(line).unwrap();
            apply(&mut state, &action);
        }
        log.insert(number.parse().unwrap(), state.clone());
    }
    Log(log)
}

fn apply(state: &mut State, action: &Value) {
    if let Some(info) = action.get("commitInfo") {
        state.id = info["txnId"].as_str().unwrap_or_default().to_owned();
        state.info = info.clone();
    }
    // Spaces and percent signs of partition folders are escaped in the log; the objects have the plain names.
    let object = |action: &Value| percent_decoded(action["path"].as_str().unwrap());
    if let Some(remove) = action.get("remove") {
        let path = object(remove);
        assert!(state.files.remove(&path).is_some(), "{path} is removed and was not there");
        let vector = state.vectors.remove(&path).unwrap_or_default();
        assert_eq!(remove.get("deletionVector").cloned().unwrap_or_default(), vector, "{path} under another vector");
    }
    if let Some(add) = action.get("add") {
        let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        let path = object(add);
        let vector = add.get("deletionVector").cloned().unwrap_or_default();
        let live = stats["numRecords"].as_u64().unwrap() - vector["cardinality"].as_u64().unwrap_or(0);
        assert!(state.files.insert(path.clone(), live).is_none(), "{path} twice");
        state.vectors.insert(path, vector);
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if let (b'%', [high, low, after @ ..]) = (first, tail) {
            let digits = [*high, *low];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            rest = after;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap()
}

async fn lance(store: &Arc<dyn Store>) -> Log {
    let mut log = BTreeMap::new();
    for listed in store.list("_versions", None, 100_000).await.unwrap() {
        let Some(number) = listed.name.strip_prefix("_versions/").and_then(|name| name.strip_suffix(".manifest"))
        else {
            continue;
        };
        let is_new = number.len() == 20;
        let number: u64 = number.parse().unwrap();
        // New tables count their manifests down, so that the newest sorts first; old names are the plain number.
        let version = if is_new { u64::MAX - number } else { number };
        let manifest = manifest(&store.get(&listed.name).await.unwrap().unwrap());
        assert_eq!(manifest.version, version, "{}", listed.name);
        log.insert(version, lance_state(&manifest));
    }
    Log(log)
}

fn lance_state(manifest: &Manifest) -> State {
    let mut state = State::default();
    // The file's name is the read version, a hyphen, the transaction's id.
    let file = &manifest.transaction_file;
    state.id = file.split_once('-').unwrap().1.strip_suffix(".txn").unwrap().to_owned();
    state.side.insert(format!("_transactions/{file}"));
    let mut fragments = BTreeSet::new();
    for fragment in &manifest.fragments {
        assert!(fragments.insert(fragment.id), "fragment {} is live twice", fragment.id);
        let deleted = fragment.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows);
        let path = format!("data/{}", fragment.files[0].path);
        assert!(state.files.insert(path.clone(), fragment.physical_rows - deleted).is_none(), "{path} twice");
        if let Some(file) = &fragment.deletion_file {
            let suffix = if file.file_type == 0 { "arrow" } else { "bin" };
            state.side.insert(format!("_deletions/{}-{}-{}.{suffix}", fragment.id, file.read_version, file.id));
        }
    }
    state
}

/// The manifest of a file: the last 16 bytes hold its position, a version and the magic; it stands there behind its length.
pub(crate) fn manifest(bytes: &Bytes) -> Manifest {
    let tail = &bytes[bytes.len() - 16..];
    assert_eq!(&tail[12..], b"LANC");
    let at = usize::try_from(u64::from_le_bytes(tail[..8].try_into().unwrap())).unwrap();
    let length = usize::try_from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())).unwrap();
    Manifest::decode(&bytes[at + 4..at + 4 + length]).unwrap()
}
