//! The simulator as a program: many seeds, as fast as they go.

use clap::Parser;
use lakebed_sim::{Format, Stats, check};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A world is many small things that live for a short time; the system's allocator takes a third of the time for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    /// How many worlds run at once; 0 for as many as there are cores
    #[arg(long, default_value_t = 0)]
    threads: usize,
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
    let threads = match arguments.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let soak = Soak { from: arguments.from, seeds: arguments.seeds, formats, next: AtomicU64::new(0), begun: now() };
    let stats = soak.run(threads)?;
    println!("{}; no rule broken", line(arguments.seeds, soak.begun.elapsed(), &stats));
    Ok(())
}

/// Many worlds, shared out among threads. Each is decided by its seed alone, whoever runs it.
struct Soak {
    from: u64,
    seeds: u64,
    formats: Vec<Format>,
    next: AtomicU64,
    begun: Instant,
}

/// What all threads found so far.
struct Found {
    stats: Stats,
    told: Instant,
    /// The failure of the lowest seed.
    failure: Option<(u64, String)>,
}

impl Soak {
    fn run(&self, threads: usize) -> Result<Stats, String> {
        let found = Mutex::new(Found { stats: Stats::default(), told: self.begun, failure: None });
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| self.work(&found));
            }
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        match found.failure {
            Some((_, failure)) => Err(failure),
            None => Ok(found.stats),
        }
    }

    fn work(&self, found: &Mutex<Found>) {
        loop {
            let done = self.next.fetch_add(1, Ordering::Relaxed);
            if done >= self.seeds {
                return;
            }
            // With both formats each seed is one world of one of them, in turn.
            let seed = self.from + done;
            let place = usize::try_from(seed % self.formats.len() as u64).unwrap_or(0);
            let ended = check(self.formats.get(place).copied().unwrap_or(Format::Delta), seed, None);
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            match ended {
                Ok(report) => found.stats.add(&report.stats),
                Err(failure) => {
                    // No new world is begun; those under way may show a failure of a lower seed.
                    self.next.store(self.seeds, Ordering::Relaxed);
                    if found.failure.as_ref().is_none_or(|(lowest, _)| seed < *lowest) {
                        found.failure = Some((seed, failure.to_string()));
                    }
                }
            }
            if found.told.elapsed() >= Duration::from_secs(10) {
                found.told = now();
                println!("{}", line(done + 1, self.begun.elapsed(), &found.stats));
            }
        }
    }
}
