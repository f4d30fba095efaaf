//! Tables of both formats on a store that cannot create, through an index.

use crate::stopping::{Stop, StoppingIndex, StoppingStore, until_dead};
use crate::suites::{TASKS, plain};
use lakebed_storage::{CommitIndex, MemoryIndex, Store};
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const BOTH: [TableFormat; 2] = [TableFormat::Delta, TableFormat::Lance];

pub(crate) fn through(index: &Arc<dyn CommitIndex>) -> OpenOptions {
    OpenOptions { index: Some(Arc::clone(index)), isolated: true, ..OpenOptions::default() }
}

pub(crate) async fn create(store: &Arc<dyn Store>, index: &Arc<dyn CommitIndex>, format: TableFormat) -> Table {
    let new = NewTable::new(format, vec![Column::new("id", ColumnType::Long, true)]);
    let created = Table::create_store(Arc::clone(store), &through(index), &new, &CommitOptions::default()).await;
    let (table, report) = created.unwrap();
    table.unwrap_or_else(|| panic!("{report:?}"))
}

pub(crate) async fn set(table: &mut Table, key: &str) -> Outcome {
    let properties = BTreeMap::from([(format!("test.{key}"), key.to_owned())]);
    table.set_properties(properties, Vec::new(), &CommitOptions::default()).await.unwrap().outcome
}

/// The keys that the newest version holds, and the number of versions after the first.
pub(crate) async fn keys(store: &Arc<dyn Store>, options: &OpenOptions) -> (Vec<String>, usize) {
    let table = Table::open_store(Arc::clone(store), options).await.unwrap();
    let properties = table.snapshot().summary().unwrap().properties;
    let keys = properties.into_iter().filter(|(key, _)| key.starts_with("test.")).map(|(_, value)| value).collect();
    (keys, table.history(None).await.unwrap().len() - 1)
}

#[tokio::test]
async fn a_commit_that_dies_at_any_request_is_in_the_table_or_not() {
    for format in BOTH {
        let mut landed = 0;
        for place in 0.. {
            let (store, index) = (plain(), Arc::new(MemoryIndex::new()) as Arc<dyn CommitIndex>);
            create(&store, &index, format).await;
            let stop = Stop::nowhere();
            let stopping: Arc<dyn Store> = Arc::new(StoppingStore(Arc::clone(&store), Arc::clone(&stop)));
            let watched: Arc<dyn CommitIndex> = Arc::new(StoppingIndex(Arc::clone(&index), Arc::clone(&stop)));
            let mut table = Table::open_store(stopping, &through(&watched)).await.unwrap();
            stop.arm(place);
            let first = until_dead(&stop, set(&mut table, "first")).await;
            let (held, _) = keys(&store, &through(&index)).await;
            // Clients that know nothing of the index read a table too: this version, or the one before.
            let (plainly, _) = keys(&store, &OpenOptions { isolated: true, ..OpenOptions::default() }).await;
            assert!(plainly.len() <= held.len() && held.len() <= 1, "{format} place {place}: {plainly:?} {held:?}");
            let mut second = Table::open_store(Arc::clone(&store), &through(&index)).await.unwrap();
            assert!(matches!(set(&mut second, "second").await, Outcome::Committed { .. }), "{format} place {place}");
            let wanted: Vec<String> = held.iter().cloned().chain(["second".to_owned()]).collect();
            assert_eq!(keys(&store, &through(&index)).await, (wanted.clone(), wanted.len()), "{format} place {place}");
            let plain = OpenOptions { isolated: true, ..OpenOptions::default() };
            assert_eq!(keys(&store, &plain).await, (wanted.clone(), wanted.len()), "{format} place {place}");
            landed += held.len();
            if let Some(outcome) = first {
                assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
                break;
            }
        }
        assert!(landed > 8, "{format}: {landed}");
    }
}

/// Every writer lands every commit once.
pub(crate) async fn writers_race(
    store: &Arc<dyn Store>,
    index: &Arc<dyn CommitIndex>,
    format: TableFormat,
    each: usize,
) {
    create(store, index, format).await;
    let mut running = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let (store, index) = (Arc::clone(store), Arc::clone(index));
        running.spawn(async move {
            let mut table = Table::open_store(store, &through(&index)).await.unwrap();
            for commit in 0..each {
                // On Delta two changes of properties are a conflict, which is an answer: nothing was committed.
                loop {
                    match set(&mut table, &format!("w{task}.{commit}")).await {
                        Outcome::Committed { .. } => break,
                        Outcome::Conflict(_) => drop(table.refresh().await.unwrap()),
                        other @ (Outcome::Nothing { .. } | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
                            panic!("{other:?}")
                        }
                    }
                }
            }
        });
    }
    running.join_all().await;
    let (keys, versions) = keys(store, &through(index)).await;
    assert_eq!((keys.len(), versions), (TASKS * each, TASKS * each));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_of_both_formats_exclude_each_other() {
    for format in BOTH {
        let index: Arc<dyn CommitIndex> = Arc::new(MemoryIndex::new());
        writers_race(&plain(), &index, format, 2).await;
    }
}
