//! Rule tables printed as Markdown.

use crate::{Cell, Policy};
use lakebed_transaction::{Kind, Reason, Verdict};
use std::fmt::Write;

impl<F: 'static, const N: usize> Policy<F, N> {
    /// The policy as Markdown: the checks that run first, the table (rows ours, columns landed), then everything that
    /// decides in it with its sentence and its advice. The kinds name rows and columns.
    #[must_use]
    pub fn markdown<K: Kind>(&self) -> String {
        let mut out = format!("# Policy `{}`\n\nRows: ours. Columns: what landed before us.\n\n", self.label());
        let mut notes = Notes(Vec::new());
        if !self.first.is_empty() {
            out.push_str("Checked first, in this order:\n\n");
            for check in self.first {
                let _ = writeln!(out, "1. {}", note(check.verdict, &check.reason));
            }
            out.push('\n');
        }
        let table = self.table(K::ALL, &mut notes);
        match only_text(&table) {
            Some(text) => {
                let _ = writeln!(out, "Then, whatever the two operations are: {text}.");
            }
            None => out.push_str(&printed(K::ALL, &table)),
        }
        if !notes.0.is_empty() {
            out.push('\n');
        }
        for (at, (verdict, reason)) in notes.0.iter().enumerate() {
            let _ = writeln!(out, "{}. {}", at + 1, note(*verdict, reason));
        }
        out
    }

    /// The cells' texts, row by row.
    fn table<K: Kind>(&self, kinds: &[K], notes: &mut Notes) -> Vec<Vec<String>> {
        let rows = self.rows.iter().take(kinds.len());
        rows.map(|row| row.cells.iter().map(|cell| cell_text(cell, notes)).collect()).collect()
    }
}

/// The text of all cells where they are alike.
fn only_text(table: &[Vec<String>]) -> Option<&str> {
    let first = table.first()?.first()?;
    table.iter().flatten().all(|text| text == first).then_some(first)
}

fn printed<K: Kind>(kinds: &[K], table: &[Vec<String>]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "| ours ↓ landed → |{}", kinds.iter().fold(String::new(), |s, k| s + " " + k.name() + " |"));
    let _ = writeln!(out, "|---|{}", "---|".repeat(kinds.len()));
    for (kind, row) in kinds.iter().zip(table) {
        let _ =
            writeln!(out, "| **{}** |{}", kind.name(), row.iter().fold(String::new(), |s, text| s + " " + text + " |"));
    }
    out.push_str(
        "\n`·` compatible, `R` retryable, `I` incompatible, `?` unspecified and refused. A number is a line below: beside a letter \
         the reason of a fixed verdict, else a condition; conditions stand in the order in which they are asked, \
         and where none holds the letter after them counts, or the pair is compatible.\n",
    );
    out
}

fn note(verdict: Verdict, reason: &Reason) -> String {
    let class = reason.error_class.map_or_else(String::new, |class| format!(" (`{class}`)"));
    format!("`{}` → {verdict}{class}: {}; advice: {}", reason.check, reason.sentence, reason.advice)
}

/// What decides in the table, each once, in order of first mention.
struct Notes(Vec<(Verdict, Reason)>);

impl Notes {
    fn number(&mut self, verdict: Verdict, reason: Reason) -> usize {
        let at = self.0.iter().position(|known| *known == (verdict, reason)).unwrap_or_else(|| {
            self.0.push((verdict, reason));
            self.0.len() - 1
        });
        at + 1
    }
}

fn cell_text<F>(cell: &Cell<F>, notes: &mut Notes) -> String {
    let (checks, otherwise) = match cell {
        Cell::Clear => return "·".to_owned(),
        Cell::Unspecified => return "?".to_owned(),
        Cell::Always(verdict, reason) => (&[] as &[_], Some((*verdict, *reason))),
        Cell::If(checks) => (*checks, None),
        Cell::Else(checks, verdict, reason) => (*checks, Some((*verdict, *reason))),
    };
    let mut parts: Vec<String> =
        checks.iter().map(|check| notes.number(check.verdict, check.reason).to_string()).collect();
    if let Some((verdict, reason)) = otherwise {
        parts.push(format!("{} ({})", letter(verdict), notes.number(verdict, reason)));
    }
    parts.join(", ")
}

const fn letter(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Compatible => "·",
        Verdict::Rebase => "rebase",
        Verdict::Reordered => "reordered",
        Verdict::LaterOverwrites => "later overwrites",
        Verdict::Retryable => "R",
        Verdict::Incompatible => "I",
        Verdict::Unspecified => "?",
        Verdict::NeedFacts => "facts",
    }
}
