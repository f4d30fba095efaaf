//! `build --full`, `install` and `full`: the whole program, the rows of Lance tables included.
//!
//! They are a feature of the program, off by default, because Lance's own file crates take as long to compile as all the rest.

use std::process::Command;

use crate::error::Error;
use crate::suite;
use crate::workspace::Workspace;

/// The package of the program, and its feature.
const PACKAGE: &str = "lakebed-cli";
const FEATURE: &str = "lance-data";

/// The crate that no plain build compiles.
pub(crate) const LEFT_OUT: &str = "lakebed-lance-data";

/// The crate that plays schedules on tables of both formats.
pub(crate) const TRIALS: &str = "lakebed-trials";

/// Its feature, as a command names it that is about several packages.
pub(crate) const FEATURE_OF_TRIALS: &str = "lakebed-trials/lance-data";

/// Builds the program; further arguments are cargo's.
pub(crate) fn build(workspace: &Workspace, more: &[&str]) -> Result<(), Error> {
    let mut cargo = cargo(workspace)?;
    cargo.args(["build", "--release", "--locked", "--package", PACKAGE, "--features", FEATURE]).args(more);
    suite::status(&mut cargo)
}

/// Installs the program; further arguments (such as `--root FOLDER`) are cargo's.
pub(crate) fn install(workspace: &Workspace, more: &[&str]) -> Result<(), Error> {
    let mut cargo = cargo(workspace)?;
    cargo.args(["install", "--locked", "--path", "crates/cli", "--features", FEATURE]).args(more);
    suite::status(&mut cargo)
}

/// Runs any command of cargo with the protoc that building those crates wants.
pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<(), Error> {
    suite::status(cargo(workspace)?.args(args))
}

/// Runs the program of the trials with these arguments.
pub(crate) fn trials(workspace: &Workspace, args: &[&str]) -> Result<(), Error> {
    let program = ["run", "--quiet", "--release", "--package", TRIALS, "--features", FEATURE, "--"];
    suite::status(cargo(workspace)?.args(program).args(args))
}

/// Cargo, with a protoc for the build scripts that want one: the one that is named, or this program.
pub(crate) fn cargo(workspace: &Workspace) -> Result<Command, Error> {
    let mut cargo = workspace.cargo();
    if std::env::var_os("PROTOC").is_none() {
        let this =
            std::env::current_exe().map_err(Error::file("find", std::path::Path::new("the program that runs")))?;
        cargo.env("PROTOC", this);
    }
    Ok(cargo)
}
