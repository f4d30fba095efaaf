//! What of the log a cleanup removes, and what it never does.

use crate::local::{DAY_MS, Local, add, classic, commit, first, metadata, now_ms, version_at};
use crate::support::committed;
use lakebed_table::VersionSpec;

const FEATURES: &str = r#"["checkpointProtection","appendOnly","invariants"]"#;

/// A table of 31 versions, one a day, the newest of today; checkpoints at 10, 20 and 30.
async fn month(properties: &str) -> Local {
    let local = Local::new();
    let today = now_ms();
    for version in 0..=30_u64 {
        let ms = today - (30 - i64::try_from(version).unwrap()) * DAY_MS;
        let lines = if version == 0 { first(properties) } else { vec![add(&format!("f{version}.parquet"))] };
        local.commit(version, &lines, ms);
        if version % 10 == 0 && version > 0 {
            local.open().await.checkpoint().await.unwrap();
            local.age(&classic(version), ms);
            local.age(&format!("_delta_log/{version:020}.crc"), ms);
        }
    }
    local
}

async fn readable(local: &Local, versions: std::ops::RangeInclusive<u64>) {
    let table = local.open().await;
    for version in versions {
        let snapshot = table.at(VersionSpec::Number(version)).await.unwrap();
        assert_eq!(snapshot.summary().unwrap().num_files, version, "version {version}");
    }
}

