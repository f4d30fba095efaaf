//! Handles that each look now and then, and run statements on what they saw; every version is held against its statement run alone.

use super::Random;
use super::rows::{Row, State, columns, source};
use super::statement::{Ground, Statement};
use bytes::Bytes;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Report, Table};
use lakebed_transaction::Outcome;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What a game is played with.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) ground: Ground,
    pub(super) properties: BTreeMap<String, String>,
    pub(super) policy: &'static str,
    pub(super) options: OpenOptions,
}

/// What came of games.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Statements that landed over versions which they had not seen.
    pub(super) accepted: u64,
    /// Those that were refused.
    pub(super) refused: u64,
}

const HANDLES: u64 = 3;
const STEPS: u64 = 36;
const PAIRS: u64 = 16;

fn once(policy: &str) -> CommitOptions {
    CommitOptions {
        policy: Some(policy.to_owned()),
        plannings_max: 1,
        timeout: Duration::from_secs(60),
        ..CommitOptions::default()
    }
}

async fn opened(store: &Arc<dyn Store>, rules: &Rules) -> Table {
    Table::open_store(Arc::clone(store), &rules.options).await.unwrap()
}

/// Every object of a store.
async fn objects(store: &Arc<dyn Store>) -> Vec<(String, Bytes)> {
    let mut objects = Vec::new();
    for listed in store.list("", None, usize::MAX).await.unwrap() {
        objects.push((listed.name.clone(), store.get(&listed.name).await.unwrap().unwrap()));
    }
    objects
}

/// A place with these objects.
async fn put(place: &dyn Fn() -> Arc<dyn Store>, objects: &[(String, Bytes)]) -> Arc<dyn Store> {
    let store = place();
    for (name, bytes) in objects {
        store.put(name, bytes.clone()).await.unwrap();
    }
    store
}

/// What a statement leaves that runs alone on these objects, or how it fails.
async fn alone(
    place: &dyn Fn() -> Arc<dyn Store>,
    objects: &[(String, Bytes)],
    statement: &Statement,
    rules: &Rules,
) -> Result<State, String> {
    let store = put(place, objects).await;
    let mut table = opened(&store, rules).await;
    match statement.run(&mut table, &once(rules.policy)).await {
        Err(error) => Err(error.to_string()),
        Ok(Report { outcome: Outcome::Committed { .. } | Outcome::Nothing { .. }, .. }) => {
            Ok(State::of(&opened(&store, rules).await).await)
        }
        Ok(other) => Err(format!("{other:?}")),
    }
}

/// A new table of a few files.
async fn begun(store: &Arc<dyn Store>, random: &mut Random, rules: &Rules) -> Table {
    let mut new = NewTable::new(rules.ground.format, columns()).with_properties(rules.properties.clone());
    if rules.ground.partitioned {
        new = new.with_partition_columns(vec!["p".to_owned()]);
    }
    let (table, report) =
        Table::create_store(Arc::clone(store), &rules.options, &new, &CommitOptions::default()).await.unwrap();
    let mut table = table.unwrap_or_else(|| panic!("{report:?}"));
    for _ in 0..2 {
        let rows: Vec<Row> = (0..6).map(|_| Row::random(random)).collect();
        let _ = table.append(source(&rows, &[]), &CommitOptions::default()).await.unwrap();
    }
    table
}

