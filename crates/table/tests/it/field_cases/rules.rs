//! Two transactions planned on one version: who may follow whom, on tables with their files.

use crate::isolation::{compacted, under};
use crate::log::read_log;
use crate::stores::{Meddled, Moment};
use crate::support::{
    BOTH, add, add_action, batch, columns, committed, created, ids, once, opened, place, prepared_delta, remove_action,
    sound, source, three_rows, try_add, try_remove, unique, unique_id, written_fragment,
};
use bytes::Bytes;
use lakebed_lance::proto::table::Transaction as Message;
use lakebed_lance::proto::table::transaction::key_existence_filter::Data;
use lakebed_lance::proto::table::transaction::{ExactKeySetFilter, KeyExistenceFilter, Operation, Update};
use lakebed_lance::transaction::{Head, overwrite};
use lakebed_naming::Version;
use lakebed_storage::Store;
use lakebed_table::{
    CommitOptions, NewTable, Prepared, Report, ScanRequest, Scope, Snapshot, Table, TableFormat, VersionSpec,
};
use lakebed_transaction::{Conflict, Evidence, Exhaustion, Outcome, Verdict};
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;

use TableFormat::{Delta, Lance};

const LEVELS: [&str; 3] = ["delta-serializable", "delta-write-serializable", "delta-snapshot"];

fn refused(report: &Report) -> &Conflict {
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("expected a conflict, got {:?}", report.outcome) };
    conflict
}

fn file_of(table: &Table) -> String {
    table.snapshot().files()[0].path.clone()
}

/// Field case 15: of two full overwrites of one version the second is refused, and replaces the first where it may be planned
/// again; there are never the rows of both.
#[tokio::test]
async fn case_15_of_two_full_overwrites_one_stands() {
    for policy in LEVELS {
        let (store, mut first) = three_rows(Delta).await;
        let (mut second, mut third) = (opened(&store).await, opened(&store).await);
        committed(&first.overwrite(source(batch(&[10, 11])), &Scope::Whole, &under(policy)).await.unwrap());
        let report = second.overwrite(source(batch(&[20, 21])), &Scope::Whole, &under(policy)).await.unwrap();
        let conflict = refused(&report);
        assert_eq!((conflict.with.get(), conflict.why.verdict), (2, Verdict::Retryable), "{policy}");
        assert_eq!(conflict.policy, format!("{policy}@1"));
        assert_eq!(ids(&store).await, vec![10, 11], "{policy}");
        let again = CommitOptions { policy: Some(policy.to_owned()), ..CommitOptions::default() };
        let report = third.overwrite(source(batch(&[30, 31])), &Scope::Whole, &again).await.unwrap();
        assert_eq!((committed(&report), report.plannings), (3, 2), "{policy}");
        assert_eq!(ids(&store).await, vec![30, 31], "{policy}");
        sound(&store, Delta).await;
    }
}

