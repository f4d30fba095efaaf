//! Tables that a catalog manages.

use crate::local::{Local, add, commit, metadata};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::Version;
use lakebed_table::VersionSpec::{AtMs, Number};
use lakebed_table::{CommitOptions, LogTail, OpenOptions, Ratified, ScanRequest, Table, TableError};

const FEATURES: &str = r#"["catalogManaged"]"#;
const WRITERS: &str = r#"["catalogManaged","inCommitTimestamp"]"#;
const STAGED: &str = "_delta_log/_staged_commits/00000000000000000002.0f2c6a1e-0000-4000-8000-000000000002.json";

fn info(ms: i64) -> String {
    format!(r#"{{"commitInfo":{{"inCommitTimestamp":{ms},"timestamp":{ms},"operation":"WRITE","txnId":"t{ms}"}}}}"#)
}

/// Versions 0 and 1 are published; 2 is staged, 3 stands in the catalog; a stranger wrote files under the names of 2 and 4.
fn managed() -> Local {
    let local = Local::new();
    let protocol = format!(
        r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":{FEATURES},"writerFeatures":{WRITERS}}}}}"#
    );
    local.commit(0, &[info(100), protocol, metadata(&[], r#""delta.enableInCommitTimestamps":"true""#)], 9_000);
    local.commit(1, &[info(200), add("one.parquet")], 9_000);
    local.put(STAGED, [info(300), add("two.parquet")].join("\n").as_bytes(), 9_000);
    local.commit(2, &[info(300), add("stranger.parquet")], 9_000);
    local.commit(4, &[info(500), add("not-ratified.parquet")], 9_000);
    local
}

fn tail() -> LogTail {
    let third = Bytes::from([info(400), add("three.parquet")].join("\n"));
    LogTail::new(Version::new(3))
        .with(Version::new(2), Ratified::Object(ObjectName::new(STAGED)))
        .with(Version::new(3), Ratified::Inline(third))
}

async fn open(local: &Local, tail: Option<LogTail>) -> Result<Table, TableError> {
    let options = OpenOptions { isolated: true, log_tail: tail, ..OpenOptions::default() };
    Table::open_store(local.store(), &options).await
}

fn paths(snapshot: &lakebed_table::Snapshot) -> Vec<String> {
    snapshot.files().into_iter().map(|file| file.path).collect()
}

#[tokio::test]
async fn what_the_catalog_says_wins_over_what_is_listed() {
    let local = managed();
    let table = open(&local, Some(tail())).await.unwrap();
    assert_eq!(table.version().get(), 3);
    assert_eq!(paths(table.snapshot()), ["one.parquet", "three.parquet", "two.parquet"]);
    assert_eq!(paths(&table.at(Number(2)).await.unwrap()), ["one.parquet", "two.parquet"]);
    assert!(table.at(Number(4)).await.is_err(), "nothing above the catalog's newest version counts");
    let history = table.history(None).await.unwrap();
    let times: Vec<_> = history.iter().map(|entry| (entry.version.get(), entry.timestamp_ms.unwrap())).collect();
    assert_eq!(times, [(3, 400), (2, 300), (1, 200), (0, 100)]);
    for (ms, version) in [(100, 0), (299, 1), (300, 2), (399, 2), (400, 3)] {
        assert_eq!(table.at(AtMs(ms)).await.unwrap().version().get(), version, "{ms}");
    }
    let mut table = table;
    assert!(!table.refresh().await.unwrap());
    drop(table.scan(table.snapshot(), &ScanRequest::default()).unwrap());
    // With everything published, the newest version is all that the catalog needs to say.
    let published = open(&local, Some(LogTail::new(Version::new(1)))).await.unwrap();
    assert_eq!(paths(published.snapshot()), ["one.parquet"]);
}

#[tokio::test]
async fn without_the_catalog_the_table_is_refused_with_an_explanation() {
    let local = managed();
    // Not even what is published without a gap is taken for the table.
    std::fs::remove_file(local.path(&commit(4))).unwrap();
    let error = open(&local, None).await.unwrap_err().to_string();
    assert!(error.contains("catalogManaged") && error.contains("managed by a catalog"), "{error}");
    assert!(error.contains("log tail"), "it says what to do: {error}");
}

/// Only the catalog ratifies commits, and only it removes anything.
#[tokio::test]
async fn nothing_is_written_past_the_catalog() {
    let local = managed();
    let before = local.names("");
    let mut table = open(&local, Some(tail())).await.unwrap();
    let properties = [("owner".to_owned(), "us".to_owned())].into();
    let error = table.set_properties(properties, Vec::new(), &CommitOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("commit through its catalog"), "{error}");
    for error in [
        table.vacuum(None, false, false).await.unwrap_err().to_string(),
        table.clean_log(false).await.unwrap_err().to_string(),
    ] {
        assert!(error.contains("managed by a catalog"), "{error}");
    }
    assert_eq!(local.names(""), before);
}

/// A ratified commit that is not where the catalog says is an error, never an older version.
#[tokio::test]
async fn a_staged_commit_that_is_gone_is_an_error() {
    let local = managed();
    std::fs::remove_file(local.path(STAGED)).unwrap();
    std::fs::remove_file(local.path(&commit(2))).unwrap();
    assert!(open(&local, Some(tail())).await.is_err());
}

/// A handle that stood on the table before it was given to a catalog: looking again is refused as opening is, and what it held stays.
#[tokio::test]
async fn a_handle_that_meets_the_catalog_later_is_refused_too() {
    let local = Local::new();
    local.commit(0, &crate::local::first(""), 9_000);
    let mut table = open(&local, None).await.unwrap();
    let protocol = format!(
        r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":{FEATURES},"writerFeatures":{WRITERS}}}}}"#
    );
    local.commit(1, &[info(100), protocol, metadata(&[], r#""delta.enableInCommitTimestamps":"true""#)], 9_100);
    for error in [table.refresh().await.unwrap_err(), open(&local, None).await.unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("catalogManaged") && text.contains("log tail"), "{text}");
    }
    assert_eq!(table.version().get(), 0);
}
