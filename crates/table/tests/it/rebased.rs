//! A commit that lost a race: what the log alone decides costs no look at data, what it does not is planned again when the caller
//! wants that, and what a loser wrote is removed.

use crate::compaction::{VECTORS, append, batch, of, rows, table};
use crate::isolation::under;
use crate::support::{committed, opened, source};
use lakebed_naming::delta::DeletionVectorName;
use lakebed_storage::Store;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_table::{ColumnChange, CommitOptions, Compaction, MergeSpec, Report, Scope, Table, TableError};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Append,
    Delete,
    DeleteWhole,
    Update,
    Merge,
    OverwriteRange,
    OverwritePartition,
    Overwrite,
    Compact,
    CompactMinor,
    Set,
    AddColumn,
}

pub(crate) const ALL: [Op; 12] = [
    Op::Append,
    Op::Delete,
    Op::DeleteWhole,
    Op::Update,
    Op::Merge,
    Op::OverwriteRange,
    Op::OverwritePartition,
    Op::Overwrite,
    Op::Compact,
    Op::CompactMinor,
    Op::Set,
    Op::AddColumn,
];

pub(crate) async fn perform(op: Op, table: &mut Table, options: &CommitOptions) -> Result<Report, TableError> {
    match op {
        Op::Append => table.append(source(batch([(70, "a", 70)])), options).await,
        Op::Delete => table.delete("p = 'a' AND id = 1", options).await,
        Op::DeleteWhole => table.truncate(Some("p = 'a'"), options).await,
        Op::Update => table.update(&["v = v + 1".to_owned()], Some("p = 'a' AND id = 2"), options).await,
        Op::Merge => {
            let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
            table.merge(source(batch([(2, "a", 22), (71, "a", 71)])), &spec, options).await
        }
        Op::OverwriteRange => {
            table
                .overwrite(source(batch([(1, "a", 11)])), &Scope::Where("p = 'a' AND id < 3".to_owned()), options)
                .await
        }
        Op::OverwritePartition => table.overwrite(source(batch([(72, "a", 72)])), &Scope::Partitions, options).await,
        Op::Overwrite => table.overwrite(source(batch([(73, "a", 73)])), &Scope::Whole, options).await,
        Op::Compact => table.compact(&of(Compaction::Major), options).await,
        Op::CompactMinor => table.compact(&of(Compaction::Minor), options).await,
        Op::Set => {
            let pair = BTreeMap::from([("owner".to_owned(), "us".to_owned())]);
            table.set_properties(pair, Vec::new(), options).await
        }
        Op::AddColumn => {
            let columns = vec![Column::new("note", ColumnType::String, true)];
            table.change_columns(&ColumnChange::Add { within: Vec::new(), columns }, false, options).await
        }
    }
}

/// Partition a in two files with some rows deleted, partition b in one.
pub(crate) async fn base() -> Arc<dyn Store> {
    let (store, mut table) = table(true, &[VECTORS]).await;
    append(&mut table, batch((1..=4).map(|id| (id, "a", id)))).await;
    append(&mut table, batch([(5, "a", 5), (6, "a", 6), (11, "b", 11), (12, "b", 12)])).await;
    committed(&table.delete("id = 6", &CommitOptions::default()).await.unwrap());
    store
}

/// What an operation asks of objects outside of the log, in one spelling; with a rival's append landing after it read, or without.
async fn data_requests(op: Op, rival: bool) -> Vec<String> {
    let store = base().await;
    let counted = Arc::new(Counting::new(Arc::clone(&store)));
    let mut ours = opened(&(Arc::<Counting>::clone(&counted) as Arc<dyn Store>)).await;
    if rival {
        append(&mut opened(&store).await, batch([(200, "b", 200)])).await;
    }
    counted.reset();
    let report = perform(op, &mut ours, &under("delta-write-serializable")).await.unwrap();
    assert_eq!((committed(&report), report.plannings), (4 + u64::from(rival), 1), "{op:?}");
    let Outcome::Committed { attempts, .. } = report.outcome else { panic!("{report:?}") };
    assert_eq!(attempts, 1 + u32::from(rival), "{op:?}");
    let requests = counted.take();
    if rival {
        assert_eq!(requests.count(Operation::Create), 2, "{op:?}: one entry for each attempt");
    }
    // Names of new files are drawn anew each time; those of old ones are kinds enough.
    let kind = |name: &str| if name.ends_with(".bin") { "vector" } else { "rows" };
    let outside = requests.all().iter().filter(|request| !request.name.starts_with("_delta_log"));
    let mut spelled: Vec<String> =
        outside.map(|request| format!("{:?} {}", request.operation, kind(&request.name))).collect();
    spelled.sort();
    spelled
}

