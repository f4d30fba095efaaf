//! The figures in words: Markdown tables, as the documentation holds them.

use crate::contender::{Contender, Delta, MaxCompute, Precise};
use crate::mutation::every_mutation;
use crate::pairs::{Pairs, every_pair};
use crate::program::Program;
use crate::triples::{Schedule, Triples, every_triple};
use crate::universe::{Axis, Universe};
use lakebed_conflict::delta::DeltaPolicy;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER, PreciseTable};
use lakebed_transaction::MaxComputeKind;
use std::fmt::Write;

/// Which programs count.
type Counts = fn(Program) -> bool;

/// A printed report, and what in it must not be.
#[derive(Debug, Default)]
pub struct Report {
    /// Markdown.
    pub text: String,
    /// Promises that were broken, or mutations that were not caught.
    pub failures: Vec<String>,
}

impl Report {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn heads(&mut self, heads: &[&str]) {
        self.line(&format!("| {} |", heads.join(" | ")));
        self.line(&format!("|{}", "---|".repeat(heads.len())));
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.failures.push(what());
        }
    }
}

/// The tables of the `precise` family with what they promise: whether log order.
const PRECISE_TABLES: [(&PreciseTable, bool); 2] = [(&PRECISE, true), (&PRECISE_REORDER, false)];

/// Every pair over tables of up to three rows for every policy, and every triple over up to two for the `precise` ones.
#[must_use]
pub fn base() -> Report {
    let mut report = Report::default();
    let universe = Universe::new(3, &[]);
    let sets: [(&str, Counts); 2] = [
        ("all programs", |_| true),
        ("without statements that read the table to add to it or to replace it", |program| !program.reads_itself()),
    ];
    for (name, counts) in sets {
        let bound = every_pair(&universe, &Precise::shipped(&PRECISE), counts);
        report.line(&format!("Pairs, {name}: {} tables, {} pairs.", universe.tables.len(), bound.total));
        report.line(&format!(
            "A rebase that reads nothing again and takes out only rows that it saw can reach log order in {} %, some order in {} %.\n",
            percent(bound.possible_in_log_order, bound.total),
            percent(bound.possible_in_any_order, bound.total)
        ));
        report.heads(&[
            "policy",
            "accepted",
            "out of log order",
            "unsound",
            "of the bound, log order",
            "of the bound, any order",
        ]);
        natives(&mut report, &universe, counts);
        for (table, log_order) in PRECISE_TABLES {
            let shipped = Precise::shipped(table);
            let unlooking = Precise { looks: false, ..shipped };
            promised(&mut report, &universe, &shipped, counts, ("", log_order));
            promised(&mut report, &universe, &unlooking, counts, (", no row is looked at", log_order));
        }
        report.line("");
    }
    triples(&mut report, &Universe::new(2, &[]));
    report
}

fn natives(report: &mut Report, universe: &Universe, counts: Counts) {
    for compaction in [MaxComputeKind::MinorCompact, MaxComputeKind::MajorCompact] {
        let contender = MaxCompute { compaction };
        pair_row(report, &contender.name(), &every_pair(universe, &contender, counts));
    }
    for policy in [DeltaPolicy::Serializable, DeltaPolicy::WriteSerializable, DeltaPolicy::Snapshot] {
        for with_application in [true, false] {
            let contender = Delta { policy, with_application };
            pair_row(report, &contender.name(), &every_pair(universe, &contender, counts));
        }
    }
}

fn promised(
    report: &mut Report,
    universe: &Universe,
    contender: &Precise,
    counts: Counts,
    (suffix, log_order): (&str, bool),
) -> Pairs {
    let pairs = every_pair(universe, contender, counts);
    let name = format!("**{}**{suffix}", contender.name);
    pair_row(report, &name, &pairs);
    let wrong = if log_order { pairs.out_of_log_order_count() } else { pairs.unsound_count() };
    report.expect(wrong + pairs.wrongly_reordered == 0, || {
        format!("{name} in {universe}: {:?}", pairs.unsound.as_ref().or(pairs.out_of_log_order.as_ref()))
    });
    pairs
}

