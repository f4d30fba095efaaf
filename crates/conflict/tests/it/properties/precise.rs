//! The `precise` tables.

use super::premise::holds;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER, PreciseFacts, PreciseTable, judge, wanted};
use lakebed_transaction::{
    Access, BinaryOp, ColumnBounds, Evidence, Expr, Judgement, KeyProbe, Kind, PreciseKind, ReadPredicate, Register,
    RowSet, RowsFound, RowsSeen, Scalar, Unit, UnitId, UnitSet, Verdict, Version,
};
use proptest::prelude::*;
use std::cell::Cell;
use std::sync::Arc;

const TABLES: [&PreciseTable; 2] = [&PRECISE, &PRECISE_REORDER];

const CASES: u32 = 1500;

/// Runs a property that calls `premise` where what it presupposes holds, which must be so in a fair part of the cases.
fn check<S: Strategy>(strategy: S, property: impl Fn(S::Value, &dyn Fn()) -> Result<(), TestCaseError>) {
    holds(CASES, CASES / 40, &strategy, |case| {
        let met = Cell::new(false);
        property(case, &|| met.set(true))?;
        Ok(met.get())
    });
}

fn accepts(table: &PreciseTable, ours: &PreciseFacts, landed: &PreciseFacts) -> bool {
    judge(table, ours, landed).verdict.accepts()
}

fn int(value: i64) -> Expr {
    Expr::Literal(Scalar::Int(value))
}

fn predicate() -> impl Strategy<Value = ReadPredicate> {
    let partition = (0..3_i64).prop_map(|p| Expr::column("p").binary(BinaryOp::Equal, int(p)));
    let data = (0..6_i64, prop::sample::select(vec![BinaryOp::Equal, BinaryOp::Less, BinaryOp::GreaterOrEqual]))
        .prop_map(|(value, op)| Expr::column("v").binary(op, int(value)));
    (prop::option::of(partition), prop::option::of(data)).prop_map(|(partition, data)| ReadPredicate {
        partition: partition.into_iter().collect(),
        data: data.into_iter().collect(),
    })
}

fn key() -> impl Strategy<Value = KeyProbe> {
    (0..6_i64).prop_map(|value| KeyProbe {
        columns: vec![Arc::from("v")],
        matches: Expr::column("v").binary(BinaryOp::Equal, int(value)),
    })
}

fn old_unit() -> impl Strategy<Value = UnitId> {
    (0..4_u64).prop_map(UnitId::Fragment)
}

fn old_units() -> impl Strategy<Value = UnitSet> {
    prop::collection::vec(old_unit(), 0..3).prop_map(|units| units.into_iter().collect())
}

fn rows() -> impl Strategy<Value = RowSet> {
    prop::collection::vec(0..4_u64, 0..3).prop_map(RowSet::from_iter)
}

fn rows_by_unit() -> impl Strategy<Value = Vec<(UnitId, RowSet)>> {
    prop::collection::btree_map(0..4_u64, rows(), 0..3)
        .prop_map(|map| map.into_iter().map(|(unit, rows)| (UnitId::Fragment(unit), rows)).collect())
}

fn unit(names: std::ops::Range<u64>) -> impl Strategy<Value = Unit> {
    let bounds = prop::option::of((0..6_i64, 0..4_i64));
    (names, prop::option::of(0..3_i64), bounds).prop_map(|(id, partition, bounds)| Unit {
        partition: partition.map(|p| (Arc::from("p"), Scalar::Int(p))).into_iter().collect(),
        bounds: bounds.map(|(min, width)| (Arc::from("v"), known(min, min + width))).into_iter().collect(),
        ..Unit::named(UnitId::Fragment(id))
    })
}

fn known(min: i64, max: i64) -> ColumnBounds {
    ColumnBounds { min: Some(Scalar::Int(min)), max: Some(Scalar::Int(max)), null_count: Some(0) }
}

fn registers() -> impl Strategy<Value = Vec<(Register, Access)>> {
    let register = prop::sample::select(vec![
        Register::Schema,
        Register::Property(Arc::from("k")),
        Register::Application(Arc::from("app")),
    ]);
    let access = prop::sample::select(vec![Access::Read, Access::Write, Access::Append, Access::Raise(7)]);
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec((register, access), 1..3)]
}

