//! System calls that fail, or the process that dies, at each step of a durable create; injected by strace, where there is one.

use lakebed_storage::{Durability, LocalStore, Store, StoreError};
use std::path::Path;
use std::process::{Command, Stdio};
use std::task::{Context, Poll, Waker};

const FOLDER: &str = "LAKEBED_TEST_FAULT_FOLDER";
const NAME: &str = "entry";

/// What the child makes of one create, in a word that the parent can compare.
fn create_in(folder: &str) -> String {
    let store = LocalStore::new(folder, Durability::Full).expect("a store");
    let created = std::pin::pin!(store.create(NAME, "whole".into()));
    let Poll::Ready(answer) = created.poll(&mut Context::from_waker(Waker::noop())) else {
        return "pending".to_owned();
    };
    match answer {
        Ok(create) => format!("{create:?}"),
        Err(StoreError::Unusable { problem, advice, .. }) => format!("Unusable {problem}; {advice}"),
        Err(error) => format!("Error {error}"),
    }
}

fn under_strace(inject: &str, folder: &Path) -> String {
    let injected: Vec<String> = inject.split(' ').map(|one| format!("inject={one}")).collect();
    let mut options = vec!["-e", "trace=fsync,linkat,unlink,renameat2"];
    options.extend(injected.iter().flat_map(|one| ["-e", one.as_str()]));
    traced(&options, folder)
}

/// As on a file system that knows no files without a name: the first attempt to open the folder itself is one to make such a file.
fn under_strace_with_names(inject: &str, folder: &Path) -> String {
    let path = folder.to_str().expect("a UTF-8 path");
    let refusal = "inject=openat:error=EOPNOTSUPP:when=1";
    traced(
        &["-P", path, "-P", &format!("{path}/{NAME}"), "-e", "trace=openat,fsync,linkat", "-e", refusal, "-e", inject],
        folder,
    )
}

