//! A writer process of ours: this test binary once more, told by its environment to write until somebody ends it.

use crate::support::delta::{plain_rows, source};
use crate::support::plainly;
use lakebed_lance::proto::table::DataFile;
use lakebed_lance::transaction::new_fragment;
use lakebed_storage::{Durability, StoreOptions};
use lakebed_table::{OpenOptions, Report, Table, TableFormat};
use lakebed_transaction::Outcome;
use std::process::{Command, Stdio};

const JOB: &str = "LAKEBED_KILL_WRITER";

/// What a writer is told.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) url: String,
    pub(super) format: TableFormat,
    pub(super) number: i64,
    /// The first id of its rows.
    pub(super) start: i64,
}

impl Job {
    /// A process that does it.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "kills::killed_writers_lose_nothing_and_double_nothing",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(JOB, format!("{} {} {} {}", self.format, self.number, self.start, self.url))
            .stdin(Stdio::null());
        command
    }

    fn parse(text: &str) -> Self {
        let mut parts = text.splitn(4, ' ');
        let mut next = || parts.next().unwrap();
        let format = if next() == "delta" { TableFormat::Delta } else { TableFormat::Lance };
        Self { format, number: next().parse().unwrap(), start: next().parse().unwrap(), url: next().to_owned() }
    }
}

/// Writes until the process is killed, if it was started for that.
pub(super) fn run_if_told() -> bool {
    let Ok(job) = std::env::var(JOB) else { return false };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(write(&Job::parse(&job)));
    true
}

async fn write(job: &Job) {
    // Every other one makes its files durable, so that kills fall between a link and its fsync too.
    let durability = if job.number % 2 == 0 { Durability::Full } else { Durability::None };
    let options = OpenOptions { store: StoreOptions::new().durability(durability), ..OpenOptions::default() };
    let mut table = Table::open(&job.url, &options).await.unwrap();
    for id in job.start.. {
        println!("told: trying {id}");
        let report = match job.format {
            TableFormat::Delta => {
                let rows = plain_rows([id], i32::try_from(job.number).unwrap());
                table.append(source(&rows), &plainly()).await.unwrap()
            }
            TableFormat::Lance => append_fragment(&mut table, id).await,
        };
        match report.outcome {
            Outcome::Committed { version, .. } => println!("told: committed {id} {version}"),
            Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Nothing { .. } => {
                println!("told: refused {id}")
            }
            // Neither yes nor no: it may stand or not, as if we had been killed.
            Outcome::Unknown { .. } => println!("told: nothing {id}"),
        }
    }
}

/// A fragment whose only file bears the id as its name. Nobody reads its rows.
async fn append_fragment(table: &mut Table, id: i64) -> Report {
    let file = DataFile {
        path: format!("{id}.lance"),
        fields: vec![0, 1],
        column_indices: vec![0, 1],
        file_major_version: 2,
        file_minor_version: 2,
        file_size_bytes: 64,
        base_id: None,
    };
    table.append_fragments(vec![new_fragment(file, 1)], &plainly()).await.unwrap()
}
