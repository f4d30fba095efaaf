//! What holds for every index, and helpers.

use crate::stopping::Plain;
use lakebed_storage::{CommitIndex, Entry, Indexed, MemoryStore, Reserve, Store, suite};
use std::sync::Arc;

pub(crate) const TASKS: usize = 32;

/// A name that no other test run uses, for servers that keep what they were told.
pub(crate) fn unique(what: &str) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("{what}-{}-{}", std::process::id(), since.as_nanos())
}

/// An empty store that cannot create, with a root of its own.
pub(crate) fn plain() -> Arc<dyn Store> {
    plain_store()
}

pub(crate) fn plain_store() -> Arc<Plain> {
    Arc::new(Plain::new(Arc::new(MemoryStore::named(&unique("plain")))))
}

fn entry(name: &str, staged: &str) -> Entry {
    Entry { name: name.to_owned(), staged: staged.to_owned(), size_bytes: 7, confirmed: false }
}

/// The behaviour suite of stores and the race, over an index.
pub(crate) async fn store_holds(index: &Arc<dyn CommitIndex>, rounds: u64) {
    let store: Arc<dyn Store> = Arc::new(Indexed::new(plain(), Arc::clone(index)));
    let report = suite::run(&store).await.unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(report.checks.len(), 23, "{:?}", report.checks);
    assert_eq!(store.list("", None, 10).await.unwrap(), [], "the suite cleans up");
    let race = suite::race(&store, TASKS, rounds).await.unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!((race.rounds, race.unclear), (rounds, 0));
    assert_eq!(store.list("", None, 10).await.unwrap(), [], "losers leave nothing staged");
}

/// Each method of an index, by the words of its trait. `names` are two names that the index keeps, the second the newer one.
pub(crate) async fn index_holds(index: &Arc<dyn CommitIndex>, names: [&str; 2]) {
    let [one, two] = names;
    let bucket = unique("bucket");
    let (table, other) = (format!("s3://{bucket}/t"), format!("s3://{bucket}/other"));
    let ids = ["6fa459ea-ee8a-4ca4-894e-db77e160355e", "16fd2706-8baf-433b-82eb-8c7fada847da"];
    let staged = |name: &str, id: usize| entry(name, &index.staged(name, ids[id]));
    assert_eq!(index.get(&table, one).await.unwrap(), None);
    assert_eq!(index.latest(&table).await.unwrap(), []);
    let (ours, theirs) = (staged(one, 0), staged(one, 1));
    assert_eq!(index.reserve(&table, &ours).await.unwrap(), Reserve::Reserved);
    let by = |reserve: Reserve| match reserve {
        Reserve::Taken(by) => (by.name, by.staged, by.confirmed),
        other @ (Reserve::Reserved | Reserve::Unknown(_)) => panic!("{other:?}"),
    };
    assert_eq!(by(index.reserve(&table, &theirs).await.unwrap()), (one.to_owned(), ours.staged.clone(), false));
    assert_eq!(by(index.reserve(&table, &ours).await.unwrap()), (one.to_owned(), ours.staged.clone(), false));
    // Another table is another key, and a name of ours is not theirs.
    assert_eq!(index.get(&other, one).await.unwrap(), None);
    assert_eq!(index.reserve(&other, &theirs).await.unwrap(), Reserve::Reserved);
    let names = |found: Vec<Entry>| found.into_iter().map(|entry| (entry.name, entry.staged)).collect::<Vec<_>>();
    assert_eq!(names(index.latest(&table).await.unwrap()), [(one.to_owned(), ours.staged.clone())]);
    // Only who reserved it confirms it.
    index.confirm(&table, &theirs).await.unwrap();
    assert!(!index.get(&table, one).await.unwrap().unwrap().confirmed);
    index.confirm(&table, &ours).await.unwrap();
    let confirmed = index.get(&table, one).await.unwrap().unwrap();
    assert!(confirmed.confirmed);
    assert_eq!(index.latest(&table).await.unwrap(), []);
    assert!(matches!(index.reserve(&table, &theirs).await.unwrap(), Reserve::Taken(by) if by.confirmed));
    let newer = staged(two, 0);
    assert_eq!(index.reserve(&table, &newer).await.unwrap(), Reserve::Reserved);
    assert_eq!(names(index.latest(&table).await.unwrap()), [(two.to_owned(), newer.staged.clone())]);
    // A release takes only the entry that was seen.
    index.release(&table, &staged(two, 1)).await.unwrap();
    assert!(index.get(&table, two).await.unwrap().is_some());
    index.release(&table, &newer).await.unwrap();
    assert_eq!(index.get(&table, two).await.unwrap(), None);
    index.release(&table, &confirmed).await.unwrap();
    assert_eq!(index.get(&table, one).await.unwrap(), None);
    assert_eq!(index.latest(&table).await.unwrap(), []);
    let entry = index.get(&other, one).await.unwrap().unwrap();
    index.release(&other, &entry).await.unwrap();
}

/// Of many clients that reserve one name, one is told that it did, and the row is its own.
pub(crate) async fn reservations_race(index: &Arc<dyn CommitIndex>, name: &str, rounds: u64) {
    for round in 0..rounds {
        let table = format!("s3://{}/race-{round}", unique("bucket"));
        let barrier = Arc::new(tokio::sync::Barrier::new(TASKS));
        let mut running = tokio::task::JoinSet::new();
        for task in 0..TASKS {
            let (index, barrier, table, name) =
                (Arc::clone(index), Arc::clone(&barrier), table.clone(), name.to_owned());
            running.spawn(async move {
                let id = format!("00000000-0000-4000-8000-{task:012}");
                let ours = entry(&name, &index.staged(&name, &id));
                barrier.wait().await;
                (ours.staged.clone(), index.reserve(&table, &ours).await.unwrap())
            });
        }
        let answers = running.join_all().await;
        let winners: Vec<&String> =
            answers.iter().filter(|(_, answer)| *answer == Reserve::Reserved).map(|(staged, _)| staged).collect();
        let stands = index.get(&table, name).await.unwrap().unwrap();
        assert_eq!(winners, [&stands.staged], "round {round}");
        assert!(answers.iter().all(|(_, answer)| match answer {
            Reserve::Reserved => true,
            Reserve::Taken(by) => by.staged == stands.staged,
            Reserve::Unknown(_) => false,
        }));
        index.release(&table, &stands).await.unwrap();
    }
}
