//! What a table promises, and that nothing commits below it.

use crate::support::{
    add, add_action, columns, committed, created, ids, isolated, once, opened, place, prepared_delta, remove_action,
    set, sound, source, three_rows, try_add, unique, unique_id, written_fragment,
};
use bytes::Bytes;
use lakebed_lance::proto::table::Transaction as Message;
use lakebed_lance::proto::table::transaction::rewrite::RewriteGroup;
use lakebed_lance::proto::table::transaction::{Operation, Rewrite};
use lakebed_lance::transaction::{Head, MapChange, MapChanges, update_config};
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, NewTable, Prepared, Report, ScanRequest, Snapshot, Table, TableError, TableFormat};
use lakebed_transaction::{Outcome, Verdict};
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;

use TableFormat::{Delta, Lance};

/// Plan once, under this policy.
pub(crate) fn under(policy: &str) -> CommitOptions {
    CommitOptions { policy: Some(policy.to_owned()), ..once() }
}

async fn with_property(key: &str, value: &str) -> (Arc<dyn Store>, Table) {
    let store = place(Delta);
    let properties = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    let table = created(&store, &NewTable::new(Delta, columns()).with_properties(properties)).await;
    (store, table)
}

#[tokio::test]
async fn an_argument_weaker_than_the_tables_promise_is_refused() {
    let names = ["delta-snapshot", "delta-write-serializable", "delta-serializable"];
    let by_level =
        ["SnapshotIsolation", "WriteSerializable", "Serializable"].map(|level| ("delta.isolationLevel", level));
    let by_policy = names.map(|name| ("lakebed.policy", name));
    for promises in [by_level, by_policy] {
        for (promised, (key, value)) in promises.into_iter().enumerate() {
            for (asked, name) in names.into_iter().enumerate() {
                let (store, mut table) = with_property(key, value).await;
                let answer = table.append(source(crate::support::batch(&[1])), &under(name)).await;
                if asked >= promised {
                    assert_eq!(committed(&answer.unwrap()), 1, "{name} on {key}={value}");
                } else {
                    let error = answer.unwrap_err();
                    let refused = matches!(&error, TableError::Invalid { .. }) && error.to_string().contains(name);
                    assert!(refused, "{name} on {key}={value}: {error}");
                    assert_eq!(sound(&store, Delta).await.newest(), 0);
                }
            }
        }
    }
}

/// Policies that judge rows keep the promises of the levels: each may stand in for Delta's own policy of its level, and names the
/// property where its text is wrong.
#[tokio::test]
async fn policies_of_rows_stand_beside_those_of_files() {
    for (promised, weaker) in [("precise", "precise-reorder"), ("delta-serializable", "precise-reorder")] {
        let (_, mut table) = with_property("lakebed.policy", promised).await;
        let error = table.append(source(crate::support::batch(&[1])), &under(weaker)).await.unwrap_err();
        assert!(error.to_string().contains(promised), "{error}");
        for taken in ["precise", "delta-serializable", "precise@1"] {
            committed(&table.append(source(crate::support::batch(&[1])), &under(taken)).await.unwrap());
        }
    }
    for (level, policy, spark) in [
        ("Serializable", "precise@1", "Serializable"),
        ("WriteSerializable", "precise-reorder@1", "WriteSerializable"),
        ("SnapshotIsolation", "delta-snapshot@1", "SnapshotIsolation"),
    ] {
        let (store, mut table) = with_property("delta.isolationLevel", level).await;
        committed(&add(&mut table, &[1]).await);
        assert_eq!(table.history(Some(1)).await.unwrap()[0].policy.as_deref(), Some(policy), "{level}");
        assert_eq!(sound(&store, Delta).await.state().info["isolationLevel"], spark);
    }
    let (_, mut table) = three_rows(Delta).await;
    let report = set(&mut table, "lakebed.policy", "precise-reorder@1", &once()).await;
    committed(&report);
    assert_eq!(table.history(Some(1)).await.unwrap()[0].policy.as_deref(), Some("precise@1"));
    committed(&add(&mut table, &[4]).await);
    assert_eq!(table.history(Some(1)).await.unwrap()[0].policy.as_deref(), Some("precise-reorder@1"));
    for text in ["precise@2", "Precise"] {
        let pair = BTreeMap::from([("lakebed.policy".to_owned(), text.to_owned())]);
        let error = table.set_properties(pair, Vec::new(), &once()).await.unwrap_err();
        assert!(error.to_string().contains("lakebed.policy") && error.to_string().contains(text), "{error}");
    }
}

