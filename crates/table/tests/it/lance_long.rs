//! Lance tables of many versions and of many fragments.

use crate::support::{add, committed, isolated, opened, prepared_add, three_rows, unique_id, written_fragment};
use lakebed_lance::manifest::{decode, encode};
use lakebed_lance::transaction::{Head, Transaction, overwrite};
use lakebed_storage::Store;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_table::{CommitOptions, OpenOptions, Prepared, Snapshot, Table, TableFormat, VersionSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

use Operation::{Create, Get, List, Put};

fn name(version: u64) -> String {
    format!("_versions/{:020}.manifest", u64::MAX - version)
}

/// A table whose versions 3 to `last` differ in their numbers and times only.
async fn many_versions(last: u64) -> Arc<dyn Store> {
    let (store, _) = three_rows(TableFormat::Lance).await;
    let bytes = store.get(&name(2)).await.unwrap().unwrap();
    let mut file = decode("version 2", &bytes).unwrap();
    for version in 3..=last {
        file.manifest.version = version;
        file.manifest.timestamp.as_mut().unwrap().seconds += 1;
        let bytes = encode(&mut file.clone()).unwrap();
        store.put(&name(version), bytes).await.unwrap();
    }
    store
}

/// Opening costs one listing and one read, a commit its side file and its create, however many versions there are.
#[tokio::test]
async fn ten_thousand_versions_cost_no_more_requests_than_ten() {
    let store = many_versions(10_000).await;
    let counted = Arc::new(Counting::new(Arc::clone(&store)));
    let through: Arc<dyn Store> = Arc::clone(&counted) as Arc<dyn Store>;
    let mut table = opened(&through).await;
    assert_eq!(table.version().get(), 10_000);
    let requests = counted.take();
    assert_eq!((requests.total(), requests.count(List), requests.count(Get)), (2, 1, 1));
    let prepared = prepared_add(&table, unique_id(), 3).await;
    counted.reset();
    let report = table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), 10_001);
    let requests = counted.take();
    assert_eq!((requests.total(), requests.count(Put), requests.count(Create)), (2, 1, 1));
    // An old version, and a handle that fell behind by one.
    table.at(VersionSpec::Number(17)).await.unwrap();
    assert_eq!(counted.take().total(), 1);
    committed(&add(&mut opened(&store).await, &[4]).await);
    counted.reset();
    assert!(table.refresh().await.unwrap());
    assert_eq!(counted.take().total(), 2);
    // The newest few of the history read so many manifests, and list the folder.
    assert_eq!(table.history(Some(5)).await.unwrap().len(), 5);
    let requests = counted.take();
    assert_eq!((requests.count(Get), requests.count(List)), (5, 11));
}

/// Time travel reads from the newest version down, some at a time, and no fragment of them.
#[tokio::test]
async fn a_time_is_found_among_many_versions() {
    let store = many_versions(500).await;
    let table = Table::open_store(Arc::clone(&store), &OpenOptions { ..isolated() }).await.unwrap();
    let at = |version: u64| table.at(VersionSpec::Number(version));
    let stood = at(300).await.unwrap().summary().unwrap().timestamp_ms.unwrap();
    for (ms, version) in [(stood, 300), (stood + 999, 300), (stood + 1_000, 301), (stood - 1, 299)] {
        assert_eq!(table.at(VersionSpec::AtMs(ms)).await.unwrap().version().get(), version);
    }
    let history = table.history(None).await.unwrap();
    assert_eq!(history.len(), 500);
    assert!(history.windows(2).all(|pair| pair[0].version > pair[1].version));
}

/// Field case 114: ids of fragments go on counting over overwrites and deletions of everything.
#[tokio::test]
async fn no_fragment_id_is_given_twice() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    let ids = |table: &Table| table.snapshot().fragments().iter().map(|one| one.id).collect::<Vec<_>>();
    committed(&add(&mut table, &[4]).await);
    assert_eq!(ids(&table), [0, 1]);
    let all = [(0, (0..3).collect()), (1, (0..1).collect())].into();
    committed(&table.delete_rows(all, "true", &CommitOptions::default()).await.unwrap());
    assert!(ids(&table).is_empty());
    committed(&add(&mut table, &[5]).await);
    assert_eq!(ids(&table), [2]);
    committed(&table.restore(VersionSpec::Number(2), &CommitOptions::default()).await.unwrap());
    let fragments = vec![written_fragment(&store, 2).await, written_fragment(&store, 2).await];
    committed(&table.append_fragments(fragments, &CommitOptions::default()).await.unwrap());
    assert_eq!(ids(&table), [0, 3, 4]);
    let Snapshot::Lance(held) = table.snapshot().clone() else { panic!("a Lance table") };
    let head = Head { read_version: Some(table.version()), id: unique_id(), properties: BTreeMap::new() };
    let (fragments, fields) = (vec![written_fragment(&store, 2).await], held.snapshot.fields().to_vec());
    let message = Transaction::new(overwrite(head, fragments, fields, BTreeMap::new()));
    let prepared = Prepared::LanceTransaction(message.encoded().clone());
    committed(&table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap());
    assert_eq!(ids(&table), [5]);
    committed(&add(&mut opened(&store).await, &[6]).await);
    assert_eq!(ids(&opened(&store).await), [5, 6]);
}
