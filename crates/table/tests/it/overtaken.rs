//! A reader that sleeps between a listing and the reads that it led to, while a cleanup frees numbers and a writer that slept longer
//! fills one of them again.

use crate::local::{classic, commit};
use crate::stores::Meddled;
use crate::support::{add, committed, isolated, opened, three_rows};
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_naming::delta::{LAST_CHECKPOINT, log_path};
use lakebed_naming::lance::{Scheme, manifest_path};
use lakebed_storage::Store;
use lakebed_table::{Table, TableFormat};
use std::sync::Arc;
use std::time::Duration;

/// What becomes of objects: bytes in the place of what stood there, or nothing.
type Becomes = Vec<(String, Option<Bytes>)>;

async fn become_so(store: Arc<dyn Store>, changes: Becomes) {
    for (name, bytes) in changes {
        store.delete(&name).await.unwrap();
        if let Some(bytes) = bytes {
            store.put(&name, bytes).await.unwrap();
        }
    }
    tokio::time::advance(Duration::from_secs(61)).await;
}

/// Reads that sleep at an object until all this has happened.
fn sleeping(store: &Arc<dyn Store>, at: String, changes: Becomes) -> Arc<dyn Store> {
    let (inner, act) = (Arc::clone(store), Meddled::new(store));
    Arc::new(act.act_before_read(at, move || become_so(inner, changes)))
}

async fn bytes_of(store: &Arc<dyn Store>, name: &str) -> Bytes {
    store.get(name).await.unwrap().unwrap()
}

fn num_files(table: &Table) -> (u64, u64) {
    (table.version().get(), table.snapshot().summary().unwrap().num_files)
}

/// A Delta table whose versions 1 to 5 added a file each, its checkpoint at 5 kept apart, and what a cleanup and a sleeper do: commits
/// below 5 go, and number 4 comes again as a commit that takes nothing and adds two files.
async fn cleaned_and_refilled() -> (Arc<dyn Store>, Becomes) {
    let (store, mut table) = three_rows(TableFormat::Delta).await;
    for id in 4..8 {
        committed(&add(&mut table, &[id]).await);
    }
    assert_eq!(num_files(&table), (5, 5));
    table.checkpoint().await.unwrap();
    let checkpoint = classic(5);
    let checkpoint_bytes = bytes_of(&store, &checkpoint).await;
    store.delete(&checkpoint).await.unwrap();
    store.delete(&log_path(LAST_CHECKPOINT)).await.unwrap();
    let stray = [bytes_of(&store, &commit(4)).await, bytes_of(&store, &commit(1)).await].concat();
    let adds = String::from_utf8(stray).unwrap().replace("part-", "stray-");
    let mut changes: Becomes = (0..4).map(|version| (commit(version), None)).collect();
    changes.push((checkpoint, Some(checkpoint_bytes)));
    changes.push((commit(4), Some(adds.into())));
    (store, changes)
}

#[tokio::test(start_paused = true)]
async fn a_refresh_does_not_believe_an_entry_that_took_the_place_of_a_listed_one() {
    let (store, changes) = cleaned_and_refilled().await;
    // It knows version 3, and sleeps between the listing of 4 and 5 and their reading.
    let held = sleeping(&store, commit(4), changes);
    let newer: Becomes = vec![
        (commit(4), Some(bytes_of(&store, &commit(4)).await)),
        (commit(5), Some(bytes_of(&store, &commit(5)).await)),
    ];
    store.delete(&commit(5)).await.unwrap();
    store.delete(&commit(4)).await.unwrap();
    let mut table = Table::open_store(held, &isolated()).await.unwrap();
    assert_eq!(num_files(&table), (3, 3));
    for (name, bytes) in newer {
        store.put(&name, bytes.unwrap()).await.unwrap();
    }
    assert!(table.refresh().await.unwrap());
    assert_eq!(num_files(&table), (5, 5));
}

#[tokio::test(start_paused = true)]
async fn opening_does_not_believe_an_entry_that_took_the_place_of_a_listed_one() {
    let (store, changes) = cleaned_and_refilled().await;
    let table = opened(&sleeping(&store, commit(4), changes)).await;
    assert_eq!(num_files(&table), (5, 5));
}

#[tokio::test(start_paused = true)]
async fn opening_a_lance_table_does_not_believe_a_manifest_that_took_the_place_of_the_newest() {
    let manifest = |version| manifest_path(Scheme::V2, Version::new(version)).to_string();
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    committed(&add(&mut table, &[4]).await);
    assert_eq!(num_files(&table), (3, 2));
    let stray = bytes_of(&store, &manifest(3)).await;
    store.delete(&manifest(3)).await.unwrap();
    // What really became version 3, and 4 above it.
    let mut table = opened(&store).await;
    for ids in [[5, 6], [7, 8]] {
        committed(&add(&mut table, &ids).await);
    }
    let fourth = bytes_of(&store, &manifest(4)).await;
    store.delete(&manifest(4)).await.unwrap();
    let changes = vec![(manifest(4), Some(fourth)), (manifest(3), Some(stray))];
    let table = opened(&sleeping(&store, manifest(3), changes)).await;
    assert_eq!(num_files(&table), (4, 3));
}
