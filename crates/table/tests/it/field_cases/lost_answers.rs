//! A create took effect and its answer got lost, or it did not and nobody knows.

use crate::log::Log;
use crate::stores::{Meddled, Moment, is_entry};
use crate::support::{
    BOTH, add, add_action, committed, impatient, isolated, once, opened, prepared_add, prepared_delta, remove_action,
    set, sound, three_rows, try_add, unique, unique_id, written_fragment,
};
use bytes::Bytes;
use lakebed_commit::Found;
use lakebed_lance::proto::table::transaction::rewrite::RewriteGroup;
use lakebed_lance::proto::table::transaction::{CreateIndex, Operation, Rewrite};
use lakebed_lance::proto::table::{IndexMetadata, Transaction as Message, Uuid as UuidMessage};
use lakebed_lance::transaction::Head;
use lakebed_naming::{Uuid, Version};
use lakebed_storage::testing::{Counting, Fault, Faulty, Operation as Asked, Script};
use lakebed_storage::{Create, Store};
use lakebed_table::{Prepared, Report, Snapshot, Table, TableFormat};
use lakebed_transaction::{Outcome, TransactionId};
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The table's handle over a store whose first create of a log entry goes wrong; what it asks is counted.
async fn over(store: &Arc<dyn Store>, fault: Fault) -> (Arc<Counting>, Table) {
    let faulty: Arc<dyn Store> = Arc::new(Faulty::new(Arc::clone(store), Script::first_of(is_entry, fault)));
    let counting = Arc::new(Counting::new(faulty));
    let store: Arc<dyn Store> = Arc::clone(&counting) as Arc<dyn Store>;
    let table = Table::open_store(store, &isolated()).await.unwrap();
    counting.reset();
    (counting, table)
}

/// What stands in the log after ours, found by its id too.
async fn once_in_the_log(store: &Arc<dyn Store>, format: TableFormat, report: &Report, version: u64) -> Log {
    let log = sound(store, format).await;
    assert_eq!(log.versions_of(report.transaction_id.as_str()), vec![version], "{format}");
    let found = opened(store).await.outcome_of(&report.transaction_id).await.unwrap();
    assert_eq!(found, Found::Committed(Version::new(version)), "{format}");
    log
}

/// Joins files A and B, which hold the table's rows, into C.
async fn compaction(table: &Table, id: Uuid) -> (Prepared, String) {
    match table.snapshot() {
        Snapshot::Delta(held) => {
            let c = format!("part-{}.parquet", unique());
            table.store().put(&c, Bytes::from_static(b"rows")).await.unwrap();
            let mut actions: Vec<_> = held.snapshot.files().map(|add| remove_action(&add.path, false)).collect();
            actions.push(add_action(&c, table.snapshot().summary().unwrap().num_rows.unwrap(), false));
            (prepared_delta(table.version(), id, "OPTIMIZE", &actions), c)
        }
        Snapshot::Lance(held) => {
            let old = held.snapshot.fragments().to_vec();
            let rows = old.iter().map(|fragment| fragment.physical_rows).sum();
            let new = written_fragment(table.store(), rows).await;
            let c = format!("data/{}", new.files[0].path);
            let group = RewriteGroup { old_fragments: old, new_fragments: vec![new] };
            let message = Message {
                read_version: table.version().get(),
                uuid: id.to_string(),
                operation: Some(Operation::Rewrite(Rewrite { groups: vec![group], ..Rewrite::default() })),
                ..Message::default()
            };
            (Prepared::LanceTransaction(message.encode_to_vec().into()), c)
        }
    }
}

/// Field case 1: the create of a compaction was stored and *already exists* was answered. It is recognised as ours, and
/// its output is not taken for waste.
#[tokio::test]
async fn case_1_a_compaction_that_landed_keeps_its_output() {
    for format in BOTH {
        let (store, mut writer) = three_rows(format).await;
        committed(&add(&mut writer, &[4, 5]).await);
        let next = writer.version().get() + 1;
        let (counted, mut table) = over(&store, Fault::LostAnswer(Create::Exists)).await;
        let (prepared, output) = compaction(&table, unique_id()).await;
        let report = table.commit_prepared(prepared, &once()).await.unwrap();
        assert_eq!(committed(&report), next, "{format}");
        let log = once_in_the_log(&store, format, &report, next).await;
        assert_eq!(log.newest(), next);
        assert_eq!(log.files().keys().collect::<Vec<_>>(), vec![&output], "{format}");
        assert_eq!(log.rows(), 5);
        assert_eq!(counted.take().count(Asked::Delete), 0, "{format}: nothing was deleted");
    }
}

