//! Field case 6 on a store whose creates a lock decides: a holder falls asleep at any request, and its lease may run out.

use crate::stopping::{Stop, StoppingStore, until_dead};
use crate::suites::plain;
use crate::tables::{BOTH, set};
use async_trait::async_trait;
use lakebed_storage::{CommitLock, Locked, LockedCreate, Store, StoreError};
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A lock whose leases run out when the test says so: which is less than [`CommitLock`] asks for.
#[derive(Debug, Default)]
struct Leases(Mutex<(u64, HashMap<String, u64>)>);

impl Leases {
    /// Every lease runs out; how many were held.
    fn run_out(&self) -> usize {
        let held = &mut self.0.lock().unwrap().1;
        let count = held.len();
        held.clear();
        count
    }
}

#[async_trait]
impl CommitLock for Leases {
    async fn try_lock(&self, key: &str) -> Result<Locked, StoreError> {
        let mut held = self.0.lock().unwrap();
        if held.1.contains_key(key) {
            return Ok(Locked::Busy { after_ms: 1 });
        }
        held.0 += 1;
        let token = held.0;
        held.1.insert(key.to_owned(), token);
        Ok(Locked::Held { token: token.to_string() })
    }

    async fn unlock(&self, key: &str, token: &str) -> Result<(), StoreError> {
        let mut held = self.0.lock().unwrap();
        if held.1.get(key).is_some_and(|holder| holder.to_string() == token) {
            held.1.remove(key);
        }
        Ok(())
    }
}

/// Handles that share nothing but the store and the lock.
fn alone() -> OpenOptions {
    OpenOptions { isolated: true, ..OpenOptions::default() }
}

/// A table, its store without creates of its own, and the lock that all clients take.
struct Place {
    store: Arc<dyn Store>,
    leases: Arc<Leases>,
}

impl Place {
    async fn with_table(format: TableFormat) -> Self {
        let place = Self { store: plain(), leases: Arc::default() };
        let new = NewTable::new(format, vec![Column::new("id", ColumnType::Long, true)]);
        let client = place.client(&place.store);
        let created = Table::create_store(client, &alone(), &new, &CommitOptions::default()).await.unwrap();
        assert!(created.0.is_some(), "{created:?}");
        place
    }

    fn client(&self, store: &Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(LockedCreate::new(Arc::clone(store), Arc::clone(&self.leases) as Arc<dyn CommitLock>))
    }

    async fn open(&self, store: &Arc<dyn Store>) -> Table {
        Table::open_store(self.client(store), &alone()).await.unwrap()
    }

    /// The keys that the newest version holds, and the number of versions after the first.
    async fn keys(&self) -> (Vec<String>, usize) {
        let table = self.open(&self.store).await;
        let properties = table.snapshot().summary().unwrap().properties;
        let keys = properties.into_iter().filter(|(key, _)| key.starts_with("test.")).map(|(_, value)| value);
        (keys.collect(), table.history(None).await.unwrap().len() - 1)
    }
}

/// A commit by whoever finds the lock held perhaps.
async fn impatient(table: &mut Table, key: &str) -> Outcome {
    let properties = BTreeMap::from([(format!("test.{key}"), key.to_owned())]);
    let options = CommitOptions { timeout: Duration::from_millis(50), ..CommitOptions::default() };
    table.set_properties(properties, Vec::new(), &options).await.unwrap().outcome
}

/// What the sleeper was told fits what is there.
fn fits(first: &Outcome, second: bool, (held, versions): &(Vec<String>, usize), what: &str) {
    assert_eq!(*versions, held.len(), "{what}: {held:?}");
    let is_held = |key: &str| held.iter().any(|held| held == key);
    assert_eq!(is_held("second"), second, "{what}: {held:?}");
    match first {
        Outcome::Committed { .. } => assert!(is_held("first"), "{what}: {held:?}"),
        // Two changes of properties do not follow each other on Delta.
        Outcome::Conflict(_) => assert!(!is_held("first"), "{what}: {held:?}"),
        other @ (Outcome::Nothing { .. } | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
            panic!("{what}: {other:?}")
        }
    }
}

/// Field case 6, where the lock keeps its promise: a holder falls asleep at any request of its commit. Who comes meanwhile commits beside
/// it or is held off, and who wakes up commits what it had begun, once.
#[tokio::test]
async fn case_6_a_sleeping_holder_is_waited_for_and_commits_once() {
    for format in BOTH {
        let mut held_off = 0;
        for at in 0.. {
            let what = format!("{format} at {at}");
            let place = Place::with_table(format).await;
            let stop = Stop::nowhere();
            let stopping: Arc<dyn Store> = Arc::new(StoppingStore(Arc::clone(&place.store), Arc::clone(&stop)));
            let mut sleeper = place.open(&stopping).await;
            stop.arm(at);
            let mut first = pin!(set(&mut sleeper, "first"));
            let answered = until_dead(&stop, first.as_mut()).await;
            let slept = answered.is_none();
            let mut helper = place.open(&place.store).await;
            let second = impatient(&mut helper, "second").await;
            stop.resume();
            let first = match answered {
                Some(outcome) => outcome,
                None => first.await,
            };
            let landed = match second {
                Outcome::Committed { .. } => true,
                Outcome::Exhausted { .. } => false,
                other @ (Outcome::Nothing { .. } | Outcome::Conflict(_) | Outcome::Unknown { .. }) => {
                    panic!("{what}: {other:?}")
                }
            };
            held_off += usize::from(!landed);
            fits(&first, landed, &place.keys().await, &what);
            assert_eq!(place.leases.run_out(), 0, "{what}: every lock is given back");
            if !slept {
                break;
            }
        }
        // Before the look, after it, and before the put; once that is done, the next number has a lock of its own.
        assert_eq!(held_off, 3, "{format}");
    }
}

/// Field case 6 with a lease that runs out while its holder sleeps, as in the report. A helper commits; the sleeper wakes up, and its own
/// commit is recognised, or judged behind the helper's, and never written twice. In one window nothing can help, which is why
/// [`CommitLock`] forbids such leases: the holder has looked, and its put is still to come.
#[tokio::test]
async fn case_6_a_lease_that_ran_out_is_noticed_wherever_it_can_be() {
    for format in BOTH {
        let mut overwritten = 0;
        for at in 0.. {
            let what = format!("{format} at {at}");
            let place = Place::with_table(format).await;
            let stop = Stop::nowhere();
            let stopping: Arc<dyn Store> = Arc::new(StoppingStore(Arc::clone(&place.store), Arc::clone(&stop)));
            let mut sleeper = place.open(&stopping).await;
            stop.arm(at);
            let mut first = pin!(set(&mut sleeper, "first"));
            let answered = until_dead(&stop, first.as_mut()).await;
            let slept = answered.is_none();
            let was_held = place.leases.run_out() == 1;
            let stood = place.keys().await.0 == ["first"];
            let mut helper = place.open(&place.store).await;
            let second = set(&mut helper, "second").await;
            assert!(matches!(second, Outcome::Committed { .. }), "{what}: {second:?}");
            stop.resume();
            let first = match answered {
                Some(outcome) => outcome,
                None => first.await,
            };
            let found = place.keys().await;
            if found.0 == ["first"] {
                assert!(was_held && !stood, "{what}: lost although nobody's put was to come");
                overwritten += 1;
            } else {
                fits(&first, true, &found, &what);
            }
            if !slept {
                break;
            }
        }
        // After the look, and before the put.
        assert_eq!(overwritten, 2, "{format}");
    }
}
