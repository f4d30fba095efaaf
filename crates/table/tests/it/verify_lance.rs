//! `verify` on Lance tables: a sound one is called sound, and each kind of damage is found.

use crate::support::{committed, once, opened, set, three_rows, try_add, try_remove};
use lakebed_lance::deletion;
use lakebed_naming::lance::DeletionKind;
use lakebed_storage::Store;
use lakebed_table::{Finding, TableFormat, Verified};
use lakebed_transaction::RowSet;
use std::sync::Arc;

async fn verified(store: &Arc<dyn Store>) -> Verified {
    opened(store).await.verify(|_| ()).await.unwrap()
}

fn only(verified: &Verified) -> &Finding {
    let [finding] = verified.findings.as_slice() else { panic!("{verified:#?}") };
    finding
}

/// Three rows of which one is deleted, a file more, and a property; and the name of the deletion file and of the files.
async fn lively() -> (Arc<dyn Store>, String, Vec<String>) {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    committed(&try_remove(&mut table, 2, &once()).await.unwrap());
    committed(&try_add(&mut table, &[4], &once()).await.unwrap());
    committed(&set(&mut table, "test.k", "v", &once()).await);
    let listed: Vec<String> = store.list("", None, 1_000).await.unwrap().into_iter().map(|entry| entry.name).collect();
    let below = |folder: &str| listed.iter().filter(|name| name.starts_with(folder)).cloned().collect::<Vec<_>>();
    let deletion = <[String; 1]>::try_from(below("_deletions/")).unwrap()[0].clone();
    (store, deletion, below("data/"))
}

#[tokio::test]
async fn a_deletion_file_is_read_and_counted() {
    let (store, deletion, _) = lively().await;
    let sound = verified(&store).await;
    assert!(sound.is_sound() && sound.strays.is_empty(), "{sound:#?}");
    assert_eq!(sound.versions.map(|(first, last)| (first.get(), last.get())), Some((1, 5)));
    let whole = store.get(&deletion).await.unwrap().unwrap();
    let other = deletion::encode(DeletionKind::Arrow, &RowSet::from_iter([0, 1])).unwrap();
    for (bytes, says) in [(whole.slice(..whole.len() / 2), ""), (other, "it lists 2 rows, and the manifest says 1")] {
        store.put(&deletion, bytes).await.unwrap();
        let verified = verified(&store).await;
        let finding = only(&verified);
        assert_eq!((finding.kind, finding.object.as_str()), ("vector", deletion.as_str()));
        assert!(finding.problem.contains(says), "{finding:?}");
    }
    store.delete(&deletion).await.unwrap();
    assert_eq!(only(&verified(&store).await).kind, "missing");
}

#[tokio::test]
async fn files_that_are_gone_or_short_and_strays_are_found() {
    let (store, _, files) = lively().await;
    store.put("data/stray.lance", "rows".into()).await.unwrap();
    let found = verified(&store).await;
    assert!(found.is_sound());
    assert_eq!(found.strays, [("data/stray.lance".to_owned(), 4)]);
    store.delete(&files[0]).await.unwrap();
    let found = verified(&store).await;
    assert_eq!((only(&found).kind, only(&found).object.as_str()), ("missing", files[0].as_str()));
}

/// A transaction that the manifest holds is read there, so that its file may go; what lies in the folder of a data file is its own.
#[tokio::test]
async fn what_belongs_to_a_file_is_no_stray_and_a_transaction_is_missed_where_it_stands_nowhere() {
    let (store, _, files) = lively().await;
    let folder = files[0].strip_suffix(".lance").unwrap();
    store.put(&format!("{folder}/01.blob"), "bytes".into()).await.unwrap();
    let transactions = store.list("_transactions", None, 100).await.unwrap();
    assert_eq!(transactions.len(), 5);
    for entry in &transactions {
        store.delete(&entry.name).await.unwrap();
    }
    let sound = verified(&store).await;
    assert!(sound.is_sound() && sound.strays.is_empty(), "{sound:#?}");
    let newest = format!("_versions/{:020}.manifest", u64::MAX - 5);
    let mut file = lakebed_lance::manifest::decode("5", &store.get(&newest).await.unwrap().unwrap()).unwrap();
    let named = format!("_transactions/{}", file.manifest.transaction_file);
    file.transaction = None;
    store.put(&newest, lakebed_lance::manifest::encode(&mut file).unwrap()).await.unwrap();
    let found = verified(&store).await;
    assert_eq!((only(&found).kind, only(&found).object.as_str()), ("missing", named.as_str()));
}
