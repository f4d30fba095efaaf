//! Delta's three levels.

use crate::delta::properties::facts;
use lakebed_conflict::delta::{DeltaFacts, DeltaFile, IsolationLevel, split_read, table_of};
use lakebed_transaction::{Evidence, Expr, Judgement, Kind, ReadPredicate, Register, UnitId, UnitSet};
use proptest::prelude::*;

const LEVELS: [IsolationLevel; 3] =
    [IsolationLevel::Serializable, IsolationLevel::WriteSerializable, IsolationLevel::SnapshotIsolation];

fn judge(level: IsolationLevel, ours: &DeltaFacts, landed: &DeltaFacts) -> Judgement {
    table_of(level).judge((ours.kind.index(), ours), (landed.kind.index(), landed))
}

fn accepts(level: IsolationLevel, ours: &DeltaFacts, landed: &DeltaFacts) -> bool {
    judge(level, ours, landed).verdict.accepts()
}

fn removing(mut facts: DeltaFacts, path: &str) -> DeltaFacts {
    facts.removed.push(DeltaFile { unit: UnitId::file(path), partition: None, data_change: true });
    facts.footprint.removed_units.insert(UnitId::file(path));
    facts
}

/// Everything that reads or writes more than before, on either side. Commits that may be left out, and blind appends, are
/// rules of their own: what makes a commit neither of them only adds checks.
fn larger(ours: &DeltaFacts, landed: &DeltaFacts, path: &str) -> Vec<(DeltaFacts, DeltaFacts)> {
    let mut reads_file = ours.clone();
    reads_file.footprint.read_units.insert(UnitId::file(path));
    let mut reads_all = ours.clone();
    reads_all.footprint.read_whole_table = true;
    let mut reads_more = ours.clone();
    reads_more.footprint.predicates.push(split_read(vec![Expr::always()], &ours.table.partition_columns));
    let mut adds = landed.clone();
    adds.added.push(DeltaFile { unit: UnitId::file(path), partition: None, data_change: true });
    vec![
        (reads_file, landed.clone()),
        (reads_all, landed.clone()),
        (reads_more, landed.clone()),
        (removing(ours.clone(), path), landed.clone()),
        (ours.clone(), removing(landed.clone(), path)),
        (ours.clone(), adds),
    ]
}

fn without(set: &UnitSet, gone: &[UnitId]) -> UnitSet {
    set.as_slice().iter().filter(|unit| !gone.contains(unit)).cloned().collect()
}

/// Both sides without what the evidence names; `None` where it names nothing that can be taken out.
fn stripped(ours: &DeltaFacts, landed: &DeltaFacts, evidence: &Evidence) -> Option<(DeltaFacts, DeltaFacts)> {
    let (mut ours, mut landed) = (ours.clone(), landed.clone());
    let gone = match evidence {
        Evidence::Units(units) => units.clone(),
        Evidence::Text(place) => vec![UnitId::file(place.split(" [").next()?)],
        Evidence::Register(Register::Domain(name)) => {
            landed.domains.remove(name);
            return Some((ours, landed));
        }
        Evidence::Register(Register::Application(name)) => {
            landed.app_ids_written.remove(name);
            return Some((ours, landed));
        }
        Evidence::Register(Register::Protocol) => {
            landed.protocol = None;
            return Some((ours, landed));
        }
        Evidence::Register(Register::Schema) => {
            landed.metadata = None;
            return Some((ours, landed));
        }
        Evidence::Register(Register::Property(_) | Register::Index(_))
        | Evidence::Rows(_, _)
        | Evidence::Fields(_)
        | Evidence::Key { .. }
        | Evidence::Column { .. }
        | Evidence::Partition(_)
        | Evidence::Operations => return None,
    };
    for facts in [&mut ours, &mut landed] {
        facts.footprint.removed_units = without(&facts.footprint.removed_units, &gone);
        facts.removed.retain(|file| !gone.contains(&file.unit));
        facts.added.retain(|file| !gone.contains(&file.unit));
    }
    Some((ours, landed))
}

/// Checks whose evidence is a place among the files, or a register.
const PLACED: [&str; 9] = [
    "added-files",
    "added-files-falsely-blind",
    "removed-what-was-read",
    "removed-twice",
    "same-domain",
    "same-application",
    "both-change-protocol",
    "both-change-metadata",
    "adopts-protocol",
];

