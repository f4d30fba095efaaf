//! The simulator as a program: many seeds, as fast as they go.

use clap::Parser;
use lakebed_sim::{Format, Stats, check};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Simulates commits on a store that fails.
#[derive(Debug, Parser)]
#[command(name = "lakebed-sim")]
struct Arguments {
    /// How many seeds
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// delta, lance or both
    #[arg(long, default_value = "both")]
    format: String,
    /// One seed alone, as a failure prints it: `delta:17`
    #[arg(long, env = "LAKEBED_SIM_SEED")]
    seed: Option<String>,
}

/// Reads `delta:17` or `17`.
fn one(text: &str) -> Result<(Vec<Format>, u64), String> {
    let (formats, seed) = match text.split_once(':') {
        Some((format, seed)) => (vec![format.parse()?], seed),
        None => (Format::ALL.to_vec(), text),
    };
    Ok((formats, seed.parse().map_err(|_| format!("{text} is no seed; give delta:17, lance:17 or 17"))?))
}

#[expect(clippy::disallowed_methods, reason = "the figures are about real time")]
fn now() -> Instant {
    Instant::now()
}

fn line(done: u64, elapsed: Duration, stats: &Stats) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    format!(
        "{done} seeds, {rate:.0} seeds/s: {} commits, {} conflicts, {} unknowns, {} exhausted, {} errors, {} faults, \
         {} strays, {} searches, {} cleaned, {} checkpoints, {} reads, {} requests",
        stats.commits,
        stats.conflicts,
        stats.unknowns,
        stats.exhausted,
        stats.errors,
        stats.faults,
        stats.strays,
        stats.searches,
        stats.cleaned,
        stats.checkpoints,
        stats.reads,
        stats.requests
    )
}

fn main() -> ExitCode {
    match simulate(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn simulate(arguments: &Arguments) -> Result<(), String> {
    if let Some(text) = &arguments.seed {
        let (formats, seed) = one(text)?;
        for format in formats {
            let report = check(format, seed, None).map_err(|failure| failure.to_string())?;
            println!("{format}:{seed} breaks no rule; {:?}", report.stats);
        }
        return Ok(());
    }
    let formats = if arguments.format == "both" { Format::ALL.to_vec() } else { vec![arguments.format.parse()?] };
    let begun = now();
    let (mut stats, mut told) = (Stats::default(), begun);
    for done in 0..arguments.seeds {
        // With both formats each seed is one world of one of them, in turn.
        let seed = arguments.from + done;
        let place = usize::try_from(seed % formats.len() as u64).unwrap_or(0);
        let format = formats.get(place).copied().unwrap_or(Format::Delta);
        let report = check(format, seed, None).map_err(|failure| failure.to_string())?;
        stats.add(&report.stats);
        if told.elapsed() >= Duration::from_secs(10) {
            told = now();
            println!("{}", line(done + 1, begun.elapsed(), &stats));
        }
    }
    println!("{}; no rule broken", line(arguments.seeds, begun.elapsed(), &stats));
    Ok(())
}
