//! A client that dies at any request leaves a name that is wholly there or wholly not, and one winner.

use crate::stopping::{Stop, StoppingIndex, StoppingStore, until_dead};
use crate::suites::plain;
use lakebed_storage::{CommitIndex, Create, Indexed, MemoryIndex, Store};
use std::sync::Arc;

pub(crate) const NAME: &str = "log/1";

/// What a client that reads through the index, and one that does not, find under the name.
pub(crate) async fn seen(store: &Arc<dyn Store>, index: &Arc<dyn CommitIndex>) -> [Option<bytes::Bytes>; 2] {
    let reader = Indexed::new(Arc::clone(store), Arc::clone(index));
    let through = reader.get(NAME).await.unwrap();
    let listed = reader.list("log", None, 10).await.unwrap();
    assert_eq!(listed.iter().any(|entry| entry.name == NAME), through.is_some(), "{listed:?}");
    let head = reader.head(NAME).await.unwrap();
    assert_eq!(head.as_ref().map(|head| head.name.as_str()), through.as_ref().map(|_| NAME));
    assert_eq!(reader.get_range(NAME, 0..2).await.unwrap(), through.as_ref().map(|bytes| bytes.slice(0..2)));
    [through, store.get(NAME).await.unwrap()]
}

/// How many objects are staged for the name.
pub(crate) async fn staged(store: &Arc<dyn Store>) -> usize {
    store.list("log", None, 100).await.unwrap().iter().filter(|entry| entry.name.starts_with("log/1-")).count()
}

#[tokio::test]
async fn a_create_that_dies_at_any_request_is_there_or_not_and_has_one_winner() {
    let (mut died, mut landed, mut unfinished, mut strays) = (0, 0, 0, 0);
    for place in 0.. {
        let (store, index) = (plain(), Arc::new(MemoryIndex::new()) as Arc<dyn CommitIndex>);
        let stop = Stop::after(place);
        let client = Indexed::new(
            Arc::new(StoppingStore(Arc::clone(&store), Arc::clone(&stop))),
            Arc::new(StoppingIndex(Arc::clone(&index), Arc::clone(&stop))),
        );
        let first = until_dead(&stop, client.create(NAME, "first".into())).await;
        let [through, plainly] = seen(&store, &index).await;
        // Reading finishes nothing.
        assert_eq!(seen(&store, &index).await, [through.clone(), plainly.clone()]);
        unfinished += usize::from(through.is_some() && plainly.is_none());
        let second = Indexed::new(Arc::clone(&store), Arc::clone(&index));
        let answer = second.create(NAME, "second".into()).await.unwrap();
        let wanted = match &through {
            Some(bytes) => {
                landed += 1;
                assert_eq!((bytes.as_ref(), &answer), (&b"first"[..], &Create::Exists), "place {place}");
                "first"
            }
            None => {
                assert_eq!(answer, Create::Created, "place {place}");
                "second"
            }
        };
        // Whoever comes next finished it: clients without the index see it too, and the index has nothing open.
        assert_eq!(seen(&store, &index).await, [Some(wanted.into()), Some(wanted.into())], "place {place}");
        assert_eq!(index.latest(second.table()).await.unwrap(), []);
        // What the dead left is shown to a cleanup, and nothing else is.
        let left: Vec<String> = second.strays().await.unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(left.len(), staged(&store).await, "place {place}: {left:?}");
        strays += left.len();
        second.delete_all(&left).await.unwrap();
        assert_eq!(staged(&store).await, 0, "place {place}");
        assert_eq!(seen(&store, &index).await, [Some(wanted.into()), Some(wanted.into())], "place {place}");
        match first {
            None => died += 1,
            Some(answer) => {
                assert_eq!(answer.unwrap(), Create::Created);
                break;
            }
        }
    }
    // Every step was died in: before and after each of latest, head, put, reserve, head, copy, confirm, delete.
    assert_eq!(died, 16);
    // From the end of the reservation on it is committed; up to the end of the copy a plain client does not see it.
    assert_eq!((landed, unfinished), (10, 4));
    // Staged and not reserved, and confirmed but not removed.
    assert_eq!(strays, 2 + 2);
}

/// The same with readers that repair, as pylance's do.
#[tokio::test]
async fn readers_may_finish_what_they_find() {
    let (store, index) = (plain(), Arc::new(MemoryIndex::new()) as Arc<dyn CommitIndex>);
    let stop = Stop::after(8);
    let client = Indexed::new(
        Arc::new(StoppingStore(Arc::clone(&store), Arc::clone(&stop))),
        Arc::new(StoppingIndex(Arc::clone(&index), Arc::clone(&stop))),
    );
    assert!(until_dead(&stop, client.create(NAME, "first".into())).await.is_none());
    assert_eq!(seen(&store, &index).await, [Some("first".into()), None]);
    let reader = Indexed::new(Arc::clone(&store), Arc::clone(&index)).with_repair_by_readers();
    assert_eq!(reader.get(NAME).await.unwrap(), Some("first".into()));
    assert_eq!(store.get(NAME).await.unwrap(), Some("first".into()));
    assert_eq!((staged(&store).await, index.latest(reader.table()).await.unwrap()), (0, vec![]));
}

