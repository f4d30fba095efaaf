//! Running the program.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The JSON document on standard output, which must be all there is.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "one document: {self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The program in a folder of its own.
pub(crate) struct Lakebed {
    pub(crate) dir: TempDir,
}

impl Lakebed {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lakebed"));
        command.args(args).current_dir(self.dir.path()).env_remove("LAKEBED_INDEX");
        command
    }

    /// Runs the program.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, "")
    }

    /// Runs the program with these in its environment.
    pub(crate) fn run_in(&self, args: &[&str], environment: &[(&str, String)]) -> Run {
        let variables = environment.iter().map(|(key, value)| (*key, value.as_str()));
        let output = self.command(args).envs(variables).stdin(Stdio::null()).output().unwrap();
        Run {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the program with this on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Run {
        let mut child =
            self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the program with its standard output here and this on standard input; status and standard error. `Stdio::piped()`
    /// is a reader that has gone away before the program has its input.
    pub(crate) fn run_to(&self, args: &[&str], stdout: Stdio, input: &str) -> (i32, String) {
        let mut child = self.command(args).stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    /// Runs the program, which must do what it is told.
    pub(crate) fn ok(&self, args: &[&str]) -> Run {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run
    }

    /// Runs the program with `--json`; the document.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        self.ok(&args).json()
    }

    /// Runs the program with `--json`, which must fail with this status, print nothing and say why in an object on standard error;
    /// what it says.
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> String {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let run = self.run(&args);
        assert_eq!(run.code, code, "{args:?}: {run:?}");
        assert_eq!(run.stdout, "", "nothing on standard output: {args:?}");
        let object = |line: &str| serde_json::from_str::<Value>(line).ok();
        let said = run.stderr.lines().filter_map(object).find(|said| said["error"].is_string());
        let said = said.unwrap_or_else(|| panic!("no object on standard error: {args:?}: {run:?}"));
        assert_eq!(said["exit_status"], code, "{args:?}: {said}");
        said["error"].as_str().unwrap().to_owned()
    }
}

/// A table of trips with three rows, the last statement of which made version 1.
pub(crate) fn trips() -> Lakebed {
    let lakebed = Lakebed::new();
    lakebed.write("trips.csv", "id,city,fare\n1,Lyon,12.5\n2,Oslo,30\n3,Lyon,7\n");
    lakebed.ok(&["create", "trips", "--format", "delta", "--schema", "id long not null, city string, fare double"]);
    lakebed.ok(&["append", "trips", "trips.csv"]);
    lakebed
}

/// The folder of conformance data, where there is one.
pub(crate) fn conformance(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let folder = std::env::var_os("LAKEBED_CONFORMANCE").map_or_else(beside, PathBuf::from).join(name);
    if folder.is_dir() {
        return Some(folder.canonicalize().unwrap());
    }
    println!("skipped: no {}", folder.display());
    None
}
