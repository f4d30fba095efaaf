//! What may be concluded from an answer, and what may be deleted after it.

use crate::stores::{Meddled, Moment, is_entry};
use crate::support::{BOTH, add, committed, impatient, isolated, once, opened, sound, three_rows, try_add, try_remove};
use lakebed_commit::Found;
use lakebed_naming::Version;
use lakebed_storage::testing::{Counting, Fault, Faulty, Operation, Script};
use lakebed_storage::{Create, Store};
use lakebed_table::{Table, TableError, TableFormat};
use lakebed_transaction::Outcome;
use std::sync::Arc;

fn timed_out() -> Create {
    Create::Unknown("timed out".to_owned())
}

/// Field case 8: attempt 1 of a delete landed unanswered and the table moved on. It is recognised; the same delete once
/// more finds nothing to do, says so, and tidies nothing up.
#[tokio::test]
async fn case_8_a_retry_with_nothing_left_to_do_deletes_nothing() {
    for format in BOTH {
        let (store, before) = three_rows(format).await;
        let next = before.version().get() + 1;
        let others = Arc::clone(&store);
        let meddled = Meddled::new(&store)
            .act(Moment::After, move || async move {
                committed(&add(&mut opened(&others).await, &[10]).await);
            })
            .answering(Create::Exists)
            .shared();
        let counted = Arc::new(Counting::new(meddled));
        let mut table = opened(&(Arc::clone(&counted) as Arc<dyn Store>)).await;
        let report = try_remove(&mut table, 1, &once()).await.unwrap();
        assert_eq!(committed(&report), next, "{format}");
        for _ in 0..2 {
            table.refresh().await.unwrap();
            let again = try_remove(&mut table, 1, &once()).await.unwrap();
            assert_eq!(again.outcome, Outcome::Nothing { version: Version::new(next + 1) }, "{format}");
        }
        let requests = counted.take();
        assert_eq!((requests.count(Operation::Delete), requests.count(Operation::DeleteAll)), (0, 0), "{format}");
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows()), (next + 1, 3), "{format}");
        assert_eq!(log.versions_of(report.transaction_id.as_str()), vec![next], "{format}");
    }
}

/// Field case 9: the create lands only some requests after it was looked for. The same bytes are offered at the same
/// version until it is settled; there is one entry, whoever of the two created it.
#[tokio::test]
async fn case_9_a_late_landing_is_settled_at_its_version() {
    for format in BOTH {
        for after_requests in 0..6 {
            let (store, before) = three_rows(format).await;
            let next = before.version().get() + 1;
            let late = Fault::LateLanding { after_requests };
            let faulty = Arc::new(Faulty::new(Arc::clone(&store), Script::first_of(is_entry, late)));
            let mut table = opened(&(Arc::clone(&faulty) as Arc<dyn Store>)).await;
            let report = try_add(&mut table, &[4], &once()).await.unwrap();
            assert_eq!(committed(&report), next, "{format} after {after_requests}");
            faulty.settle().await.unwrap();
            let log = sound(&store, format).await;
            assert_eq!((log.newest(), log.rows()), (next, 4), "{format} after {after_requests}");
            assert_eq!(log.versions_of(report.transaction_id.as_str()), vec![next]);
        }
    }
}

/// Field case 9: while nothing is answered and nothing is there, the outcome is unknown, files stay, and asking later
/// gives the answer.
#[tokio::test]
async fn case_9_absence_is_no_proof_of_failure() {
    for format in BOTH {
        let (store, before) = three_rows(format).await;
        let next = before.version().get() + 1;
        let late = Fault::LateLanding { after_requests: 100_000 };
        let faulty = Arc::new(Faulty::new(
            Arc::clone(&store),
            Script::each(move |call| is_entry(call.name).then(|| late.clone())),
        ));
        let counted = Arc::new(Counting::new(Arc::clone(&faulty) as Arc<dyn Store>));
        let mut table = opened(&(Arc::clone(&counted) as Arc<dyn Store>)).await;
        let report = try_add(&mut table, &[4], &impatient()).await.unwrap();
        assert!(
            matches!(&report.outcome, Outcome::Unknown { tried, .. } if tried.get() == next),
            "{format}: {:?}",
            report.outcome
        );
        let requests = counted.take();
        assert_eq!((requests.count(Operation::Delete), requests.count(Operation::DeleteAll)), (0, 0), "{format}");
        let entries: Vec<_> = requests.names(Operation::Create).into_iter().filter(|name| is_entry(name)).collect();
        assert!(entries.iter().all(|name| *name == entries[0]), "{format}: only one version was tried: {entries:?}");
        let found = table.outcome_of(&report.transaction_id).await.unwrap();
        assert!(matches!(found, Found::InNone { newest, .. } if newest.get() == next - 1), "{format}: {found:?}");
        faulty.settle().await.unwrap();
        let found = table.outcome_of(&report.transaction_id).await.unwrap();
        assert_eq!(found, Found::Committed(Version::new(next)), "{format}");
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows()), (next, 4), "{format}: what the entry names is there");
        // Who goes on with a fresh handle, or with the one that does not know, follows it.
        committed(&add(&mut opened(&store).await, &[5]).await);
        let mut stale = table.clone();
        stale.refresh().await.unwrap();
        assert_eq!(stale.version().get(), next + 1, "{format}");
    }
}

