//! `lakebed demo`: the main job on local disk. Writers race on one table of each format, every conflict is explained, and an
//! audit compares what was acknowledged with what is there.

mod model;
mod race;
mod show;
mod statement;

use crate::args::{DemoArgs, Global};
use crate::audit::{self, Findings};
use crate::clock;
use crate::commands::history::{self, Timed};
use crate::counting::Counting;
use crate::error::CliError;
use crate::exit::Exit;
use crate::{output, progress};
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, NewTable, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType};
use model::Contents;
use race::{Ring, Tally};
use statement::{Pick, Statement};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many versions of the history are shown.
const TAIL: usize = 5;

/// What came out on one table.
struct Played {
    format: TableFormat,
    place: String,
    writers: u32,
    commits: u32,
    tally: Tally,
    /// Statements that were committed in the race, without staged ones.
    raced: u64,
    seconds: f64,
    requests: u64,
    history: Vec<Timed>,
    findings: Findings,
    expected: Contents,
    found: Contents,
    warnings: Vec<String>,
}

impl Played {
    fn sound(&self) -> bool {
        self.findings.sound()
            && self.expected == self.found
            && self.raced == u64::from(self.writers) * u64::from(self.commits)
    }
}

pub(crate) async fn run(args: DemoArgs, global: &Global) -> Result<Exit, CliError> {
    let temporary = match &args.dir {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix("lakebed-demo-")
                .tempdir()
                .map_err(|source| CliError::file(&std::env::temp_dir(), source))?,
        ),
    };
    let dir: PathBuf = match (&args.dir, &temporary) {
        (Some(dir), _) => dir.clone(),
        (None, Some(temporary)) => temporary.path().to_owned(),
        (None, None) => PathBuf::from("."),
    };
    let started = clock::instant();
    let mut played = Vec::new();
    for (format, name) in [(TableFormat::Delta, "trips"), (TableFormat::Lance, "trips.lance")] {
        let one = play(format, &dir.join(name), &args, global).await?;
        if !global.json {
            output::text(&show::text(&one))?;
        }
        played.push(one);
    }
    let seconds = started.elapsed().as_secs_f64();
    let sound = played.iter().all(Played::sound);
    if global.json {
        output::document(&show::document(&played, sound, seconds))?;
    } else {
        let kept = if args.dir.is_some() { show::kept(&dir) } else { String::new() };
        let verdict = if sound { "Every audit holds" } else { "AN AUDIT FAILED" };
        output::line(format!("{verdict}. {seconds:.1} s in all, durability {}{kept}.", global.durability.name()))?;
    }
    Ok(if sound { Exit::Done } else { Exit::Error })
}

async fn play(format: TableFormat, place: &Path, args: &DemoArgs, global: &Global) -> Result<Played, CliError> {
    let url = place.display().to_string();
    let store = lakebed_storage::open(&url, &global.store_options())?;
    let counting = Counting::new(store);
    let counted: Arc<dyn Store> = counting.clone();
    let mut open = global.open_options();
    create(&counted, format, &url, global).await?;
    open.format = Some(format);
    open.isolated = true;
    let bar = progress::bar(u64::from(args.writers) * u64::from(args.commits), format.name());
    // Each conflict comes back here, where it is counted, and the statement is planned again here too.
    let commit = CommitOptions { plannings_max: 1, ..CommitOptions::default() };
    let ring = Ring { store: counted, open, commit, format, bar: bar.clone() };
    let (before, started) = (counting.requests(), clock::instant());
    let mut tally = ring.race(args.writers, args.commits).await?;
    let (seconds, requests) = (started.elapsed().as_secs_f64(), counting.requests() - before);
    let raced = tally.landed.len() as u64;
    bar.finish_and_clear();
    for (theirs, ours) in staged(format) {
        let staged = ring.stage(&theirs, &ours).await?;
        tally.merge(staged, true);
    }
    let table = ring.handle().await?;
    let warnings = table.settle().await;
    tally.landed.sort_by_key(|landed| landed.acknowledged.version);
    let acknowledged: Vec<_> = tally.landed.iter().map(|landed| landed.acknowledged.clone()).collect();
    let findings = audit::audit(&*ring.store, format, &acknowledged).await?;
    let expected = Contents::expected(tally.landed.iter().map(|landed| &landed.effect));
    let found = Contents::found(&table).await?;
    let history = history::timed(&table, Some(TAIL)).await?;
    let (writers, commits) = (args.writers, args.commits);
    Ok(Played {
        format,
        place: url,
        writers,
        commits,
        tally,
        raced,
        seconds,
        requests,
        history,
        findings,
        expected,
        found,
        warnings,
    })
}

async fn create(store: &Arc<dyn Store>, format: TableFormat, url: &str, global: &Global) -> Result<(), CliError> {
    let columns = vec![
        Column::new("id", ColumnType::Long, false),
        Column::new("part", ColumnType::Long, true),
        Column::new("note", ColumnType::String, true),
    ];
    let mut new = NewTable::new(format, columns);
    if format == TableFormat::Delta {
        new = new.with_partition_columns(vec!["part".to_owned()]);
    }
    let created =
        Table::create_store(Arc::clone(store), &global.open_options(), &new, &CommitOptions::default()).await?;
    match created {
        (Some(_), _) => Ok(()),
        (None, report) => Err(CliError::failed(
            format!("{url}: {}", crate::report::reason(&report.outcome).unwrap_or_default()),
            "name an empty folder with --dir",
        )),
    }
}

/// Pairs of statements, theirs and ours, that bring up each kind of conflict whether or not the race did.
fn staged(format: TableFormat) -> Vec<(Statement, Statement)> {
    let set = |value: &str| Statement::Set { key: "demo.staged".to_owned(), value: value.to_owned() };
    match format {
        // Before each pair that meets stands one that makes sure of rows to meet on.
        TableFormat::Delta => vec![
            (Statement::Insert { part: 0, ids: vec![-1, -2] }, Statement::Insert { part: 2, ids: vec![-3, -4] }),
            (Statement::Insert { part: 0, ids: vec![-5] }, Statement::DeletePart { part: 0 }),
            (Statement::DeletePart { part: 2 }, Statement::DeletePart { part: 2 }),
            (set("theirs"), Statement::Insert { part: 3, ids: vec![-6] }),
            (set("theirs"), set("ours")),
        ],
        TableFormat::Lance => {
            let add = |file: &str| Statement::AddFragment { file: file.to_owned() };
            let delete = |first, count| Statement::DeleteRows { pick: Pick::Newest, first, count };
            vec![
                (add("staged-1.lance"), add("staged-2.lance")),
                (delete(0, 3), delete(0, 3)),
                (delete(0, statement::FRAGMENT_ROWS), delete(5, 3)),
                (set("theirs"), set("ours")),
            ]
        }
    }
}
