//! `lakebed-trials`: races of processes, and one schedule under every policy.

mod report;

use clap::{Parser, Subcommand};
use lakebed_table::TableFormat;
use lakebed_trials::race::{Orders, work};
use lakebed_trials::{Arena, TrialError};
use std::path::PathBuf;
use std::process::ExitCode;

/// Programs on real tables, beside each other, held against what each does by itself.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Processes race on one table at each level that a table may name; then what the level promises is checked on the rows of every
    /// version, and the schedule is played again under the format's own policy.
    Race {
        /// delta or lance; without it every format that this build has.
        #[arg(long)]
        format: Option<String>,
        /// How many processes.
        #[arg(long, default_value_t = 8)]
        processes: usize,
        /// How long each races.
        #[arg(long, default_value_t = 60.0)]
        seconds: f64,
        /// What statements are drawn from.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// One schedule of mixed statements under every policy that a format's tables take: acceptance and throughput.
    Compare {
        /// delta or lance; without it every format that this build has.
        #[arg(long)]
        format: Option<String>,
        /// How many handles.
        #[arg(long, default_value_t = 8)]
        writers: usize,
        /// How many statements.
        #[arg(long, default_value_t = 12_500)]
        statements: usize,
        /// What statements are drawn from.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// One process of a race.
    #[command(hide = true)]
    Worker { table: PathBuf, format: String, writer: usize, millis: u64, seed: u64, log: PathBuf },
}

fn main() -> ExitCode {
    let args = Args::parse();
    let ended = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| TrialError::File { path: PathBuf::from("the runtime"), source })
        .and_then(|runtime| runtime.block_on(run(args.command)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<(), TrialError> {
    match command {
        Command::Race { format, processes, seconds, seed } => {
            let millis = std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default().as_millis();
            let millis = u64::try_from(millis).unwrap_or(u64::MAX);
            let program = std::env::current_exe()
                .map_err(|source| TrialError::File { path: PathBuf::from("this program"), source })?;
            for arena in arenas(format.as_deref())? {
                report::races(&program, &arena, (processes, millis, seed)).await?;
            }
        }
        Command::Compare { format, writers, statements, seed } => {
            for arena in arenas(format.as_deref())? {
                report::comparison(&arena, (seed, writers, statements)).await?;
            }
        }
        Command::Worker { table, format, writer, millis, seed, log } => {
            let format = named(&format)?;
            work(&Orders { table, format, writer, millis, seed, log }).await?;
        }
    }
    Ok(())
}

fn named(format: &str) -> Result<TableFormat, TrialError> {
    [TableFormat::Delta, TableFormat::Lance]
        .into_iter()
        .find(|known| known.name() == format)
        .ok_or_else(|| TrialError::Unfit { problem: format!("{format} is no format"), advice: "choose delta or lance" })
}

fn arenas(format: Option<&str>) -> Result<Vec<Arena>, TrialError> {
    match format {
        Some(format) => Ok(vec![Arena::of(named(format)?)?]),
        None => {
            Ok([TableFormat::Delta, TableFormat::Lance].into_iter().filter_map(|one| Arena::of(one).ok()).collect())
        }
    }
}