/// Field case 1, second half: what stands at the version cannot be read, so the outcome is unknown and nothing is deleted.
#[tokio::test]
async fn case_1_a_compaction_that_cannot_be_confirmed_is_unknown_and_deletes_nothing() {
    for format in BOTH {
        let (store, mut writer) = three_rows(format).await;
        committed(&add(&mut writer, &[4, 5]).await);
        let next = writer.version().get() + 1;
        let blind = Meddled::new(&store).act(Moment::After, || async {}).answering(Create::Exists).blind().shared();
        let counted = Arc::new(Counting::new(blind));
        let mut table = opened(&(Arc::clone(&counted) as Arc<dyn Store>)).await;
        let (prepared, output) = compaction(&table, unique_id()).await;
        let report = table.commit_prepared(prepared, &impatient()).await.unwrap();
        let Outcome::Unknown { tried, .. } = &report.outcome else { panic!("{format}: {:?}", report.outcome) };
        assert_eq!(tried.get(), next);
        let requests = counted.take();
        assert_eq!((requests.count(Asked::Delete), requests.count(Asked::DeleteAll)), (0, 0), "{format}");
        let log = once_in_the_log(&store, format, &report, next).await;
        assert_eq!(log.files().keys().collect::<Vec<_>>(), vec![&output], "{format}");
    }
}

/// Field case 2: a falsely refused append does not follow itself: its rows are there once, its transaction file stands.
#[tokio::test]
async fn case_2_an_append_never_follows_itself() {
    for format in BOTH {
        for answer in [Create::Exists, Create::Unknown("timed out".to_owned())] {
            let (store, before) = three_rows(format).await;
            let next = before.version().get() + 1;
            let (counted, mut table) = over(&store, Fault::LostAnswer(answer)).await;
            let report = try_add(&mut table, &[4, 5, 6], &once()).await.unwrap();
            assert_eq!(committed(&report), next, "{format}");
            // The log is whole: that includes the side file that the entry names.
            let log = once_in_the_log(&store, format, &report, next).await;
            assert_eq!((log.newest(), log.rows(), log.files().len()), (next, 6, 2), "{format}");
            assert_eq!(counted.take().count(Asked::Delete), 0, "{format}");
            assert_eq!(table.version().get(), next);
        }
    }
}

/// An index over the first column that covers the table's fragments.
fn index_creation(table: &Table, id: Uuid) -> Message {
    let index = IndexMetadata {
        uuid: Some(UuidMessage { uuid: Bytes::from_static(&[9; 16]) }),
        fields: vec![0],
        name: "by_id".to_owned(),
        dataset_version: table.version().get(),
        fragment_bitmap: Bytes::new(),
        ..IndexMetadata::default()
    };
    Message {
        read_version: table.version().get(),
        uuid: id.to_string(),
        operation: Some(Operation::CreateIndex(CreateIndex { new_indices: vec![index], removed_indices: Vec::new() })),
        ..Message::default()
    }
}

/// Field case 3 (a): a commit whose content is written in another form than it was given (an index; actions with fields in
/// an order of their own) is still recognised.
#[tokio::test]
async fn case_3_a_our_own_commit_is_recognised_whatever_became_of_its_form() {
    for format in BOTH {
        let (store, before) = three_rows(format).await;
        let next = before.version().get() + 1;
        let (_, mut table) = over(&store, Fault::LostAnswer(Create::Exists)).await;
        let prepared = match format {
            TableFormat::Lance => {
                Prepared::LanceTransaction(index_creation(&table, unique_id()).encode_to_vec().into())
            }
            TableFormat::Delta => {
                let path = format!("part-{}.parquet", unique());
                store.put(&path, Bytes::from_static(b"rows")).await.unwrap();
                let add = format!(
                    r#"{{ "add" : {{"stats":"{{ \"numRecords\" : 1 }}", "dataChange":true,"modificationTime":1,"size":4, "unknown":1,"partitionValues":{{}},"path":"{path}"}}}}"#
                );
                prepared_delta(table.version(), unique_id(), "WRITE", &[add])
            }
        };
        let report = table.commit_prepared(prepared, &once()).await.unwrap();
        assert_eq!(committed(&report), next, "{format}");
        let log = once_in_the_log(&store, format, &report, next).await;
        assert_eq!(log.newest(), next, "{format}: not applied twice");
    }
}

