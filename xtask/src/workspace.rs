//! Where the workspace is, and the programs that are run in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;

/// The folder that holds the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace that this program was compiled in.
    ///
    /// Cargo says at run time where the package lies, so a clone that was moved after compiling is still found.
    pub(crate) fn find() -> Result<Self, Error> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let above = package.join("..");
        let root = above.canonicalize().map_err(Error::file("find", &above))?;
        Ok(Self { root })
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the folder, given with forward slashes.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// A program that will run in the folder.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Cargo, the one that runs us where there is one.
    ///
    /// What cargo told us of our own package is kept from it: build scripts look at some of that, and whatever one of them made would be made
    /// again whenever xtask and a shell take turns.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
                cargo.env_remove(name);
            }
        }
        cargo
    }
}

/// Runs a program to its end and returns what it printed to standard output.
///
/// # Errors
///
/// When it cannot be started, or ends badly; the message holds what it printed to standard error.
pub(crate) fn output(command: &mut Command, input: Option<&str>) -> Result<String, Error> {
    let program = describe(command);
    let start = |source| Error::Start { program: program.clone(), source };
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(start)?;
    let stdin = child.stdin.take();
    let done = std::thread::scope(|scope| {
        // A second thread feeds the program, which may print before it has read everything.
        scope.spawn(move || {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A program that stops reading ends badly by itself, which is what gets reported.
                let _ = stdin.write_all(input.as_bytes());
            }
        });
        child.wait_with_output()
    })
    .map_err(start)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let detail = format!(":\n{}", String::from_utf8_lossy(&done.stderr).trim());
    Err(Error::Program { program, status: done.status.to_string(), detail })
}

/// The command line, for messages.
pub(crate) fn describe(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| part.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
