//! Rule tables printed as Markdown.

use crate::{Cell, Check, Policy};
use lakebed_transaction::{Kind, Verdict};
use std::fmt::Write;

impl<F: 'static, const N: usize> Policy<F, N> {
    /// The policy as Markdown: the checks that run first, the table (rows ours, columns landed), then every check with
    /// its sentence. The kinds name rows and columns.
    #[must_use]
    pub fn markdown<K: Kind>(&self) -> String {
        let mut out = format!("# Policy `{}`\n\nRows: ours. Columns: what landed before us.\n\n", self.label());
        let mut notes: Vec<&'static Check<F>> = Vec::new();
        if !self.first.is_empty() {
            out.push_str("Checked first, in this order:\n\n");
            for check in self.first {
                let _ = writeln!(out, "1. `{}` → {}: {}", check.reason.check, check.verdict, check.reason.sentence);
            }
            out.push('\n');
        }
        let _ = writeln!(out, "| ours ↓ landed → |{}", K::ALL.iter().fold(String::new(), |s, k| s + " " + k.name() + " |"));
        let _ = writeln!(out, "|---|{}", "---|".repeat(N));
        for (kind, row) in K::ALL.iter().zip(&self.rows) {
            let cells = row.cells.iter().fold(String::new(), |s, cell| s + " " + &cell_text(cell, &mut notes) + " |");
            let _ = writeln!(out, "| **{}** |{cells}", kind.name());
        }
        out.push_str("\n`·` clear, `R` retryable, `I` incompatible, `?` unspecified and refused; a number is the list of checks below.\n");
        if !notes.is_empty() {
            out.push('\n');
        }
        for (at, check) in notes.iter().enumerate() {
            let reason = &check.reason;
            let _ = writeln!(out, "{}. `{}` → {}: {}; {}", at + 1, reason.check, check.verdict, reason.sentence, reason.advice);
        }
        out
    }
}

fn cell_text<F>(cell: &Cell<F>, notes: &mut Vec<&'static Check<F>>) -> String {
    match cell {
        Cell::Clear => "·".to_owned(),
        Cell::Unspecified => "?".to_owned(),
        Cell::Always(verdict, _) => letter(*verdict).to_owned(),
        Cell::If(checks) => {
            let mut numbers = Vec::new();
            for check in *checks {
                let at = notes.iter().position(|known| std::ptr::eq(*known, *check)).unwrap_or_else(|| {
                    notes.push(check);
                    notes.len() - 1
                });
                numbers.push((at + 1).to_string());
            }
            numbers.join(", ")
        }
    }
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
