//! `kills`: writer processes of both formats and of the real clients, killed as often as told, and audited.
//!
//! The test that every run does with fewer kills; this gives it the clients and a number.

use crate::error::Error;
use crate::python;
use crate::workspace::{self, Workspace};

/// How often something is killed where nobody says.
const KILLS: &str = "2000";

/// Runs the test with so many kills.
pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<(), Error> {
    let kills = asked(args)?;
    let python = python::environment(workspace)?;
    let mut test = workspace.cargo();
    test.args(["test", "--package", "lakebed-interop", "--test", "it", "--", "kills::killed", "--nocapture"]);
    test.env("LAKEBED_KILLS", kills).env("LAKEBED_PYTHON", python);
    let program = workspace::describe(&test);
    let status = test.status().map_err(|source| Error::Start { program: program.clone(), source })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { program, status: status.to_string(), detail: String::new() })
}

/// The number behind `--kills`.
fn asked<'a>(args: &[&'a str]) -> Result<&'a str, Error> {
    match args {
        [] => Ok(KILLS),
        ["--kills", number] if number.parse::<u32>().is_ok_and(|number| number > 0) => Ok(number),
        _ => Err(Error::Usage("usage: cargo xtask kills [--kills N]")),
    }
}

#[cfg(test)]
mod tests {
    use super::asked;

    #[test]
    fn a_number_is_taken_and_nothing_else() {
        assert_eq!(asked(&[]).unwrap(), "2000");
        assert_eq!(asked(&["--kills", "7"]).unwrap(), "7");
        for wrong in [&["--kills"][..], &["--kills", "0"], &["--kills", "x"], &["7"]] {
            assert!(asked(wrong).is_err(), "{wrong:?}");
        }
    }
}
