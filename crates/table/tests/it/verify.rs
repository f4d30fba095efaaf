//! `verify`, `statistics`: sound tables are called sound, and each kind of damage is found.

use crate::compaction::{VECTORS, append, batch, of, table};
use crate::isolation::under;
use crate::support::{BOTH, add, committed, opened, set, source, three_rows};
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, Compaction, Finding, Statistics, Table, TableFormat, Verified};
use serde_json::Value;
use std::sync::Arc;

async fn verified(store: &Arc<dyn Store>) -> Verified {
    opened(store).await.verify(|_| ()).await.unwrap()
}

/// The one finding.
fn only(verified: &Verified) -> &Finding {
    let [finding] = verified.findings.as_slice() else { panic!("{verified:#?}") };
    finding
}

/// Appends, deletes with vectors, a compaction and checkpoints.
async fn lively() -> (Arc<dyn Store>, Table) {
    let properties = [
        VECTORS,
        ("delta.checkpointInterval", "4"),
        ("delta.enableRowTracking", "true"),
        ("delta.enableInCommitTimestamps", "true"),
    ];
    let (store, mut table) = table(false, &properties).await;
    for first in [0, 10, 20] {
        append(&mut table, batch((first..first + 10).map(|id| (id, "a", id)))).await;
    }
    committed(&table.delete("id IN (3, 13)", &CommitOptions::default()).await.unwrap());
    committed(&table.compact(&of(Compaction::Minor), &CommitOptions::default()).await.unwrap());
    for first in [30, 40, 50] {
        append(&mut table, batch((first..first + 10).map(|id| (id, "a", id)))).await;
    }
    assert_eq!(table.settle().await, Vec::<String>::new());
    (store, table)
}

async fn names(store: &Arc<dyn Store>, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let listed = store.list("", None, 1_000).await.unwrap();
    listed.into_iter().map(|entry| entry.name).filter(|name| wanted(name)).collect()
}

/// Changes the text of an object.
async fn edit(store: &Arc<dyn Store>, name: &str, change: impl Fn(String) -> String) {
    let text = String::from_utf8(store.get(name).await.unwrap().unwrap().to_vec()).unwrap();
    let changed = change(text.clone());
    assert_ne!(text, changed, "{name}");
    store.put(name, changed.into()).await.unwrap();
}

#[tokio::test]
async fn a_lively_table_is_sound() {
    let (store, table) = lively().await;
    let found = verified(&store).await;
    assert_eq!(found.findings, []);
    assert_eq!(found.versions, Some((Version::new(0), table.version())));
    // Six data files, the joined one, two files of vectors.
    assert_eq!((found.objects_checked, found.checkpoints_checked, found.checksums_checked), (9, 2, 2));
    assert_eq!(found.strays, []);
    for format in BOTH {
        let (store, mut table) = three_rows(format).await;
        committed(&add(&mut table, &[4, 5]).await);
        assert_eq!(verified(&store).await.findings, [], "{format}");
    }
}

#[tokio::test]
async fn a_file_that_is_gone_or_short_is_found() {
    let (store, mut table) = lively().await;
    append(&mut table, batch([(99, "a", 1)])).await;
    let name =
        crate::compaction::files(&table).into_iter().find(|add| add.num_records() == Some(1)).unwrap().path.to_string();
    let bytes = store.get(&name).await.unwrap().unwrap();
    store.put(&name, bytes.slice(..bytes.len() - 1)).await.unwrap();
    let found = verified(&store).await;
    assert_eq!((only(&found).kind, &only(&found).object, only(&found).version), ("size", &name, Some(table.version())));
    store.delete(&name).await.unwrap();
    let found = verified(&store).await;
    assert_eq!((only(&found).kind, &only(&found).object), ("missing", &name));
    assert!(only(&found).problem.contains("newest version"), "{found:?}");
    assert!(!only(&found).remedy.is_empty());
}

