//! One file for each command.

mod append;
mod bench;
mod branches;
mod changes;
mod columns;
mod commit;
mod compact;
mod create;
mod delete;
mod demo;
mod explain;
mod health;
mod history;
mod merge;
mod outcome;
mod overwrite;
mod probe;
mod properties;
mod restore;
mod rules;
mod scan;
mod shell;
mod show;
mod tags;
mod update;
mod upkeep;

use crate::args::{Cli, Command, Global, VersionArgs};
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::{output, report};
use jiff::tz::TimeZone;
use lakebed_sql::parse_time;
use lakebed_table::{CommitOptions, Report, Snapshot, Table, VersionSpec};

/// Carries out a command.
pub(crate) async fn run(cli: Cli) -> Result<Exit, CliError> {
    let global = &cli.global;
    global.check()?;
    match cli.command {
        Command::Create(args) => create::run(args, global).await,
        Command::Append(args) => append::run(args, global).await,
        Command::Overwrite(args) => overwrite::run(args, global).await,
        Command::Delete(args) => delete::run(args, global).await,
        Command::Update(args) => update::run(args, global).await,
        Command::Merge(args) => merge::run(args, global).await,
        Command::Truncate(args) => delete::truncate(args, global).await,
        Command::Compact(args) => compact::run(args, global).await,
        Command::Columns(args) => columns::run(args, global).await,
        Command::Set(args) => properties::set(args, global).await,
        Command::Unset(args) => properties::unset(args, global).await,
        Command::Commit(args) => commit::run(args, global).await,
        Command::Outcome(args) => outcome::run(args, global).await,
        Command::Restore(args) => restore::run(args, global).await,
        Command::Checkpoint(args) => upkeep::checkpoint(args, global).await,
        Command::CompactLog(args) => upkeep::compact_log(args, global).await,
        Command::Vacuum(args) => upkeep::vacuum(args, global).await,
        Command::CleanLog(args) => upkeep::clean_log(args, global).await,
        Command::Tag(args) => tags::run(args, global).await,
        Command::Branch(args) => branches::run(args, global).await,
        Command::MigrateNaming(args) => branches::migrate_naming(args, global).await,
        Command::Show(args) => show::run(args, global).await,
        Command::Scan(args) => scan::run(args, global).await,
        Command::History(args) => history::run(args, global).await,
        Command::Changes(args) => changes::run(args, global).await,
        Command::Rules(args) => rules::run(&args, global.json),
        Command::Explain(args) => explain::run(args, global.json).await,
        Command::Verify(args) => health::verify(args, global).await,
        Command::Stats(args) => health::stats(args, global).await,
        Command::Diff(args) => health::diff(args, global).await,
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
        Command::Probe(args) => probe::run(args, global).await,
        Command::Bench(args) => bench::run(args, global).await,
        Command::Demo(args) => demo::run(args, global).await,
    }
}

async fn open(url: &str, global: &Global) -> Result<Table, CliError> {
    let (url, options) = global.locate(url)?;
    Ok(Table::open(&url, &options).await?)
}

/// Opens a table to commit to it under the policy that was typed.
async fn open_to_commit(url: &str, global: &Global, options: &CommitOptions) -> Result<Table, CliError> {
    let table = open(url, global).await?;
    if let Some(policy) = &options.policy {
        table.check_policy(policy).map_err(CliError::typed)?;
    }
    Ok(table)
}

/// The version that is asked for; `None` without a word about it.
fn spec(args: &VersionArgs) -> Result<Option<VersionSpec>, CliError> {
    Ok(match (args.version, &args.timestamp) {
        (Some(number), _) => Some(VersionSpec::Number(number)),
        (None, Some(text)) => Some(at_time(text)?),
        (None, None) => None,
    })
}

/// The version that stood at a time. At a time that has passed the newest version stood, if nothing came since; what will stand
/// at a time to come nobody knows, so that is refused where the table has no version of that time.
fn at_time(text: &str) -> Result<VersionSpec, CliError> {
    let now = clock::now_micros();
    let micros = parse_time(text, now, &TimeZone::system())?;
    let ms = micros.div_euclid(1_000);
    Ok(if micros <= now { VersionSpec::UpToMs(ms) } else { VersionSpec::AtMs(ms) })
}

/// The version that is asked for, loaded.
async fn at(table: &Table, args: &VersionArgs) -> Result<Snapshot, CliError> {
    // The table has just been opened.
    let Some(spec) = spec(args)? else { return Ok(table.snapshot().clone()) };
    let snapshot = table.at(spec).await?;
    if let VersionSpec::AtMs(ms) | VersionSpec::UpToMs(ms) = spec {
        output::note(&format!("as of {}: version {}", clock::utc(ms), snapshot.version()));
    }
    Ok(snapshot)
}

/// A version by its number, or by a time.
fn point(text: &str) -> Result<VersionSpec, CliError> {
    if text.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(number) = text.parse()
    {
        return Ok(VersionSpec::Number(number));
    }
    at_time(text)
}

/// Prints the answer of a committing command, then waits for the work that follows the commit.
async fn finish(table: &Table, what: &str, report: &Report, global: &Global) -> Result<Exit, CliError> {
    let exit = report::print(what, report, global.json);
    warn(table.settle().await);
    exit
}

/// Tells what did not work out behind a commit that stands.
fn warn(problems: Vec<String>) {
    for problem in problems {
        output::note(&format!("lakebed: warning: {problem}"));
    }
}
