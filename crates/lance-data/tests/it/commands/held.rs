//! The pairs the other way round: pylance holds a handle, ours lands the winner, then pylance runs its command on the handle. It
//! answers, and leaves, what it did when the winner was its own.

use super::case::{self, Case};
use super::statement::Answer;
use super::{common, place, prepared, statement};
use crate::python::Python;
use crate::support::{Worker, open, plainly};
use lakebed_transaction::Outcome;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// `all` runs every pair; otherwise one of so many runs.
const VARIABLE: &str = "LAKEBED_HELD";
const ONE_OF: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_of_pylance_follows_our_commits_as_it_follows_its_own() {
    let (Some(python), Some(root)) = (Python::find(), common::conformance("lance-commands")) else { return };
    let texts = texts(&root);
    let mut worker = Worker::start(&python, "lance_held.py");
    let every = if std::env::var(VARIABLE).is_ok_and(|asked| asked == "all") { 1 } else { ONE_OF };
    let listed = super::listed("testdata/held_listed.tsv");
    let (mut agree, mut as_listed, mut not_run, mut wrong) = (0, 0, 0, Vec::new());
    let mut pairs: BTreeMap<(String, String), usize> = BTreeMap::new();
    for case in case::all(&root).into_iter().step_by(every) {
        match run(&mut worker, &root, &texts, &case).await {
            None => not_run += 1,
            Some(None) if listed.contains_key(&case.id) => wrong.push(format!("{}: listed, and as measured", case.id)),
            Some(None) => {
                agree += 1;
                *pairs.entry((case.ours.clone(), case.winner.clone())).or_default() += 1;
            }
            Some(Some(difference)) if listed.get(&case.id) == Some(&difference) => as_listed += 1,
            Some(Some(difference)) => wrong.push(format!("{}\t{difference}", case.id)),
        }
    }
    println!(
        "pylance over ours: {agree} agree ({} pairs of commands), {as_listed} listed, {} wrong, {not_run} not run (the winner, or theirs, is no command here)",
        pairs.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{} pairs:\n{}", wrong.len(), wrong.join("\n"));
    assert!(agree * every > 600, "{agree} agree");
}

/// The texts of the commands, by their names.
fn texts(root: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root.join("commands.tsv")).unwrap();
    let cells = |line: &str| {
        let mut cells = line.split('\t');
        (cells.next().unwrap().to_owned(), cells.next().unwrap().to_owned())
    };
    text.lines().skip(1).map(cells).collect()
}

/// How pylance's answer differs from the measured one; `None` in it where it does not, and in its place where one of the two
/// commands cannot be run here.
async fn run(
    worker: &mut Worker,
    root: &Path,
    texts: &BTreeMap<String, String>,
    case: &Case,
) -> Option<Option<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    for (name, from) in place::files(&root.join("bases").join(&case.base)) {
        let to = path.join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
    let held = json!({"do": "hold", "table": path, "command": case.ours, "text": texts[&case.ours]});
    let held = worker.ask(&held).await;
    assert!(held["error"].is_null(), "{}: {held}", case.id);
    landed(lands(root, case, &path).await?, case);
    let answer = worker.ask(&json!({"do": "run", "again": case.retries})).await;
    let answered = answer["outcome"].as_str()?;
    let measured = match case.failed_as.as_str() {
        _ if case.ok => "accepted",
        "contention" => "retryable",
        other => other,
    };
    if answered != measured {
        return Some(Some(format!("{answered} ({}), and was {measured}", answer["message"])));
    }
    if !case.ok {
        return Some(None);
    }
    let looked = worker.ask(&json!({"do": "look", "table": path})).await;
    if !looked["error"].is_null() {
        return Some(Some(format!("the table cannot be read: {}", looked["error"])));
    }
    Some(difference(root, case, &looked))
}

/// Our commit of the winner.
async fn lands(root: &Path, case: &Case, path: &Path) -> Option<Answer> {
    let mut table = open(path).await;
    match statement::run(&mut table, &case.winner, &plainly()).await {
        Some(answer) => Some(answer),
        None => prepared::land(&mut table, root, case, &plainly()).await,
    }
}

fn landed(answer: Answer, case: &Case) {
    match answer.unwrap().outcome {
        Outcome::Committed { .. } | Outcome::Nothing { .. } => {}
        other @ (Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
            panic!("{}: the winner did not land: {other:?}", case.id)
        }
    }
}

fn difference(root: &Path, case: &Case, looked: &Value) -> Option<String> {
    let mut found = Vec::new();
    for (folder, hash) in [("rows", &case.rows), ("state", &case.state)] {
        let text = std::fs::read_to_string(root.join(folder).join(format!("{hash}.json"))).unwrap();
        let mut measured: Value = serde_json::from_str(&text).unwrap();
        let mut seen = looked[folder].clone();
        for one in [&mut measured, &mut seen] {
            if let Some(rows) = one["rows"].as_array_mut() {
                rows.sort_by_key(Value::to_string);
            }
        }
        let keys = measured.as_object().unwrap().keys();
        found.extend(keys.filter(|key| measured[*key] != seen[*key]).map(|key| format!("{folder}.{key}")));
    }
    (!found.is_empty()).then(|| format!("other {}", found.join(", ")))
}