/// Files that were taken out may be gone, oldest first, as after a vacuum; one that is gone while an older one still stands was
/// lost.
#[tokio::test]
async fn what_a_vacuum_removed_is_no_fault_and_what_was_lost_is() {
    let (store, mut table) = table(false, &[]).await;
    let mut taken = Vec::new();
    for id in 1..=3 {
        append(&mut table, batch([(id, "a", id)])).await;
        taken.extend(crate::compaction::files(&table).iter().map(|add| add.path.to_string()));
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        committed(&table.delete("id > 0", &CommitOptions::default()).await.unwrap());
    }
    store.delete(&taken[0]).await.unwrap();
    let found = verified(&store).await;
    assert_eq!(found.findings, []);
    assert!(found.notes.iter().any(|note| note.contains("vacuum")), "{:?}", found.notes);
    store.delete(&taken[2]).await.unwrap();
    let found = verified(&store).await;
    assert_eq!((only(&found).kind, &only(&found).object), ("missing", &taken[2]));
    // Nobody is told to keep what nobody names.
    store.put("part-nobody.parquet", bytes::Bytes::from_static(b"x")).await.unwrap();
    assert_eq!(verified(&store).await.strays, [("part-nobody.parquet".to_owned(), 1)]);
}

#[tokio::test]
async fn a_vector_that_does_not_decode_is_found() {
    let (store, _) = lively().await;
    let vectors = names(&store, |name| name.starts_with("deletion_vector_")).await;
    let name = vectors.iter().max().unwrap().clone();
    let mut any = false;
    for name in vectors {
        let mut bytes = store.get(&name).await.unwrap().unwrap().to_vec();
        let last = bytes.len() - 5;
        bytes[last] ^= 0xff;
        store.put(&name, bytes.into()).await.unwrap();
        any = true;
    }
    assert!(any, "{name}");
    // The older vector belongs to files that are not live any more.
    assert_eq!(only(&verified(&store).await).kind, "vector");
}

#[tokio::test]
async fn a_checkpoint_or_a_checksum_that_says_otherwise_is_found() {
    let (store, table) = lively().await;
    let checksum = names(&store, |name| name.ends_with("8.crc")).await.remove(0);
    edit(&store, &checksum, |text| text.replace(r#""numFiles":4"#, r#""numFiles":5"#)).await;
    let found = verified(&store).await;
    assert_eq!((only(&found).kind, &only(&found).object), ("checksum", &checksum));
    assert!(only(&found).problem.contains("numFiles"), "{found:?}");
    store.delete(&checksum).await.unwrap();
    // The checkpoint of another version under this one's name.
    let [earlier, later] = names(&store, |name| name.ends_with(".checkpoint.parquet")).await.try_into().unwrap();
    let wrong = store.get(&earlier).await.unwrap().unwrap();
    store.put(&later, wrong).await.unwrap();
    let found = verified(&store).await;
    // Opening takes the checkpoint, so what it gives is wrong, too.
    let kinds: Vec<&str> = found.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&"checkpoint"), "{found:#?}");
    assert!(found.findings.iter().any(|finding| finding.version == Some(table.version())), "{found:#?}");
}

#[tokio::test]
async fn ids_and_times_that_break_their_promise_are_found() {
    let (store, _) = lively().await;
    let id_of = |text: &str| -> String {
        let info: Value = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .find(|line| line.get("commitInfo").is_some())
            .unwrap();
        info["commitInfo"]["txnId"].as_str().unwrap().to_owned()
    };
    let text = |version: u64| {
        let store = Arc::clone(&store);
        async move {
            let bytes = store.get(&commit_path(Version::new(version))).await.unwrap().unwrap();
            String::from_utf8(bytes.to_vec()).unwrap()
        }
    };
    let (second, third) = (id_of(&text(2).await), id_of(&text(3).await));
    edit(&store, &commit_path(Version::new(3)), |text| text.replace(&third, &second)).await;
    let found = verified(&store).await;
    assert_eq!((only(&found).kind, &only(&found).object, only(&found).version), ("id", &second, Some(Version::new(3))));
    edit(&store, &commit_path(Version::new(3)), |text| text.replace(&second, &third)).await;
    let stamp = |text: &str| {
        let at = text.find("\"inCommitTimestamp\":").unwrap() + "\"inCommitTimestamp\":".len();
        text[at..].chars().take_while(char::is_ascii_digit).collect::<String>()
    };
    let (own, before) = (stamp(&text(2).await), stamp(&text(1).await));
    edit(&store, &commit_path(Version::new(2)), |text| {
        text.replace(&format!("\"inCommitTimestamp\":{own}"), &format!("\"inCommitTimestamp\":{before}"))
    })
    .await;
    let found = verified(&store).await;
    assert_eq!((only(&found).kind, only(&found).version), ("time", Some(Version::new(2))));
}

