//! One measured pair.

use std::collections::BTreeMap;
use std::path::Path;

/// What pylance ran, and what it answered.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) base: String,
    pub(crate) ours: String,
    pub(crate) winner: String,
    /// Whether the command was allowed to run itself again.
    pub(crate) retries: bool,
    /// Whether it did.
    pub(crate) ran_again: bool,
    /// Whether it committed.
    pub(crate) ok: bool,
    /// As what it failed.
    pub(crate) failed_as: String,
    /// Final rows, and the rest of the state, against the two serial runs.
    pub(crate) serial: String,
    pub(crate) state_serial: String,
    /// Names of the files with the final rows and state.
    pub(crate) rows: String,
    pub(crate) state: String,
}

impl Case {
    /// Whether what pylance left equals neither serial run.
    pub(crate) fn pylance_loses(&self) -> bool {
        self.serial == "neither" || self.state_serial == "neither"
    }
}

/// Every pair, in the order of the file.
pub(crate) fn all(root: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(root.join("cases.tsv")).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let case = |cells: Vec<&str>| {
        let row: BTreeMap<&str, &str> = names.iter().copied().zip(cells).collect();
        let cell = |name: &str| row.get(name).copied().unwrap_or_default().to_owned();
        Case {
            id: cell("id"),
            base: cell("base"),
            ours: cell("ours"),
            winner: cell("winner"),
            retries: cell("mode") == "default",
            ran_again: cell("reexecutes") == "yes",
            ok: cell("verdict") == "ok",
            failed_as: cell("message_kind"),
            serial: cell("serial"),
            state_serial: cell("state_serial"),
            rows: cell("row_hash"),
            state: cell("state_hash"),
        }
    };
    lines.map(case).collect()
}
