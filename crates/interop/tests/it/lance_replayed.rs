//! Operations that pylance commits, built again by this program: the manifests are equal but for random ids and times.

use crate::support::{Python, arguments, committed, copy, list, open, plainly};
use lakebed_lance::build::{Inputs, next};
use lakebed_lance::proto::table::data_fragment::RowIdSequence;
use lakebed_lance::proto::table::transaction::Operation;
use lakebed_lance::proto::table::{IndexMetadata, Manifest};
use lakebed_lance::row_ids::RowIds;
use lakebed_lance::{Creation, Snapshot, index};
use lakebed_naming::Version;
use lakebed_naming::lance::{ManifestName, Scheme, manifest_path};
use lakebed_table::Prepared;
use lakebed_transaction::{Kind, LanceKind};
use std::collections::BTreeMap;
use std::path::Path;

/// The versions of a table.
fn history(table: &Path) -> BTreeMap<Version, Snapshot> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(table.join("_versions")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if let ManifestName::Version { version, .. } = ManifestName::parse(name) {
            let bytes = std::fs::read(&path).unwrap().into();
            found.insert(version, Snapshot::open(path.to_str().unwrap(), &bytes).unwrap());
        }
    }
    found
}

/// What is compared: the manifest with row ids unfolded (each program packs completed ids in its own way), and the indices
/// without what the entry of memtable shards has of its own in each build.
fn shown(mut manifest: Manifest, indices: &[IndexMetadata]) -> (Manifest, Vec<Vec<u64>>, Vec<IndexMetadata>) {
    manifest.timestamp = None;
    // pylance lists them in no order.
    manifest.base_paths.sort_by_key(|base| base.id);
    (manifest.index_section, manifest.transaction_section) = (None, None);
    let mut ids = Vec::new();
    for fragment in &mut manifest.fragments {
        if let Some(RowIdSequence::InlineRowIds(bytes)) = fragment.row_id_sequence.take() {
            ids.push(RowIds::decode(&bytes).unwrap().iter().collect());
        }
    }
    let plain = |entry: &IndexMetadata| {
        let own = entry.name == index::MEM_WAL;
        let uuid = entry.uuid.clone().filter(|_| !own);
        IndexMetadata { uuid, created_at: entry.created_at.filter(|_| !own), ..entry.clone() }
    };
    (manifest, ids, indices.iter().map(plain).collect())
}

#[tokio::test]
async fn manifests_of_pylance_are_built_again() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let made = python.on("lance_operations.py", &[], folder.path(), &Vec::<String>::new()).await;
    let mut seen: BTreeMap<LanceKind, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for table in list(&made["tables"]) {
        let name = table["name"].as_str().unwrap();
        let versions = history(&folder.path().join(name));
        let source = table["from"].as_str().map(|source| history(&folder.path().join(source)));
        for (version, theirs) in &versions {
            let base = version.previous().and_then(|before| versions.get(&before));
            let transaction = theirs.transaction().unwrap();
            let mut message = transaction.message().clone();
            if let Some(Operation::Overwrite(overwrite)) = &mut message.operation {
                // Only the manifest carries it.
                overwrite.schema_metadata = theirs.schema_metadata().clone();
            }
            let file = next(&Inputs {
                base,
                creation: &Creation { stable_row_ids: theirs.has_stable_row_ids(), ..Creation::default() },
                restored: None,
                cloned: source.as_ref().filter(|_| base.is_none()).and_then(|source| source.get(version)),
                moved: None,
                transaction: &message,
                transaction_file: &theirs.manifest().transaction_file,
                at: *version,
                now_ms: 0,
            });
            let kind = transaction.kind();
            *seen.entry(kind).or_default() += 1;
            match file {
                Ok(file) => {
                    let (ours, theirs) =
                        (shown(file.manifest, &file.indices), shown(theirs.manifest(), theirs.indices()));
                    if ours != theirs {
                        wrong.push(format!("{name} {version} {}\n ours {ours:?}\n them {theirs:?}", kind.name()));
                    }
                }
                Err(error) => wrong.push(format!("{name} {version} {}: {error}", kind.name())),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {seen:?}:\n{}", wrong.len(), wrong.join("\n"));
    for kind in [LanceKind::Clone, LanceKind::DataOverlay, LanceKind::DataReplacement, LanceKind::Update] {
        assert!(seen.contains_key(&kind), "{kind} occurs");
    }
}

/// The transactions of pylance, committed by us one after the other on its first version: pylance reads the same rows in every
/// version as in its own.
#[tokio::test]
async fn operations_of_pylance_are_committed_by_us_and_read_by_it() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let made = python.on("lance_operations.py", &[], folder.path(), &Vec::<String>::new()).await;
    for table in list(&made["tables"]).iter().filter(|table| table["from"].is_null()) {
        let name = table["name"].as_str().unwrap();
        let (theirs, ours) = (folder.path().join(name), folder.path().join(format!("ours-{name}")));
        let versions = history(&theirs);
        copy(&theirs, &ours);
        std::fs::remove_dir_all(ours.join("_versions")).unwrap();
        std::fs::create_dir(ours.join("_versions")).unwrap();
        let first = manifest_path(Scheme::V2, Version::new(1));
        std::fs::copy(theirs.join(&first), ours.join(&first)).unwrap();
        let mut table = open(&ours).await;
        for (version, snapshot) in versions.iter().skip(1) {
            let bytes = snapshot.transaction().unwrap().encoded().clone();
            let report = table.commit_prepared(Prepared::LanceTransaction(bytes), &plainly()).await.unwrap();
            assert_eq!(committed(&report), version.get(), "{name}");
        }
        let last = versions.len() as u64;
        let mut more: Vec<_> = ["--rows", "--each"].map(str::to_owned).into();
        more.extend(arguments(1..=last));
        let (theirs, ours) = (
            python.on("lance_read.py", &[], &theirs, &more).await,
            python.on("lance_read.py", &[], &ours, &more).await,
        );
        assert_eq!(ours["rows"], theirs["rows"], "{name}");
        assert_eq!(list(&ours["each"]).len() as u64, last);
        for (version, (ours, theirs)) in list(&ours["each"]).iter().zip(list(&theirs["each"])).enumerate() {
            for key in ["rows_hash", "fragments", "config", "schema"] {
                assert_eq!(ours[key], theirs[key], "{name}: {key} of version {}", version + 1);
            }
        }
    }
}