fn renamed(facts: &DeltaFacts) -> DeltaFacts {
    let unit = |unit: &UnitId| UnitId::file(&format!("moved/{unit}.parquet"));
    let file = |file: &DeltaFile| DeltaFile { unit: unit(&file.unit), ..file.clone() };
    let mut out = facts.clone();
    out.added = facts.added.iter().map(file).collect();
    out.removed = facts.removed.iter().map(file).collect();
    out.footprint.removed_units = facts.footprint.removed_units.as_slice().iter().map(unit).collect();
    out.footprint.read_units = facts.footprint.read_units.as_slice().iter().map(unit).collect();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Property 3.
    #[test]
    fn larger_sets_refuse_more(mut ours in facts(), landed in facts(), path in prop::sample::select(vec!["a", "b", "z"])) {
        ours.skip_if_empty = false;
        for level in LEVELS {
            let refused = !accepts(level, &ours, &landed);
            for (larger_ours, larger_landed) in larger(&ours, &landed, path) {
                prop_assert!(!refused || !accepts(level, &larger_ours, &larger_landed), "{level}");
            }
        }
    }

    /// Property 4: filters that say less, partition values that are not known.
    #[test]
    fn wider_reads_refuse_more(mut ours in facts(), landed in facts()) {
        ours.skip_if_empty = false;
        let mut wider = ours.clone();
        wider.footprint.predicates = vec![ReadPredicate::default(); ours.footprint.predicates.len()];
        for level in LEVELS {
            prop_assert!(accepts(level, &ours, &landed) || !accepts(level, &wider, &landed), "{level}");
        }
    }

    /// Property 2: files and application ids that ours follows leave nothing behind that changes a later verdict.
    #[test]
    fn a_window_is_the_sum_of_its_entries(ours in facts(), first in facts(), second in facts()) {
        let plain = DeltaFacts { protocol: None, metadata: None, ..first };
        let mut after = ours.clone();
        after.follow(&plain);
        for level in LEVELS {
            prop_assert_eq!(judge(level, &after, &second), judge(level, &ours, &second));
        }
    }

    /// Property 2, with definitions: to follow one and then another is to follow the newer of each definition.
    #[test]
    fn following_two_is_following_what_they_left(ours in facts(), first in facts(), second in facts(), third in facts()) {
        let (mut one_by_one, mut together) = (ours.clone(), ours);
        one_by_one.follow(&first);
        one_by_one.follow(&second);
        let identity_only = |facts: &DeltaFacts| facts.metadata.as_ref().is_none_or(|change| change.identity_only);
        let metadata = if identity_only(&second) { first.metadata.clone() } else { second.metadata.clone() };
        together.follow(&DeltaFacts { protocol: second.protocol.or(first.protocol), metadata, ..DeltaFacts::default() });
        for level in LEVELS {
            prop_assert_eq!(judge(level, &one_by_one, &third), judge(level, &together, &third));
        }
    }

    /// Property 5, as far as Delta's rules have it: a compaction never stands in the way of a blind append.
    #[test]
    fn compactions_do_not_stop_blind_appends(mut ours in facts(), mut landed in facts()) {
        ours.footprint = lakebed_transaction::Footprint::default();
        ours.removed.clear();
        ours.large = false;
        (landed.protocol, landed.metadata) = (None, None);
        landed.domains.clear();
        landed.app_ids_written.clear();
        landed.operation = "OPTIMIZE".into();
        ours.operation = "WRITE".into();
        ours.dropped_features_with_traces.clear();
        for level in LEVELS {
            prop_assert!(accepts(level, &ours, &landed), "{:?}", judge(level, &ours, &landed));
        }
    }

    /// Property 8.
    #[test]
    fn renaming_files_changes_nothing(ours in facts(), landed in facts()) {
        for level in LEVELS {
            let (before, after) = (judge(level, &ours, &landed), judge(level, &renamed(&ours), &renamed(&landed)));
            prop_assert_eq!(before.verdict, after.verdict);
            prop_assert_eq!(before.reason, after.reason);
        }
    }

    /// Property 11: what the evidence names is taken out, and that place is not named again.
    #[test]
    fn evidence_is_necessary(ours in facts(), landed in facts()) {
        for level in LEVELS {
            let (mut ours, mut landed) = (ours.clone(), landed.clone());
            for _ in 0..20 {
                let answer = judge(level, &ours, &landed);
                let (Some(reason), Some(evidence)) = (answer.reason, answer.evidence.clone()) else { break };
                if !PLACED.contains(&reason.check) {
                    break;
                }
                let without = stripped(&ours, &landed, &evidence);
                prop_assert!(without.is_some(), "{}: {evidence}", reason.check);
                (ours, landed) = without.unwrap();
                let then = judge(level, &ours, &landed);
                prop_assert!(then.reason != Some(reason) || then.evidence != Some(evidence.clone()), "{}: {evidence}", reason.check);
            }
        }
    }
}
