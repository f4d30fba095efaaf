//! An INSERT whose source or condition names the target declares what it read, and is judged by that as a MERGE is that inserts only; a blind
//! one never reads the table to commit.

use crate::support::{committed, options, plainly, source};
use lakebed_storage::testing::{Counting, Operation};
use lakebed_storage::{MemoryStore, Store};
use lakebed_table::{CommitOptions, Matched, MergeSpec, NewTable, Report, Table, TableFormat};
use lakebed_transaction::{Outcome, Verdict};
use serde_json::{Value, json};
use std::sync::Arc;

/// What lands first.
#[derive(Clone, Copy, Debug)]
enum Rival {
    InsertSought,
    InsertOther,
    DeleteSought,
    DeleteOther,
    UpdateSought,
    Compact,
}

/// Each rival, and whether an INSERT of row 50 that looked for the rows 3 and 50 may follow it: whether it would have found the same.
const RIVALS: [(Rival, bool); 6] = [
    (Rival::InsertSought, false),
    (Rival::InsertOther, true),
    (Rival::DeleteSought, false),
    (Rival::DeleteOther, true),
    (Rival::UpdateSought, false),
    (Rival::Compact, true),
];

const SOUGHT: &str = "id IN (3, 50)";

impl Rival {
    async fn lands(self, table: &mut Table) {
        let report = match self {
            Self::InsertSought => table.append(source(table, &[json!({"id": 50, "v": 1})]), &plainly()).await,
            Self::InsertOther => table.append(source(table, &[json!({"id": 60, "v": 1})]), &plainly()).await,
            Self::DeleteSought => table.delete("id = 3", &plainly()).await,
            Self::DeleteOther => table.delete("id = 4", &plainly()).await,
            Self::UpdateSought => table.update(&["v = -v".to_owned()], Some("id = 3"), &plainly()).await,
            Self::Compact => table.compact_fragments(None, &plainly()).await,
        };
        committed(&report.unwrap());
    }
}

/// How row 50 comes.
#[derive(Clone, Copy, Debug)]
enum Ours {
    Blindly,
    HavingRead,
    ByMerge,
}

impl Ours {
    async fn run(self, table: &mut Table) -> Report {
        let options = CommitOptions { policy: Some("precise".to_owned()), plannings_max: 1, ..plainly() };
        let mut new = source(table, &[json!({"id": 50, "v": 50})]);
        let report = match self {
            Self::Blindly => table.append(new, &options).await,
            Self::HavingRead => table.append_having_read(new().unwrap(), &[SOUGHT.to_owned()], &options).await,
            Self::ByMerge => {
                let spec = MergeSpec { on: vec!["id".to_owned()], matched: Matched::Ignore, ..MergeSpec::default() };
                let given = source(table, &[json!({"id": 3, "v": 0}), json!({"id": 50, "v": 50})]);
                table.merge(given, &spec, &options).await
            }
        };
        report.unwrap()
    }
}

fn place() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new().below("table.lance").unwrap())
}

async fn handle(store: &Arc<dyn Store>) -> Table {
    Table::open_store(Arc::clone(store), &options()).await.unwrap()
}

/// Rows 0 to 9 in two fragments.
async fn base() -> Arc<dyn Store> {
    let store = place();
    let new = NewTable::new(TableFormat::Lance, lakebed_sql::parse_columns("id long not null, v long").unwrap());
    let (table, _) = Table::create_store(Arc::clone(&store), &options(), &new, &plainly()).await.unwrap();
    let mut table = table.unwrap();
    for from in [0, 5] {
        let rows: Vec<Value> = (from..from + 5).map(|id| json!({"id": id, "v": id})).collect();
        committed(&table.append(source(&table, &rows), &plainly()).await.unwrap());
    }
    store
}

/// Ours on the version before the rival's: whether it committed, and what it asked of the store.
async fn after(base: &Arc<dyn Store>, rival: Rival, ours: Ours) -> (bool, Arc<Counting>) {
    let copy = place();
    for listed in base.list("", None, usize::MAX).await.unwrap() {
        copy.put(&listed.name, base.get(&listed.name).await.unwrap().unwrap()).await.unwrap();
    }
    let counting = Arc::new(Counting::new(copy));
    let store: Arc<dyn Store> = Arc::clone(&counting) as Arc<dyn Store>;
    let (mut theirs, mut own) = (handle(&store).await, handle(&store).await);
    rival.lands(&mut theirs).await;
    counting.reset();
    let report = ours.run(&mut own).await;
    let context = format!("{ours:?} after {rival:?}");
    let accepted = match &report.outcome {
        Outcome::Committed { .. } => true,
        Outcome::Conflict(conflict) => {
            assert_eq!(conflict.why.verdict, Verdict::Retryable, "{context}: {conflict}");
            false
        }
        other @ (Outcome::Nothing { .. } | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
            panic!("{context}: {other:?}")
        }
    };
    let newest = handle(&store).await.version().get();
    assert_eq!(newest, theirs.version().get() + u64::from(accepted), "{context}");
    (accepted, counting)
}

#[tokio::test]
async fn an_insert_that_read_is_judged_by_what_it_read_as_a_merge_is() {
    let base = base().await;
    for (rival, follows) in RIVALS {
        assert_eq!(after(&base, rival, Ours::HavingRead).await.0, follows, "after {rival:?}");
        assert_eq!(after(&base, rival, Ours::ByMerge).await.0, follows, "a merge after {rival:?}");
    }
}

#[tokio::test]
async fn a_blind_insert_follows_everything_and_reads_no_rows() {
    let base = base().await;
    for (rival, _) in RIVALS {
        let (accepted, counting) = after(&base, rival, Ours::Blindly).await;
        assert!(accepted, "after {rival:?}");
        let asked = counting.take();
        for operation in [Operation::Get, Operation::GetRange, Operation::Head] {
            let names = asked.names(operation);
            let read: Vec<_> = names.iter().filter(|name| name.starts_with("data/")).collect();
            assert!(read.is_empty(), "after {rival:?}: {read:?} were read");
        }
    }
}
