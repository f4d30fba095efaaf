//! The `lakebed` program: transactions on Lance and Delta tables from the command line.

mod args;
mod args_columns;
mod args_health;
mod args_merge;
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
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => return not_understood(&refused),
    };
    let json = cli.global.json;
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
            output::failure(&error.to_string(), error.exit(), json);
            error.exit().into()
        }
    }
}

/// A command line that is none, or one that asks for help.
fn not_understood(refused: &clap::Error) -> ExitCode {
    if refused.use_stderr() && std::env::args_os().any(|arg| arg == "--json") {
        output::failure(refused.to_string().trim_end(), Exit::Usage, true);
        return Exit::Usage.into();
    }
    refused.exit()
}