/// Field case 3 (b): an id that a caller used twice does not make somebody else's entry ours. Q follows P, and both are there.
#[tokio::test]
async fn case_3_b_a_reused_id_claims_nobody_elses_commit() {
    for format in BOTH {
        let (store, mut p) = three_rows(format).await;
        let (_, mut q) = over(&store, Fault::SpuriousRefusal(Create::Unknown("reset".to_owned()))).await;
        let next = p.version().get() + 1;
        let id = unique_id();
        let (x, y) = (prepared_add(&p, id, 10).await, prepared_add(&q, id, 100).await);
        assert_eq!(committed(&p.commit_prepared(x, &once()).await.unwrap()), next);
        let report = q.commit_prepared(y, &once()).await.unwrap();
        assert_eq!(committed(&report), next + 1, "{format}");
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows()), (next + 1, 3 + 10 + 100), "{format}: X and Y are both there");
    }
}

/// Field case 4, A and B: the put timed out and was stored, or was not. Either way it is there once, at its version.
#[tokio::test]
async fn case_4_a_b_a_timed_out_put_is_settled() {
    let timed_out = || Create::Unknown("timed out".to_owned());
    for format in BOTH {
        for fault in [Fault::LostAnswer(timed_out()), Fault::SpuriousRefusal(timed_out())] {
            let (store, before) = three_rows(format).await;
            let next = before.version().get() + 1;
            let (_, mut table) = over(&store, fault.clone()).await;
            let report = try_add(&mut table, &[4], &once()).await.unwrap();
            assert_eq!(committed(&report), next, "{format} {fault:?}");
            let log = once_in_the_log(&store, format, &report, next).await;
            assert_eq!((log.newest(), log.rows()), (next, 4), "{format} {fault:?}");
        }
    }
}

/// Field case 4, C: the put timed out, and a rival's entry is there: ours follows it.
#[tokio::test]
async fn case_4_c_a_timed_out_put_that_lost_follows_the_rival() {
    for format in BOTH {
        let (store, mut rival) = three_rows(format).await;
        let next = rival.version().get() + 1;
        let (_, mut table) = over(&store, Fault::SpuriousRefusal(Create::Unknown("timed out".to_owned()))).await;
        assert_eq!(committed(&add(&mut rival, &[4]).await), next);
        let report = try_add(&mut table, &[5], &once()).await.unwrap();
        assert_eq!(committed(&report), next + 1, "{format}");
        let log = once_in_the_log(&store, format, &report, next + 1).await;
        assert_eq!((log.newest(), log.rows()), (next + 1, 5), "{format}");
    }
}

/// Field case 4, the variant: a rival sets the same property to the same value. Equal content is no proof: ours is never
/// said to be the rival's version.
#[tokio::test]
async fn case_4_variant_a_rival_with_equal_content_is_a_rival() {
    for format in BOTH {
        let (store, mut rival) = three_rows(format).await;
        let next = rival.version().get() + 1;
        let (_, mut table) = over(&store, Fault::SpuriousRefusal(Create::Unknown("timed out".to_owned()))).await;
        assert_eq!(committed(&set(&mut rival, "owner", "us", &once()).await), next);
        let report = set(&mut table, "owner", "us", &once()).await;
        // Two writers of one property cannot both be the first.
        let Outcome::Conflict(conflict) = &report.outcome else { panic!("{format}: {:?}", report.outcome) };
        assert_eq!(conflict.with.get(), next, "{format}");
        assert!(conflict.why.reason.is_some(), "{format}: a conflict says why");
        let log = sound(&store, format).await;
        assert_eq!(log.newest(), next, "{format}");
        assert_eq!(log.versions_of(report.transaction_id.as_str()), Vec::<u64>::new(), "{format}");
        let found = table.outcome_of(&report.transaction_id).await.unwrap();
        assert!(matches!(found, Found::InNone { newest, .. } if newest.get() == next), "{format}: {found:?}");
    }
}

