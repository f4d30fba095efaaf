//! Local files: what a crash leaves, what the folder holds, what is refused.

use lakebed_storage::{Create, Durability, LocalStore, Store, StoreError};
use std::fs;
use std::path::Path;
use std::task::{Context, Poll, Waker};

fn store(folder: &Path, durability: Durability) -> LocalStore {
    LocalStore::new(folder, durability).expect("a local store")
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

async fn names(store: &LocalStore, prefix: &str) -> Vec<String> {
    store.list(prefix, None, usize::MAX).await.expect("a listing").into_iter().map(|listed| listed.name).collect()
}

/// Field case 66: staging files beside the real names, ours and `object_store`'s, are no objects.
#[tokio::test]
async fn remnants_of_a_crash_are_not_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("_delta_log");
    fs::create_dir(&log).expect("the log");
    for name in ["2.json", "3.json#1", "4.manifest#12", ".tmp-0123456789abcdef-0", ".tmp-", "5.json#x", "#"] {
        fs::write(log.join(name), "half a li").expect("a file");
    }
    let store = store(folder.path(), Durability::None);
    assert_eq!(names(&store, "_delta_log").await, ["_delta_log/#", "_delta_log/2.json", "_delta_log/5.json#x"]);
    assert_eq!(store.create("_delta_log/3.json", "whole".into()).await.expect("an answer"), Create::Created);
    for name in ["x/.tmp-1", "3.json#1"] {
        let refused = store.create(name, "x".into()).await.expect_err("a name for temporary files");
        assert!(matches!(refused, StoreError::Unusable { .. }), "{refused}");
        assert!(store.put(name, "x".into()).await.is_err());
    }
}

#[tokio::test]
async fn nothing_is_left_beside_the_object() {
    for durability in [Durability::Full, Durability::None] {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("not/yet/there");
        let store = store(&root, durability);
        assert_eq!(names(&store, "").await, [""; 0], "a folder that is not there is empty");
        assert!(!root.exists(), "reading makes no folder");
        assert_eq!(store.create("a/b/1", "1".into()).await.expect("an answer"), Create::Created);
        assert_eq!(store.create("a/b/1", "2".into()).await.expect("an answer"), Create::Exists);
        store.put("a/b/2", "2".into()).await.expect("a put");
        store.copy("a/b/2", "a/b/3").await.expect("a copy");
        assert!(store.copy("a/b/none", "a/b/4").await.is_err());
        assert_eq!(files(&root.join("a/b")), ["1", "2", "3"]);
        assert_eq!(fs::read(root.join("a/b/1")).expect("the object"), b"1");
    }
}

/// Field case 98: files that others wrote under odd names are read and removed by the names that the listing shows.
#[tokio::test]
async fn foreign_files_with_odd_names_are_reachable() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = ["%.txt", "[x]", "a%20b", "ü"];
    for name in odd {
        fs::write(folder.path().join(name), name).expect("a file");
    }
    let store = store(folder.path(), Durability::None);
    let listed = names(&store, "").await;
    assert_eq!(listed, odd);
    for name in &listed {
        assert_eq!(store.get(name).await.expect("an answer").as_deref(), Some(name.as_bytes()));
        store.delete(name).await.expect("a delete");
    }
    assert_eq!(files(folder.path()), [""; 0]);
}

#[tokio::test]
async fn names_cannot_leave_the_root() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("secret"), "s").expect("a file");
    let store = store(&folder.path().join("table"), Durability::None);
    for name in ["../secret", "a/../../secret", "/etc/hostname"] {
        assert!(matches!(store.get(name).await, Err(StoreError::Unusable { .. })), "{name}");
        assert!(matches!(store.list(name, None, 1).await, Err(StoreError::Unusable { .. })), "{name}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn loops_of_links_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), Durability::None);
    store.put("a/x", "x".into()).await.expect("a put");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("a/loop")).expect("a link");
    std::os::unix::fs::symlink(folder.path().join("a/x"), folder.path().join("a/link")).expect("a link");
    std::os::unix::fs::symlink("nowhere", folder.path().join("a/dangling")).expect("a link");
    assert_eq!(names(&store, "").await, ["a/link", "a/x"]);
}

#[tokio::test]
async fn a_file_in_the_way_is_an_error_that_creates_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), Durability::Full);
    store.put("a", "file".into()).await.expect("a put");
    let error = store.create("a/b", "x".into()).await.expect_err("a is no folder");
    assert!(matches!(error, StoreError::Failed { .. }), "{error}");
    assert_eq!(store.get("a/b").await.expect("an answer"), None);
    let long = "n".repeat(300);
    assert!(store.create(&long, "x".into()).await.is_err());
    assert_eq!(files(folder.path()), ["a"], "the temporary file of a failed create is removed");
}

/// What a process that was killed leaves is at worst a temporary file: a create whose future is dropped still ends whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_create_is_whole_or_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), Durability::Full);
    let body = vec![7_u8; 1_000_000];
    let gave_up = tokio::time::timeout(std::time::Duration::ZERO, store.create("x", body.clone().into())).await;
    drop(gave_up);
    for _ in 0..100 {
        match store.get("x").await.expect("an answer") {
            Some(bytes) => assert_eq!(bytes, body),
            None => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
        }
    }
}

#[test]
fn works_without_a_runtime() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), Durability::None);
    let created = std::pin::pin!(store.create("x", "1".into()));
    let polled = created.poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(Create::Created))), "{polled:?}");
}

#[test]
fn durability_goes_by_name() {
    for durability in [Durability::Full, Durability::None] {
        assert_eq!(durability.to_string().parse::<Durability>().expect("its own name"), durability);
    }
    assert_eq!("full".parse::<Durability>().expect("a name"), Durability::Full);
    assert!("Full-ish".parse::<Durability>().is_err());
    assert_eq!(Durability::default(), Durability::Full);
}

/// Files that come one after the other while their folder is listed: none is shown without those that came before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_listing_shows_no_file_without_those_that_came_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), Durability::None);
    let writer = store.clone();
    let writing = tokio::spawn(async move {
        for number in 0..3_000_u64 {
            // As Lance names versions: the newest first.
            let name = format!("log/{:020}", u64::MAX - number);
            assert_eq!(writer.create(&name, "x".into()).await.expect("an answer"), Create::Created);
        }
    });
    while !writing.is_finished() {
        let names = names(&store, "log").await;
        let numbers: Vec<u64> =
            names.iter().map(|name| u64::MAX - name["log/".len()..].parse::<u64>().expect("a number")).collect();
        let first = numbers.len() as u64;
        assert!(
            numbers.iter().copied().eq((0..first).rev()),
            "{first} are listed, the newest is {:?}",
            numbers.first()
        );
    }
    writing.await.expect("a writer");
}