/// A table that promises nothing takes any policy that there is, and no other.
#[tokio::test]
async fn a_table_without_a_promise_takes_any_known_policy() {
    let (_, mut table) = three_rows(Delta).await;
    for name in ["delta-snapshot", "delta-write-serializable", "delta-serializable"] {
        committed(&set(&mut table, "owner", name, &under(name)).await);
        let history = table.history(Some(1)).await.unwrap();
        assert!(history[0].policy.as_deref().is_some_and(|policy| policy.starts_with(name)), "{history:?}");
    }
    for name in ["lance", "", "DELTA-SERIALIZABLE"] {
        let error = table.append(source(crate::support::batch(&[9])), &under(name)).await.unwrap_err();
        assert!(matches!(error, TableError::Invalid { .. }), "{name}: {error}");
    }
    let (_, mut table) = three_rows(Lance).await;
    for name in ["precise", "precise-reorder", "lance"] {
        committed(&set(&mut table, "owner", name, &under(name)).await);
        let history = table.history(Some(1)).await.unwrap();
        assert!(history[0].policy.as_deref().is_some_and(|policy| policy.starts_with(name)), "{history:?}");
    }
    let pair = BTreeMap::from([("owner".to_owned(), "you".to_owned())]);
    let error = table.set_properties(pair, Vec::new(), &under("delta-snapshot")).await.unwrap_err();
    assert!(matches!(error, TableError::Invalid { .. }), "{error}");
}