fn ours() -> impl Strategy<Value = PreciseFacts> {
    let kinds = vec![
        PreciseKind::Note,
        PreciseKind::Insert,
        PreciseKind::Delete,
        PreciseKind::Change,
        PreciseKind::Overwrite,
        PreciseKind::Layout,
    ];
    let reads = (prop::collection::vec(predicate(), 0..3), prop::option::of(key()), prop::bool::weighted(0.1));
    let places = (old_units(), old_units(), old_units(), rows_by_unit());
    let rest = (registers(), prop::option::of(rows_by_unit()), prop::option::of(prop::collection::vec(0..3_i64, 0..3)));
    (prop::sample::select(kinds), reads, places, rest, any::<bool>()).prop_map(
        |(kind, (predicates, key, whole), (removed, updated, mapped, lost), (registers, matched, columns), follows)| {
            let mut ours = PreciseFacts { kind, matched, columns_touched: columns, ..PreciseFacts::default() };
            ours.footprint.predicates = predicates;
            ours.footprint.keys = key.into_iter().collect();
            ours.footprint.read_whole_table = whole;
            ours.footprint.removed_units = removed;
            ours.footprint.updated_units = updated;
            ours.footprint.rows = lost;
            ours.footprint.registers = registers;
            ours.mapped_units = mapped.clone();
            ours.copied_units = ours.footprint.removed_units.common(&mapped, 9).into_iter().take(1).collect();
            ours.follows_met_rows = follows;
            ours
        },
    )
}

fn landed() -> impl Strategy<Value = PreciseFacts> {
    let places = (old_units(), old_units(), old_units(), rows_by_unit(), prop::bool::weighted(0.2));
    let units = (prop::collection::vec(unit(10..14), 0..3), prop::collection::vec(unit(0..4), 0..4));
    let flags = (any::<bool>(), any::<bool>(), prop::option::of(0..5_u64));
    (prop::sample::select(PreciseKind::ALL.to_vec()), places, units, registers(), flags).prop_map(
        |(kind, (removed, updated, mapped, lost, columns), (added, known_units), registers, (blind, refused, read))| {
            let mut landed = PreciseFacts { kind, known_units, ..PreciseFacts::default() };
            let adds_only = kind == PreciseKind::Insert;
            landed.footprint.removed_units = if adds_only { UnitSet::default() } else { removed };
            landed.footprint.updated_units = if adds_only { UnitSet::default() } else { updated };
            landed.footprint.rows = lost;
            landed.footprint.columns = if columns { vec![1] } else { Vec::new() };
            landed.footprint.added_units = added;
            landed.footprint.registers = registers;
            landed.footprint.blind = blind;
            landed.mapped_units = mapped;
            landed.read_version = read.map(Version::new);
            landed.version = Some(Version::new(5));
            landed.seen = if refused { RowsSeen::Refused } else { RowsSeen::NotLooked };
            landed
        },
    )
}

/// Property 2: what ours takes over from an entry never makes a later verdict milder, and changes none about other places.
#[test]
fn a_window_is_the_sum_of_its_entries() {
    check((ours(), landed(), landed()), |(ours, first, second), premise| {
        for table in TABLES {
            let answer = judge(table, &ours, &first);
            if !answer.verdict.accepts() {
                continue;
            }
            let mut after = ours.clone();
            after.follow(&first, answer.verdict == Verdict::Reordered);
            premise();
            prop_assert!(accepts(table, &ours, &second) || !accepts(table, &after, &second));
            let apart = first.footprint.added_units.iter().all(|unit| {
                let touched = [&second.footprint.removed_units, &second.footprint.updated_units];
                !touched.iter().any(|units| units.contains(&unit.id))
            });
            if apart && answer.verdict != Verdict::Reordered {
                prop_assert_eq!(judge(table, &ours, &second), judge(table, &after, &second));
            }
        }
        Ok(())
    });
}

