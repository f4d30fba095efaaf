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
        let _ =
            writeln!(out, "| ours ↓ landed → |{}", K::ALL.iter().fold(String::new(), |s, k| s + " " + k.name() + " |"));
        let _ = writeln!(out, "|---|{}", "---|".repeat(N));
        for (kind, row) in K::ALL.iter().zip(&self.rows) {
            let cells = row.cells.iter().fold(String::new(), |s, cell| s + " " + &cell_text(cell, &mut notes) + " |");
            let _ = writeln!(out, "| **{}** |{cells}", kind.name());
        }
        out.push_str(
            "\n`·` compatible, `R` retryable, `I` incompatible, `?` unspecified and refused. A number is a line below: beside a letter \
             the reason of a fixed verdict, else a condition; conditions stand in the order in which they are asked, \
             and where none holds the letter after them counts, or the pair is compatible.\n",
        );
        if !notes.0.is_empty() {
            out.push('\n');
        }
        for (at, (verdict, reason)) in notes.0.iter().enumerate() {
            let _ = writeln!(out, "{}. {}", at + 1, note(*verdict, reason));
        }
        out
    }
}

fn note(verdict: Verdict, reason: &Reason) -> String {
    format!("`{}` → {verdict}: {}; advice: {}", reason.check, reason.sentence, reason.advice)
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