/// A level or policy that we do not know: somebody promised something, so we read and do not write, whatever the caller
/// asks for.
#[tokio::test]
async fn an_unknown_promise_lets_read_and_refuses_commits() {
    for (key, value) in [("delta.isolationLevel", "RepeatableRead"), ("lakebed.policy", "strictest")] {
        let (store, mut writer) = with_property("note", "placeholder").await;
        committed(&add(&mut writer, &[1, 2]).await);
        // As another engine would write it, in the table's first entry.
        let name = format!("_delta_log/{:020}.json", 0);
        let entry = String::from_utf8(store.get(&name).await.unwrap().unwrap().to_vec()).unwrap();
        let changed = entry.replace(r#""note":"placeholder""#, &format!(r#""{key}":"{value}""#));
        assert_ne!(entry, changed);
        store.put(&name, changed.into()).await.unwrap();

        let mut table = opened(&store).await;
        assert_eq!(table.snapshot().summary().unwrap().properties[key], value);
        let batches = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap();
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
        for options in [once(), under("delta-serializable"), under("delta-snapshot")] {
            let policy = options.policy.clone();
            let error = table.append(source(crate::support::batch(&[3])), &options).await.unwrap_err();
            assert!(error.to_string().contains(value), "{key} under {policy:?}: {error}");
            let error = table.delete("id = 1", &options).await.unwrap_err();
            assert!(error.to_string().contains(value), "{key} under {policy:?}: {error}");
        }
        assert_eq!(sound(&store, Delta).await.newest(), 1);
    }
}

/// The same on Lance, where the table's configuration names the policy. Naming one that is not known is refused: nobody
/// could take it back.
#[tokio::test]
async fn an_unknown_policy_of_a_lance_table_refuses_commits() {
    let (store, mut table) = three_rows(Lance).await;
    let pair = |value: &str| BTreeMap::from([("lakebed.policy".to_owned(), value.to_owned())]);
    let error = table.set_properties(pair("strictest"), Vec::new(), &once()).await.unwrap_err();
    assert!(error.to_string().contains("strictest"), "{error}");
    let definition = NewTable::new(Lance, columns()).with_properties(pair("strictest"));
    let error = Table::create_store(place(Lance), &isolated(), &definition, &once()).await.unwrap_err();
    assert!(error.to_string().contains("strictest"), "{error}");
    committed(&table.set_properties(pair("lance"), Vec::new(), &once()).await.unwrap());
    committed(&add(&mut table, &[4]).await);
    // Another client names it.
    let head = Head { read_version: Some(table.version()), id: unique_id(), properties: BTreeMap::new() };
    let entries = BTreeMap::from([("lakebed.policy".to_owned(), Some("strictest".to_owned()))]);
    let config = Some(MapChange { entries, replace: false });
    let message = update_config(head, MapChanges { config, ..MapChanges::default() });
    let prepared = Prepared::LanceTransaction(message.encode_to_vec().into());
    let version = committed(&table.commit_prepared(prepared, &once()).await.unwrap());
    let mut table = opened(&store).await;
    assert_eq!(table.snapshot().summary().unwrap().num_rows, Some(4));
    for options in [once(), under("lance")] {
        let error = try_add(&mut table, &[5], &options).await.unwrap_err();
        assert!(error.to_string().contains("strictest"), "{error}");
    }
    assert_eq!(sound(&store, Lance).await.newest(), version);
}

/// A rewrite of all the table's files into one, with or without a change of data.
async fn rewrite(table: &Table, data_change: bool) -> Prepared {
    let Snapshot::Delta(held) = table.snapshot() else { panic!("a Delta table") };
    let rows = table.snapshot().summary().unwrap().num_rows.unwrap();
    let path = format!("part-{}.parquet", unique());
    table.store().put(&path, Bytes::from_static(b"rows")).await.unwrap();
    let mut actions: Vec<_> = held.snapshot.files().map(|add| remove_action(&add.path, data_change)).collect();
    actions.push(add_action(&path, rows, data_change));
    let operation = if data_change { "WRITE" } else { "OPTIMIZE" };
    prepared_delta(table.version(), unique_id(), operation, &actions)
}

/// Two transactions that replace the same files: of every pair the second one is refused, at every level, and no row is
/// doubled. (Another client lets a compaction follow a compaction, and an overwrite follow a compaction; both copies of
/// the rows are live then.)
#[tokio::test]
async fn two_rewrites_of_the_same_files_never_both_land() {
    for policy in ["delta-serializable", "delta-write-serializable", "delta-snapshot"] {
        for first_changes in [false, true] {
            for second_changes in [false, true] {
                let (store, mut first) = three_rows(Delta).await;
                committed(&add(&mut first, &[4, 5]).await);
                let mut second = opened(&store).await;
                let (a, b) = (rewrite(&first, first_changes).await, rewrite(&second, second_changes).await);
                committed(&first.commit_prepared(a, &under(policy)).await.unwrap());
                let report = second.commit_prepared(b, &under(policy)).await.unwrap();
                let what = format!("{policy}: {second_changes} after {first_changes}");
                let Outcome::Conflict(conflict) = &report.outcome else { panic!("{what}: {:?}", report.outcome) };
                assert_eq!((conflict.with.get(), conflict.why.verdict), (3, Verdict::Retryable), "{what}");
                assert!(conflict.why.evidence.is_some(), "{what}: {conflict}");
                let log = sound(&store, Delta).await;
                assert_eq!((log.newest(), log.rows(), log.files().len()), (3, 5, 1), "{what}");
            }
        }
    }
}

/// The same with a statement: the overwrite that lost to a compaction is planned again, and replaces what is there then. Where rows
/// are judged it need not be planned again.
#[tokio::test]
async fn an_overwrite_that_lost_to_a_compaction_replaces_its_output() {
    let (store, mut first) = three_rows(Delta).await;
    committed(&add(&mut first, &[4, 5]).await);
    let mut second = opened(&store).await;
    let a = rewrite(&first, false).await;
    committed(&first.commit_prepared(a, &once()).await.unwrap());
    let whole = lakebed_table::Scope::Whole;
    let refused =
        second.overwrite(source(crate::support::batch(&[8])), &whole, &under("delta-serializable")).await.unwrap();
    assert!(matches!(refused.outcome, Outcome::Conflict(_)), "{refused:?}");
    assert_eq!(committed(&second.overwrite(source(crate::support::batch(&[7])), &whole, &once()).await.unwrap()), 4);
    assert_eq!(ids(&store).await, vec![7]);
    let options = CommitOptions::default();
    let mut third = opened(&store).await;
    let report = third.overwrite(source(crate::support::batch(&[8])), &whole, &options).await.unwrap();
    assert_eq!(committed(&report), 5);
    assert_eq!(ids(&store).await, vec![8]);
    sound(&store, Delta).await;
}

/// The steps on which deltalake 1.6.6 has both copies of rows live (15 rows become 30, 1 row becomes 16), at every level: a
/// compaction landed, and ours is a compaction, an overwrite or a delete that was planned before it; and the other way
/// round. Of each pair one stands, and the rows are those of one order of the two.
#[tokio::test]
async fn a_compaction_and_a_change_of_its_files_never_both_land() {
    for policy in ["delta-serializable", "delta-write-serializable", "delta-snapshot"] {
        for (first, second) in [
            (Step::Compact, Step::Compact),
            (Step::Compact, Step::Overwrite),
            (Step::Compact, Step::Delete),
            (Step::Overwrite, Step::Compact),
            (Step::Delete, Step::Compact),
        ] {
            let what = format!("{policy}: {second:?} after {first:?}");
            let (store, mut one) = fifteen_rows(Delta).await;
            let (mut other, mut late) = (opened(&store).await, opened(&store).await);
            let read = one.version().get();
            // Planned before the first one landed; the statements of ours plan when they are called, on the handle's version.
            let compaction = copied(&other).await;
            committed(&first.run(&mut one, None, &under(policy)).await);
            let after_first = ids(&store).await;
            let expected: Vec<i64> = match first {
                Step::Compact => (1..=15).collect(),
                Step::Overwrite => vec![99],
                Step::Delete => (2..=15).collect(),
            };
            assert_eq!(after_first, expected, "{what}");
            let report = second.run(&mut other, Some(compaction), &under(policy)).await;
            let Outcome::Conflict(conflict) = &report.outcome else { panic!("{what}: {:?}", report.outcome) };
            assert_eq!((conflict.with.get(), conflict.why.verdict), (read + 1, Verdict::Retryable), "{what}");
            assert!(conflict.why.evidence.is_some(), "{what}: {conflict}");
            assert_eq!(ids(&store).await, after_first, "{what}");
            assert_eq!(sound(&store, Delta).await.newest(), read + 1, "{what}");
            // With leave to plan again, a statement does what it says on what is there then.
            let again = CommitOptions { policy: Some(policy.to_owned()), ..CommitOptions::default() };
            if matches!(second, Step::Compact) {
                late.refresh().await.unwrap();
            }
            committed(&second.run(&mut late, None, &again).await);
            let expected: Vec<i64> = match (first, second) {
                (_, Step::Overwrite) | (Step::Overwrite, _) => vec![99],
                (_, Step::Delete) | (Step::Delete, _) => (2..=15).collect(),
                (Step::Compact, Step::Compact) => (1..=15).collect(),
            };
            assert_eq!(ids(&store).await, expected, "{what}");
        }
    }
}

/// What one of the two does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Compact,
    Overwrite,
    Delete,
}

