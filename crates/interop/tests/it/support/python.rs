//! Running the clients' scripts.

use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A script that takes longer hangs, and is ended.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a running script is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// The interpreter with the real clients in it.
#[derive(Clone, Debug)]
pub(crate) struct Python {
    program: PathBuf,
    scripts: PathBuf,
}

impl Python {
    /// The interpreter, or `None` after saying that the test is skipped.
    ///
    /// # Panics
    /// Where the run may not be without it (`CI=true`).
    pub(crate) fn find() -> Option<Self> {
        let Some(program) = std::env::var_os("LAKEBED_PYTHON") else {
            let strict = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
            assert!(!strict, "the real clients are missing: set LAKEBED_PYTHON, as `cargo xtask test` does");
            println!("skipped: the tests against pylance and deltalake: LAKEBED_PYTHON is not set");
            return None;
        };
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop");
        Some(Self { program: program.into(), scripts })
    }

    /// A script of `interop/`, not yet started, without input.
    pub(crate) fn command<S: AsRef<str>>(&self, script: &str, arguments: &[S]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(self.scripts.join(script)).args(arguments.iter().map(AsRef::as_ref)).stdin(Stdio::null());
        command
    }

    /// Starts a script of `interop/` on a table.
    pub(crate) fn start<S: AsRef<str>>(&self, script: &str, arguments: &[S]) -> Running {
        let output = tempfile::NamedTempFile::new().unwrap();
        let errors = tempfile::NamedTempFile::new().unwrap();
        let child = self
            .command(script, arguments)
            .stdout(File::create(output.path()).unwrap())
            .stderr(File::create(errors.path()).unwrap())
            .spawn()
            .unwrap();
        Running { script: script.to_owned(), child, output, errors }
    }

    /// Starts a script that is talked to; what it says on standard error goes to a file.
    pub(super) fn talking(&self, script: &str, errors: &tempfile::NamedTempFile) -> Child {
        let mut command = Command::new(&self.program);
        command.arg(self.scripts.join(script)).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(errors.path()).unwrap()).spawn().unwrap()
    }

    /// Runs a script to its end and gives its document; a script that fails fails the test.
    pub(crate) async fn run<S: AsRef<str>>(&self, script: &str, arguments: &[S]) -> Value {
        self.start(script, arguments).document().await
    }

    /// Runs a script on a table: `words` stand before the table's path, `more` behind it.
    pub(crate) async fn on<S: AsRef<str>>(&self, script: &str, words: &[&str], table: &Path, more: &[S]) -> Value {
        let path = [table.to_str().unwrap()];
        let all: Vec<&str> = words.iter().copied().chain(path).chain(more.iter().map(AsRef::as_ref)).collect();
        self.run(script, &all).await
    }
}

/// A script that was started. Dropped, it is ended: no test leaves a process behind.
#[derive(Debug)]
pub(crate) struct Running {
    script: String,
    child: Child,
    output: tempfile::NamedTempFile,
    errors: tempfile::NamedTempFile,
}

impl Running {
    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// What it wrote on standard error.
    pub(crate) fn errors(&self) -> String {
        std::fs::read_to_string(self.errors.path()).unwrap()
    }

    /// Waits for its end; the document, if it printed one, and whether it ended well.
    pub(crate) async fn end(mut self) -> (Option<Value>, bool) {
        let ended = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(LOOK).await;
            }
        });
        let status = ended.await.unwrap_or_else(|_| panic!("{} did not end in {PATIENCE:?}", self.script));
        let text = std::fs::read_to_string(self.output.path()).unwrap();
        (serde_json::from_str(&text).ok(), status.success())
    }

    /// Waits for its end and gives its document.
    pub(crate) async fn document(self) -> Value {
        let script = self.script.clone();
        let errors = self.errors.path().to_owned();
        // The file goes with the handle, so its text is taken before.
        let kept = self.errors.reopen().unwrap();
        let (document, well) = self.end().await;
        let said = std::io::read_to_string(kept).unwrap_or_else(|_| errors.display().to_string());
        assert!(well, "{script} failed: {said}");
        document.unwrap_or_else(|| panic!("{script} printed no document: {said}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.runs() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