/// Field case 16: a rewrite that stands on version 1 holds the rows of version 1 alone, and follows the append of version 2 so
/// that every row is there once.
#[tokio::test]
async fn case_16_a_rewrite_reads_its_own_version() {
    for policy in LEVELS {
        let (store, mut appender) = three_rows(Delta).await;
        let mut rewriter = opened(&store).await;
        committed(&add(&mut appender, &[4]).await);
        let scanned = rewriter.scan(rewriter.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap();
        assert_eq!(scanned.iter().map(|batch| batch.num_rows()).sum::<usize>(), 3, "not the rows of version 2");
        let (old, new) = (file_of(&rewriter), format!("part-{}.parquet", unique()));
        store.put(&new, store.get(&old).await.unwrap().unwrap()).await.unwrap();
        let actions = [remove_action(&old, false), add_action(&new, 3, false)];
        let prepared = prepared_delta(rewriter.version(), unique_id(), "OPTIMIZE", &actions);
        assert_eq!(committed(&rewriter.commit_prepared(prepared, &under(policy)).await.unwrap()), 3, "{policy}");
        assert_eq!(ids(&store).await, vec![1, 2, 3, 4], "{policy}");
        let log = sound(&store, Delta).await;
        assert!(log.files().contains_key(&new) && !log.files().contains_key(&old), "{policy}");
    }
    let (store, mut appender) = three_rows(Lance).await;
    let mut rewriter = opened(&store).await;
    committed(&add(&mut appender, &[4]).await);
    let prepared = compacted(&rewriter).await;
    committed(&rewriter.commit_prepared(prepared, &once()).await.unwrap());
    let log = sound(&store, Lance).await;
    let mut rows: Vec<u64> = log.files().values().copied().collect();
    rows.sort_unstable();
    assert_eq!(rows, vec![1, 3], "the appended fragment and the rewritten one");
}

/// An upsert of keys that were not found: it adds a row, and says which keys it looked for.
async fn upsert(table: &Table, keys: &[u64]) -> Prepared {
    match table.format() {
        Delta => {
            let path = format!("part-{}.parquet", unique());
            table.store().put(&path, Bytes::from_static(b"rows")).await.unwrap();
            let rows = keys.len() as u64;
            let Prepared::DeltaActions(actions) =
                prepared_delta(table.version(), unique_id(), "MERGE", &[add_action(&path, rows, true)])
            else {
                panic!("Delta actions")
            };
            let listed: Vec<String> = keys.iter().map(ToString::to_string).collect();
            let reads =
                format!(r#"{{"reads":{{"predicates":[["id IN ({})"]]}},"operation":"MERGE"}}"#, listed.join(", "));
            Prepared::DeltaActions([reads.as_bytes(), b"\n", &actions].concat().into())
        }
        Lance => {
            let fragment = written_fragment(table.store(), keys.len() as u64).await;
            let exact = Data::Exact(ExactKeySetFilter { key_hashes: keys.to_vec() });
            let update = Update {
                new_fragments: vec![fragment],
                inserted_rows: Some(KeyExistenceFilter { field_ids: vec![0], data: Some(exact) }),
                ..Update::default()
            };
            let message = Message {
                read_version: table.version().get(),
                uuid: unique_id().to_string(),
                operation: Some(Operation::Update(update)),
                ..Message::default()
            };
            Prepared::LanceTransaction(message.encode_to_vec().into())
        }
    }
}

/// Field case 20: two upserts believed the same key absent. The second is refused, though they share no file, and planned
/// again it finds the key. (Delta's snapshot level promises nothing about what was added, and Spark lets both in there.)
#[tokio::test]
async fn case_20_two_upserts_of_one_new_key() {
    for format in BOTH {
        let policies: &[&str] = if format == Delta { &LEVELS[..2] } else { &["lance"] };
        for policy in policies {
            let (store, mut first) = three_rows(format).await;
            let (mut second, mut other) = (opened(&store).await, opened(&store).await);
            let read = first.version().get();
            let (one, same) = (upsert(&first, &[5, 7]).await, upsert(&second, &[7, 9]).await);
            let apart = upsert(&other, &[8]).await;
            committed(&first.commit_prepared(one, &under(policy)).await.unwrap());
            let report = second.commit_prepared(same, &under(policy)).await.unwrap();
            let conflict = refused(&report);
            assert_eq!((conflict.with.get(), conflict.why.verdict), (read + 1, Verdict::Retryable), "{policy}");
            let log = sound(&store, format).await;
            assert_eq!((log.newest(), log.rows()), (read + 1, 3 + 2), "{policy}");
            let report = other.commit_prepared(apart, &under(policy)).await.unwrap();
            if format == Delta {
                // An upsert is no blind append on either side: what it looked for is checked against what was added.
                assert_eq!(log.state().info["isBlindAppend"], false);
                assert!(matches!(conflict.why.evidence, Some(Evidence::Units(_))), "{conflict}");
                refused(&report);
            } else {
                assert!(matches!(conflict.why.evidence, Some(Evidence::Key { hash: Some(7), .. })), "{conflict}");
                assert_eq!(committed(&report), read + 2, "another key is free");
            }
            second.refresh().await.unwrap();
            let replanned = upsert(&second, &[9]).await;
            committed(&second.commit_prepared(replanned, &under(policy)).await.unwrap());
        }
    }
}

/// Field case 24: a table without rows is a version like any other; two first inserts that read it both stand, one after the
/// other.
#[tokio::test]
async fn case_24_two_first_inserts_both_stand() {
    for format in BOTH {
        let store = place(format);
        let mut first = created(&store, &NewTable::new(format, columns())).await;
        let mut second = opened(&store).await;
        let empty = first.version().get();
        assert_eq!(committed(&add(&mut first, &[1]).await), empty + 1, "{format}");
        assert_eq!(committed(&add(&mut second, &[2, 3]).await), empty + 2, "{format}");
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows(), log.files().len()), (empty + 2, 3, 2), "{format}");
        assert_ne!(log.0[&(empty + 1)].id, log.0[&(empty + 2)].id, "{format}");
        if format == Delta {
            assert_eq!(ids(&store).await, vec![1, 2, 3]);
        }
    }
}

