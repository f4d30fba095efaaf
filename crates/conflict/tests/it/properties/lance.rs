//! Lance's rules, on operations that touch rows, columns and keys.

use crate::lance::facts::facts;
use lakebed_conflict::lance::{KeySet, LanceFacts, judge};
use lakebed_transaction::{Evidence, Judgement, LanceKind, UnitId, UnitSet};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write;

/// What a transaction does, before its fragments and fields have numbers.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    kind: &'static str,
    updated: BTreeSet<u64>,
    removed: BTreeSet<u64>,
    rows: Option<BTreeSet<u64>>,
    rewritten: bool,
    columns: bool,
    moves: bool,
    fields: BTreeSet<u64>,
    keys: Option<BTreeSet<u64>>,
    tightens: bool,
}

fn some(of: std::ops::Range<u64>) -> impl Strategy<Value = BTreeSet<u64>> {
    prop::collection::btree_set(of, 0..3)
}

prop_compose! {
    pub(super) fn spec()(
        kind in prop::sample::select(vec![
            "Append", "Delete", "Update", "Overwrite", "Rewrite", "DataReplacement", "DataOverlay", "Merge", "Project",
            "Restore", "CreateIndex", "Unknown",
        ]),
        updated in some(0..4), removed in some(0..4), rows in prop::option::of(some(0..4)),
        (rewritten, columns, moves, tightens) in (any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2)),
        fields in some(0..3), keys in prop::option::of(some(0..5)),
    ) -> Spec {
        let removed = removed.difference(&updated).copied().collect();
        Spec { kind, updated, removed, rows, rewritten, columns, moves, fields, keys, tightens }
    }
}

fn plus(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join("+")
}

/// The facts, with fragment numbers moved by `shift` and field ids by `shift_fields`.
fn built(spec: &Spec, shift: u64, shift_fields: u64) -> (LanceKind, LanceFacts) {
    let units = |set: &BTreeSet<u64>| plus(set.iter().map(|id| id + shift));
    let fields = plus(spec.fields.iter().map(|id| id + shift_fields));
    let mut text = spec.kind.to_owned();
    match spec.kind {
        "Delete" | "Update" => {
            let _ = write!(text, " updated={} removed={}", units(&spec.updated), units(&spec.removed));
            for unit in spec.rows.iter().flat_map(|_| spec.updated.iter().chain(&spec.removed)) {
                let _ = write!(text, " rows={}:{}", unit + shift, plus(spec.rows.clone().unwrap_or_default()));
            }
            text.push_str(if spec.rewritten { " rewritten" } else { "" });
            if spec.kind == "Update" {
                text.push_str(if spec.columns { " columns" } else { "" });
                text.push_str(if spec.moves { " added=90" } else { "" });
                let _ = write!(text, " modified={fields}");
                if let Some(keys) = &spec.keys {
                    let _ = write!(text, " keys={}/exact:{}", 1 + shift_fields, plus(keys.iter().copied()));
                }
            }
        }
        "Rewrite" => {
            for (at, unit) in (0..).zip(&spec.updated) {
                let _ = write!(text, " group={}>{}", unit + shift, 80 + at);
            }
        }
        "DataReplacement" => {
            for unit in &spec.updated {
                let _ = write!(text, " replace={}/{fields}", unit + shift);
            }
        }
        "DataOverlay" => {
            for (unit, field) in spec.updated.iter().zip(&spec.fields) {
                let rows = spec.rows.as_ref().map_or_else(|| "?".to_owned(), |rows| plus(rows.iter().copied()));
                let _ = write!(text, " overlay={}/{}/{rows}", unit + shift, field + shift_fields);
            }
        }
        "Merge" | "Project" => {
            let _ = write!(
                text,
                " lost={fields} remaining={}",
                plus((0..3).filter(|id| !spec.fields.contains(id)).map(|id| id + shift_fields))
            );
            text.push_str(if spec.tightens { " tightens" } else { "" });
        }
        _ => {}
    }
    facts(&text)
}

pub(super) fn plain(spec: &Spec) -> (LanceKind, LanceFacts) {
    built(spec, 0, 0)
}

type Side = (LanceKind, LanceFacts);

fn answer(ours: &Side, landed: &Side) -> Judgement {
    judge((ours.0, &ours.1), (landed.0, &landed.1))
}

fn accepts(ours: &Side, landed: &Side) -> bool {
    answer(ours, landed).verdict.accepts()
}

fn touching(side: &Side, unit: u64, removes: bool) -> Side {
    let mut side = side.clone();
    let print = &mut side.1.footprint;
    let set = if removes { &mut print.removed_units } else { &mut print.updated_units };
    set.insert(UnitId::Fragment(unit));
    side
}

/// Rows and keys that are not known.
fn forgetful(side: &Side) -> Side {
    let mut side = side.clone();
    side.1.affected_rows_known = false;
    side.1.footprint.rows.clear();
    side.1.files_read.clear();
    for overlay in &mut side.1.overlays {
        overlay.rows = None;
    }
    if let Some(filter) = side.1.update.as_mut().and_then(|update| update.inserted_rows.as_mut()) {
        filter.keys = KeySet::Unknown;
    }
    side
}

fn without_units(side: &Side, gone: &[UnitId]) -> Side {
    let mut side = side.clone();
    let keep = |set: &UnitSet| set.as_slice().iter().filter(|unit| !gone.contains(unit)).cloned().collect();
    let kept = |fragment: u64| !gone.contains(&UnitId::Fragment(fragment));
    let facts = &mut side.1;
    facts.footprint.updated_units = keep(&facts.footprint.updated_units);
    facts.footprint.removed_units = keep(&facts.footprint.removed_units);
    facts.footprint.rows.retain(|(unit, _)| !gone.contains(unit));
    facts.files_written.retain(|(fragment, _)| kept(*fragment));
    facts.replacements.retain(|(fragment, _)| kept(*fragment));
    facts.overlays.retain(|overlay| kept(overlay.fragment));
    side
}

