//! What the commands print.

use lakebed_trials::check::Promise;
use lakebed_trials::levels::{levels, policies};
use lakebed_trials::play::{Extras, Tally, play};
use lakebed_trials::race::race;
use lakebed_trials::schedule::random;
use lakebed_trials::{Arena, TrialError};
use std::path::Path;

/// Races at every level, one line each.
pub(crate) async fn races(program: &Path, arena: &Arena, run: (usize, u64, u64)) -> Result<(), TrialError> {
    let (processes, millis, _) = run;
    println!("{processes} processes, {millis} ms, {} tables", arena.format);
    for level in levels(arena).await? {
        let race = race(program, arena, level.properties.clone(), run).await?;
        let promise = promised(level.policy)?;
        promise.check(&race.history)?;
        println!(
            "{} ({}): {} commits, {} holds of every version; {}",
            level.name,
            level.policy,
            race.history.commits.len(),
            promise.name(),
            told(&race.tally)
        );
        let mut again = Vec::new();
        for policy in [level.policy, level.own] {
            let properties = arena.properties();
            let played = play(arena, Some(policy), properties, &race.schedule, Extras::default()).await?;
            again.push(format!("{policy} accepts {:.1} %", played.tally.accepted_percent()));
        }
        again.dedup();
        println!("    the same schedule in one process: {}", again.join(", "));
    }
    Ok(())
}

fn promised(policy: &str) -> Result<Promise, TrialError> {
    Promise::of(policy).ok_or_else(|| TrialError::Unfit {
        problem: format!("nothing is known of what {policy} promises"),
        advice: "write it down in check.rs",
    })
}

/// A tally in words.
fn told(tally: &Tally) -> String {
    let checks: Vec<String> = tally.refused.iter().map(|(check, count)| format!("{check} {count}")).collect();
    let refused: u64 = tally.refused.values().sum();
    format!(
        "of {} statements {} met a commit that they had not seen, {} of these ({:.1} %) were accepted; {refused} refused: {}",
        tally.statements,
        tally.met,
        tally.accepted,
        tally.accepted_percent(),
        checks.join(", ")
    )
}

/// One schedule under every policy, as a Markdown table.
pub(crate) async fn comparison(
    arena: &Arena,
    (seed, writers, statements): (u64, usize, usize),
) -> Result<(), TrialError> {
    let schedule = random(seed, writers, statements);
    println!("{} tables, {writers} writers, {statements} statements, seed {seed}", arena.format);
    println!();
    println!(
        "| policy | had something to do | met a commit unseen | accepted | of those met | refused | statements per second |"
    );
    println!("|---|---|---|---|---|---|---|");
    for policy in policies(arena).await? {
        let extras = Extras { states: false, again: true };
        let played = play(arena, Some(policy), arena.properties(), &schedule, extras).await?;
        let tally = &played.tally;
        let refused: u64 = tally.refused.values().sum();
        println!(
            "| {policy} | {} | {} | {} | {:.1} % | {refused} | {:.0} |",
            tally.statements,
            tally.met,
            tally.accepted,
            tally.accepted_percent(),
            per_second(statements, played.seconds)
        );
    }
    println!();
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
fn per_second(statements: usize, seconds: f64) -> f64 {
    statements as f64 / seconds.max(f64::EPSILON)
}