/// A damaged entry ends the walk with a finding, not with an error.
#[tokio::test]
async fn an_entry_that_cannot_be_read_is_found() {
    let (store, _) = lively().await;
    let checkpoints = names(&store, |name| name.contains("checkpoint")).await;
    for name in checkpoints.iter().filter(|name| name.contains("00004.")) {
        store.delete(name).await.unwrap();
    }
    let name = commit_path(Version::new(2));
    let bytes = store.get(&name).await.unwrap().unwrap();
    store.put(&name, bytes.slice(..bytes.len() / 2)).await.unwrap();
    let found = verified(&store).await;
    assert!(found.findings.iter().any(|finding| finding.kind == "log" && finding.object == name), "{found:#?}");
}

/// Tables that Spark wrote are sound.
#[tokio::test]
async fn tables_of_real_clients_are_sound() {
    let Some(root) = crate::conformance::folder("delta-spark") else { return };
    let (mut looked, mut unsound) = (0, Vec::new());
    let mut tables: Vec<_> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    tables.sort();
    for path in tables.iter().filter(|path| path.join("_delta_log").is_dir()) {
        let Ok(table) = crate::conformance::open(path).await else { continue };
        let found = table.verify(|_| ()).await.unwrap();
        looked += 1;
        if !found.is_sound() {
            unsound.push((path.file_name().unwrap().to_string_lossy().into_owned(), found.findings));
        }
    }
    println!("looked at {looked} tables");
    assert!(looked > 0 && unsound.is_empty(), "{unsound:#?}");
}

/// Who lost how often, and what to do about it, from races that were run.
#[tokio::test]
async fn a_hot_table_is_seen_and_cured_by_partitioning() {
    let mut seen = Vec::new();
    for partitioned in [false, true] {
        let (store, mut first) = table(partitioned, &[]).await;
        append(&mut first, batch([(1, "a", 1), (2, "b", 2)])).await;
        let (mut one, mut other) = (opened(&store).await, opened(&store).await);
        let options = under("delta-serializable");
        let options = CommitOptions { plannings_max: 10, ..options };
        let mut plannings = 0;
        for round in 0..6 {
            for (table, id, p) in [(&mut one, 1, "a"), (&mut other, 2, "b")] {
                let predicate = format!("p = '{p}' AND id = {id}");
                let report = table.update(&[format!("v = {round}")], Some(&predicate), &options).await.unwrap();
                committed(&report);
                plannings += report.plannings;
            }
        }
        let found: Statistics = opened(&store).await.statistics(None).await.unwrap();
        assert_eq!(found.commits, 14);
        // Who is only rebased leaves the versions that it passed in the history; who was planned again says so.
        let passed = found.pairs.get(&("UPDATE".to_owned(), "UPDATE".to_owned())).copied().unwrap_or(0);
        let again = found.replanned.get("UPDATE").copied().unwrap_or(0);
        assert_eq!((passed > 0, again > 0), (partitioned, !partitioned), "{found:?}");
        let advised = found.advice.iter().any(|advice| advice.contains("partition the table"));
        seen.push((plannings, advised, found.conflict_rate));
    }
    let [(hot, advised, rate), (cured, ..)] = seen.as_slice() else { panic!("{seen:?}") };
    assert!(
        *hot >= 12 + 10 && *advised && *rate > 0.4,
        "each statement loses to the other's and is planned again: {seen:?}"
    );
    assert_eq!(*cured, 12, "on two partitions nobody is planned again: {seen:?}");
}

#[tokio::test]
async fn advice_follows_what_is_seen() {
    let (_, mut table) = table(false, &[VECTORS]).await;
    for id in 0..17 {
        append(&mut table, batch([(id, "a", id)])).await;
    }
    let found = table.statistics(None).await.unwrap();
    assert_eq!((found.files, found.small_files, found.conflict_rate), (17, Some(17), 0.0));
    assert!(found.advice.iter().any(|advice| advice.contains("lakebed compact")), "{found:?}");
    committed(&table.compact(&of(Compaction::Major), &CommitOptions::default()).await.unwrap());
    committed(&table.delete("id < 10", &CommitOptions::default()).await.unwrap());
    let found = table.statistics(None).await.unwrap();
    assert_eq!((found.deleted_rows, found.rows), (Some(10), Some(7)));
    assert!(found.advice.iter().any(|advice| advice.contains("--major")), "{found:?}");
    let _ = set(&mut table, "note", "x", &CommitOptions::default()).await;
    let report =
        table.append(source(crate::compaction::batch([(50, "a", 1)])), &CommitOptions::default()).await.unwrap();
    committed(&report);
    assert_eq!(table.format(), TableFormat::Delta);
}
