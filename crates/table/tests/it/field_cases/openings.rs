//! What opening says of logs that are not there, not whole, or not begun.

use crate::local::{Local, commit, first, now_ms};
use crate::support::{columns, committed, isolated, prepared_add, unique_id};
use lakebed_table::{CommitOptions, NewTable, Table, TableFormat, VersionSpec};
use std::collections::BTreeSet;

async fn refused(path: &str) -> String {
    match Table::open(path, &isolated()).await {
        Ok(table) => panic!("{path} opened at {}", table.version()),
        Err(error) => error.to_string(),
    }
}

/// Field case 46: a process died before the first commit and left a temporary file. There is no table, and one can be made.
#[tokio::test]
async fn case_46_a_temporary_file_is_no_table() {
    let local = Local::new();
    local.put("_delta_log/_commit_0f2c6a1e.json.tmp", b"half", now_ms());
    let error = Table::open_store(local.store(), &isolated()).await.unwrap_err().to_string();
    assert!(error.contains("holds no commit") && error.contains("create the table"), "{error}");
    let definition = NewTable::new(TableFormat::Delta, columns());
    let made = Table::create_store(local.store(), &isolated(), &definition, &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&made.1), 0);
    assert_eq!(local.open().await.version().get(), 0);
}

/// Field case 62 on Delta: the newest commit is empty, cut, or full of zeros after a power cut. Where its bytes are no commit the
/// error names it, nothing older is taken for the newest, and the version before opens when it is asked for.
#[tokio::test]
async fn case_62_a_damaged_newest_commit_is_named() {
    let whole = crate::support::add_action("b.parquet", 1, true);
    for bytes in [whole.as_bytes()[..whole.len() / 2].to_vec(), vec![0; whole.len()]] {
        let local = Local::new();
        local.commit(0, &first(""), now_ms());
        local.commit(1, &[crate::support::add_action("a.parquet", 1, true)], now_ms());
        local.put(&commit(2), &bytes, now_ms());
        let error = Table::open_store(local.store(), &isolated()).await.unwrap_err().to_string();
        assert!(error.contains(&commit(2)), "{error}");
        local.put(&commit(2), b"", now_ms());
        let table = Table::open_store(local.store(), &isolated()).await;
        // An empty commit changes nothing, and Spark writes such; it is version 2 all the same.
        assert_eq!(table.unwrap().version().get(), 2);
        let earlier = local.open().await.at(VersionSpec::Number(1)).await.unwrap();
        assert_eq!(earlier.summary().unwrap().num_files, 1);
    }
}

/// Field case 138: six ways not to be a table, told apart, each with the place.
#[tokio::test]
async fn case_138_no_two_kinds_of_nothing_read_alike() {
    let local = Local::new();
    let place = |name: &str| local.path(name).to_str().unwrap().to_owned();
    local.put("file", b"rows", now_ms());
    local.put("plain/rows.parquet", b"rows", now_ms());
    std::fs::create_dir_all(local.path("empty/_delta_log")).unwrap();
    local.put("parts/_delta_log/00000000000000000007.checkpoint.0000000001.0000000002.parquet", b"part", now_ms());
    local.put("late/_delta_log/00000000000000000005.json", b"{}", now_ms());
    let mut texts = BTreeSet::new();
    for name in ["missing", "file", "plain", "empty", "parts", "late"] {
        let text = refused(&place(name)).await;
        assert!(text.contains(&place(name)), "{name}: {text}");
        texts.insert(text.replace(&place(name), "PLACE"));
    }
    assert_eq!(texts.len(), 6, "{texts:#?}");
}

/// Field case 142: a gap is named with its neighbours and nobody fills it; above a checkpoint it does no harm.
#[tokio::test]
async fn case_142_a_gap_is_named_and_never_filled() {
    let local = Local::new();
    local.commit(0, &first(""), now_ms());
    for version in [1, 2, 3, 4, 5, 6] {
        local.commit(version, &[crate::support::add_action(&format!("{version}.parquet"), 1, true)], now_ms());
    }
    let whole = local.open().await;
    std::fs::remove_file(local.path(&commit(4))).unwrap();
    let error = Table::open_store(local.store(), &isolated()).await.unwrap_err().to_string();
    assert!(error.contains("has no commit 4") && error.contains("catalog"), "{error}");
    assert_eq!(whole.checkpoint().await.unwrap().get(), 6);
    let mut table = local.open().await;
    assert_eq!(table.version().get(), 6);
    let next = prepared_add(&table, unique_id(), 1).await;
    assert_eq!(committed(&table.commit_prepared(next, &CommitOptions::default()).await.unwrap()), 7);
    assert!(!local.has(&commit(4)), "nobody fills the gap");
}
