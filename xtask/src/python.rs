//! The Python environment of the interoperation tests, with the real clients at pinned versions.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::workspace::{self, Workspace};

/// Where the environment is made.
const FOLDER: &str = "target/python";
/// What is installed into it.
const REQUIREMENTS: &str = "xtask/requirements.txt";
/// Fails when a client is installed but does not load on this machine.
const PROBE: &str = "import deltalake, lance, pyarrow";

/// Makes the environment, unless one for the same requirements is there, and returns its interpreter.
///
/// # Errors
///
/// When there is no Python, it lacks `venv`, or the clients cannot be installed or loaded.
pub(crate) fn environment(workspace: &Workspace) -> Result<PathBuf, Error> {
    let requirements = workspace.path(REQUIREMENTS);
    let wanted = std::fs::read_to_string(&requirements).map_err(Error::file("read", &requirements))?;
    let version = workspace::output(workspace.command("python3").arg("--version"), None)?;
    let wanted = stamp(&version, &wanted);

    let folder = workspace.path(FOLDER);
    let python = interpreter(&folder);
    let stamp = folder.join("lakebed-stamp.txt");
    if python.exists() && std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }

    println!("python: making the environment in {FOLDER}");
    workspace::output(workspace.command("python3").args(["-m", "venv", "--clear"]).arg(&folder), None)?;
    let mut install = workspace.command(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]);
    workspace::output(install.arg("--requirement").arg(&requirements), None)?;
    workspace::output(workspace.command(&python).args(["-c", PROBE]), None)?;
    // Written last, so that a run that was cut short is made anew.
    std::fs::write(&stamp, wanted).map_err(Error::file("write", &stamp))?;
    println!("python: the environment is ready");
    Ok(python)
}

/// What an environment was made of.
fn stamp(version: &str, requirements: &str) -> String {
    let pins = requirements.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    std::iter::once(version.trim()).chain(pins).map(|line| format!("{line}\n")).collect()
}

/// The interpreter of the environment in a folder.
fn interpreter(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

#[cfg(test)]
mod tests {
    use super::stamp;

    #[test]
    fn a_stamp_changes_with_the_interpreter_and_the_pins_but_not_with_remarks() {
        assert_eq!(stamp("Python 3.11.7\n", "# why\n\na==1\n b==2\n"), "Python 3.11.7\na==1\nb==2\n");
        assert_ne!(stamp("Python 3.11.7", "a==1"), stamp("Python 3.12.0", "a==1"));
        assert_ne!(stamp("Python 3.11.7", "a==1"), stamp("Python 3.11.7", "a==2"));
    }
}