impl Step {
    /// Does it on a Delta table, a compaction as it was planned, or planned now.
    async fn run(self, table: &mut Table, compaction: Option<Prepared>, options: &CommitOptions) -> Report {
        match self {
            Self::Compact => {
                let prepared = match compaction {
                    Some(prepared) => prepared,
                    None => copied(table).await,
                };
                table.commit_prepared(prepared, options).await.unwrap()
            }
            Self::Overwrite => {
                let whole = lakebed_table::Scope::Whole;
                table.overwrite(source(crate::support::batch(&[99])), &whole, options).await.unwrap()
            }
            Self::Delete => table.delete("id = 1", options).await.unwrap(),
        }
    }
}

/// The rows 1 to 15 in three files.
async fn fifteen_rows(format: TableFormat) -> (Arc<dyn Store>, Table) {
    let (store, mut table) = three_rows(format).await;
    for from in [4, 10] {
        let ids: Vec<i64> = (from..from + 6).collect();
        committed(&add(&mut table, &ids).await);
    }
    (store, table)
}

/// A compaction whose files can be read: each file is copied to another name.
async fn copied(table: &Table) -> Prepared {
    let Snapshot::Delta(held) = table.snapshot() else { panic!("a Delta table") };
    let mut actions = Vec::new();
    for file in table.snapshot().files() {
        let path = format!("part-{}.parquet", unique());
        table.store().put(&path, table.store().get(&file.path).await.unwrap().unwrap()).await.unwrap();
        actions.push(remove_action(&file.path, false));
        actions.push(add_action(&path, file.num_rows.unwrap(), false));
    }
    prepared_delta(held.snapshot.version(), unique_id(), "OPTIMIZE", &actions)
}

