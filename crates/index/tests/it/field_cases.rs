//! Cases from the field that an external index brings with it.

use crate::crashes::{NAME, seen, staged};
use crate::stopping::{Stop, StoppingIndex, StoppingStore, until_dead};
use crate::suites::{plain, plain_store};
use crate::tables::{BOTH, create, keys, set, through};
use bytes::Bytes;
use lakebed_storage::{CommitIndex, Create, Indexed, MemoryIndex, Store, StoreError};
use lakebed_table::{CommitOptions, OpenOptions, Table, TableFormat, VersionSpec};
use lakebed_transaction::Outcome;
use std::pin::pin;
use std::sync::Arc;

fn memory_index() -> Arc<dyn CommitIndex> {
    Arc::new(MemoryIndex::new())
}

/// Field case 7: the version is reserved, and what was staged for it cannot be moved. What was staged stays, the commit stands, and
/// whoever comes next moves it: the log has no hole, with the index and without it.
#[tokio::test]
async fn case_7_what_was_reserved_and_not_moved_is_moved_by_the_next_writer() {
    for format in BOTH {
        let (plain, index) = (plain_store(), memory_index());
        let store: Arc<dyn Store> = Arc::<crate::stopping::Plain>::clone(&plain);
        let mut first = create(&store, &index, format).await;
        plain.fail_copies(1);
        let outcome = set(&mut first, "first").await;
        assert!(matches!(outcome, Outcome::Committed { .. }), "{format}: {outcome:?}");
        // It is seen through the index; without it the version before is the newest.
        assert_eq!(keys(&store, &through(&index)).await, (vec!["first".to_owned()], 1), "{format}");
        let bare = OpenOptions { isolated: true, ..OpenOptions::default() };
        assert_eq!(keys(&store, &bare).await, (Vec::new(), 0), "{format}");
        let mut second = Table::open_store(Arc::clone(&store), &through(&index)).await.unwrap();
        assert!(matches!(set(&mut second, "second").await, Outcome::Committed { .. }), "{format}");
        let both = (vec!["first".to_owned(), "second".to_owned()], 2);
        assert_eq!(keys(&store, &through(&index)).await, both, "{format}");
        assert_eq!(keys(&store, &bare).await, both, "{format}");
    }
}

/// Field case 7, its other end: neither the version nor what was staged for it is there. That is named, with what to do, and the
/// index never says that the version is complete.
#[tokio::test]
async fn case_7_a_version_without_a_body_is_named_and_never_complete() {
    let (plain, index) = (plain_store(), memory_index());
    let store: Arc<dyn Store> = Arc::<crate::stopping::Plain>::clone(&plain);
    let client = Indexed::new(Arc::clone(&store), Arc::clone(&index));
    plain.fail_copies(1);
    assert!(matches!(client.create(NAME, "first".into()).await.unwrap(), Create::Unknown(_)));
    let entry = index.get(client.table(), NAME).await.unwrap().unwrap();
    store.delete(&entry.staged).await.unwrap();
    for repairs in [false, true] {
        let reader = Indexed::new(Arc::clone(&store), Arc::clone(&index));
        let reader = if repairs { reader.with_repair_by_readers() } else { reader };
        for error in [
            reader.get(NAME).await.unwrap_err(),
            reader.list("log", None, 10).await.unwrap_err(),
            reader.create(NAME, "second".into()).await.unwrap_err(),
            reader.create("log/2", "next".into()).await.unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains(NAME) && text.contains("remove its row"), "{text}");
        }
        assert!(!index.get(client.table(), NAME).await.unwrap().unwrap().confirmed);
    }
    // As it says.
    index.release(client.table(), &entry).await.unwrap();
    assert_eq!(client.create(NAME, "second".into()).await.unwrap(), Create::Created);
    assert_eq!(seen(&store, &index).await, [Some("second".into()), Some("second".into())]);
}

