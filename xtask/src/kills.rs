//! `kills`: writer processes of both formats and of the real clients, killed as often as told, and audited.
//!
//! The test that every run does with fewer kills; this gives it the clients, a number, and for half of the kills an S3 server.

use crate::error::Error;
use crate::python;
use crate::stores;
use crate::workspace::{self, Workspace};

/// How often something is killed where nobody says.
const KILLS: u32 = 2_000;

/// The server that speaks S3.
const SERVER: &str = "ministack";

/// Runs the test on local disk, then on a server, with half of the kills each; all on local disk where there is no server.
pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<(), Error> {
    let kills = asked(args)?;
    let python = python::environment(workspace)?;
    let _servers = stores::Running(workspace);
    let (variables, missing) = stores::start_only(workspace, SERVER)?;
    for reason in &missing {
        eprintln!("kills: {reason}");
    }
    let on_server = if missing.is_empty() { kills / 2 } else { 0 };
    for (test, kills) in [
        ("killed_writers_lose_nothing_and_double_nothing", kills - on_server),
        ("killed_writers_lose_nothing_on_s3", on_server),
    ] {
        if kills > 0 {
            one(workspace, &format!("kills::{test}"), kills, &python, &variables)?;
        }
    }
    Ok(())
}

fn one(
    workspace: &Workspace,
    test: &str,
    kills: u32,
    python: &std::path::Path,
    variables: &stores::Variables,
) -> Result<(), Error> {
    let mut run = workspace.cargo();
    run.args(["test", "--package", "lakebed-interop", "--test", "it", "--", "--exact", test, "--nocapture"]);
    run.envs(variables).env("LAKEBED_KILLS", kills.to_string()).env("LAKEBED_PYTHON", python);
    let program = workspace::describe(&run);
    let status = run.status().map_err(|source| Error::Start { program: program.clone(), source })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { program, status: status.to_string(), detail: String::new() })
}

/// The number behind `--kills`.
fn asked(args: &[&str]) -> Result<u32, Error> {
    let number = match args {
        [] => Some(KILLS),
        ["--kills", number] => number.parse().ok().filter(|number| *number > 0),
        _ => None,
    };
    number.ok_or(Error::Usage("usage: cargo xtask kills [--kills N]"))
}

#[cfg(test)]
mod tests {
    use super::asked;

    #[test]
    fn a_number_is_taken_and_nothing_else() {
        assert_eq!(asked(&[]).unwrap(), 2_000);
        assert_eq!(asked(&["--kills", "7"]).unwrap(), 7);
        for wrong in [&["--kills"][..], &["--kills", "0"], &["--kills", "x"], &["7"]] {
            assert!(asked(wrong).is_err(), "{wrong:?}");
        }
    }
}
