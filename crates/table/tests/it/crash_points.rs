//! A process that dies at each system call of a durable creation or commit on local disk; injected by strace, where there is one.

use crate::log::read_log;
use crate::support::{add, columns, committed, created, isolated, opened, sound};
use lakebed_storage::{Durability, LocalStore, Store};
use lakebed_table::{CommitOptions, NewTable, Table, TableError, TableFormat};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Tells a child its folder and its job.
const JOB: &str = "LAKEBED_TEST_CRASH_JOB";
/// Set where strace must be there (`.ci/run` sets it once it has it).
const REQUIRED: &str = "LAKEBED_STRACE_REQUIRED";
/// Every call by which a file or folder is read, made, changed, made durable or named.
const CALLS: &str = "openat,mkdir,write,pwrite64,ftruncate,fsync,fdatasync,linkat,rename,renameat,renameat2,unlink,getdents64,statx,close";
const DAY: Duration = Duration::from_secs(86_400);

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Create(TableFormat),
    /// One append, which also writes a checkpoint on Delta.
    Append(TableFormat),
}

const JOBS: [Job; 4] = [
    Job::Create(TableFormat::Delta),
    Job::Create(TableFormat::Lance),
    Job::Append(TableFormat::Delta),
    Job::Append(TableFormat::Lance),
];

impl Job {
    fn name(self) -> String {
        format!("{self:?}")
    }

    fn format(self) -> TableFormat {
        match self {
            Self::Create(format) | Self::Append(format) => format,
        }
    }

    /// A checkpoint at every commit, so that one falls under the knife too.
    fn definition(self) -> NewTable {
        let properties = match self.format() {
            TableFormat::Delta => BTreeMap::from([("delta.checkpointInterval".to_owned(), "1".to_owned())]),
            TableFormat::Lance => BTreeMap::new(),
        };
        NewTable::new(self.format(), columns()).with_properties(properties)
    }

    async fn run(self, store: Arc<dyn Store>) {
        let mut table = match self {
            Self::Create(_) => {
                let commit = CommitOptions::default();
                let (table, report) =
                    Table::create_store(store, &isolated(), &self.definition(), &commit).await.unwrap();
                committed(&report);
                println!("ACKNOWLEDGED");
                table.unwrap()
            }
            Self::Append(_) => opened(&store).await,
        };
        if let Self::Append(_) = self {
            committed(&add(&mut table, &[7]).await);
            println!("ACKNOWLEDGED");
        }
        assert_eq!(table.settle().await, Vec::<String>::new());
        table.refresh().await.unwrap();
    }

    /// A folder as the child finds it.
    async fn prepared(self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        if let Self::Append(_) = self {
            let mut table = created(&durable(folder.path()), &self.definition()).await;
            committed(&add(&mut table, &[1, 2]).await);
            assert_eq!(table.settle().await, Vec::<String>::new());
        }
        folder
    }

    /// Versions and rows before the child, and after it.
    fn states(self) -> [Option<(u64, u64)>; 2] {
        let first = u64::from(self.format() == TableFormat::Lance);
        match self {
            Self::Create(_) => [None, Some((first, 0))],
            Self::Append(_) => [Some((first + 1, 2)), Some((first + 2, 3))],
        }
    }
}

fn durable(folder: &Path) -> Arc<dyn Store> {
    Arc::new(LocalStore::new(folder, Durability::Full).unwrap())
}

/// The child: all its file work on one thread, so that its calls can be counted.
fn child(job: &str) {
    let (name, folder) = job.split_once(' ').unwrap();
    let job = JOBS.into_iter().find(|one| one.name() == name).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(job.run(durable(Path::new(folder))));
}

/// Runs the child under strace with these options; whether it said that its commit stands.
fn traced(job: Job, folder: &Path, options: &[String]) -> bool {
    let output = Command::new("strace")
        .args(["-f", "-qq", "-y"])
        .args(options)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "crash_points::a_process_may_die_at_every_call", "--nocapture", "--test-threads=1"])
        .env(JOB, format!("{} {}", job.name(), folder.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).contains("ACKNOWLEDGED")
}

