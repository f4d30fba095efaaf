//! `test`: every test of the workspace, with the real clients and the conformance data where they can be had.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::full;
use crate::packages;
use crate::python;
use crate::stores;
use crate::workspace::{self, Workspace};

/// What every compile and run of the tests is given, so that nothing is compiled twice.
///
/// The features are what the storage crate's own behaviour tests need, every cloud and every index.
const TEST: &[&str] = &[
    "test",
    "--workspace",
    "--exclude",
    full::LEFT_OUT,
    "--exclude",
    full::TRIALS,
    "--features",
    "lakebed-storage/test-util,lakebed-storage/aws,lakebed-storage/azure,lakebed-storage/gcp,lakebed-index/dynamodb,lakebed-index/postgres,lakebed-index/redis,lakebed-index/sqlite",
];

/// What begins a line that a test prints when it cannot run.
const SKIPPED: &str = "skipped:";

/// Prepares, compiles, runs, and says at the end what was skipped.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Error> {
    let mut skips = Skips::default();
    let ((python, ray), compiled) = std::thread::scope(|scope| {
        let python = scope.spawn(|| (python::environment(workspace), python::examples(workspace)));
        let compiled = status(workspace.cargo().args(TEST).arg("--no-run"));
        (python.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), compiled)
    });
    compiled?;

    let mut tests = workspace.cargo();
    tests.args(TEST).args(["--no-fail-fast", "--", "--show-output"]);
    provide(&mut tests, "LAKEBED_CONFORMANCE", conformance(workspace), &mut skips);
    let strict = is_strict(std::env::var("CI").ok().as_deref());
    provide(
        &mut tests,
        "LAKEBED_PYTHON",
        required(python, strict, "the tests against pylance and deltalake")?,
        &mut skips,
    );
    provide(&mut tests, "LAKEBED_RAY_PYTHON", required(ray, strict, "the example with Ray")?, &mut skips);

    // Stopped at the end of the tests, however they end.
    let servers = stores::Running(workspace);
    let (variables, missing) = stores::start(workspace)?;
    tests.envs(variables);
    for reason in missing {
        let missed = required(Err(Error::Missing(reason)), strict, "the tests of stores and indexes")?;
        skips.add(missed.err().unwrap_or_default());
    }

    let tested = echo(&mut tests, &mut skips);
    let whole = whole(workspace, &tests, &mut skips);
    drop(servers);
    let outside = outside(workspace);
    let packed = packages::quick(workspace);
    print!("{skips}");
    tested.and(whole).and(outside).and(packed)
}

/// Tests the rows of Lance tables, and the trials, which are held on tables of both formats. They are compiled apart from the rest, which
/// must never want what they do.
fn whole(workspace: &Workspace, like: &Command, skips: &mut Skips) -> Result<(), Error> {
    let mut tests = full::cargo(workspace)?;
    for (variable, value) in like.get_envs() {
        match value {
            Some(value) => tests.env(variable, value),
            None => tests.env_remove(variable),
        };
    }
    tests.args(["test", "--package", full::LEFT_OUT, "--package", full::TRIALS, "--features", full::FEATURE_OF_TRIALS]);
    echo(tests.args(["--no-fail-fast", "--", "--show-output"]), skips)
}

/// Sets the variable to the path, or removes it and remembers why.
fn provide(command: &mut Command, variable: &str, path: Result<PathBuf, String>, skips: &mut Skips) {
    match path {
        Ok(path) => {
            println!("test: {variable}={}", path.display());
            command.env(variable, path);
        }
        Err(reason) => {
            command.env_remove(variable);
            skips.add(reason);
        }
    }
}

/// The folder with the conformance data, or why there is none.
fn conformance(workspace: &Workspace) -> Result<PathBuf, String> {
    let named = std::env::var_os("LAKEBED_CONFORMANCE").map(PathBuf::from);
    let path = named.unwrap_or_else(|| workspace.path("../shared/conformance"));
    path.canonicalize()
        .ok()
        .filter(|path| path.is_dir())
        .ok_or_else(|| "the conformance tests: there is no data; set LAKEBED_CONFORMANCE to its folder".to_owned())
}

/// Whether a missing tool fails the run.
fn is_strict(ci: Option<&str>) -> bool {
    matches!(ci, Some("true" | "1"))
}

/// A tool that was found, or why it was not; an error where it has to be there.
fn required(tool: Result<PathBuf, Error>, strict: bool, needs_it: &str) -> Result<Result<PathBuf, String>, Error> {
    match tool {
        Ok(path) => Ok(Ok(path)),
        Err(error) if strict => Err(Error::Missing(format!("{needs_it}: {error}"))),
        Err(error) => Ok(Err(format!("{needs_it}: {error}"))),
    }
}

