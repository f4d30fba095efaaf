//! The `lakebed` program: transactions on Lance and Delta tables from the command line.

mod args;
mod args_columns;
mod args_health;
mod args_refs;
mod args_upkeep;
mod audit;
mod clock;
mod commands;
mod counting;
mod error;
mod exit;
mod fragments;
mod input;
mod output;
mod predicate;
mod progress;
mod report;
mod rows;
mod verbose;

use crate::args::Cli;
use crate::error::CliError;
use crate::exit::Exit;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.global.verbose {
        verbose::tell();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(commands::run(cli)),
        Err(error) => Err(CliError::failed(format!("no threads can be started: {error}"), "free some and try again")),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(error) if error.is_broken_pipe() => Exit::Done.into(),
        Err(error) => {
            output::note(&format!("lakebed: {error}"));
            error.exit().into()
        }
    }
}
