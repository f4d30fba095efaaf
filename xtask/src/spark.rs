//! `interop spark`: mixed histories of Spark and the program on the same Delta tables; `interop spark-race`: both at once on one.
//!
//! Spark comes from Python's package registry, Delta's two jars from Maven's; both lie below `target/` and are fetched once.

use std::path::PathBuf;
use std::process::Command;

use crate::error::Error;
use crate::python::{self, Environment};
use crate::workspace::{self, Workspace};

/// Delta for Spark 4.2 and what it needs beside Spark, by Maven's coordinates.
const ARTIFACTS: [&str; 2] = ["io.delta:delta-spark_2.13:4.4.0", "io.delta:delta-storage:4.4.0"];
/// Where the jars go.
const JARS: &str = "target/spark/jars";
/// Where Maven keeps its own copies.
const REPOSITORY: &str = "target/spark/repository";
/// Where the tables go.
const WORK: &str = "target/spark/tables";
/// Mixed histories, and what both read after each step.
pub(crate) const HISTORIES: &str = "interop/spark_witness.py";
/// Spark's log store and a link at one name, and which bytes stand there.
pub(crate) const NAMES: &str = "interop/spark_names.py";
/// Both at once on one plain folder, and what gets lost.
pub(crate) const RACE: &str = "interop/spark_race.py";

const ENVIRONMENT: Environment = Environment {
    folder: "target/spark/python",
    requirements: "xtask/spark-requirements.txt",
    // Spark has no wheel in the registry.
    options: &[],
    probe: "import pyspark",
};

/// Fetches Spark and Delta, builds the program, and runs a script with them; `more` goes to the script.
///
/// # Errors
///
/// When Java, Maven or Python is missing, a package cannot be had, or Spark and the program disagree.
pub(crate) fn run(workspace: &Workspace, script: &str, more: &[&str]) -> Result<(), Error> {
    workspace::output(workspace.command("java").arg("-version"), None)?;
    let python = python::made(workspace, &ENVIRONMENT)?;
    let jars = jars(workspace)?;
    status(workspace.cargo().args(["build", "--package", "lakebed-cli"]))?;
    let program = workspace.path("target/debug").join(if cfg!(windows) { "lakebed.exe" } else { "lakebed" });
    let mut run = workspace.command(python);
    run.arg(workspace.path(script)).arg("--program").arg(program);
    run.arg("--jars").arg(jars).arg("--work").arg(workspace.path(WORK)).args(more);
    status(&mut run)
}

/// The folder with Delta's jars.
fn jars(workspace: &Workspace) -> Result<PathBuf, Error> {
    let folder = workspace.path(JARS);
    for artifact in ARTIFACTS {
        if folder.join(file_name(artifact)).is_file() {
            continue;
        }
        println!("spark: fetching {artifact}");
        let mut copy = workspace.command("mvn");
        copy.args(["-q", "-B", "dependency:copy"]).arg(format!("-Dartifact={artifact}"));
        copy.arg(format!("-DoutputDirectory={}", folder.display()));
        copy.arg(format!("-Dmaven.repo.local={}", workspace.path(REPOSITORY).display()));
        workspace::output(&mut copy, None)?;
    }
    Ok(folder)
}

/// The jar of `group:name:version`.
fn file_name(artifact: &str) -> String {
    let mut parts = artifact.split(':').skip(1);
    format!("{}-{}.jar", parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// Runs a program to its end on our own output.
fn status(command: &mut Command) -> Result<(), Error> {
    let program = workspace::describe(command);
    let status = command.status().map_err(|source| Error::Start { program: program.clone(), source })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { program, status: status.to_string(), detail: String::new() })
}

#[cfg(test)]
mod tests {
    use super::{ARTIFACTS, file_name};

    #[test]
    fn a_jar_is_named_as_maven_names_it() {
        assert_eq!(ARTIFACTS.map(file_name), ["delta-spark_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"]);
    }
}
