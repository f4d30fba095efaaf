//! The pairs of commands that pylance was measured on, run by us: a handle stands at a version, the winner's files are laid
//! over the table, then ours runs on the handle. What pylance answers and leaves is what we answer and leave, but for the pairs in
//! a list that says what ours does there: those in which pylance loses something, and those in which we do otherwise on purpose.

mod case;
mod held;
mod place;
mod precise;
mod prepared;
mod statement;
mod verdict;

use case::Case;
use lakebed_storage::Store;
use lakebed_table::CommitOptions;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use verdict::{Ended, judge};

#[path = "../../../../lance/tests/it/common.rs"]
#[expect(dead_code, reason = "other tests use all of it")]
mod common;

/// Pairs in which ours need not do what pylance does, and what it does: lines of `id`, then that.
const LISTED: &str = "testdata/commands_listed.tsv";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policy_lance_answers_as_pylance_was_measured() {
    let Some(root) = common::conformance("lance-commands") else { return };
    let listed = listed(LISTED);
    let mut answers = BTreeMap::new();
    let mut count = Count::default();
    for case in case::all(&root) {
        let Some(ended) = run(&root, &case, "lance").await else {
            *count.not_ours.entry(case.ours.clone()).or_default() += 1;
            continue;
        };
        let told = judge(&root, &case, &ended).await;
        if told.agrees && !case.pylance_loses() {
            count.agree += 1;
        } else {
            answers.insert(case.id.clone(), told.text);
        }
    }
    let wrong: Vec<String> = answers
        .iter()
        .filter(|(id, text)| listed.get(*id) != Some(*text))
        .map(|(id, text)| format!("{id}\t{text}"))
        .collect();
    let stale: Vec<&String> = listed.keys().filter(|id| !answers.contains_key(*id)).collect();
    println!(
        "command pairs under lance: {} agree, {} listed, {} wrong; not commands of ours: {:?}",
        count.agree,
        answers.len() - wrong.len(),
        wrong.len(),
        count.not_ours
    );
    assert!(wrong.is_empty(), "{} are neither as measured nor as listed:\n{}", wrong.len(), wrong.join("\n"));
    assert!(stale.is_empty(), "listed, and as measured: {stale:?}");
}

#[derive(Default)]
struct Count {
    agree: usize,
    not_ours: BTreeMap<String, usize>,
}

/// What became of ours over the winner; `None` where our program has no such command.
async fn run(root: &Path, case: &Case, policy: &str) -> Option<Ended> {
    let plannings_max = if case.retries { CommitOptions::default().plannings_max } else { 1 };
    // The handle stood there for longer than it is trusted; a cleanup that takes versions away sooner is nobody's.
    let trust = Duration::from_millis(1);
    let commit = CommitOptions { policy: Some(policy.to_owned()), plannings_max, trust, ..CommitOptions::default() };
    let store = place::copy(&root.join("bases").join(&case.base)).await;
    let table = place::handle(&store).await;
    land(root, case, &store).await;
    tokio::time::sleep(2 * trust).await;
    let answer = ours(root, case, table, &commit).await?;
    Some(Ended { store, answer })
}

/// Ours on the winner's table, as if it had begun after it.
async fn run_after(root: &Path, case: &Case) -> Option<Ended> {
    let store = place::copy(&root.join("bases").join(&case.base)).await;
    land(root, case, &store).await;
    let mut table = place::handle(&store).await;
    let answer = statement::run(&mut table, &case.ours, &CommitOptions::default()).await?;
    Some(Ended { store, answer })
}

/// Lays the winner's files over the table; one that had nothing to do left none.
async fn land(root: &Path, case: &Case, store: &Arc<dyn Store>) {
    let winner = root.join("landed").join(format!("{}.{}", case.base, case.winner));
    if winner.is_dir() {
        place::lay_over(store, &winner).await;
    }
}

async fn ours(
    root: &Path,
    case: &Case,
    mut table: lakebed_table::Table,
    commit: &CommitOptions,
) -> Option<statement::Answer> {
    match statement::run(&mut table, &case.ours, commit).await {
        Some(answer) => Some(answer),
        None => prepared::run(&mut table, root, case, commit).await,
    }
}

fn listed(file: &str) -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_once('\t').unwrap()).map(|(id, text)| (id.to_owned(), text.to_owned())).collect()
}