#[tokio::test]
async fn a_rebase_reads_and_writes_no_data_whatever_the_operation() {
    for op in ALL {
        let alone = data_requests(op, false).await;
        assert_eq!(data_requests(op, true).await, alone, "{op:?}");
        assert_eq!(alone.is_empty(), matches!(op, Op::Set | Op::AddColumn | Op::DeleteWhole), "{op:?}: {alone:?}");
    }
}

/// The objects outside of the log that no version names.
pub(crate) async fn nobodys(store: &Arc<dyn Store>) -> Vec<String> {
    let mut named = BTreeSet::new();
    for version in 0..=opened(store).await.version().get() {
        for action in crate::compaction::actions(store, version).await {
            let lakebed_delta::action::Action::Add(add) = action else { continue };
            named.insert(add.path.to_string());
            let vector =
                add.deletion_vector.map(|vector| DeletionVectorName::from_descriptor(&vector.path_or_inline_dv));
            named.extend(vector.map(|name| name.unwrap().path()));
        }
    }
    let listed = store.list("", None, 10_000).await.unwrap().into_iter().map(|entry| entry.name);
    listed.filter(|name| !name.starts_with("_delta_log/") && !named.contains(name)).collect()
}

/// A rival that replaced everything: ours has lost for certain.
async fn replaced(store: &Arc<dyn Store>) {
    let mut rival = opened(store).await;
    let scope = Scope::Whole;
    let new = batch([(1, "a", 100), (2, "a", 200), (3, "a", 300)]);
    committed(&rival.overwrite(source(new), &scope, &under("delta-serializable")).await.unwrap());
    append(&mut rival, batch([(4, "a", 400)])).await;
}

#[tokio::test]
async fn what_a_loser_wrote_is_removed_and_counted() {
    for op in ALL {
        let store = base().await;
        let mut ours = opened(&store).await;
        replaced(&store).await;
        let before = rows(&opened(&store).await).await;
        let report = perform(op, &mut ours, &under("delta-serializable")).await.unwrap();
        if matches!(op, Op::Append | Op::Set | Op::AddColumn) {
            // Nothing that a rival does to rows is in their way.
            committed(&report);
            continue;
        }
        assert!(matches!(report.outcome, Outcome::Conflict(_)), "{op:?}: {report:?}");
        let wrote = !matches!(op, Op::DeleteWhole);
        assert_eq!(report.metrics["objects_discarded"] > 0, wrote, "{op:?}: {report:?}");
        assert_eq!(nobodys(&store).await, Vec::<String>::new(), "{op:?}");
        assert_eq!(rows(&opened(&store).await).await, before, "{op:?}");
    }
}

/// With plannings left, a statement that lost is run again on what is there by then, and says so.
#[tokio::test]
async fn a_statement_that_lost_is_run_again_within_the_budget() {
    for op in ALL {
        let (store, serial) = (base().await, base().await);
        let mut ours = opened(&store).await;
        replaced(&store).await;
        replaced(&serial).await;
        let options = CommitOptions { plannings_max: 2, ..under("delta-serializable") };
        let report = perform(op, &mut ours, &options).await.unwrap();
        committed(&report);
        let rebased = matches!(op, Op::Append | Op::Set | Op::AddColumn);
        assert_eq!(report.plannings, if rebased { 1 } else { 2 }, "{op:?}");
        assert_eq!(nobodys(&store).await, Vec::<String>::new(), "{op:?}");
        committed(&perform(op, &mut opened(&serial).await, &options).await.unwrap());
        assert_eq!(rows(&opened(&store).await).await, rows(&opened(&serial).await).await, "{op:?}");
    }
}