/// Field case 5: ours landed unanswered, and others committed on top of it before we looked. Ours is found where it was
/// tried, not looked for among the newest.
#[tokio::test]
async fn case_5_others_on_top_of_an_unanswered_commit_do_not_hide_it() {
    for format in BOTH {
        let (store, before) = three_rows(format).await;
        let next = before.version().get() + 1;
        let others = Arc::clone(&store);
        let meddled = Meddled::new(&store)
            .act(Moment::After, move || async move {
                let mut other = opened(&others).await;
                committed(&add(&mut other, &[10]).await);
                committed(&add(&mut other, &[11]).await);
            })
            .answering(Create::Unknown("timed out".to_owned()))
            .shared();
        let mut table = opened(&meddled).await;
        let report = try_add(&mut table, &[4], &once()).await.unwrap();
        assert_eq!(committed(&report), next, "{format}");
        let log = once_in_the_log(&store, format, &report, next).await;
        assert_eq!((log.newest(), log.rows()), (next + 2, 6), "{format}: one copy of ours");
        // The handle goes on from there.
        assert_eq!(committed(&add(&mut table, &[5]).await), next + 3, "{format}");
        let found = table.outcome_of(&TransactionId::new("somebody else's")).await.unwrap();
        assert!(matches!(found, Found::InNone { newest, .. } if newest.get() == next + 3), "{format}: {found:?}");
    }
}

/// Field case 5 in another process: whoever gives the same prepared transaction again, after an unknown answer or a crash,
/// is told where it landed, also when others committed on top of it, and the commit is there once.
#[tokio::test]
async fn case_5_a_prepared_transaction_that_is_given_again_is_found() {
    for format in BOTH {
        for others in 0..3 {
            let (store, mut other) = three_rows(format).await;
            let mut table = opened(&store).await;
            let next = table.version().get() + 1;
            let id = unique_id();
            let prepared = prepared_add(&table, id, 10).await;
            assert_eq!(committed(&table.commit_prepared(prepared.clone(), &once()).await.unwrap()), next, "{format}");
            for row in 0..others {
                committed(&add(&mut other, &[row]).await);
            }
            let mut again = opened(&store).await;
            for handle in [&mut table, &mut again] {
                let report = handle.commit_prepared(prepared.clone(), &once()).await.unwrap();
                assert_eq!(committed(&report), next, "{format} under {others} others");
                let log = once_in_the_log(&store, format, &report, next).await;
                assert_eq!(log.rows(), 3 + 10 + u64::try_from(others).unwrap(), "{format}");
            }
        }
    }
}

/// A delete of whole fragments, as another engine prepares it.
fn prepared_removal(table: &Table, id: Uuid) -> Prepared {
    match table.snapshot() {
        Snapshot::Delta(held) => {
            let actions: Vec<_> = held.snapshot.files().map(|add| remove_action(&add.path, true)).collect();
            prepared_delta(table.version(), id, "DELETE", &actions)
        }
        Snapshot::Lance(_) => {
            let head = Head { read_version: Some(table.version()), id, properties: BTreeMap::new() };
            let message = lakebed_lance::transaction::delete(head, Vec::new(), vec![0], "id > 0".to_owned());
            Prepared::LanceTransaction(message.encode_to_vec().into())
        }
    }
}

/// Field cases 3 and 8: a refused commit under an id that stands in the log already removes nothing that the landed entry
/// names, although its own objects would have had the same names.
#[tokio::test]
async fn case_8_a_refused_commit_with_a_reused_id_removes_nothing_of_the_landed_one() {
    for format in BOTH {
        let (store, mut p) = three_rows(format).await;
        let mut q = opened(&store).await;
        let id = unique_id();
        let x = prepared_removal(&p, id);
        let y = match format {
            TableFormat::Delta => prepared_delta(
                p.version(),
                id,
                "DELETE",
                &[remove_action(&q.snapshot().files()[0].path, true), add_action("rest.parquet", 1, true)],
            ),
            TableFormat::Lance => {
                let head = Head { read_version: Some(p.version()), id, properties: BTreeMap::new() };
                let message = lakebed_lance::transaction::delete(head, Vec::new(), vec![0], "another".to_owned());
                Prepared::LanceTransaction(message.encode_to_vec().into())
            }
        };
        let next = committed(&p.commit_prepared(x, &once()).await.unwrap());
        // By rows, nothing stands in the way of a deletion of rows that are gone.
        let policy = (format == TableFormat::Lance).then(|| "lance".to_owned());
        let report = q.commit_prepared(y, &lakebed_table::CommitOptions { policy, ..once() }).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Conflict(_)), "{format}: {:?}", report.outcome);
        once_in_the_log(&store, format, &report, next).await;
    }
}
