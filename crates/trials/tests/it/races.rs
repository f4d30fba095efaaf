//! Races of processes, the short form of `lakebed-trials race`.

use lakebed_trials::Arena;
use lakebed_trials::check::Promise;
use lakebed_trials::levels::levels;
use lakebed_trials::race::race;
use std::path::Path;

/// Eight processes at every level that a table may name: the rows of every version are what the level promises.
async fn at_every_level(arena: &Arena) {
    for level in levels(arena).await.unwrap() {
        let program = Path::new(env!("CARGO_BIN_EXE_lakebed-trials"));
        let race = race(program, arena, level.properties.clone(), (8, 2_500, 7)).await.unwrap();
        let promise = Promise::of(level.policy).unwrap();
        promise.check(&race.history).unwrap();
        println!(
            "{} {}: {} commits, {:.1} % of {} that met another's accepted: {}",
            arena.format,
            level.name,
            race.history.commits.len(),
            race.tally.accepted_percent(),
            race.tally.met,
            promise.name()
        );
        assert!(race.tally.met > 0 && !race.history.commits.is_empty(), "nobody met anybody: {:?}", race.tally);
    }
}

#[tokio::test]
async fn delta_tables_keep_what_their_level_promises() {
    at_every_level(&Arena::delta()).await;
}

#[cfg(feature = "lance-data")]
#[tokio::test]
async fn lance_tables_keep_what_their_policy_promises() {
    at_every_level(&Arena::lance()).await;
}
