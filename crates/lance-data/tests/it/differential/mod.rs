//! Histories of two writers of a Lance table, us and pylance, one step after the other, each step by either: after every step
//! both read the same rows, fragments, deleted rows, columns, maps, indices, row ids, row versions, tags and branches. The rows, columns,
//! maps and names are those that a model of the statements says.
//!
//! A seed makes a history. The last of them run always; `LAKEBED_DIFFERENTIAL_SEEDS` names others, as `0..300` or `17`.

mod choice;
mod history;
mod lines;
mod ours;
#[path = "../../../../interop/tests/it/differential/predicate.rs"]
mod predicate;
mod seen;
mod state;
#[path = "../../../../interop/tests/it/differential/statement.rs"]
mod statement;
mod step;
mod theirs;

use crate::python::Python;
use crate::support::{ALWAYS, SEEDS, VARIABLE, Worker, seeds};
use history::History;
use std::collections::BTreeMap;

/// Steps of each.
const STEPS: u64 = 16;
/// Kinds of steps.
const KINDS: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_writers_in_turn_leave_the_same_table() {
    let Some(python) = Python::find() else { return };
    let seeds = seeds(std::env::var(VARIABLE).ok().as_deref());
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start(&python, "lance_worker.py");
    let (mut ours, mut theirs, mut versions) = (0, 0, 0);
    let mut kinds: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    println!("differential: {VARIABLE}={}..{}", seeds.start, seeds.end);
    for seed in seeds.clone() {
        let tally = History::begin(&mut worker, folder.path(), seed).await.run(STEPS).await;
        println!(
            "differential: seed {seed}: {} steps of ours, {} of theirs, {} versions, {}",
            tally.ours, tally.theirs, tally.versions, tally.table
        );
        ours += tally.ours;
        theirs += tally.theirs;
        versions += tally.versions;
        for (kind, [ours, theirs]) in tally.kinds {
            let all = kinds.entry(kind).or_default();
            *all = [all[0] + ours, all[1] + theirs];
        }
    }
    let count = seeds.end - seeds.start;
    println!("differential: steps of ours and of theirs by kind: {kinds:?}");
    assert!(count < ALWAYS || (ours > 0 && theirs > 0), "{kinds:?}");
    assert!(count < SEEDS || both_do_everything(&kinds), "{kinds:?}");
    println!(
        "differential: {count} seeds, {ours} steps of ours, {theirs} of pylance, {versions} versions, no difference"
    );
}

/// Whether each kind of step was done by each side; indices are built by pylance alone.
fn both_do_everything(kinds: &BTreeMap<&str, [u64; 2]>) -> bool {
    let alone = |kind: &str| ["create index", "optimize indices"].contains(&kind);
    kinds.len() == KINDS && kinds.iter().all(|(kind, [ours, theirs])| *theirs > 0 && (alone(kind) || *ours > 0))
}
