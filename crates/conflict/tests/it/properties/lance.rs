//! Lance's rules, on operations that touch rows, columns and keys.

use super::premise::holds;
use crate::lance::facts::facts;
use lakebed_conflict::lance::{FragmentSet, KeySet, LanceFacts, judge};
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
                let recorded = if spec.columns { "/recorded" } else { "" };
                let _ = write!(text, " group={}>{}{recorded}", unit + shift, 80 + at);
            }
        }
        "CreateIndex" => {
            let coverage = spec.rows.as_ref().map_or_else(|| "?".to_owned(), |_| units(&spec.updated));
            let (name, role) = (if spec.columns { "x" } else { "y" }, if spec.moves { "ngram" } else { "" });
            let _ = write!(text, " new={name}/{}/{fields}/{coverage}/{role}", spec.updated.len());
            if spec.rewritten {
                let _ = write!(text, " drop={name}/9/{fields}/{}", units(&spec.removed));
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
    for index in &mut side.1.new_indices {
        index.coverage = None;
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
    for index in &mut facts.new_indices {
        let covered = |known: FragmentSet| (0..8).filter(|id| known.contains(*id) && kept(*id)).collect();
        index.coverage = index.coverage.take().map(covered);
    }
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

fn pair() -> impl Strategy<Value = (Side, Side)> {
    (spec(), spec()).prop_map(|(ours, landed)| (plain(&ours), plain(&landed)))
}

/// Whether a refusal looked at anything but what the two operations are.
fn refused_by_a_check(judgement: &Judgement) -> bool {
    !judgement.verdict.accepts() && judgement.evidence != Some(Evidence::Operations)
}

/// Rows, keys, columns and coverage beyond what ours had.
fn wider(side: &Side, row: u64) -> Vec<Side> {
    let with = |change: &dyn Fn(&mut LanceFacts)| {
        let mut side = side.clone();
        change(&mut side.1);
        side
    };
    vec![
        with(&|facts| {
            for (_, rows) in &mut facts.footprint.rows {
                rows.insert(row);
            }
        }),
        with(&|facts| {
            for overlay in &mut facts.overlays {
                overlay.rows = overlay.rows.take().map(|rows| rows.iter().chain([row]).collect());
            }
        }),
        with(&|facts| {
            if let Some(filter) = facts.update.as_mut().and_then(|update| update.inserted_rows.as_mut())
                && let KeySet::Exact(keys) = &filter.keys
            {
                filter.keys = KeySet::exact(keys.iter().copied().chain([row]).collect());
            }
        }),
        with(&|facts| {
            if let Some(update) = &mut facts.update {
                update.fields_modified.push(row.cast_signed());
            }
            for (_, fields) in &mut facts.replacements {
                fields.push(row.cast_signed());
            }
        }),
        with(&|facts| {
            for index in &mut facts.new_indices {
                index.coverage =
                    index.coverage.take().map(|known| (0..8).filter(|id| *id == row || known.contains(*id)).collect());
            }
        }),
    ]
}

/// Property 3, over fragments: those that landed touches besides, and those that ours updates besides (where it updates any: rows
/// of a transaction that only removes whole fragments are not looked at).
#[test]
fn larger_sets_refuse_more() {
    holds(3_000, 120, &(pair(), 0_u64..5, any::<bool>()), |((ours, landed), unit, removes)| {
        let before = answer(&ours, &landed);
        if before.verdict.accepts() {
            return Ok(false);
        }
        prop_assert!(!accepts(&ours, &touching(&landed, unit, removes)), "{before:?}");
        if !ours.1.footprint.updated_units.is_empty() {
            prop_assert!(!accepts(&touching(&ours, unit, removes), &landed), "{before:?}");
        }
        Ok(refused_by_a_check(&before))
    });
}

/// Property 3, over rows, cells, keys, columns and coverage, on either side. (A group of a rewrite that an index covers in part
/// is refused where one covered whole is not, as in pylance; what the index covers besides is then no more, so only ours' index is
/// let grow.)
#[test]
fn wider_writes_refuse_more() {
    holds(3_000, 120, &(pair(), 0_u64..5), |((ours, landed), row)| {
        let before = answer(&ours, &landed);
        if before.verdict.accepts() {
            return Ok(false);
        }
        for wider_ours in wider(&ours, row) {
            let after = answer(&wider_ours, &landed);
            prop_assert!(!after.verdict.accepts(), "{before:?}, then {after:?}");
        }
        for wider_landed in wider(&landed, row).into_iter().take(4) {
            let after = answer(&ours, &wider_landed);
            prop_assert!(!after.verdict.accepts(), "{before:?}, then {after:?}");
        }
        Ok(refused_by_a_check(&before))
    });
}

/// Property 4: rows, files, keys and coverage that are not known never turn a refusal into acceptance.
#[test]
fn knowing_less_refuses_more() {
    holds(6_000, 120, &pair(), |(ours, landed)| {
        let before = answer(&ours, &landed);
        if before.verdict.accepts() {
            return Ok(false);
        }
        for (ours, landed) in [(forgetful(&ours), landed.clone()), (ours.clone(), forgetful(&landed))] {
            let after = answer(&ours, &landed);
            prop_assert!(!after.verdict.accepts(), "{before:?}, then {after:?}");
        }
        Ok(refused_by_a_check(&before) && forgetful(&ours) != ours)
    });
}

/// The other half of properties 3 and 4: what is larger, or not known, is refused where the smaller or known was not.
#[test]
fn sets_and_knowledge_matter() {
    holds(6_000, 50, &(pair(), 0_u64..5), |((ours, landed), unit)| {
        Ok(accepts(&ours, &landed) && !accepts(&ours, &touching(&landed, unit, true)))
    });
    let kind = || prop::sample::select(vec!["Delete", "Update"]);
    holds(2_000, 50, &(spec(), spec(), kind(), kind()), |(ours, landed, mine, theirs)| {
        let side = |spec: Spec, kind| plain(&Spec { kind, rewritten: false, ..spec });
        let (ours, landed) = (side(ours, mine), side(landed, theirs));
        Ok(accepts(&ours, &landed) && !accepts(&forgetful(&ours), &landed))
    });
}

/// Property 5: a compaction of fragments that the other does not touch stands in nobody's way, but for the two that list
/// every fragment of the table, and what is unknown. One of fragments that the other changes is never followed, nor does it follow:
/// the rows would be there twice.
#[test]
fn compactions_are_neutral_or_refused() {
    holds(3_000, 250, &(spec(), prop::collection::btree_set(0_u64..6, 1..4)), |(ours, compacted)| {
        let ours = plain(&ours);
        let group = format!("Rewrite group={}>60", plus(compacted.iter().copied()));
        let (here, elsewhere) = (facts(&group), facts("Rewrite group=50+51>60"));
        // Who changes fragments, or puts an index over them that says what it covers.
        let changes = |unit: u64| {
            let print = &ours.1.footprint;
            print.updated_units.contains(&UnitId::Fragment(unit))
                || print.removed_units.contains(&UnitId::Fragment(unit))
        };
        let unknown = ours.1.new_indices.iter().any(|index| index.coverage.is_none());
        let elsewhere_is_clear = !unknown && !matches!(ours.0, LanceKind::Merge | LanceKind::Unknown);
        prop_assert!(!elsewhere_is_clear || accepts(&ours, &elsewhere), "{:?}", answer(&ours, &elsewhere));
        if elsewhere_is_clear && !matches!(ours.0, LanceKind::Overwrite | LanceKind::Restore) {
            prop_assert!(accepts(&elsewhere, &ours), "{:?}", answer(&elsewhere, &ours));
        }
        let meets = compacted.iter().any(|unit| changes(*unit));
        if meets {
            prop_assert!(!accepts(&ours, &here), "{:?}", answer(&ours, &here));
            prop_assert!(!accepts(&here, &ours), "{:?}", answer(&here, &ours));
        }
        Ok(meets)
    });
}

/// Property 7, as far as Lance has it: transactions on disjoint fragments without keys, overlays or schemas.
#[test]
fn disjoint_fragments_are_compatible() {
    let kind = || prop::sample::select(vec!["Delete", "Update", "Rewrite", "DataReplacement", "Append"]);
    holds(1_500, 350, &(spec(), spec(), kind(), kind()), |(ours, landed, mine, theirs)| {
        let side = |spec: Spec, kind, shift| built(&Spec { kind, keys: None, ..spec }, shift, 0);
        let (ours, landed) = (side(ours, mine, 0), side(landed, theirs, 10));
        prop_assert!(accepts(&ours, &landed), "{:?}", answer(&ours, &landed));
        let touches = |side: &Side| !side.1.footprint.modified_units().is_empty();
        Ok(touches(&ours) && touches(&landed))
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Property 2: facts of ours do not change by what was accepted, so a window is judged entry by entry, in any order.
    #[test]
    fn a_window_is_the_sum_of_its_entries(ours in spec(), window in prop::collection::vec(spec(), 0..4), cut in 0_usize..4) {
        let ours = plain(&ours);
        let all = |entries: &[Spec]| entries.iter().all(|landed| accepts(&ours, &plain(landed)));
        let (before, after) = window.split_at(cut.min(window.len()));
        prop_assert_eq!(all(&window), all(before) && all(after));
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
}
