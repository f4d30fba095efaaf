//! A process that dies at each system call of a durable creation, commit or upkeep on local disk; injected by strace, where there
//! is one.

mod jobs;

use crate::log::Log;
use crate::support::{add, committed, opened};
use jobs::{JOBS, Job};
use lakebed_table::{Table, TableError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// Tells a child its folder and its job.
const JOB: &str = "LAKEBED_TEST_CRASH_JOB";
/// Set to `all`, every point is died at; else the first and the last of each kind of call in each job, and one of three between.
const POINTS: &str = "LAKEBED_CRASH_POINTS";
/// Set to a part of a job's name, such as `Vacuum`, only jobs of that name are run.
const ONLY: &str = "LAKEBED_CRASH_JOBS";
/// Of the points between, where not all are asked for, one of so many.
const CUT: usize = 3;
/// Set where strace must be there (`.ci/run` sets it once it has it).
const REQUIRED: &str = "LAKEBED_STRACE_REQUIRED";
/// Every call by which a file or folder is read, made, changed, made durable or named.
const CALLS: &str = "openat,mkdir,write,pwrite64,ftruncate,fsync,fdatasync,linkat,rename,renameat,renameat2,unlink,getdents64,statx,close";
const DAY: Duration = Duration::from_secs(86_400);

/// The child: all its file work on one thread, so that its calls can be counted.
fn child(job: &str) {
    let (name, folder) = job.split_once(' ').unwrap();
    let job = JOBS.into_iter().find(|one| one.name() == name).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(job.run(job.store(Path::new(folder))));
}

/// What a child says once its work is done.
const DONE: &str = "ACKNOWLEDGED";

/// Runs the child under strace with these options; what it said.
fn traced(job: Job, folder: &Path, options: &[String]) -> String {
    let output = Command::new("strace")
        .args(["-f", "-qq", "-y"])
        .args(options)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "crash_points::a_process_may_die_at_every_call", "--nocapture", "--test-threads=1"])
        .env(JOB, format!("{} {}", job.name(), folder.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The calls that touch the folder: which call, and which one of its kind on its thread.
async fn points(job: Job) -> BTreeSet<(String, usize)> {
    let folder = job.prepared().await;
    let log = tempfile::NamedTempFile::new().unwrap();
    let options = ["-o", log.path().to_str().unwrap(), "-e", &format!("trace={CALLS}")].map(str::to_owned);
    let said = traced(job, folder.path(), &options);
    assert!(said.contains(DONE), "{job:?} without a kill: {said}");
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

/// The points that are died at in this run.
fn chosen(points: &BTreeSet<(String, usize)>) -> Vec<&(String, usize)> {
    let all = std::env::var(POINTS).is_ok_and(|asked| asked == "all");
    let mut kinds = BTreeMap::<&str, Vec<&(String, usize)>>::new();
    for point in points {
        kinds.entry(&point.0).or_default().push(point);
    }
    let cut = |kind: Vec<_>| {
        let last = kind.len() - 1;
        let kept = move |at: usize| all || at.is_multiple_of(CUT) || at == last;
        kind.into_iter().enumerate().filter(move |(at, _)| kept(*at)).map(|(_, point)| point)
    };
    kinds.into_values().flat_map(cut).collect()
}

/// The table after a kill: as before, or as after, and nothing in between; it goes on, and a cleanup leaves no temporary file.
async fn whole(job: Job, folder: &Path, before: &Log, acknowledged: bool, what: &str) {
    let store = job.store(folder);
    let state = match Table::open_store(std::sync::Arc::clone(&store), &crate::support::isolated()).await {
        Ok(_) => Some(job.state(&store, before).await),
        Err(TableError::NotATable { .. }) => None,
        Err(error) => panic!("{what}: {error}"),
    };
    let [old, new] = job.states();
    assert!(state == new || state == old && !acknowledged, "{what}: {state:?}, acknowledged: {acknowledged}");
    job.taken_up(&store).await;
    assert_eq!(job.state(&store, before).await.1, state.map_or(0, |(_, rows)| rows), "{what}, and taken up");
    let mut table = opened(&store).await;
    committed(&add(&mut table, &[8]).await);
    assert_eq!(table.settle().await, Vec::<String>::new(), "{what}");
    let rows = job.state(&store, before).await.1;
    assert_eq!(rows, state.map_or(0, |(_, rows)| rows) + 1, "{what}");

    age(folder, 8 * DAY);
    let _ = opened(&store).await.vacuum(None, false, false).await.unwrap();
    let left: Vec<PathBuf> = files(folder).into_iter().filter(|path| is_temporary(path)).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "{what}");
    assert_eq!(job.state(&store, before).await.1, rows, "{what}");
}

/// Makes every file so much older. Their order in time stays, with more than a moment between any two: what falls together may be kept.
fn age(folder: &Path, by: Duration) {
    let modified = |path: &PathBuf| std::fs::metadata(path).unwrap().modified().unwrap();
    let mut paths = files(folder);
    paths.sort_by_key(|path| (modified(path), path.clone()));
    let first = SystemTime::now() - by;
    for (at, path) in (0..).zip(&paths) {
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_modified(first + Duration::from_millis(10) * at).unwrap();
    }
}

/// A file under a temporary name, or one that was staged for a log entry.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.starts_with(".tmp-") || name.contains(".json-") || name.contains(".manifest-")
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

/// Creations, commits and upkeep of both formats, killed at every call that touches the table's folder.
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
        // One job alone, where one looks into it.
        let asked = std::env::var(ONLY).unwrap_or_default();
        for job in JOBS.into_iter().filter(|job| job.name().contains(&asked)) {
            let points = points(job).await;
            let (mut landed, mut strays) = (0, 0);
            let chosen = chosen(&points);
            for (call, nth) in &chosen {
                let what = format!("{job:?} killed at {call} {nth}");
                let folder = job.prepared().await;
                let before = job.before(folder.path()).await;
                let options = ["-o", "/dev/null", "-e", &format!("trace={call}"), "-e"].map(str::to_owned);
                let inject = format!("inject={call}:signal=KILL:when={nth}");
                let acknowledged = traced(job, folder.path(), &[options.as_slice(), &[inject]].concat()).contains(DONE);
                landed += usize::from(acknowledged);
                strays += files(folder.path()).iter().filter(|path| is_temporary(path)).count();
                whole(job, folder.path(), &before, acknowledged, &what).await;
            }
            println!(
                "{job:?}: killed at {} of {} calls; {landed} were acknowledged before, {strays} temporary files were left and removed \
                 by the next cleanup",
                chosen.len(),
                points.len()
            );
            assert!(points.len() > 10, "{job:?}: {points:?}");
            for call in job.must_call() {
                assert!(points.iter().any(|(one, _)| one == call), "{job:?} without {call}: {points:?}");
            }
        }
    });
}
