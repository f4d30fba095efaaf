//! Compaction against every other statement, in both orders, under each of Delta's levels. What must come out is what Spark
//! does at these levels.

use super::{VECTORS, append, batch, files, of, rows, table};
use crate::isolation::under;
use crate::support::{committed, opened, set, source};
use lakebed_storage::Store;
use lakebed_storage::testing::Counting;
use lakebed_table::{CommitOptions, CompactRequest, Compaction, Report, Scope, Table};
use lakebed_transaction::{Outcome, Verdict};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
enum Op {
    AppendA,
    AppendB,
    DeleteA,
    DeleteB,
    /// Looks at no partition column, so it reads every file.
    DeleteAnywhere,
    UpdateA,
    UpdateB,
    CompactA,
    CompactB,
    MinorA,
    ClusterA,
    CompactBoth,
    Overwrite,
    OverwriteB,
}

use Op::{
    AppendA, AppendB, ClusterA, CompactA, CompactB, CompactBoth, DeleteA, DeleteAnywhere, DeleteB, MinorA, Overwrite,
    OverwriteB, UpdateA, UpdateB,
};

async fn perform(op: Op, table: &mut Table, options: &CommitOptions) -> Report {
    let compact = |compaction, partition: Option<&str>, cluster_by: &[&str]| CompactRequest {
        predicate: partition.map(|p| format!("p = '{p}'")),
        cluster_by: cluster_by.iter().map(|name| (*name).to_owned()).collect(),
        ..of(compaction)
    };
    let minus = ["v = -v".to_owned()];
    let report = match op {
        AppendA => table.append(source(batch([(100, "a", 100)])), options).await,
        AppendB => table.append(source(batch([(200, "b", 200)])), options).await,
        DeleteA => table.delete("p = 'a' AND id = 1", options).await,
        DeleteB => table.delete("p = 'b' AND id = 11", options).await,
        DeleteAnywhere => table.delete("v = 2", options).await,
        UpdateA => table.update(&minus, Some("p = 'a' AND id = 3"), options).await,
        UpdateB => table.update(&minus, Some("p = 'b' AND id = 13"), options).await,
        CompactA => table.compact(&compact(Compaction::Major, Some("a"), &[]), options).await,
        CompactB => table.compact(&compact(Compaction::Major, Some("b"), &[]), options).await,
        MinorA => table.compact(&compact(Compaction::Minor, Some("a"), &[]), options).await,
        ClusterA => table.compact(&compact(Compaction::Major, Some("a"), &["v"]), options).await,
        CompactBoth => table.compact(&compact(Compaction::Major, None, &[]), options).await,
        Overwrite => table.overwrite(|| source(batch([(300, "a", 300)]))(), &Scope::Whole, options).await,
        OverwriteB => {
            let scope = Scope::Where("p = 'b'".to_owned());
            table.overwrite(|| source(batch([(400, "b", 400)]))(), &scope, options).await
        }
    };
    report.unwrap()
}

/// Two partitions with two files of two rows each.
async fn base(vectors: bool) -> (Arc<dyn Store>, Table) {
    let properties = if vectors { vec![VECTORS] } else { Vec::new() };
    let (store, mut table) = table(true, &properties).await;
    for ids in [[1, 2, 11, 12], [3, 4, 13, 14]] {
        append(&mut table, batch(ids.map(|id| (id, if id < 10 { "a" } else { "b" }, id)))).await;
    }
    (store, table)
}