/// What the store says, how it says it, and what must come of it.
struct Row {
    said: &'static str,
    fault: Fault,
    /// Whether every create of an entry meets it.
    always: bool,
    rival: bool,
    expected: Expected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// At so many versions above the one that was read.
    Committed(u64),
    Exhausted,
    Unknown,
    Refused,
}

fn rows() -> Vec<Row> {
    let row = |said, fault, always, rival, expected| Row { said, fault, always, rival, expected };
    let refusal = Fault::SpuriousRefusal;
    let busy = || Create::NotNow { after_ms: 1 };
    vec![
        row("412, a rival is there", refusal(Create::Exists), false, true, Expected::Committed(2)),
        row("409, nobody is there", refusal(Create::Exists), false, false, Expected::Committed(1)),
        row("409, a rival is there", refusal(busy()), false, true, Expected::Committed(2)),
        row("429 once", refusal(busy()), false, false, Expected::Committed(1)),
        row("429 for ever", refusal(busy()), true, false, Expected::Exhausted),
        row("500, stored", Fault::LostAnswer(timed_out()), false, false, Expected::Committed(1)),
        row("500, not stored", refusal(timed_out()), false, false, Expected::Committed(1)),
        row(
            "503, then stored by an inner retry",
            Fault::LostAnswer(Create::Exists),
            false,
            false,
            Expected::Committed(1),
        ),
        row("reset before it was sent, for ever", refusal(timed_out()), true, false, Expected::Unknown),
        row("reset after it was sent, a rival is there", refusal(timed_out()), false, true, Expected::Committed(2)),
        row("timeout, stored", Fault::LostAnswer(timed_out()), true, false, Expected::Committed(1)),
        row("403", Fault::Denied, true, false, Expected::Refused),
    ]
}

/// Field case 10: one verdict for each answer, and no file of ours is removed by one that proves nothing.
#[tokio::test]
async fn case_10_each_answer_has_its_verdict() {
    for format in BOTH {
        for row in rows() {
            case_10(format, row).await;
        }
    }
}

async fn case_10(format: TableFormat, row: Row) {
    let what = format!("{format}: {}", row.said);
    let (store, mut rival) = three_rows(format).await;
    let read = rival.version().get();
    let script = if row.always {
        Script::each(move |call| is_entry(call.name).then(|| row.fault.clone()))
    } else {
        Script::first_of(is_entry, row.fault)
    };
    let counted = Arc::new(Counting::new(Arc::new(Faulty::new(Arc::clone(&store), script))));
    let mut table = Table::open_store(Arc::clone(&counted) as Arc<dyn Store>, &isolated()).await.unwrap();
    if row.rival {
        committed(&add(&mut rival, &[9]).await);
    }
    let before: Vec<_> = names(&store, "").await;
    let options = if row.always { impatient() } else { once() };
    let answer = try_add(&mut table, &[4], &options).await;
    let after = names(&store, "").await;
    assert!(before.iter().all(|name| after.contains(name)), "{what}: nothing of others was removed");
    let data = |names: &[String]| names.iter().filter(|name| !name.starts_with('_')).count();
    // A store that said *not now* every time, or *no*, has stored nothing for certain; the rows of a statement of ours go with it then.
    let is_discarded = matches!(row.expected, Expected::Exhausted | Expected::Refused) && format == TableFormat::Delta;
    let kept = usize::from(!is_discarded);
    assert_eq!(data(&after), data(&before) + kept, "{what}: our data file stays unless nothing was stored for certain");
    let log = sound(&store, format).await;
    let deletes = counted.take().count(Operation::Delete);
    match (row.expected, answer) {
        (Expected::Committed(above), Ok(report)) => {
            assert_eq!(committed(&report), read + above, "{what}");
            assert_eq!(log.versions_of(report.transaction_id.as_str()), vec![read + above], "{what}");
            assert_eq!((log.newest(), deletes), (read + above, 0), "{what}");
        }
        (Expected::Exhausted, Ok(report)) => {
            assert!(matches!(report.outcome, Outcome::Exhausted { .. }), "{what}: {:?}", report.outcome);
            assert_eq!(log.newest(), read, "{what}");
        }
        (Expected::Unknown, Ok(report)) => {
            let unknown = matches!(&report.outcome, Outcome::Unknown { tried, .. } if tried.get() == read + 1);
            assert!(unknown, "{what}: {:?}", report.outcome);
            assert_eq!((log.newest(), deletes), (read, 0), "{what}");
        }
        (Expected::Refused, Err(TableError::Commit { source, .. })) => {
            assert!(source.to_string().starts_with("nothing was committed"), "{what}: {source}");
            assert_eq!(log.newest(), read, "{what}");
        }
        (expected, answer) => panic!("{what}: expected {expected:?}, got {answer:?}"),
    }
}

async fn names(store: &Arc<dyn Store>, below: &str) -> Vec<String> {
    store.list(below, None, 100_000).await.unwrap().into_iter().map(|listed| listed.name).collect()
}
