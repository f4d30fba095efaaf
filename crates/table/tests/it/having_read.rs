//! An INSERT whose source or condition names the target declares what it read, and is judged by that as a MERGE is that inserts only; a blind
//! one never reads the table to commit.

use crate::compaction::{VECTORS, append, batch, of, table};
use crate::support::{committed, opened, source};
use lakebed_delta::action::{Action, parse_actions};
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_storage::{MemoryStore, Store};
use lakebed_table::{CommitOptions, Compaction, Matched, MergeSpec, Report, Table};
use lakebed_transaction::{Outcome, Verdict};
use std::sync::Arc;

/// What lands first.
#[derive(Clone, Copy, Debug)]
enum Rival {
    InsertSought,
    InsertOther,
    DeleteSought,
    DeleteOther,
    UpdateSought,
    UpdateOther,
    Compact,
}

/// Each rival, and whether an INSERT of row 50 that looked for the rows 3 and 50 may follow it: whether it would have found the same.
const RIVALS: [(Rival, bool); 7] = [
    (Rival::InsertSought, false),
    (Rival::InsertOther, true),
    (Rival::DeleteSought, false),
    (Rival::DeleteOther, true),
    (Rival::UpdateSought, false),
    (Rival::UpdateOther, true),
    (Rival::Compact, true),
];

const SOUGHT: &str = "id IN (3, 50)";

impl Rival {
    async fn lands(self, table: &mut Table) {
        let options = CommitOptions::default();
        let set = ["v = -v".to_owned()];
        let report = match self {
            Self::InsertSought => table.append(source(batch([(50, "a", 1)])), &options).await,
            Self::InsertOther => table.append(source(batch([(60, "a", 1)])), &options).await,
            Self::DeleteSought => table.delete("id = 3", &options).await,
            Self::DeleteOther => table.delete("id = 4", &options).await,
            Self::UpdateSought => table.update(&set, Some("id = 3"), &options).await,
            Self::UpdateOther => table.update(&set, Some("id = 4"), &options).await,
            Self::Compact => table.compact(&of(Compaction::Minor), &options).await,
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
    async fn run(self, table: &mut Table, policy: &str) -> Report {
        let options = CommitOptions { policy: Some(policy.to_owned()), plannings_max: 1, ..CommitOptions::default() };
        let new = batch([(50, "a", 50)]);
        let report = match self {
            Self::Blindly => table.append(source(new), &options).await,
            Self::HavingRead => {
                let rows = source(new)().unwrap();
                table.append_having_read(rows, &[SOUGHT.to_owned()], &options).await
            }
            Self::ByMerge => {
                let spec = MergeSpec { on: vec!["id".to_owned()], matched: Matched::Ignore, ..MergeSpec::default() };
                table.merge(source(batch([(3, "a", 0), (50, "a", 50)])), &spec, &options).await
            }
        };
        report.unwrap()
    }
}

/// Rows 0 to 9 in two files.
async fn base() -> Arc<dyn Store> {
    let (store, mut table) = table(false, &[VECTORS]).await;
    for from in [0, 5] {
        append(&mut table, batch((from..from + 5).map(|id| (id, "a", id)))).await;
    }
    store
}

/// Ours on the version before the rival's: whether it committed, and the version that there is then.
async fn after(base: &Arc<dyn Store>, rival: Rival, ours: Ours, policy: &str) -> (bool, Arc<Counting>, u64) {
    let copy: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for listed in base.list("", None, usize::MAX).await.unwrap() {
        copy.put(&listed.name, base.get(&listed.name).await.unwrap().unwrap()).await.unwrap();
    }
    let counting = Arc::new(Counting::new(copy));
    let store: Arc<dyn Store> = Arc::clone(&counting) as Arc<dyn Store>;
    let (mut theirs, mut own) = (opened(&store).await, opened(&store).await);
    rival.lands(&mut theirs).await;
    counting.reset();
    let report = ours.run(&mut own, policy).await;
    let context = format!("{ours:?} after {rival:?} under {policy}");
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
    let newest = opened(&store).await.version().get();
    assert_eq!(newest, theirs.version().get() + u64::from(accepted), "{context}");
    (accepted, counting, newest)
}

#[tokio::test]
async fn an_insert_that_read_is_judged_by_what_it_read() {
    let base = base().await;
    for (rival, follows) in RIVALS {
        let (accepted, ..) = after(&base, rival, Ours::HavingRead, "precise").await;
        assert_eq!(accepted, follows, "after {rival:?}");
    }
}

#[tokio::test]
async fn an_insert_that_read_is_judged_like_a_merge_under_every_policy() {
    let base = base().await;
    let mut refused = 0;
    for policy in ["precise", "precise-reorder", "delta-serializable", "delta-write-serializable", "delta-snapshot"] {
        for (rival, _) in RIVALS {
            let (inserted, ..) = after(&base, rival, Ours::HavingRead, policy).await;
            let (merged, ..) = after(&base, rival, Ours::ByMerge, policy).await;
            assert_eq!(inserted, merged, "after {rival:?} under {policy}");
            refused += usize::from(!inserted);
        }
    }
    assert!(refused > 6, "{refused} were refused");
}

#[tokio::test]
async fn a_blind_insert_follows_everything_and_reads_no_rows() {
    let base = base().await;
    for policy in ["precise", "precise-reorder", "delta-serializable", "delta-write-serializable", "delta-snapshot"] {
        for (rival, _) in RIVALS {
            let (accepted, counting, _) = after(&base, rival, Ours::Blindly, policy).await;
            assert!(accepted, "after {rival:?} under {policy}");
            let asked = counting.take();
            for operation in [Operation::Get, Operation::GetRange, Operation::Head] {
                let names = asked.names(operation);
                let read: Vec<_> = names.iter().filter(|name| !name.starts_with("_delta_log/")).collect();
                assert!(read.is_empty(), "after {rival:?} under {policy}: {read:?} were read");
            }
        }
    }
}

/// Other clients are told, too: Delta's `isBlindAppend`.
#[tokio::test]
async fn the_log_says_which_insert_was_blind() {
    let base = base().await;
    for (ours, blind) in [(Ours::Blindly, true), (Ours::HavingRead, false)] {
        let (_, counting, version) = after(&base, Rival::InsertOther, ours, "precise").await;
        let name = commit_path(Version::new(version));
        let actions = parse_actions("ours", &counting.get(&name).await.unwrap().unwrap()).unwrap();
        let told: Vec<_> = actions
            .iter()
            .filter_map(|action| if let Action::CommitInfo(info) = action { info.flag("isBlindAppend") } else { None })
            .collect();
        assert_eq!(told, [blind], "{ours:?}");
    }
}
