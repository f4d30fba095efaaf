//! One part of a checkpoint in several objects is damaged: an older start gives the same version, and without one the part is named.

use crate::support::{conformance, names};
use bytes::Bytes;
use lakebed_delta::action::Add;
use lakebed_delta::{Load, LoadStep, Snapshot};
use std::collections::BTreeMap;
use std::path::Path;

type Objects = BTreeMap<String, Bytes>;

/// Every object of a log.
fn objects(table: &Path) -> Objects {
    names(table).into_iter().map(|(name, _)| (name.clone(), std::fs::read(table.join(name)).unwrap().into())).collect()
}

fn load(objects: &Objects) -> Result<Snapshot, String> {
    let sizes: Vec<_> = objects.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect();
    let mut load = Load::new(sizes, true, None);
    for _ in 0..12 {
        match load.step().map_err(|error| error.to_string())? {
            LoadStep::Done(snapshot) => return Ok(*snapshot),
            LoadStep::Relist => return Err("the listing was whole".to_owned()),
            LoadStep::Needs(needs) => {
                for name in needs {
                    let bytes = objects.get(name.as_str()).cloned();
                    load.feed(name, bytes);
                }
            }
        }
    }
    panic!("a load never ends")
}

/// What a version holds, apart from what a checkpoint forgets: tombstones that expired, and whether a file came with new rows.
fn seen(snapshot: &Snapshot) -> impl PartialEq + std::fmt::Debug + use<> {
    let told = |add: &Add| Add { data_change: false, ..add.clone() };
    let mut files: Vec<Add> = snapshot.files().map(|add| told(add)).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let core = snapshot.core();
    (files, core.protocol.clone(), core.metadata.clone(), core.txns.clone(), core.domains.clone())
}

/// What may have become of an object.
fn damages(whole: &Bytes) -> Vec<(&'static str, Option<Bytes>)> {
    let mut flipped = whole.to_vec();
    let end = flipped.len() - 8;
    flipped[end] ^= 0xff;
    vec![
        ("gone", None),
        ("empty", Some(Bytes::new())),
        ("cut", Some(whole.slice(..whole.len() / 2))),
        ("without its head", Some(whole.slice(whole.len() / 2..))),
        ("zeroes", Some(vec![0; whole.len()].into())),
        ("a page of HTML", Some(Bytes::from_static(b"<html>503 Slow Down</html>"))),
        ("a footer of another length", Some(flipped.into())),
    ]
}

/// The newest checkpoint's parts of a table, and the object that names them where there is one.
fn parts(objects: &Objects) -> Vec<String> {
    let parts = objects.keys().filter(|name| name.ends_with(".parquet") && name.contains(".checkpoint.0"));
    let newest = parts.clone().map(|name| &name[name.len().min(11)..]).filter_map(|name| name.rsplit('/').next());
    let newest = newest.map(|name| name[..20].to_owned()).max().unwrap();
    parts.filter(|name| name.rsplit('/').next().unwrap().starts_with(&newest)).cloned().collect()
}

#[test]
fn a_damaged_part_gives_way_to_an_older_start_and_is_named_without_one() {
    let Some(root) = conformance("delta-spark") else { return };
    for table in ["ckpt_multipart", "ckpt_v2_json", "ckpt_v2_parquet"] {
        let sound = objects(&root.join(table));
        let expected = load(&sound).unwrap();
        let parts = parts(&sound);
        assert!(parts.len() >= 3, "{table}: {parts:?}");
        let newest = parts[0].rsplit('/').next().unwrap()[..20].to_owned();
        // Without the log below the checkpoint.
        let reaches = |name: &str| name.rsplit('/').next().unwrap() > newest.as_str();
        let short: Objects =
            sound.iter().filter(|(name, _)| reaches(name)).map(|(n, b)| (n.clone(), b.clone())).collect();
        assert_eq!(seen(&load(&short).unwrap()), seen(&expected), "{table}: the checkpoint alone");
        for part in &parts {
            for (what, bytes) in damages(&sound[part]) {
                let damaged = |objects: &Objects| {
                    let mut objects = objects.clone();
                    match &bytes {
                        Some(bytes) => drop(objects.insert(part.clone(), bytes.clone())),
                        None => drop(objects.remove(part)),
                    }
                    objects
                };
                let found = load(&damaged(&sound)).unwrap_or_else(|error| panic!("{table}, {part} {what}: {error}"));
                assert_eq!(seen(&found), seen(&expected), "{table}, {part} {what}");
                let error = load(&damaged(&short)).map(|_| ()).unwrap_err();
                let file = part.rsplit('/').next().unwrap();
                // A part that is not listed, or that its size alone gives away, leaves no whole checkpoint behind.
                let unlisted = table == "ckpt_multipart" && matches!(what, "gone" | "empty");
                assert!(
                    error.contains(file) || unlisted && error.contains("checkpoint"),
                    "{table}, {file} {what}: {error}"
                );
            }
        }
    }
}

/// A sidecar is as large as the checkpoint says, or it is not the one that was written: bytes of another checkpoint may read well.
#[test]
fn a_sidecar_of_another_size_is_not_believed() {
    let Some(root) = conformance("delta-spark") else { return };
    for table in ["ckpt_v2_json", "ckpt_v2_parquet"] {
        let sound = objects(&root.join(table));
        let expected = load(&sound).unwrap();
        for part in parts(&sound) {
            let older =
                sound.iter().filter(|(name, bytes)| name.contains("_sidecars/") && bytes.len() != sound[&part].len());
            let others: Vec<Bytes> = older.map(|(_, bytes)| bytes.clone()).collect();
            assert!(!others.is_empty(), "{table}: {part}");
            for other in others {
                let mut swapped = sound.clone();
                swapped.insert(part.clone(), other);
                assert_eq!(seen(&load(&swapped).unwrap()), seen(&expected), "{table}: {part}");
            }
        }
    }
}