/// Runs a program to its end on our own output.
pub(crate) fn status(command: &mut Command) -> Result<(), Error> {
    let program = workspace::describe(command);
    let status = command.status().map_err(|source| Error::Start { program: program.clone(), source })?;
    ended(program, status)
}

/// Runs a program to its end, passes its standard output on, and picks the skips out of it.
fn echo(command: &mut Command, skips: &mut Skips) -> Result<(), Error> {
    let program = workspace::describe(command);
    let start = |source| Error::Start { program: program.clone(), source };
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(start)?;
    if let Some(output) = child.stdout.take() {
        let mut out = std::io::stdout().lock();
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(start)?;
            // A closed terminal is no reason to leave the tests alone.
            let _ = out.write_all(&line).and_then(|()| out.write_all(b"\n"));
            skips.see(&String::from_utf8_lossy(&line));
        }
    }
    let status = child.wait().map_err(start)?;
    ended(program, status)
}

fn ended(program: String, status: std::process::ExitStatus) -> Result<(), Error> {
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { program, status: status.to_string(), detail: String::new() })
}

/// Tests the small engines under `examples/outside`, each a workspace of its own, as a stranger's would be.
fn outside(workspace: &Workspace) -> Result<(), Error> {
    let folder = workspace.path("examples/outside");
    let mut manifests: Vec<PathBuf> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("Cargo.toml")))
        .filter(|manifest| manifest.is_file())
        .collect();
    manifests.sort();
    for manifest in manifests {
        let mut test = workspace.cargo();
        test.arg("test").arg("--target-dir").arg(workspace.path("target"));
        status(test.arg("--manifest-path").arg(manifest))?;
    }
    Ok(())
}

/// What was not tested, and how often that was said.
#[derive(Debug, Default)]
struct Skips(BTreeMap<String, usize>);

impl Skips {
    fn add(&mut self, reason: String) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// Remembers a line of output if a test says in it that it cannot run.
    fn see(&mut self, line: &str) {
        if let Some(reason) = line.trim().strip_prefix(SKIPPED) {
            self.add(reason.trim().to_owned());
        }
    }
}

impl std::fmt::Display for Skips {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return writeln!(f, "test: nothing was skipped");
        }
        for (reason, count) in &self.0 {
            let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
            writeln!(f, "test: skipped {reason}{times}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Skips, echo, is_strict, provide, required};
    use crate::error::Error;

    #[test]
    fn skips_are_picked_out_of_the_output_and_counted() {
        let mut skips = Skips::default();
        for line in ["test a ... ok", "skipped: no data", "  skipped: no data", "1 skipped: x", "skipped: no server"] {
            skips.see(line);
        }
        assert_eq!(skips.to_string(), "test: skipped no data (2 times)\ntest: skipped no server\n");
        assert_eq!(Skips::default().to_string(), "test: nothing was skipped\n");
    }

    #[test]
    fn a_missing_tool_fails_only_where_ci_says_so() {
        let missing = || Err(Error::Metadata("gone".to_owned()));
        assert!(required(missing(), true, "x").is_err());
        assert!(required(missing(), false, "x").unwrap().unwrap_err().contains("gone"));
        assert!(is_strict(Some("true")) && is_strict(Some("1")));
        assert!(!is_strict(None) && !is_strict(Some("")) && !is_strict(Some("false")));
    }

    #[test]
    fn what_is_missing_is_removed_from_the_environment() {
        let mut skips = Skips::default();
        let mut command = Command::new("x");
        provide(&mut command, "A", Ok("there".into()), &mut skips);
        provide(&mut command, "B", Err("B is missing".to_owned()), &mut skips);
        let set: Vec<_> = command.get_envs().collect();
        assert_eq!(set, [("A".as_ref(), Some("there".as_ref())), ("B".as_ref(), None)]);
        assert_eq!(skips.to_string(), "test: skipped B is missing\n");
    }

    #[test]
    fn a_program_that_fails_or_is_not_there_is_an_error() {
        let mut skips = Skips::default();
        let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        assert!(echo(cargo().arg("--version"), &mut skips).is_ok());
        let failed = echo(cargo().arg("no-such-command").stderr(std::process::Stdio::null()), &mut skips);
        assert!(matches!(failed, Err(Error::Program { .. })));
        assert!(matches!(echo(&mut Command::new("no-such-program-here"), &mut skips), Err(Error::Start { .. })));
    }
}