/// Everything that reads or writes more than before, on either side.
fn larger(ours: &PreciseFacts, landed: &PreciseFacts) -> Vec<(PreciseFacts, PreciseFacts)> {
    let with_ours = |change: &dyn Fn(&mut PreciseFacts)| {
        let mut ours = ours.clone();
        change(&mut ours);
        (ours, landed.clone())
    };
    let with_landed = |change: &dyn Fn(&mut PreciseFacts)| {
        let mut landed = landed.clone();
        change(&mut landed);
        (ours.clone(), landed)
    };
    let row = |rows: &[(UnitId, RowSet)]| {
        let mut rows = rows.to_vec();
        rows.retain(|(unit, _)| *unit != UnitId::Fragment(2));
        rows.push((UnitId::Fragment(2), (0..4).collect()));
        rows
    };
    vec![
        with_ours(&|ours| ours.footprint.predicates.push(ReadPredicate::everything())),
        with_ours(&|ours| ours.footprint.read_whole_table = true),
        with_ours(&|ours| ours.footprint.keys.push(KeyProbe { columns: Vec::new(), matches: Expr::always() })),
        with_ours(&|ours| ours.footprint.registers.push((Register::Schema, Access::Read))),
        with_ours(&|ours| ours.footprint.registers.push((Register::Application(Arc::from("app")), Access::Write))),
        with_ours(&|ours| ours.matched = ours.matched.as_ref().map(|rows| row(rows))),
        with_ours(&|ours| {
            if ours.kind == PreciseKind::Delete {
                ours.kind = PreciseKind::Change;
            }
        }),
        with_landed(&|landed| landed.footprint.added_units.push(Unit::named(UnitId::Fragment(20)))),
        with_landed(&|landed| landed.footprint.removed_units.insert(UnitId::Fragment(1))),
        with_landed(&|landed| landed.footprint.registers.push((Register::Schema, Access::Write))),
        with_landed(&|landed| {
            // Where nothing is known of the rows, naming them is no enlargement.
            if landed.footprint.rows.iter().any(|(unit, _)| *unit == UnitId::Fragment(2)) {
                landed.footprint.rows = row(&landed.footprint.rows);
            }
        }),
        with_landed(&|landed| {
            if !landed.footprint.columns.is_empty() {
                landed.footprint.columns.push(2);
            }
        }),
    ]
}

/// Property 3. What changes rows and names no read is compared by files as wholes; to name a read then tells more, not less.
#[test]
fn larger_sets_refuse_more() {
    check((ours(), landed()), |(ours, landed), premise| {
        if !ours.footprint.reads_rows() && !ours.footprint.modified_units().is_empty() {
            return Ok(());
        }
        for table in TABLES {
            if accepts(table, &ours, &landed) {
                continue;
            }
            premise();
            for (larger_ours, larger_landed) in larger(&ours, &landed) {
                let answer = judge(table, &larger_ours, &larger_landed);
                prop_assert!(!answer.verdict.accepts(), "{answer:?}");
            }
        }
        Ok(())
    });
}

/// Everything that says less than before.
fn vaguer(ours: &PreciseFacts, landed: &PreciseFacts) -> Vec<(PreciseFacts, PreciseFacts)> {
    let mut wide = ours.clone();
    wide.footprint.predicates = vec![ReadPredicate::everything(); ours.footprint.predicates.len()];
    wide.footprint.keys.iter_mut().for_each(|key| key.matches = Expr::always());
    let unmatched = PreciseFacts { matched: None, ..ours.clone() };
    let any_column = PreciseFacts { columns_touched: None, ..ours.clone() };
    let unmapped = PreciseFacts { mapped_units: UnitSet::default(), ..ours.clone() };
    let staying = PreciseFacts { follows_met_rows: false, ..ours.clone() };
    let mut bare = landed.clone();
    for unit in bare.footprint.added_units.iter_mut().chain(&mut bare.known_units) {
        unit.partition.clear();
        unit.bounds.clear();
    }
    let unknown = PreciseFacts { known_units: Vec::new(), ..landed.clone() };
    let mut rowless = landed.clone();
    rowless.footprint.rows.clear();
    let lost = PreciseFacts { mapped_units: UnitSet::default(), ..landed.clone() };
    let mut undeclared = landed.clone();
    undeclared.footprint.blind = false;
    let undated = PreciseFacts { read_version: None, ..landed.clone() };
    let refused = PreciseFacts { seen: RowsSeen::Refused, ..landed.clone() };
    let of_ours = [wide, unmatched, any_column, unmapped, staying].map(|ours| (ours, landed.clone()));
    let of_landed = [bare, unknown, rowless, lost, undeclared, undated, refused].map(|landed| (ours.clone(), landed));
    of_ours.into_iter().chain(of_landed).collect()
}

