//! The Python environment of the interoperation tests, with the real clients at pinned versions.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::workspace::{self, Workspace};

/// An environment: where it is made and of what.
pub(crate) struct Environment {
    pub(crate) folder: &'static str,
    /// What is installed into it.
    pub(crate) requirements: &'static str,
    /// What the installer is told beside that.
    pub(crate) options: &'static [&'static str],
    /// Fails when a package is installed but does not load on this machine.
    pub(crate) probe: &'static str,
}

const CLIENTS: Environment = Environment {
    folder: "target/python",
    requirements: "xtask/requirements.txt",
    options: &["--only-binary", ":all:"],
    probe: "import deltalake, lance, pyarrow",
};

const EXAMPLES: Environment = Environment {
    folder: "target/python-examples",
    requirements: "examples/ray/requirements.txt",
    options: &["--only-binary", ":all:"],
    probe: "import deltalake, numpy, pyarrow, ray",
};

/// Makes the environment of the examples with Ray, unless one for the same requirements is there, and returns its interpreter.
///
/// # Errors
///
/// As [`environment`].
pub(crate) fn examples(workspace: &Workspace) -> Result<PathBuf, Error> {
    made(workspace, &EXAMPLES)
}

/// Makes the environment of the real clients, unless one for the same requirements is there, and returns its interpreter.
///
/// # Errors
///
/// When there is no Python, it lacks `venv`, or the clients cannot be installed or loaded.
pub(crate) fn environment(workspace: &Workspace) -> Result<PathBuf, Error> {
    made(workspace, &CLIENTS)
}

/// Makes an environment, unless one for the same requirements is there, and returns its interpreter.
///
/// # Errors
///
/// As [`environment`].
pub(crate) fn made(workspace: &Workspace, wanted: &Environment) -> Result<PathBuf, Error> {
    let requirements = workspace.path(wanted.requirements);
    let pins = std::fs::read_to_string(&requirements).map_err(Error::file("read", &requirements))?;
    let version = workspace::output(workspace.command("python3").arg("--version"), None)?;
    let made_of = stamp(&version, &pins);

    let folder = workspace.path(wanted.folder);
    let python = interpreter(&folder);
    let stamp = folder.join("lakebed-stamp.txt");
    if python.exists() && std::fs::read_to_string(&stamp).is_ok_and(|found| found == made_of) {
        return Ok(python);
    }

    eprintln!("python: making the environment in {}", wanted.folder);
    workspace::output(workspace.command("python3").args(["-m", "venv", "--clear"]).arg(&folder), None)?;
    let mut install = workspace.command(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(wanted.options);
    workspace::output(install.arg("--requirement").arg(&requirements), None)?;
    workspace::output(workspace.command(&python).args(["-c", wanted.probe]), None)?;
    // Written last, so that a run that was cut short is made anew.
    std::fs::write(&stamp, made_of).map_err(Error::file("write", &stamp))?;
    eprintln!("python: the environment is ready");
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
