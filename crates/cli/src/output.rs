//! What goes to standard output and standard error.

use crate::error::CliError;
use crate::exit::Exit;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};

/// Writes a text to standard output.
pub(crate) fn text(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::Output)
}

/// Writes one line to standard output.
pub(crate) fn line(text: impl AsRef<str>) -> Result<(), CliError> {
    self::text(&format!("{}\n", text.as_ref()))
}

/// Writes one JSON document to standard output.
pub(crate) fn document(value: &Value) -> Result<(), CliError> {
    line(value.to_string())
}

/// Says something on standard error; whether anybody listens does not matter.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says on standard error why a command could not be carried out: a line, or with `--json` an object.
pub(crate) fn failure(problem: &str, exit: Exit, json: bool) {
    if json {
        note(&json!({"error": problem, "exit_status": exit.status()}).to_string());
    } else {
        note(&format!("lakebed: {problem}"));
    }
}

/// A table of texts under heads.
pub(crate) fn table<const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    grid(&heads.map(str::to_owned), rows.into_iter().map(Vec::from).collect())
}

/// A table of texts under any number of heads.
pub(crate) fn grid(heads: &[String], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_header(heads);
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    for row in rows {
        table.add_row(row);
    }
    format!("{table}\n")
}

/// A text for an absent value.
pub(crate) fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// A number of things: `1 row`, `2 rows`.
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