/// Runs pairs of statements on one version. Where the second lands, the two come to one after the other, in one order or the other.
pub(super) async fn pairs(seed: u64, rules: &Rules, place: &dyn Fn() -> Arc<dyn Store>) -> Tally {
    let (mut random, mut tally) = (Random::new(seed), Tally::default());
    let store = place();
    let version = begun(&store, &mut random, rules).await.version().get();
    let base = objects(&store).await;
    for _ in 0..PAIRS {
        let [first, second] = [(); 2].map(|()| Statement::random(&mut random, rules.ground, version));
        let store = put(place, &base).await;
        let mut handles = [opened(&store, rules).await, opened(&store, rules).await];
        let Ok(landed) = first.run(&mut handles[0], &once(rules.policy)).await else { continue };
        let between = objects(&store).await;
        let Ok(report) = second.run(&mut handles[1], &once(rules.policy)).await else { continue };
        match (landed.outcome, report.outcome) {
            (Outcome::Committed { .. }, Outcome::Committed { .. }) => tally.accepted += 1,
            (Outcome::Committed { .. }, Outcome::Conflict(_)) => {
                tally.refused += 1;
                continue;
            }
            _ => continue,
        }
        let found = State::of(&opened(&store, rules).await).await;
        let in_log_order = alone(place, &between, &second, rules).await;
        if in_log_order.as_ref() == Ok(&found) {
            continue;
        }
        let before = put(place, &base).await;
        let went = second.run(&mut opened(&before, rules).await, &once(rules.policy)).await;
        let other = alone(place, &objects(&before).await, &first, rules).await;
        let agrees = went.is_ok() && other.as_ref() == Ok(&found);
        assert!(
            agrees,
            "seed {seed}, {rules:?}:\n{first:?}\n{second:?}\nfirst, second: {in_log_order:?}\nsecond, first: {other:?}\nfound: {found:?}"
        );
    }
    tally
}

/// Plays one game. Every statement that lands over versions that it had not seen leaves what it leaves when it runs alone on the
/// version before it.
pub(super) async fn play(seed: u64, rules: &Rules, place: &dyn Fn() -> Arc<dyn Store>) -> Tally {
    let mut random = Random::new(seed);
    let store = place();
    let table = begun(&store, &mut random, rules).await;
    let mut handles = Vec::new();
    for _ in 0..HANDLES {
        handles.push(opened(&store, rules).await);
    }
    let (mut newest, mut tally, mut told) = (table.version().get(), Tally::default(), Vec::new());
    // What stood in the store when a version was the newest.
    let mut stood = BTreeMap::from([(newest, objects(&store).await)]);
    for _ in 0..STEPS {
        let which = usize::try_from(random.below(HANDLES)).unwrap();
        let handle = &mut handles[which];
        if random.below(3) == 0 {
            handle.refresh().await.unwrap();
            continue;
        }
        let statement = Statement::random(&mut random, rules.ground, handle.version().get());
        let read = handle.version().get();
        let outcome = match statement.run(handle, &once(rules.policy)).await {
            Ok(report) => report.outcome,
            // Where it does not fit what it saw, that has nothing to do with others.
            Err(error) => {
                let fits = alone(place, &stood[&read], &statement, rules).await;
                assert!(fits.is_err(), "seed {seed}:\n{}\n{statement:?} on {read}: {error}", told.join("\n"));
                continue;
            }
        };
        let before = newest;
        match outcome {
            Outcome::Committed { version, .. } => newest = version.get(),
            Outcome::Nothing { .. } => continue,
            Outcome::Conflict(_) => {
                tally.refused += 1;
                continue;
            }
            other @ (Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => panic!("seed {seed}: {other:?}"),
        }
        told.push(format!("{newest} on {read}: {statement:?}"));
        stood.insert(newest, objects(&store).await);
        if read == before {
            continue;
        }
        tally.accepted += 1;
        let expected = alone(place, &stood[&before], &statement, rules).await;
        let found = State::of(&opened(&store, rules).await).await;
        let agrees = expected.as_ref() == Ok(&found);
        assert!(agrees, "seed {seed}, {rules:?}:\n{}\nalone: {expected:?}\nfound: {found:?}", told.join("\n"));
    }
    let findings = opened(&store, rules).await.verify(|_| ()).await.unwrap().findings;
    assert!(findings.is_empty(), "seed {seed}:\n{}\n{findings:?}", told.join("\n"));
    tally
}
