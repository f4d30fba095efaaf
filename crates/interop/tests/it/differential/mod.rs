//! Histories of two writers, us and deltalake, one step after the other, each step by either: after every step both read
//! the same rows, which are those that a model of the statements says.
//!
//! A seed makes a history. The last of them run always; `LAKEBED_DIFFERENTIAL_SEEDS` names others, as `0..300` or `17`.

mod history;
mod predicate;
mod statement;
mod step;

use crate::support::{ALWAYS, Python, VARIABLE, Worker, seeds};
use history::{History, Tally};

/// Steps of each.
const STEPS: u64 = 14;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_writers_in_turn_leave_the_same_rows() {
    let Some(python) = Python::find() else { return };
    let seeds = seeds(std::env::var(VARIABLE).ok().as_deref());
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start(&python, "delta_worker.py");
    let mut all = Tally::default();
    println!("differential: {VARIABLE}={}..{}", seeds.start, seeds.end);
    for seed in seeds.clone() {
        let tally = History::begin(&mut worker, folder.path(), seed).await.run(STEPS).await;
        let Tally { ours, theirs, versions, checkpoints, compactions } = tally;
        println!(
            "differential: seed {seed}: {ours} steps of ours, {theirs} of theirs, {versions} versions, {checkpoints} checkpoints, {compactions} compactions"
        );
        all.ours += ours;
        all.theirs += theirs;
        all.versions += versions;
        all.checkpoints += checkpoints;
        all.compactions += compactions;
    }
    let Tally { ours, theirs, versions, checkpoints, compactions } = all;
    let count = seeds.end - seeds.start;
    assert!(count < ALWAYS || (ours > 0 && theirs > 0 && checkpoints > 0 && compactions > 0), "{all:?}");
    println!(
        "differential: {count} seeds, {ours} steps of ours, {theirs} of deltalake, {versions} versions, \
         {checkpoints} checkpoints, {compactions} compactions of ours, no difference"
    );
}