/// Field case 107: a compaction is judged from the version that it was planned on, whichever handle commits it; a deletion
/// since then is not undone.
#[tokio::test]
async fn case_107_the_read_version_travels_with_the_plan() {
    for format in BOTH {
        let (store, mut rival) = three_rows(format).await;
        let planned_on = rival.version().get();
        let prepared = compacted(&rival).await;
        committed(&try_remove(&mut rival, 2, &once()).await.unwrap());
        // A fresh handle knows the deletion already; the plan does not.
        let mut fresh = opened(&store).await;
        assert_eq!(fresh.version().get(), planned_on + 1, "{format}");
        let report = fresh.commit_prepared(prepared, &CommitOptions::default()).await.unwrap();
        let conflict = refused(&report);
        assert_eq!((conflict.with.get(), conflict.why.verdict), (planned_on + 1, Verdict::Retryable), "{format}");
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows()), (planned_on + 1, 2), "{format}: the row stays deleted");
        if format == Delta {
            assert_eq!(ids(&store).await, vec![1, 3]);
        }
        // Nor is an update, planned then, let in.
        let earlier = fresh.at(VersionSpec::Number(planned_on)).await.unwrap();
        let report = fresh.commit_prepared(rewrite_of(&earlier, &store).await, &once()).await.unwrap();
        assert_eq!(refused(&report).with.get(), planned_on + 1, "{format}");
    }
}

/// An update of all rows of an earlier version, as an engine that was slow hands it in.
async fn rewrite_of(earlier: &Snapshot, store: &Arc<dyn Store>) -> Prepared {
    match earlier {
        Snapshot::Delta(held) => {
            let path = format!("part-{}.parquet", unique());
            store.put(&path, Bytes::from_static(b"rows")).await.unwrap();
            let mut actions: Vec<_> = held.snapshot.files().map(|add| remove_action(&add.path, true)).collect();
            actions.push(add_action(&path, 3, true));
            prepared_delta(earlier.version(), unique_id(), "UPDATE", &actions)
        }
        Snapshot::Lance(_) => {
            let update = Update {
                removed_fragment_ids: earlier.fragments().iter().map(|fragment| fragment.id).collect(),
                new_fragments: vec![written_fragment(store, 3).await],
                ..Update::default()
            };
            let message = Message {
                read_version: earlier.version().get(),
                uuid: unique_id().to_string(),
                operation: Some(Operation::Update(update)),
                ..Message::default()
            };
            Prepared::LanceTransaction(message.encode_to_vec().into())
        }
    }
}