fn pair_row(report: &mut Report, name: &str, pairs: &Pairs) {
    report.line(&format!(
        "| {name} | {} % | {} % | {} % | {} % | {} % |",
        percent(pairs.accepted, pairs.total),
        percent(pairs.out_of_log_order_count(), pairs.accepted),
        percent(pairs.unsound_count(), pairs.accepted),
        percent(pairs.in_log_order, pairs.possible_in_log_order),
        percent(pairs.in_any_order, pairs.possible_in_any_order),
    ));
}

fn triples(report: &mut Report, universe: &Universe) {
    report.line(&format!("Triples, {universe}: {} tables.\n", universe.tables.len()));
    report.heads(&["policy", "schedule", "triples", "accepted", "out of log order", "unsound"]);
    for (table, log_order) in PRECISE_TABLES {
        for schedule in Schedule::ALL {
            let triples = every_triple(universe, &Precise::shipped(table), schedule);
            triple_row(report, universe, (table.name, log_order), schedule, &triples);
        }
    }
    report.line("");
}

fn triple_row(
    report: &mut Report,
    universe: &Universe,
    (name, log_order): (&str, bool),
    schedule: Schedule,
    triples: &Triples,
) {
    report.line(&format!(
        "| **{name}** | {} | {} | {} | {} | {} |",
        schedule.name, triples.total, triples.accepted, triples.out_of_log_order, triples.unsound
    ));
    let wrong = if log_order { triples.out_of_log_order } else { triples.unsound };
    report.expect(wrong == 0, || format!("{name} in {universe}, {}: {:?}", schedule.name, triples.example));
}

/// Pairs along each axis and each two; triples along each; for the `precise` policies.
#[must_use]
pub fn extended() -> Report {
    let mut report = Report::default();
    report.line("Pairs along every axis and every two of them.\n");
    report.heads(&["universe", "policy", "pairs", "accepted", "out of log order", "unsound"]);
    for axes in sets_of_axes() {
        let universe = Universe::new(3, &axes);
        for (table, log_order) in PRECISE_TABLES {
            let mut row = Report::default();
            let pairs = promised(&mut row, &universe, &Precise::shipped(table), |_| true, ("", log_order));
            report.failures.append(&mut row.failures);
            report.line(&format!(
                "| {universe} | **{}** | {} | {} % | {} % | {} % |",
                table.name,
                pairs.total,
                percent(pairs.accepted, pairs.total),
                percent(pairs.out_of_log_order_count(), pairs.accepted),
                percent(pairs.unsound_count(), pairs.accepted)
            ));
        }
    }
    report.line("");
    for axis in Axis::ALL {
        triples(&mut report, &Universe::new(2, &[axis]));
    }
    report
}

/// Each axis, then each two.
fn sets_of_axes() -> Vec<Vec<Axis>> {
    let mut sets: Vec<Vec<Axis>> = Axis::ALL.iter().map(|axis| vec![*axis]).collect();
    for (at, first) in Axis::ALL.iter().enumerate() {
        sets.extend(Axis::ALL.iter().skip(at + 1).map(|second| vec![*first, *second]));
    }
    sets
}

/// Every mutation, and how often it shows.
#[must_use]
pub fn mutations() -> Report {
    let mut report = Report::default();
    report.heads(&["broken on purpose", "wrong results accepted"]);
    for mutation in every_mutation() {
        let wrong = mutation.wrong();
        report.line(&format!("| {} | {wrong} |", mutation.broken.name));
        report.expect(wrong > 0, || format!("not caught: {}", mutation.broken.name));
    }
    report
}

/// A share with two digits after the point, cut off rather than rounded, so that no share looks greater than it is.
fn percent(part: u64, whole: u64) -> String {
    let hundredths = if whole == 0 { 0 } else { u128::from(part) * 10_000 / u128::from(whole) };
    let mut text = String::new();
    let _ = write!(text, "{}.{:02}", hundredths / 100, hundredths % 100);
    text
}