/// Field case 7 and a cleanup: the body of a version that is reserved and not yet moved is not taken for something left behind, and
/// who removes it all the same moves it first.
#[tokio::test]
async fn case_7_a_cleanup_leaves_the_body_of_what_is_reserved() {
    let (plain, index) = (plain_store(), memory_index());
    let store: Arc<dyn Store> = Arc::<crate::stopping::Plain>::clone(&plain);
    let client = Indexed::new(Arc::clone(&store), Arc::clone(&index));
    plain.fail_copies(1);
    assert!(matches!(client.create(NAME, "first".into()).await.unwrap(), Create::Unknown(_)));
    assert_eq!(staged(&store).await, 1);
    assert_eq!(client.strays().await.unwrap(), []);
    let body = index.get(client.table(), NAME).await.unwrap().unwrap().staged;
    client.delete_all(&[body]).await.unwrap();
    assert_eq!(staged(&store).await, 0);
    assert_eq!(seen(&store, &index).await, [Some("first".into()), Some("first".into())]);
}

/// Field case 51: where the index says that a version stands, nothing is, and the store has it under the name of the other scheme. It
/// is found there; once it is gone from there too, both names are told, and nobody commits over it.
#[tokio::test]
async fn case_51_a_version_that_the_index_names_wrongly_is_found_under_its_other_name() {
    let (store, index) = (plain(), memory_index());
    let mut table = create(&store, &index, TableFormat::Lance).await;
    for key in ["first", "second"] {
        assert!(matches!(set(&mut table, key).await, Outcome::Committed { .. }));
    }
    let (new, old) = (format!("_versions/{:020}.manifest", u64::MAX - 3), "_versions/3.manifest");
    store.copy(&new, old).await.unwrap();
    store.delete(&new).await.unwrap();
    assert_eq!(keys(&store, &through(&index)).await, (vec!["first".to_owned(), "second".to_owned()], 2));
    let opened = Table::open_store(Arc::clone(&store), &through(&index)).await.unwrap();
    assert_eq!(opened.version().get(), 3);
    assert_eq!(opened.at(VersionSpec::Number(3)).await.unwrap().version().get(), 3);
    store.delete(old).await.unwrap();
    let older = Table::open_store(Arc::clone(&store), &through(&index)).await.unwrap();
    let error = older.at(VersionSpec::Number(3)).await.unwrap_err().to_string();
    assert!(error.contains(&new) && error.contains(old), "{error}");
    let mut late = Table::open_store(Arc::clone(&store), &through(&index)).await.unwrap();
    let properties = [("test.third".to_owned(), "third".to_owned())].into();
    let answer = late.set_properties(properties, Vec::new(), &CommitOptions::default()).await;
    assert!(!matches!(&answer, Ok(report) if matches!(report.outcome, Outcome::Committed { .. })), "{answer:?}");
}

/// What a reader sees that lists and then reads.
async fn looked(reader: &Indexed) -> Result<(bool, Option<Bytes>), StoreError> {
    let listed = reader.list("log", None, 10).await?.iter().any(|entry| entry.name == NAME);
    Ok((listed, reader.get(NAME).await?))
}

/// A writer and a reader who both finish one version, the reader stopped at one place, the writer at another. Whether both ended.
async fn meet(places: (usize, usize), repairs: bool, writer_first: bool) -> (bool, bool) {
    let (store, index) = (plain(), memory_index());
    let client = |stop: &Arc<Stop>| {
        Indexed::new(
            Arc::new(StoppingStore(Arc::clone(&store), Arc::clone(stop))),
            Arc::new(StoppingIndex(Arc::clone(&index), Arc::clone(stop))),
        )
    };
    let (ours, theirs) = (Stop::after(places.0), Stop::after(places.1));
    let owner = client(&ours);
    let reader = client(&theirs);
    let reader = if repairs { reader.with_repair_by_readers() } else { reader };
    let (mut write, mut read) = (pin!(owner.create(NAME, "first".into())), pin!(looked(&reader)));
    let wrote = until_dead(&ours, write.as_mut()).await;
    let found = until_dead(&theirs, read.as_mut()).await;
    let ended = (wrote.is_some(), found.is_some());
    let what = format!("places {places:?}, repairs {repairs}, writer first {writer_first}");
    let (mut wrote, mut found) = (wrote, found);
    if writer_first && wrote.is_none() {
        ours.resume();
        wrote = Some(write.as_mut().await);
    }
    if found.is_none() {
        theirs.resume();
        found = Some(read.as_mut().await);
    }
    if wrote.is_none() {
        ours.resume();
        wrote = Some(write.as_mut().await);
    }
    assert_eq!(wrote.unwrap().unwrap(), Create::Created, "{what}");
    let (listed, bytes) = found.unwrap().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(bytes.is_none() && !listed || bytes == Some("first".into()), "{what}: {listed} {bytes:?}");
    // What the index says is what a look at the final object says.
    let row = index.get(owner.table(), NAME).await.unwrap().unwrap();
    let head = store.head(NAME).await.unwrap().unwrap();
    assert_eq!((row.confirmed, row.size_bytes), (true, head.size_bytes), "{what}");
    assert_eq!(seen(&store, &index).await, [Some("first".into()), Some("first".into())], "{what}");
    assert_eq!(staged(&store).await, 0, "{what}");
    ended
}