/// Field case 140: an append that lost its race as often as it may is told that it ran out, at the version that it saw; what
/// can never follow is told which version stands in its way. Neither has committed anything.
#[tokio::test]
async fn case_140_out_of_retries_is_not_incompatible() {
    for format in BOTH {
        let (store, before) = three_rows(format).await;
        let read = before.version().get();
        let others = Arc::clone(&store);
        let meddled = Meddled::new(&store)
            .act(Moment::Before, move || async move {
                committed(&add(&mut opened(&others).await, &[9]).await);
            })
            .shared();
        let mut table = opened(&meddled).await;
        let report = try_add(&mut table, &[4], &CommitOptions { rebases_max: 0, ..once() }).await.unwrap();
        let Outcome::Exhausted { what, newest, .. } = &report.outcome else { panic!("{format}: {:?}", report.outcome) };
        assert_eq!((*what, newest.get()), (Exhaustion::Attempts, read + 1), "{format}");
        assert_eq!(sound(&store, format).await.versions_of(report.transaction_id.as_str()), Vec::<u64>::new());
        // The same append, with a budget, lands.
        assert_eq!(committed(&try_add(&mut table, &[4], &once()).await.unwrap()), read + 2, "{format}");
    }
    let (store, mut rival) = three_rows(Lance).await;
    let mut table = opened(&store).await;
    let Snapshot::Lance(held) = rival.snapshot() else { panic!("a Lance table") };
    let head = Head { read_version: Some(rival.version()), id: unique_id(), properties: BTreeMap::new() };
    let fragments = vec![written_fragment(&store, 1).await];
    let message = overwrite(head, fragments, held.snapshot.fields().to_vec(), BTreeMap::new());
    let replaced = committed(
        &rival.commit_prepared(Prepared::LanceTransaction(message.encode_to_vec().into()), &once()).await.unwrap(),
    );
    let options = CommitOptions { policy: Some("lance".to_owned()), ..CommitOptions::default() };
    let report = try_add(&mut table, &[4], &options).await.unwrap();
    let conflict = refused(&report);
    assert_eq!((conflict.with, conflict.why.verdict), (Version::new(replaced), Verdict::Incompatible));
    assert_eq!(read_log(&store, Lance).await.versions_of(report.transaction_id.as_str()), Vec::<u64>::new());
}

/// The newest `metaData` action of a log, as it stands there.
async fn metadata_line(store: &Arc<dyn Store>) -> String {
    let mut newest = None;
    for listed in store.list("_delta_log", None, 1_000).await.unwrap() {
        let text = String::from_utf8(store.get(&listed.name).await.unwrap().unwrap().to_vec()).unwrap();
        newest = text.lines().find(|line| line.starts_with(r#"{"metaData""#)).map(str::to_owned).or(newest);
    }
    newest.unwrap()
}

/// Field case 104: an append that writes the metadata once more as it is (another client, with schemas to be merged) stands in
/// no append's way, and no append of ours writes metadata. Two that do both write it, and the second is told that nothing
/// differs.
#[tokio::test]
async fn case_104_identical_metadata_is_in_nobodys_way() {
    for policy in LEVELS {
        let (store, mut ours) = three_rows(Delta).await;
        let (mut merging, mut late) = (opened(&store).await, opened(&store).await);
        let metadata = metadata_line(&store).await;
        let append = |table: &Table| {
            let (version, path) = (table.version(), format!("part-{}.parquet", unique()));
            let actions = [add_action(&path, 1, true), metadata.clone()];
            (path, prepared_delta(version, unique_id(), "WRITE", &actions))
        };
        let ((a, first), (b, second)) = (append(&merging), append(&late));
        for path in [&a, &b] {
            store.put(path, Bytes::from_static(b"rows")).await.unwrap();
        }
        committed(&merging.commit_prepared(first, &under(policy)).await.unwrap());
        assert_eq!(committed(&ours.append(source(batch(&[5])), &under(policy)).await.unwrap()), 3, "{policy}");
        let entry = store.get(&format!("_delta_log/{:020}.json", 3)).await.unwrap().unwrap();
        assert!(!String::from_utf8_lossy(&entry).contains("metaData"), "{policy}: the append writes no metadata");
        let report = late.commit_prepared(second, &under(policy)).await.unwrap();
        let conflict = refused(&report);
        assert_eq!(conflict.why.reason.map(|reason| reason.check), Some("both-change-metadata"), "{policy}");
        assert!(conflict.to_string().contains("nothing that differs"), "{policy}: {conflict}");
        let log = sound(&store, Delta).await;
        assert_eq!((log.newest(), log.rows()), (3, 3 + 1 + 1), "{policy}");
    }
}
