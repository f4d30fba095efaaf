//! The results in words and as JSON.

use super::Played;
use crate::commands::history;
use crate::output;
use lakebed_table::TableFormat;
use serde_json::{Value, json};
use std::path::Path;

#[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
fn per_commit(number: u64, commits: u64) -> f64 {
    number as f64 / commits.max(1) as f64
}

/// What came out on one table, in words.
pub(super) fn text(played: &Played) -> String {
    let tally = &played.tally;
    let mut out = format!(
        "{} table {}: {} × {}\n",
        match played.format {
            TableFormat::Delta => "Delta",
            TableFormat::Lance => "Lance",
        },
        played.place,
        output::count(u64::from(played.writers), "writer"),
        output::count(u64::from(played.commits), "commit"),
    );
    if played.format == TableFormat::Lance {
        out.push_str("  (fragments and deletions are real, the fragments' data files are not: rows of Lance files are not read here)\n");
    }
    out.push_str(&format!(
        "outcomes   {} committed in {:.1} s; on the way {}, each planned again, and {} with nothing to do, replaced by an \
         append; {} exhausted, {} unknown\n",
        played.raced,
        played.seconds,
        output::count(tally.num_conflicts(), "conflict"),
        output::count(tally.nothing, "statement"),
        tally.exhausted,
        tally.unknown,
    ));
    out.push_str(&format!(
        "requests   {:.1} per commit, {:.2} attempts per commit\n",
        per_commit(played.requests, played.raced),
        per_commit(tally.attempts, tally.landed.len() as u64),
    ));
    out.push_str("conflicts  one of each kind, explained:\n");
    for (check, kind) in &tally.conflicts {
        let how = if kind.staged { " (staged)" } else { "" };
        out.push_str(&format!("  {check} × {}{how}\n    {}\n", kind.count, kind.example));
    }
    out.push_str("history, the newest first:\n");
    out.push_str(&history::text(&played.history));
    out.push_str(&audit(played));
    for warning in &played.warnings {
        out.push_str(&format!("warning    {warning}\n"));
    }
    out.push('\n');
    out
}

/// Where the tables are, and what the one without data files is good for.
pub(super) fn kept(dir: &Path) -> String {
    format!(
        "; the tables are in {} (trips.lance is a log without data files: history and show work on it, verify and scan say what is \
         missing)",
        dir.display()
    )
}

fn audit(played: &Played) -> String {
    let findings = &played.findings;
    let log = if findings.sound() {
        format!(
            "each of the {} acknowledged commits stands exactly once in the {} of the log",
            played.tally.landed.len(),
            output::count(findings.versions, "version")
        )
    } else {
        format!(
            "FAILED: of {} acknowledged commits {} lost, {} doubled; {} version numbers missing",
            played.tally.landed.len(),
            findings.lost,
            findings.doubled,
            findings.gaps
        )
    };
    let rows = if played.expected == played.found {
        format!("{} as the bookkeeping expects", output::count(played.found.num_rows(), "row"))
    } else {
        format!(
            "FAILED: the bookkeeping expects {}, the table holds {}, and they are not the same",
            output::count(played.expected.num_rows(), "row"),
            played.found.num_rows()
        )
    };
    format!("audit      {log}; {rows}\n")
}

/// What came out, as JSON.
pub(super) fn document(played: &[Played], sound: bool, seconds: f64) -> Value {
    let tables: Vec<Value> = played
        .iter()
        .map(|one| {
            let conflicts: Vec<Value> = one
                .tally
                .conflicts
                .iter()
                .map(|(check, kind)| {
                    json!({"check": check, "count": kind.count, "staged": kind.staged, "explained": kind.example.to_string()})
                })
                .collect();
            json!({
                "format": one.format.name(),
                "has_data_files": one.format == TableFormat::Delta,
                "table": one.place,
                "writers": one.writers,
                "commits": one.raced,
                "seconds": one.seconds,
                "acknowledged": one.tally.landed.len(),
                "conflicts": conflicts,
                "nothing": one.tally.nothing,
                "exhausted": one.tally.exhausted,
                "unknown": one.tally.unknown,
                "attempts_per_commit": per_commit(one.tally.attempts, one.tally.landed.len() as u64),
                "requests_per_commit": per_commit(one.requests, one.raced),
                "audit": {
                    "sound": one.sound(),
                    "versions": one.findings.versions,
                    "lost": one.findings.lost,
                    "doubled": one.findings.doubled,
                    "gaps": one.findings.gaps,
                    "rows_expected": one.expected.num_rows(),
                    "rows_found": one.found.num_rows(),
                    "rows_equal": one.expected == one.found,
                },
            })
        })
        .collect();
    json!({"sound": sound, "seconds": seconds, "tables": tables})
}