/// The same pairs on Lance: two compactions and a delete after a compaction are refused; an overwrite replaces what it meets,
/// as its operation says, and no fragment of the compaction is live beside it.
#[tokio::test]
async fn a_compaction_and_a_change_of_its_fragments_never_both_land() {
    for (compacts_first, rows) in [(true, 15), (false, 14)] {
        let (store, mut first) = fifteen_rows(Lance).await;
        let (mut second, mut third) = (opened(&store).await, opened(&store).await);
        let (one, two) = (compaction(&first).await, compaction(&second).await);
        let landed = if compacts_first {
            committed(&first.commit_prepared(one, &once()).await.unwrap())
        } else {
            committed(&crate::support::try_remove(&mut first, 1, &once()).await.unwrap())
        };
        let report = second.commit_prepared(two, &once()).await.unwrap();
        let Outcome::Conflict(conflict) = &report.outcome else { panic!("{:?}", report.outcome) };
        assert_eq!((conflict.with.get(), conflict.why.verdict), (landed, Verdict::Retryable));
        assert_eq!(conflict.policy, "precise@1");
        if compacts_first {
            let report = crate::support::try_remove(&mut third, 2, &once()).await.unwrap();
            let Outcome::Conflict(conflict) = &report.outcome else { panic!("{:?}", report.outcome) };
            assert_eq!(conflict.why.verdict, Verdict::Retryable);
        }
        let log = sound(&store, Lance).await;
        assert_eq!((log.newest(), log.rows()), (landed, rows));
    }
    let (store, mut first) = fifteen_rows(Lance).await;
    let mut second = opened(&store).await;
    let one = compaction(&first).await;
    let landed = committed(&first.commit_prepared(one, &once()).await.unwrap());
    let Snapshot::Lance(held) = second.snapshot() else { panic!("a Lance table") };
    let head = Head { read_version: Some(second.version()), id: unique_id(), properties: BTreeMap::new() };
    let fragments = vec![written_fragment(&store, 1).await];
    let message =
        lakebed_lance::transaction::overwrite(head, fragments, held.snapshot.fields().to_vec(), BTreeMap::new());
    let prepared = Prepared::LanceTransaction(message.encode_to_vec().into());
    assert_eq!(committed(&second.commit_prepared(prepared, &once()).await.unwrap()), landed + 1);
    let log = sound(&store, Lance).await;
    assert_eq!((log.rows(), log.files().len()), (1, 1));
}

/// All the table's files rewritten into one, without a change of rows.
pub(crate) async fn compacted(table: &Table) -> Prepared {
    if table.format() == Delta { rewrite(table, false).await } else { compaction(table).await }
}

/// An overwrite of a Lance table with as many rows, in the columns that it has.
pub(crate) async fn lance_overwrite(table: &Table, rows: u64) -> Prepared {
    let Snapshot::Lance(held) = table.snapshot() else { panic!("a Lance table") };
    let fragment = written_fragment(table.store(), rows).await;
    let head = Head { read_version: Some(table.version()), id: unique_id(), properties: BTreeMap::new() };
    let fields = held.snapshot.fields().to_vec();
    let message = lakebed_lance::transaction::overwrite(head, vec![fragment], fields, BTreeMap::new());
    Prepared::LanceTransaction(message.encode_to_vec().into())
}

pub(crate) async fn compaction(table: &Table) -> Prepared {
    let Snapshot::Lance(held) = table.snapshot() else { panic!("a Lance table") };
    let old = held.snapshot.fragments().to_vec();
    let rows = old.iter().map(|fragment| fragment.physical_rows).sum();
    let new = written_fragment(table.store(), rows).await;
    let group = RewriteGroup { old_fragments: old, new_fragments: vec![new] };
    let message = Message {
        read_version: table.version().get(),
        uuid: unique_id().to_string(),
        operation: Some(Operation::Rewrite(Rewrite { groups: vec![group], ..Rewrite::default() })),
        ..Message::default()
    };
    Prepared::LanceTransaction(message.encode_to_vec().into())
}