/// Property 4: filters, statistics, rows, columns and maps that say less.
#[test]
fn vaguer_facts_refuse_more() {
    check((ours(), landed()), |(ours, landed), premise| {
        for table in TABLES {
            if accepts(table, &ours, &landed) {
                continue;
            }
            premise();
            for (vaguer_ours, vaguer_landed) in vaguer(&ours, &landed) {
                let answer = judge(table, &vaguer_ours, &vaguer_landed);
                prop_assert!(!answer.verdict.accepts(), "{answer:?}");
            }
        }
        Ok(())
    });
}

/// Property 5, as far as the rules go: a compaction with a map, or one that touches nothing of ours, stands in nobody's way.
#[test]
fn compactions_are_no_change_of_rows() {
    check((ours(), landed()), |(ours, mut landed), premise| {
        landed.kind = PreciseKind::Layout;
        landed.footprint.registers.clear();
        landed.footprint.updated_units = UnitSet::default();
        landed.mapped_units = landed.footprint.removed_units.clone();
        let mut ours = ours;
        ours.copied_units = UnitSet::default();
        for table in TABLES {
            premise();
            prop_assert!(accepts(table, &ours, &landed), "{:?}", judge(table, &ours, &landed));
            prop_assert_eq!(wanted(&ours, &landed), None);
        }
        Ok(())
    });
}

/// Property 7.
#[test]
fn disjoint_partitions_never_meet() {
    check((ours(), landed()), |(mut ours, mut landed), premise| {
        let in_one = Expr::column("p").binary(BinaryOp::Equal, int(1));
        ours.footprint.read_whole_table = false;
        ours.footprint.predicates.iter_mut().for_each(|read| read.partition = vec![in_one.clone()]);
        ours.footprint.keys.iter_mut().for_each(|key| key.matches = in_one.clone().and(key.matches.clone()));
        let elsewhere = |unit: &UnitId| {
            let partition = vec![(Arc::from("p"), Scalar::Int(2))];
            Unit { partition, ..Unit::named(UnitId::file(&format!("p=2/{unit}"))) }
        };
        let moved = |units: &UnitSet| units.as_slice().iter().map(|unit| elsewhere(unit).id).collect::<UnitSet>();
        let known = landed.footprint.removed_units.as_slice().iter().chain(landed.footprint.updated_units.as_slice());
        landed.known_units = known.map(elsewhere).collect();
        landed.footprint.removed_units = moved(&landed.footprint.removed_units);
        landed.footprint.updated_units = moved(&landed.footprint.updated_units);
        landed.footprint.columns.clear();
        landed.footprint.added_units = landed.footprint.added_units.iter().map(|unit| elsewhere(&unit.id)).collect();
        landed.footprint.registers.clear();
        if matches!(landed.kind, PreciseKind::Unknown | PreciseKind::Hole) {
            return Ok(());
        }
        premise();
        for table in TABLES {
            let verdict = judge(table, &ours, &landed).verdict;
            let replaces = ours.kind == PreciseKind::Overwrite && verdict.accepts();
            prop_assert!(verdict == Verdict::Compatible || replaces, "{verdict}");
        }
        Ok(())
    });
}

fn renamed(facts: &PreciseFacts) -> PreciseFacts {
    let id = |unit: &UnitId| UnitId::file(&format!("moved/{unit}.parquet"));
    let set = |units: &UnitSet| units.as_slice().iter().map(id).collect::<UnitSet>();
    let rows = |rows: &[(UnitId, RowSet)]| rows.iter().map(|(unit, rows)| (id(unit), rows.clone())).collect::<Vec<_>>();
    let units = |units: &[Unit]| units.iter().map(|unit| Unit { id: id(&unit.id), ..unit.clone() }).collect::<Vec<_>>();
    let column = |column: &i64| column + 1000;
    let mut out = facts.clone();
    out.footprint.removed_units = set(&facts.footprint.removed_units);
    out.footprint.updated_units = set(&facts.footprint.updated_units);
    out.footprint.rows = rows(&facts.footprint.rows);
    out.footprint.added_units = units(&facts.footprint.added_units);
    out.footprint.columns = facts.footprint.columns.iter().map(column).collect();
    out.known_units = units(&facts.known_units);
    out.matched = facts.matched.as_deref().map(rows);
    out.columns_touched = facts.columns_touched.as_ref().map(|columns| columns.iter().map(column).collect());
    out.mapped_units = set(&facts.mapped_units);
    out.copied_units = set(&facts.copied_units);
    out
}

