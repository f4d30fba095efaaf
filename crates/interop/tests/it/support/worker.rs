//! A client that stays and carries out one command after the other.

use super::Python;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A command that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A script that reads a line of JSON and answers with one, until its input ends. Dropped, it is ended.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    answers: UnboundedReceiver<String>,
    errors: tempfile::NamedTempFile,
}

impl Worker {
    /// Starts a script of `interop/`.
    pub(crate) fn start(python: &Python, script: &str) -> Self {
        let errors = tempfile::NamedTempFile::new().unwrap();
        let mut child = python.talking(script, &errors);
        let input = child.stdin.take().unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, answers) = unbounded_channel();
        // The thread ends with the script's output.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if !line.is_ok_and(|line| sender.send(line).is_ok()) {
                    break;
                }
            }
        });
        Self { child, input, answers, errors }
    }

    /// What the script answers to a command.
    pub(crate) async fn ask(&mut self, command: &Value) -> Value {
        let sent = writeln!(self.input, "{command}").and_then(|()| self.input.flush());
        let line = tokio::time::timeout(PATIENCE, self.answers.recv()).await;
        let said = || std::fs::read_to_string(self.errors.path()).unwrap_or_default();
        match (sent, line) {
            (Ok(()), Ok(Some(line))) => serde_json::from_str(&line).unwrap(),
            (sent, line) => panic!("no answer to {command}: {sent:?}, {line:?}, {}", said()),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