/// Ours without what the evidence names; `None` for what names no place in ours.
fn stripped(ours: &Side, evidence: &Evidence) -> Option<Side> {
    match evidence {
        Evidence::Units(units) => Some(without_units(ours, units)),
        Evidence::Rows(unit, _) => Some(without_units(ours, std::slice::from_ref(unit))),
        Evidence::Key { hash: Some(hash), .. } => {
            let mut ours = ours.clone();
            let filter = ours.1.update.as_mut()?.inserted_rows.as_mut()?;
            let KeySet::Exact(keys) = &filter.keys else { return None };
            filter.keys = KeySet::exact(keys.iter().filter(|key| *key != hash).copied().collect());
            Some(ours)
        }
        Evidence::Key { hash: None, .. }
        | Evidence::Fields(_)
        | Evidence::Text(_)
        | Evidence::Register(_)
        | Evidence::Column { .. }
        | Evidence::Partition(_)
        | Evidence::Operations => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Property 3: fragments that landed touches besides, and fragments that ours updates besides (where it updates any: rows
    /// of a transaction that only removes whole fragments are not looked at).
    #[test]
    fn larger_sets_refuse_more(ours in spec(), landed in spec(), unit in 0_u64..5, removes in any::<bool>()) {
        let (ours, landed) = (plain(&ours), plain(&landed));
        if !accepts(&ours, &landed) {
            prop_assert!(!accepts(&ours, &touching(&landed, unit, removes)));
            if !ours.1.footprint.updated_units.is_empty() {
                prop_assert!(!accepts(&touching(&ours, unit, removes), &landed));
            }
        }
    }

    /// Property 4: rows, files and keys that are not known never turn a refusal into acceptance.
    #[test]
    fn knowing_less_refuses_more(ours in spec(), landed in spec()) {
        let (ours, landed) = (plain(&ours), plain(&landed));
        if !accepts(&ours, &landed) {
            prop_assert!(!accepts(&forgetful(&ours), &landed));
            prop_assert!(!accepts(&ours, &forgetful(&landed)));
        }
    }

    /// Property 2: facts of ours do not change by what was accepted, so a window is judged entry by entry, in any order.
    #[test]
    fn a_window_is_the_sum_of_its_entries(ours in spec(), window in prop::collection::vec(spec(), 0..4), cut in 0_usize..4) {
        let ours = plain(&ours);
        let all = |entries: &[Spec]| entries.iter().all(|landed| accepts(&ours, &plain(landed)));
        let (before, after) = window.split_at(cut.min(window.len()));
        prop_assert_eq!(all(&window), all(before) && all(after));
    }

    /// Property 5: a compaction of fragments that the other does not touch stands in nobody's way, but for the two that list
    /// every fragment of the table, and what is unknown.
    #[test]
    fn compactions_of_other_fragments_are_neutral(ours in spec()) {
        prop_assume!(!matches!(ours.kind, "Merge" | "Unknown"));
        let (ours, compaction) = (plain(&ours), facts("Rewrite group=50+51>60"));
        prop_assert!(accepts(&ours, &compaction), "{:?}", answer(&ours, &compaction));
        if !matches!(ours.0, LanceKind::Overwrite | LanceKind::Restore) {
            prop_assert!(accepts(&compaction, &ours), "{:?}", answer(&compaction, &ours));
        }
    }

    /// Property 8: other fragment numbers and other field ids.
    #[test]
    fn renumbering_changes_nothing(ours in spec(), landed in spec(), shift in 1_u64..30, shift_fields in 1_u64..30) {
        let before = answer(&plain(&ours), &plain(&landed));
        let after = answer(&built(&ours, shift, shift_fields), &built(&landed, shift, shift_fields));
        prop_assert_eq!(before.verdict, after.verdict);
        prop_assert_eq!(before.reason, after.reason);
    }

    /// Property 11: what the evidence names is taken out of ours, and it is not named again.
    #[test]
    fn evidence_is_necessary(ours in spec(), landed in spec()) {
        let (mut ours, landed) = (plain(&ours), plain(&landed));
        for _ in 0..10 {
            let before = answer(&ours, &landed);
            let Some(evidence) = before.evidence.clone() else { break };
            let Some(less) = stripped(&ours, &evidence) else { break };
            ours = less;
            let then = answer(&ours, &landed);
            prop_assert!(then.reason != before.reason || then.evidence != Some(evidence), "{:?}", then);
        }
    }

    /// Property 7, as far as Lance has it: transactions on disjoint fragments without keys, overlays or schemas.
    #[test]
    fn disjoint_fragments_are_compatible(
        ours in spec(),
        landed in spec(),
        kinds in prop::array::uniform2(prop::sample::select(vec!["Delete", "Update", "Rewrite", "DataReplacement", "Append"])),
    ) {
        let (ours, landed) = (Spec { kind: kinds[0], ..ours }, Spec { kind: kinds[1], ..landed });
        let keyless = |spec: &Spec| Spec { keys: None, ..spec.clone() };
        let (ours, landed) = (built(&keyless(&ours), 0, 0), built(&keyless(&landed), 10, 0));
        prop_assert!(accepts(&ours, &landed), "{:?}", answer(&ours, &landed));
    }
}