/// Property 8.
#[test]
fn renaming_files_and_columns_changes_nothing() {
    check((ours(), landed()), |(ours, landed), premise| {
        for table in TABLES {
            let (before, after) = (judge(table, &ours, &landed), judge(table, &renamed(&ours), &renamed(&landed)));
            if before.reason.is_some() {
                premise();
            }
            prop_assert_eq!((before.verdict, before.reason), (after.verdict, after.reason));
        }
        Ok(())
    });
}

/// Both sides without what the evidence names.
fn stripped(ours: &PreciseFacts, landed: &PreciseFacts, evidence: &Evidence) -> Option<(PreciseFacts, PreciseFacts)> {
    let (mut ours, mut landed) = (ours.clone(), landed.clone());
    let gone = match evidence {
        Evidence::Units(units) => units.clone(),
        Evidence::Rows(unit, _) => vec![unit.clone()],
        Evidence::Column { unit, .. } => vec![unit.clone()?],
        Evidence::Register(register) => {
            landed.footprint.registers.retain(|(other, _)| other != register);
            return Some((ours, landed));
        }
        Evidence::Fields(_)
        | Evidence::Key { .. }
        | Evidence::Partition(_)
        | Evidence::Operations
        | Evidence::Text(_) => {
            return None;
        }
    };
    let left =
        |units: &UnitSet| units.as_slice().iter().filter(|unit| !gone.contains(unit)).cloned().collect::<UnitSet>();
    for facts in [&mut ours, &mut landed] {
        facts.footprint.removed_units = left(&facts.footprint.removed_units);
        facts.footprint.updated_units = left(&facts.footprint.updated_units);
        facts.footprint.added_units.retain(|unit| !gone.contains(&unit.id));
        facts.copied_units = left(&facts.copied_units);
    }
    Some((ours, landed))
}

/// Property 11: without what the evidence names, the same place is not named again; and refusals run out.
#[test]
fn evidence_is_necessary() {
    check((ours(), landed()), |(ours, landed), premise| {
        for table in TABLES {
            let (mut ours, mut landed) = (ours.clone(), landed.clone());
            for _ in 0..20 {
                let answer: Judgement = judge(table, &ours, &landed);
                let (Some(reason), Some(evidence)) = (answer.reason, answer.evidence.clone()) else { break };
                if evidence == Evidence::Operations {
                    break;
                }
                premise();
                let without = stripped(&ours, &landed, &evidence);
                prop_assert!(without.is_some(), "{}: {evidence}", reason.check);
                (ours, landed) = without.unwrap();
                let then = judge(table, &ours, &landed);
                prop_assert!(then.reason != Some(reason) || then.evidence.as_ref() != Some(&evidence), "{evidence}");
            }
            let last = judge(table, &ours, &landed);
            prop_assert!(last.evidence.is_none() || last.evidence == Some(Evidence::Operations), "{last:?}");
        }
        Ok(())
    });
}

/// Property 12: what `precise` accepts, `precise-reorder` accepts.
#[test]
fn the_stricter_policy_accepts_less() {
    check((ours(), landed()), |(ours, landed), premise| {
        if accepts(&PRECISE, &ours, &landed) {
            premise();
            prop_assert!(accepts(&PRECISE_REORDER, &ours, &landed));
        }
        Ok(())
    });
}

/// A look that finds nothing is an acceptance, and one that finds born rows a refusal: each tier only removes candidates.
#[test]
fn a_look_decides() {
    check((ours(), landed()), |(ours, landed), premise| {
        if wanted(&ours, &landed).is_none() || judge(&PRECISE, &ours, &landed).verdict != Verdict::NeedFacts {
            return Ok(());
        }
        premise();
        let seen = |found| PreciseFacts { seen: RowsSeen::Looked(found), ..landed.clone() };
        let nothing = judge(&PRECISE, &ours, &seen(RowsFound::default()));
        let check = nothing.reason.map(|reason| reason.check);
        prop_assert!(nothing.verdict.accepts() || matches!(check, Some("unit-changed" | "rows-moved")), "{nothing:?}");
        let born = RowsFound { born: Some(UnitId::Fragment(10)), ..RowsFound::default() };
        let answer = judge(&PRECISE, &ours, &seen(born));
        prop_assert_eq!(answer.reason.map(|reason| reason.check), Some("rows-meet"));
        Ok(())
    });
}