fn traced(options: &[&str], folder: &Path) -> String {
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null"])
        .args(options)
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "faults::each_step_of_a_durable_create_may_fail", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .output()
        .expect("strace runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.split_once("ANSWER ").map(|(_, answer)| answer.to_owned())).unwrap_or_default()
}

fn strace_works() -> bool {
    let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// A failure before the link is an error and leaves nothing; one after it is *unknown*, because the object can be seen.
#[test]
fn each_step_of_a_durable_create_may_fail() {
    if let Ok(folder) = std::env::var(FOLDER) {
        println!("ANSWER {}", create_in(&folder));
        return;
    }
    if !strace_works() {
        println!("skipped: no strace that may trace");
        return;
    }
    let cases = [
        ("fsync:error=EIO:when=1", "Error ", false),
        ("linkat:error=ENOSPC", "Error ", false),
        ("linkat:error=EPERM", "Created", true),
        ("linkat:error=EIO", "Unknown(", false),
        ("linkat:error=EEXIST", "Exists", false),
        ("fsync:error=EIO:when=2", "Unknown(", true),
        ("fsync:error=EIO:when=9", "Created", true),
    ];
    for (inject, wanted, stands) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let answer = under_strace(inject, folder.path());
        assert!(answer.starts_with(wanted), "{inject}: {answer:?}");
        let left: &[&str] = if stands { &[NAME] } else { &[] };
        assert_eq!(files(folder.path()), left, "{inject}");
    }
}

/// Field case 66: killed after the link, the object is whole and alone in a listing. A temporary file without a name leaves
/// nothing beside it, one with a name a hidden file.
#[tokio::test]
async fn a_killed_create_leaves_the_object_and_at_most_a_hidden_file() {
    if !strace_works() {
        println!("skipped: no strace that may trace");
        return;
    }
    for (killed, left_beside) in [
        (under_strace as fn(&str, &Path) -> String, 0),
        (|inject, folder| under_strace_with_names(&format!("inject={inject}"), folder), 1),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let inject = if left_beside == 0 { "fsync:signal=KILL:when=2" } else { "fsync:signal=KILL" };
        assert_eq!(killed(inject, folder.path()), "", "the child died");
        let left = files(folder.path());
        assert_eq!(left.len(), 1 + left_beside, "{left:?}");
        assert!(left.iter().all(|name| name == NAME || name.starts_with(".tmp-")), "{left:?}");
        let store = LocalStore::new(folder.path(), Durability::Full).expect("a store");
        let listed: Vec<String> =
            store.list("", None, 9).await.expect("a listing").into_iter().map(|listed| listed.name).collect();
        assert_eq!(listed, [NAME]);
        assert_eq!(store.get(NAME).await.expect("an answer"), Some("whole".into()));
        assert_eq!(store.create(NAME, "again".into()).await.expect("an answer"), lakebed_storage::Create::Exists);
    }
}

/// Field case 127: on a file system without hard links, whatever it calls that, a rename that replaces nothing decides; where there is
/// none either the create is refused, and says what is missing, why, and what to do. Nothing is left in either case.
#[test]
fn case_127_a_file_system_without_hard_links() {
    if !strace_works() {
        println!("skipped: no strace that may trace");
        return;
    }
    for error in ["ENOSYS", "EPERM", "EACCES", "EOPNOTSUPP"] {
        let folder = tempfile::tempdir().expect("a folder");
        let linkless = format!("linkat:error={error}");
        assert_eq!(under_strace(&linkless, folder.path()), "Created", "{error}");
        assert_eq!(under_strace(&linkless, folder.path()), "Exists", "{error}");
        assert_eq!(files(folder.path()), [NAME], "{error}");
        let lost = format!("{linkless} renameat2:error=EEXIST");
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(under_strace(&lost, folder.path()), "Exists", "{error}");
        assert_eq!(files(folder.path()), [""; 0], "{error}");
        for refusal in ["EINVAL", "ENOSYS"] {
            let folder = tempfile::tempdir().expect("a folder");
            let told = under_strace(&format!("{linkless} renameat2:error={refusal}"), folder.path());
            assert!(told.starts_with("Unusable no hard link could be made (") && told.contains("os error"), "{told}");
            assert!(told.contains("no rename that replaces nothing") && told.contains("--index sqlite:"), "{told}");
            assert_eq!(files(folder.path()), [""; 0], "{error} {refusal}");
        }
    }
}

/// The race on a file system without hard links: as many threads as it has tasks, one name, one winner.
#[test]
fn case_127_a_race_without_hard_links() {
    const RACE: &str = "LAKEBED_TEST_LINKLESS_RACE";
    if let Ok(folder) = std::env::var(RACE) {
        let store: std::sync::Arc<dyn Store> =
            std::sync::Arc::new(LocalStore::new(folder, Durability::Full).expect("a store"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
        let report = runtime.expect("threads").block_on(lakebed_storage::suite::race(&store, 32, 20));
        println!("ANSWER {report:?}");
        return;
    }
    if !strace_works() {
        println!("skipped: no strace that may trace");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=linkat", "-e", "inject=linkat:error=EPERM"])
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "faults::case_127_a_race_without_hard_links", "--nocapture"])
        .env(RACE, folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("strace runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let wanted = "Ok(RaceReport { rounds: 20, creates: 640, unclear: 0 })";
    assert!(text.contains(wanted), "{text}");
}

/// Where a file can be made without a name but not be given one, one with a name is tried.
#[test]
fn a_file_system_that_cannot_name_files_still_takes_a_create() {
    if !strace_works() {
        println!("skipped: no strace that may trace");
        return;
    }
    for error in ["ENOENT", "EXDEV", "EPERM", "EOPNOTSUPP"] {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(under_strace(&format!("linkat:error={error}:when=1"), folder.path()), "Created", "{error}");
        assert_eq!(files(folder.path()), [NAME], "{error}");
    }
}