/// The calls that touch the folder: which call, and which one of its kind on its thread.
async fn points(job: Job) -> BTreeSet<(String, usize)> {
    let folder = job.prepared().await;
    let log = tempfile::NamedTempFile::new().unwrap();
    let options = ["-o", log.path().to_str().unwrap(), "-e", &format!("trace={CALLS}")].map(str::to_owned);
    assert!(traced(job, folder.path(), &options), "{job:?} without a kill");
    let mut counts = BTreeMap::<(String, String), usize>::new();
    let mut points = BTreeSet::new();
    for line in std::fs::read_to_string(log.path()).unwrap().lines() {
        let mut words = line.splitn(2, char::is_whitespace);
        let (thread, call) = (words.next().unwrap(), words.next().unwrap_or_default().trim_start());
        let Some((call, rest)) = call.split_once('(') else { continue };
        let count = counts.entry((thread.to_owned(), call.to_owned())).or_default();
        *count += 1;
        if rest.contains(folder.path().to_str().unwrap()) {
            points.insert((call.to_owned(), *count));
        }
    }
    points
}

/// The table after a kill: as before, or as after, and nothing in between; it goes on, and a cleanup leaves no temporary file.
async fn whole(job: Job, folder: &Path, acknowledged: bool, what: &str) {
    let store = durable(folder);
    let state = match Table::open_store(Arc::clone(&store), &isolated()).await {
        Ok(_) => {
            let log = sound(&store, job.format()).await;
            Some((log.newest(), log.rows()))
        }
        Err(TableError::NotATable { .. }) => None,
        Err(error) => panic!("{what}: {error}"),
    };
    let [before, after] = job.states();
    assert!(state == after || state == before && !acknowledged, "{what}: {state:?}, acknowledged: {acknowledged}");
    if state.is_none() {
        created(&store, &job.definition()).await;
    }
    let mut table = opened(&store).await;
    committed(&add(&mut table, &[8]).await);
    assert_eq!(table.settle().await, Vec::<String>::new(), "{what}");
    let log = read_log(&store, job.format()).await;
    assert_eq!(log.rows(), state.map_or(0, |(_, rows)| rows) + 1, "{what}");

    for path in files(folder) {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - 8 * DAY).unwrap();
    }
    let _ = opened(&store).await.vacuum(None, false, false).await.unwrap();
    let left: Vec<PathBuf> = files(folder).into_iter().filter(|path| is_temporary(path)).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "{what}");
    assert_eq!(sound(&store, job.format()).await.rows(), log.rows(), "{what}");
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().unwrap().to_str().unwrap().starts_with(".tmp-")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn strace_works() -> bool {
    let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Creations and commits of both formats, killed at every call that touches the table's folder.
#[test]
fn a_process_may_die_at_every_call() {
    if let Ok(job) = std::env::var(JOB) {
        child(&job);
        return;
    }
    if !strace_works() {
        assert!(std::env::var_os(REQUIRED).is_none(), "strace was there and is not");
        println!("skipped: a process that dies at every call: no strace that may trace");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for job in JOBS {
            let points = points(job).await;
            let (mut landed, mut strays) = (0, 0);
            for (call, nth) in &points {
                let what = format!("{job:?} killed at {call} {nth}");
                let folder = job.prepared().await;
                let options = ["-o", "/dev/null", "-e", &format!("trace={call}"), "-e"].map(str::to_owned);
                let inject = format!("inject={call}:signal=KILL:when={nth}");
                let acknowledged = traced(job, folder.path(), &[options.as_slice(), &[inject]].concat());
                landed += usize::from(acknowledged);
                strays += files(folder.path()).iter().filter(|path| is_temporary(path)).count();
                whole(job, folder.path(), acknowledged, &what).await;
            }
            println!(
                "{job:?}: killed at {} calls; {landed} commits were acknowledged before, {strays} temporary files were left and \
                 removed by the next cleanup",
                points.len()
            );
            assert!(points.len() > 10, "{job:?}: {points:?}");
            assert!(points.iter().any(|(call, _)| call == "linkat") && points.iter().any(|(call, _)| call == "fsync"));
        }
    });
}