#[tokio::test]
async fn a_removal_that_dies_at_any_request_leaves_no_row_without_its_object() {
    for place in 0.. {
        let (store, index) = (plain(), Arc::new(MemoryIndex::new()) as Arc<dyn CommitIndex>);
        let sound = Indexed::new(Arc::clone(&store), Arc::clone(&index));
        assert_eq!(sound.create(NAME, "first".into()).await.unwrap(), Create::Created);
        let stop = Stop::after(place);
        let client = Indexed::new(
            Arc::new(StoppingStore(Arc::clone(&store), Arc::clone(&stop))),
            Arc::new(StoppingIndex(Arc::clone(&index), Arc::clone(&stop))),
        );
        let ended = until_dead(&stop, client.delete(NAME)).await;
        let left = sound.get(NAME).await.unwrap();
        let again = sound.create(NAME, "second".into()).await.unwrap();
        assert_eq!(again, if left.is_some() { Create::Exists } else { Create::Created }, "place {place}");
        sound.delete(NAME).await.unwrap();
        assert_eq!(seen(&store, &index).await, [None, None]);
        if ended.is_some() {
            break;
        }
    }
}

/// A table that was removed beside its index is not silently begun anew, nor waited for.
#[tokio::test]
async fn a_row_whose_object_was_removed_beside_it_is_named() {
    let (store, index) = (plain(), Arc::new(MemoryIndex::new()) as Arc<dyn CommitIndex>);
    let client = Indexed::new(Arc::clone(&store), Arc::clone(&index));
    assert_eq!(client.create(NAME, "first".into()).await.unwrap(), Create::Created);
    store.delete(NAME).await.unwrap();
    let error = client.create(NAME, "second".into()).await.unwrap_err().to_string();
    assert!(error.contains(NAME) && error.contains("remove the rows"), "{error}");
    assert_eq!(client.get(NAME).await.unwrap(), None);
}

/// Keys hold the bucket and one spelling of it; a branch opened by itself shares its table's key.
#[test]
fn keys_are_urls_in_one_spelling() {
    let key = |root: &str| {
        let store = Arc::new(lakebed_storage::testing::Counting::new(Arc::new(Rooted(root.to_owned()))));
        Indexed::new(store, Arc::new(MemoryIndex::new())).table().to_owned()
    };
    assert_eq!(key("s3://a/t/"), "s3://a/t");
    assert_eq!(key("s3a://a/t%20x"), "s3://a/t x");
    assert_ne!(key("s3://a/t"), key("s3://b/t"));
    let branch = Indexed::new(Arc::new(Rooted("s3://a/t/tree/x".to_owned())), Arc::new(MemoryIndex::new()));
    assert_eq!(branch.clone().at("tree/x").unwrap().table(), "s3://a/t");
    assert!(branch.at("tree/y").is_err());
}

#[derive(Debug)]
struct Rooted(String);

#[async_trait::async_trait]
impl Store for Rooted {
    fn root(&self) -> &str {
        &self.0
    }
    async fn get(&self, _: &str) -> Result<Option<bytes::Bytes>, lakebed_storage::StoreError> {
        Ok(None)
    }
    async fn get_range(
        &self,
        _: &str,
        _: std::ops::Range<u64>,
    ) -> Result<Option<bytes::Bytes>, lakebed_storage::StoreError> {
        Ok(None)
    }
    async fn head(&self, _: &str) -> Result<Option<lakebed_storage::Listed>, lakebed_storage::StoreError> {
        Ok(None)
    }
    async fn list(
        &self,
        _: &str,
        _: Option<&str>,
        _: usize,
    ) -> Result<Vec<lakebed_storage::Listed>, lakebed_storage::StoreError> {
        Ok(Vec::new())
    }
    async fn put(&self, _: &str, _: bytes::Bytes) -> Result<(), lakebed_storage::StoreError> {
        Ok(())
    }
    async fn create(&self, _: &str, _: bytes::Bytes) -> Result<Create, lakebed_storage::StoreError> {
        Ok(Create::Exists)
    }
    async fn copy(&self, _: &str, _: &str) -> Result<(), lakebed_storage::StoreError> {
        Ok(())
    }
    async fn delete(&self, _: &str) -> Result<(), lakebed_storage::StoreError> {
        Ok(())
    }
}