/// Field case 64: the owner and a reader finish one version, stopped before and after any of their requests, going on in either
/// order. No reader meets an error or a name without bytes, and what the index holds fits the object.
#[tokio::test]
async fn case_64_two_that_finish_one_version_agree_wherever_they_meet() {
    let mut met = 0;
    for (repairs, writer_first) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut place = 0;
        loop {
            let mut other = 0;
            let ended = loop {
                let (wrote, found) = meet((place, other), repairs, writer_first).await;
                met += 1;
                if found {
                    break wrote;
                }
                other += 1;
            };
            if ended {
                break;
            }
            place += 1;
        }
    }
    println!("a writer and a reader met in {met} ways");
    assert!(met > 300, "{met}");
}

/// Field case 6: a writer falls asleep at any request of its commit, a helper finishes what it had begun and commits on top. The
/// sleeper wakes up and is told where its own stands, and does not commit it again.
#[tokio::test]
async fn case_6_a_sleeper_whose_commit_was_finished_by_a_helper_finds_its_own() {
    for format in BOTH {
        let mut helped = 0;
        for place in 0.. {
            let (store, index) = (plain(), memory_index());
            create(&store, &index, format).await;
            let stop = Stop::nowhere();
            let stopping: Arc<dyn Store> = Arc::new(StoppingStore(Arc::clone(&store), Arc::clone(&stop)));
            let watched: Arc<dyn CommitIndex> = Arc::new(StoppingIndex(Arc::clone(&index), Arc::clone(&stop)));
            let mut sleeper = Table::open_store(stopping, &through(&watched)).await.unwrap();
            stop.arm(place);
            let mut first = pin!(set(&mut sleeper, "first"));
            let answered = until_dead(&stop, first.as_mut()).await;
            let slept = answered.is_none();
            let mut helper = Table::open_store(Arc::clone(&store), &through(&index)).await.unwrap();
            let second = set(&mut helper, "second").await;
            assert!(matches!(second, Outcome::Committed { .. }), "{format} place {place}: {second:?}");
            let before = keys(&store, &through(&index)).await.0;
            stop.resume();
            let outcome = match answered {
                Some(outcome) => outcome,
                None => first.await,
            };
            let (held, versions) = keys(&store, &through(&index)).await;
            assert_eq!(versions, held.len(), "{format} place {place}: {held:?}");
            match outcome {
                Outcome::Committed { .. } => assert_eq!(held, ["first", "second"], "{format} place {place}"),
                // Two changes of properties do not follow each other on Delta.
                Outcome::Conflict(_) => assert_eq!(held, ["second"], "{format} place {place}"),
                other @ (Outcome::Nothing { .. } | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
                    panic!("{format} place {place}: {other:?}")
                }
            }
            if !slept {
                break;
            }
            // What was reserved when the sleeper fell asleep is finished by the helper already.
            helped += usize::from(before.contains(&"first".to_owned()));
        }
        assert!(helped > 4, "{format}: {helped}");
    }
}