/// The class of the conflict under each of the three levels, from strong to weak; `None` where ours commits.
type Cell = [Option<&'static str>; 3];
const OK: Cell = [None; 3];
const APPEND: Option<&str> = Some("DELTA_CONCURRENT_APPEND");
const READ: Option<&str> = Some("DELTA_CONCURRENT_DELETE_READ");
/// A compaction runs at snapshot isolation, so new rows never stop it, and an input that is gone always does.
const INPUT_GONE: Cell = [READ; 3];
/// Files that a compaction added meet what the statement read; below that level only the files that it took out do.
const MOVED: Cell = [APPEND, APPEND, READ];

/// Landed first, then ours.
const CELLS: &[(Op, Op, Cell)] = &[
    (AppendA, CompactA, OK),
    (AppendB, CompactA, OK),
    (DeleteA, CompactA, INPUT_GONE),
    (DeleteB, CompactA, OK),
    (DeleteAnywhere, CompactA, INPUT_GONE),
    (UpdateA, CompactA, INPUT_GONE),
    (UpdateB, CompactA, OK),
    (CompactA, CompactA, INPUT_GONE),
    (CompactB, CompactA, OK),
    (ClusterA, CompactA, INPUT_GONE),
    (Overwrite, CompactA, INPUT_GONE),
    (OverwriteB, CompactA, OK),
    // One job over two partitions loses as a whole.
    (DeleteB, CompactBoth, INPUT_GONE),
    (CompactB, CompactBoth, INPUT_GONE),
    (AppendB, CompactBoth, OK),
    (AppendA, MinorA, OK),
    (DeleteA, MinorA, INPUT_GONE),
    (UpdateB, MinorA, OK),
    (CompactA, MinorA, INPUT_GONE),
    (AppendA, ClusterA, OK),
    (UpdateA, ClusterA, INPUT_GONE),
    (Overwrite, ClusterA, INPUT_GONE),
    (CompactA, AppendA, OK),
    (CompactA, AppendB, OK),
    (CompactA, DeleteA, MOVED),
    (CompactA, DeleteB, OK),
    (CompactA, DeleteAnywhere, MOVED),
    (CompactA, UpdateA, MOVED),
    (CompactA, UpdateB, OK),
    (CompactA, Overwrite, MOVED),
    (CompactA, OverwriteB, OK),
    (MinorA, AppendA, OK),
    (MinorA, DeleteA, MOVED),
    (MinorA, UpdateB, OK),
    (ClusterA, UpdateA, MOVED),
    (ClusterA, Overwrite, MOVED),
    (CompactBoth, DeleteB, MOVED),
];

const POLICIES: [&str; 3] = ["delta-serializable", "delta-write-serializable", "delta-snapshot"];

#[tokio::test]
async fn the_outcome_is_that_of_the_rule_table_and_the_rows_are_what_it_promises() {
    for vectors in [false, true] {
        for (landed, ours, cell) in CELLS {
            for (policy, expected) in POLICIES.iter().zip(cell) {
                let context = format!("{ours:?} over {landed:?} under {policy}, vectors {vectors}");
                let (store, _) = base(vectors).await;
                let (mut first, mut second) = (opened(&store).await, opened(&store).await);
                committed(&perform(*landed, &mut first, &under(policy)).await);
                let between = rows(&first).await;
                let report = perform(*ours, &mut second, &under(policy)).await;
                let class = match &report.outcome {
                    Outcome::Committed { .. } => None,
                    Outcome::Conflict(conflict) => {
                        assert_eq!(conflict.why.verdict, Verdict::Retryable, "{context}");
                        conflict.why.reason.and_then(|reason| reason.error_class)
                    }
                    Outcome::Nothing { .. } | Outcome::Exhausted { .. } | Outcome::Unknown { .. } => {
                        panic!("{context}: {report:?}")
                    }
                };
                assert_eq!(class, *expected, "{context}");
                // The rows are those of ours alone after landed, as if nobody had been at work at once.
                let (serial, _) = base(vectors).await;
                let mut alone = opened(&serial).await;
                committed(&perform(*landed, &mut alone, &under(policy)).await);
                if expected.is_none() {
                    committed(&perform(*ours, &mut alone, &under(policy)).await);
                    assert_eq!(rows(&opened(&store).await).await, rows(&alone).await, "{context}");
                } else {
                    assert_eq!(rows(&opened(&store).await).await, between, "{context}");
                }
                only_named_files_stand(&store).await;
            }
        }
    }
}

/// Every data file and vector that stands belongs to some version: what a loser wrote is gone.
async fn only_named_files_stand(store: &Arc<dyn Store>) {
    let mut named = BTreeSet::new();
    let newest = opened(store).await.version().get();
    for version in 0..=newest {
        for action in super::actions(store, version).await {
            let lakebed_delta::action::Action::Add(add) = action else { continue };
            named.insert(add.path.to_string());
            if let Some(vector) = &add.deletion_vector {
                let name = lakebed_naming::delta::DeletionVectorName::from_descriptor(&vector.path_or_inline_dv);
                named.insert(name.unwrap().path());
            }
        }
    }
    for entry in store.list("", None, usize::MAX).await.unwrap() {
        assert!(entry.name.starts_with("_delta_log/") || named.contains(&entry.name), "{} is nobody's", entry.name);
    }
}

/// Requests for objects outside of the log: as many whoever commits meanwhile, when the log alone decides.
async fn data_requests(landed: Option<&str>) -> Vec<String> {
    let (store, _) = base(true).await;
    let counted = Arc::new(Counting::new(Arc::clone(&store)));
    let mut ours = opened(&(Arc::<Counting>::clone(&counted) as Arc<dyn Store>)).await;
    if let Some(owner) = landed {
        committed(&set(&mut opened(&store).await, "owner", owner, &under("delta-serializable")).await);
    }
    counted.reset();
    let report = ours.compact(&of(Compaction::Major), &under("delta-serializable")).await.unwrap();
    assert_eq!((committed(&report), report.plannings), (3 + u64::from(landed.is_some()), 1));
    let requests = counted.take();
    let of_data = requests.all().iter().filter(|request| !request.name.contains("_delta_log"));
    let mut seen: Vec<String> = of_data.map(|request| format!("{:?}", request.operation)).collect();
    seen.sort();
    assert_eq!(rows(&opened(&store).await).await.len(), 8);
    assert_eq!(files(&ours).len(), 2);
    only_named_files_stand(&store).await;
    seen
}

/// When every file that it read still stands, a compaction that lost is committed as it is: nothing is read or written again.
#[tokio::test]
async fn a_compaction_that_lost_to_a_property_is_committed_again_as_it_is() {
    assert_eq!(data_requests(Some("us")).await, data_requests(None).await);
}