#[tokio::test]
async fn the_log_is_cut_at_a_checkpoint() {
    let local = month(r#""delta.logRetentionDuration":"interval 15 days""#).await;
    let table = local.open().await;
    let times: Vec<_> =
        table.history(None).await.unwrap().iter().map(|entry| (entry.version, entry.timestamp_ms)).collect();
    let dry = table.clean_log(true).await.unwrap();
    assert_eq!(local.names("_delta_log").len(), 31 + 3 + 3 + 1, "a dry run removes nothing");
    // 14 days and less are younger than the retention; 10 is the newest checkpoint with nothing young below.
    assert_eq!(dry.first_kept.unwrap().get(), 10);
    assert_eq!(dry.objects.len(), 10);
    let removed = table.clean_log(false).await.unwrap();
    assert_eq!(removed, dry);
    let expected: Vec<_> = (0..10).map(commit).collect();
    assert_eq!(removed.objects, expected, "oldest first");
    assert!(local.has(&commit(10)) && local.has(&classic(10)), "the version of the cut keeps its commit");
    readable(&local, 10..=30).await;
    let kept: Vec<_> =
        local.open().await.history(None).await.unwrap().iter().map(|e| (e.version, e.timestamp_ms)).collect();
    assert_eq!(kept, times[..21], "no kept version changes its time");
    let nine = table.at(VersionSpec::Number(9)).await.unwrap_err().to_string();
    assert!(nine.contains("10"), "the oldest readable version is named: {nine}");
    assert_eq!(local.open().await.clean_log(false).await.unwrap().objects, Vec::<String>::new());
}

/// Wherever a cleanup stops, the kept versions are readable, and the oldest ones that are left are told apart.
#[tokio::test]
async fn a_cleanup_may_stop_anywhere() {
    let local = month(r#""delta.logRetentionDuration":"interval 1 days""#).await;
    let doomed = local.open().await.clean_log(true).await.unwrap();
    assert_eq!(doomed.first_kept.unwrap().get(), 20);
    for object in &doomed.objects {
        std::fs::remove_file(local.path(object)).unwrap();
        let table = local.open().await;
        assert_eq!(table.version().get(), 30, "after {object}");
        readable(&local, 20..=21).await;
        // What is listed can be read.
        let oldest = table.history(None).await.unwrap().last().unwrap().version;
        table.at(VersionSpec::Number(oldest.get())).await.unwrap();
    }
}

#[tokio::test]
async fn without_a_checkpoint_nothing_goes() {
    let local = Local::new();
    local.commit(0, &first(r#""delta.logRetentionDuration":"interval 1 days""#), 1_000);
    for version in 1..5 {
        local.commit(version, &[add(&format!("f{version}.parquet"))], 1_000 * i64::try_from(version + 1).unwrap());
    }
    assert_eq!(local.open().await.clean_log(false).await.unwrap().first_kept, None);
    // A checkpoint of the newest version itself is a base, with everything below it old.
    local.open().await.checkpoint().await.unwrap();
    assert_eq!(local.open().await.clean_log(false).await.unwrap().first_kept.unwrap().get(), 4);
    readable(&local, 4..=4).await;
}

/// The predecessor of a version whose own file time is too old is its anchor: without it the version would get older.
#[tokio::test]
async fn an_anchor_of_times_stays() {
    let local = month(r#""delta.logRetentionDuration":"interval 1 days""#).await;
    for version in 15..=20 {
        local.age(&commit(version), now_ms() - 16 * DAY_MS);
    }
    let table = local.open().await;
    let before = table.history(None).await.unwrap();
    assert_eq!(table.clean_log(false).await.unwrap().first_kept.unwrap().get(), 10, "20 counts by its predecessors");
    let after = local.open().await.history(None).await.unwrap();
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((old.version, old.timestamp_ms), (new.version, new.timestamp_ms));
    }
    let at_20 = before.iter().find(|entry| entry.version.get() == 20).unwrap().timestamp_ms.unwrap();
    assert_eq!(version_at(&local.open().await, VersionSpec::AtMs(at_20)).await.unwrap(), 20);
}

#[tokio::test]
async fn protected_versions_go_together_or_not_at_all() {
    for (before, expected) in [("10", Some(20)), ("20", Some(20)), ("21", None), ("nonsense", None)] {
        let local = month("").await;
        let protocol =
            format!(r#"{{"protocol":{{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":{FEATURES}}}}}"#);
        let properties = format!(
            r#""delta.logRetentionDuration":"interval 1 days","delta.requireCheckpointProtectionBeforeVersion":"{before}""#
        );
        local.commit(31, &[protocol, metadata(&[], &properties)], now_ms());
        let removed = local.open().await.clean_log(true).await.unwrap();
        assert_eq!(removed.first_kept.map(lakebed_naming::Version::get), expected, "before {before}");
    }
}

/// A compacted log that starts below the cut goes, before any commit that it stands for; young objects of others stay.
#[tokio::test]
async fn side_files_go_with_what_they_belong_to() {
    let local = month(r#""delta.logRetentionDuration":"interval 1 days""#).await;
    let old = now_ms() - 20 * DAY_MS;
    let compacted = |x: u64, y: u64| format!("_delta_log/{x:020}.{y:020}.compacted.json");
    local.put(&compacted(11, 25), b"{}", old);
    local.put(&compacted(21, 25), b"{}", old);
    local.put("_delta_log/._last_checkpoint.crc", b"x", old);
    local.put(&format!("_delta_log/.{:020}.json.crc", 3), b"x", old);
    local.put("_delta_log/_commit_0f2c6a1e-0000-4000-8000-000000000001.json.tmp", b"x", old);
    local.put("_delta_log/_commit_0f2c6a1e-0000-4000-8000-000000000002.json.tmp", b"x", now_ms());
    local.put("_delta_log/.tmp/00000000000000000003.json.0f2c6a1e-0000-4000-8000-000000000003", b"x", old);
    local.put("_delta_log/_vendor/3.json", b"x", old);
    let removed = local.open().await.clean_log(false).await.unwrap();
    assert_eq!(removed.objects.first(), Some(&compacted(11, 25)));
    assert!(!local.has(&format!("_delta_log/.{:020}.json.crc", 3)));
    assert!(!local.has("_delta_log/_commit_0f2c6a1e-0000-4000-8000-000000000001.json.tmp"));
    for kept in [
        compacted(21, 25).as_str(),
        "_delta_log/._last_checkpoint.crc",
        "_delta_log/_commit_0f2c6a1e-0000-4000-8000-000000000002.json.tmp",
        "_delta_log/.tmp/00000000000000000003.json.0f2c6a1e-0000-4000-8000-000000000003",
        "_delta_log/_vendor/3.json",
    ] {
        assert!(local.has(kept), "{kept}");
    }
}

/// Whatever the table says, entries of this hour stay: a writer may still believe that their numbers are free.
#[tokio::test]
async fn young_entries_stay_whatever_the_table_says() {
    let local = Local::new();
    local.commit(0, &first(r#""delta.logRetentionDuration":"interval 0 days""#), now_ms() - 5_000);
    local.commit(1, &[add("a.parquet")], now_ms() - 4_000);
    local.open().await.checkpoint().await.unwrap();
    assert_eq!(local.open().await.clean_log(false).await.unwrap().first_kept, None);
}

/// After a checkpoint the log is cleaned where the table wants it, which is where it does not say otherwise.
#[tokio::test]
async fn a_checkpoint_cleans_the_log_where_the_table_wants_it() {
    for (cleans, properties) in [(true, ""), (false, r#","delta.enableExpiredLogCleanup":"false""#)] {
        let local = Local::new();
        let properties = format!(r#""delta.logRetentionDuration":"interval 2 days"{properties}"#);
        let old = now_ms() - 10 * DAY_MS;
        local.commit(0, &first(&properties), old);
        for version in 1..10 {
            local.commit(version, &[add(&format!("f{version}.parquet"))], old + i64::try_from(version).unwrap());
        }
        let table = local.open().await;
        table.checkpoint().await.unwrap();
        local.age(&classic(9), old + 20);
        local.age(&format!("_delta_log/{:020}.crc", 9), old + 20);
        let mut table = local.open().await;
        committed(&add_rows_of(&mut table).await);
        assert!(table.settle().await.is_empty());
        assert!(local.has(&classic(10)));
        assert_eq!(local.has(&commit(0)), !cleans);
        assert!(local.has(&commit(9)), "the anchor of version 10 is the cut");
        assert_eq!(local.open().await.version().get(), 10);
    }
}

async fn add_rows_of(table: &mut lakebed_table::Table) -> lakebed_table::Report {
    let id = crate::support::unique_id();
    let action = crate::support::add_action("x.parquet", 1, true);
    let prepared = crate::support::prepared_delta(table.version(), id, "WRITE", &[action]);
    table.commit_prepared(prepared, &lakebed_table::CommitOptions::default()).await.unwrap()
}

/// Sidecars that no kept checkpoint names go when they are old, and a table with checkpoints of the second version gets a
/// classic one where its log is cut.
#[tokio::test]
async fn sidecars_go_when_nobody_names_them() {
    let local = Local::new();
    let features = r#"["v2Checkpoint"]"#;
    let old = now_ms() - 40 * DAY_MS;
    let protocol = format!(
        r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":{features},"writerFeatures":{features}}}}}"#
    );
    local.commit(0, &[protocol, metadata(&[], r#""delta.checkpointPolicy":"v2""#)], old);
    for version in 1..=3_u64 {
        local.commit(version, &[add(&format!("f{version}.parquet"))], old + i64::try_from(version).unwrap() * DAY_MS);
        if version < 3 {
            local.open().await.checkpoint().await.unwrap();
        }
    }
    for name in local.names("_delta_log").iter().filter(|name| !name.ends_with(".json") || name.contains("checkpoint"))
    {
        local.age(name, old);
    }
    let sidecars = |local: &Local| local.names("_delta_log/_sidecars");
    assert_eq!(sidecars(&local).len(), 2);
    let stays: Vec<String> = sidecars(&local).into_iter().filter(|name| name.contains(&format!("{:020}", 2))).collect();
    let removed = local.open().await.clean_log(false).await.unwrap();
    assert_eq!(removed.first_kept.unwrap().get(), 2);
    assert_eq!(sidecars(&local), stays);
    assert!(local.has(&classic(2)), "old readers are refused by the protocol, not by a broken log");
    readable(&local, 2..=3).await;
}
