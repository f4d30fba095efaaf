//! Delta's three levels.

use super::premise::holds;
use crate::delta::properties::facts;
use lakebed_conflict::delta::{
    DeltaFacts, DeltaFile, DeltaPolicy, IsolationLevel, PartitionColumn, partitions_in, split_read, table_of,
};
use lakebed_transaction::{
    BinaryOp, ColumnType, Evidence, Expr, Judgement, Kind, ReadPredicate, Register, UnitId, UnitSet, Verdict,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

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

/// Whether ours is refused for what it read or removes, or for what landed added or removes.
fn refused_over_files(judgement: &Judgement) -> bool {
    let over_files = [
        "added-files",
        "added-files-falsely-blind",
        "unreadable-partition-value",
        "removed-what-was-read",
        "removed-twice",
    ];
    !judgement.verdict.accepts() && judgement.reason.is_some_and(|reason| over_files.contains(&reason.check))
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

/// Reads that say less than those of ours: a filter that is not understood beside one that is, half of a conjunction, no filter,
/// the whole table instead of files and filters.
fn wider(ours: &DeltaFacts) -> Vec<DeltaFacts> {
    let with = |change: &dyn Fn(&mut ReadPredicate)| {
        let mut wider = ours.clone();
        wider.footprint.predicates.iter_mut().for_each(change);
        wider
    };
    let unknown = Expr::Unknown { name: "udf".to_owned(), arguments: Vec::new() };
    let first = |filter: &Expr| filter.conjuncts().first().map_or_else(Expr::always, |first| (*first).clone());
    let mut whole = ours.clone();
    whole.footprint.read_whole_table = true;
    whole.footprint.predicates.clear();
    whole.footprint.read_units = UnitSet::default();
    vec![
        with(&|read| {
            for filter in &mut read.partition {
                *filter = filter.clone().binary(BinaryOp::Or, unknown.clone());
            }
        }),
        with(&|read| read.partition = read.partition.iter().map(first).collect()),
        with(&|read| drop(read.partition.pop())),
        with(&|read| *read = ReadPredicate::default()),
        whole,
    ]
}

fn without(set: &UnitSet, gone: &[UnitId]) -> UnitSet {
    set.as_slice().iter().filter(|unit| !gone.contains(unit)).cloned().collect()
}

/// Both sides without what the evidence names; `None` where it names nothing that can be taken out.
fn stripped(
    ours: &DeltaFacts,
    landed: &DeltaFacts,
    check: &str,
    evidence: &Evidence,
) -> Option<(DeltaFacts, DeltaFacts)> {
    let (mut ours, mut landed) = (ours.clone(), landed.clone());
    let gone = match evidence {
        Evidence::Units(units) => units.clone(),
        Evidence::Text(_) | Evidence::Register(Register::Property(_))
            if landed.metadata.is_some() && check == "both-change-metadata" =>
        {
            landed.metadata = None;
            return Some((ours, landed));
        }
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

/// Other paths, and other names of the partition columns.
fn renamed(facts: &DeltaFacts) -> DeltaFacts {
    let name = |name: &Arc<str>| -> Arc<str> {
        match &**name {
            "p" => "Tag".into(),
            "P" => "TAG".into(),
            "q" => "day".into(),
            other => other.into(),
        }
    };
    let unit = |unit: &UnitId| UnitId::file(&format!("moved/{unit}.parquet"));
    let file = |file: &DeltaFile| {
        let partition = file.partition.as_ref();
        let partition = partition.map(|values| values.iter().map(|(key, text)| (name(key), text.clone())).collect());
        DeltaFile { unit: unit(&file.unit), partition, ..file.clone() }
    };
    let mut out = facts.clone();
    out.added = facts.added.iter().map(file).collect();
    out.removed = facts.removed.iter().map(file).collect();
    out.footprint.removed_units = facts.footprint.removed_units.as_slice().iter().map(unit).collect();
    out.footprint.read_units = facts.footprint.read_units.as_slice().iter().map(unit).collect();
    for column in &mut out.table.partition_columns {
        (column.name, column.physical_name) = (name(&column.name), name(&column.physical_name));
    }
    for filter in out.footprint.predicates.iter_mut().flat_map(|read| read.partition.iter_mut().chain(&mut read.data)) {
        rename_columns(filter, &name);
    }
    out
}

fn rename_columns(expr: &mut Expr, name: &dyn Fn(&Arc<str>) -> Arc<str>) {
    match expr {
        Expr::Column(path) => path.iter_mut().for_each(|part| *part = name(part)),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|x| rename_columns(x, name)),
        Expr::IsNull { operand, .. } => rename_columns(operand, name),
        Expr::In { operand, list, .. } => {
            rename_columns(operand, name);
            list.iter_mut().for_each(|x| rename_columns(x, name));
        }
        Expr::Literal(_) | Expr::Unknown { .. } => {}
        Expr::Unary(..)
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::Cast(..)
        | Expr::Case { .. }
        | Expr::Call(..)
        | Expr::Row(_) => {
            panic!("the strategy makes no {expr:?}")
        }
    }
}

fn checked() -> impl Strategy<Value = (DeltaFacts, DeltaFacts)> {
    (facts(), facts()).prop_map(|(ours, landed)| (DeltaFacts { skip_if_empty: false, ..ours }, landed))
}

/// Property 3, over files and predicates on our side and over files on the other.
#[test]
fn larger_sets_refuse_more() {
    let paths = prop::sample::select(vec!["a", "b", "z"]);
    for level in LEVELS {
        holds(768, 60, &(checked(), paths.clone()), |((ours, landed), path)| {
            let before = judge(level, &ours, &landed);
            for (larger_ours, larger_landed) in larger(&ours, &landed, path) {
                let after = judge(level, &larger_ours, &larger_landed);
                prop_assert!(
                    before.verdict.accepts() || !after.verdict.accepts(),
                    "{level}: {before:?}, then {after:?}"
                );
            }
            Ok(refused_over_files(&before))
        });
    }
}

/// The other half of property 3: what is larger is refused where the smaller was not, so that the sets do decide.
#[test]
fn larger_sets_matter() {
    for level in LEVELS {
        holds(768, 60, &checked(), |(ours, landed)| {
            Ok(accepts(level, &ours, &landed)
                && larger(&ours, &landed, "a").iter().any(|(ours, landed)| !accepts(level, ours, landed)))
        });
    }
}

/// Property 4, over predicates and over what stands for them. The level that ignores what was added has only the files that
/// were read.
#[test]
fn wider_reads_refuse_more() {
    for (level, least) in LEVELS.into_iter().zip([60, 40, 20]) {
        holds(1_024, least, &checked(), |(ours, landed)| {
            let before = judge(level, &ours, &landed);
            for wider in wider(&ours) {
                let after = judge(level, &wider, &landed);
                prop_assert!(
                    before.verdict.accepts() || !after.verdict.accepts(),
                    "{level}: {before:?}, then {after:?}"
                );
            }
            let has_filters = ours.footprint.predicates.iter().any(|read| !read.partition.is_empty());
            Ok(refused_over_files(&before) && has_filters)
        });
    }
}

/// Property 5, on rows: a compaction that stands between our read and our commit, where it is accepted, leaves the rows that ours
/// alone would leave; and where ours is the compaction, the rows that landed alone would.
#[test]
fn a_compaction_that_is_accepted_changes_no_row() {
    let rewrite = (prop::collection::btree_set(0_u8..6, 0..4), any::<bool>());
    let compacted = prop::collection::btree_set(0_u8..6, 1..4);
    for policy in [DeltaPolicy::Serializable, DeltaPolicy::WriteSerializable, DeltaPolicy::Snapshot] {
        holds(512, 60, &(rewrite.clone(), compacted.clone()), |((rewritten, reads), compacted)| {
            let change = of_files("UPDATE", &rewritten, "n", true, reads);
            let compaction = of_files("OPTIMIZE", &compacted, "m", false, true);
            let mut followed = false;
            for (ours, landed) in [(&change, &compaction), (&compaction, &change)] {
                if policy.judge(ours, landed).verdict.accepts() {
                    followed = !rewritten.is_empty();
                    prop_assert_eq!(rows_after(&[landed, ours]), rows_after(&[&change]), "{}", policy.name());
                }
            }
            Ok(followed)
        });
    }
}

/// A rewrite of files, each of which holds the rows `file.0` and `file.1`; a change of data drops the second of each.
fn of_files(operation: &str, files: &BTreeSet<u8>, to: &str, changes: bool, reads: bool) -> DeltaFacts {
    let file = |path: &str| DeltaFile { unit: UnitId::file(path), partition: Some(Vec::new()), data_change: changes };
    let names: Vec<String> = files.iter().map(u8::to_string).collect();
    let mut facts = DeltaFacts {
        operation: operation.into(),
        data_change: changes,
        changes_data: changes,
        ..DeltaFacts::default()
    };
    facts.removed = names.iter().map(|name| file(name)).collect();
    facts.added = if names.is_empty() { Vec::new() } else { vec![file(&format!("{to}:{}", names.join(",")))] };
    facts.footprint.removed_units = names.iter().map(|name| UnitId::file(name)).collect();
    if reads {
        facts.footprint.read_units = facts.footprint.removed_units.clone();
    }
    facts
}

/// The rows of a table of six files after these commits, applied as a log is read: files that are not there are not taken out.
fn rows_after(commits: &[&DeltaFacts]) -> Vec<String> {
    let rows = |file: &str| -> Vec<String> {
        match file.split_once(':') {
            None => vec![format!("{file}.0"), format!("{file}.1")],
            Some(("m", files)) => {
                files.split(',').flat_map(|file| [format!("{file}.0"), format!("{file}.1")]).collect()
            }
            Some((_, files)) => files.split(',').map(|file| format!("{file}.0")).collect(),
        }
    };
    let mut live: Vec<String> = (0..6).map(|file| file.to_string()).collect();
    for commit in commits {
        live.retain(|path| !commit.removed.iter().any(|file| file.unit == UnitId::file(path)));
        live.extend(commit.added.iter().map(|file| file.unit.to_string()));
    }
    let mut all: Vec<String> = live.iter().flat_map(|file| rows(file)).collect();
    all.sort();
    all
}

/// Property 7, for writers that replace or change whole partitions that they name: where the partitions are apart, both stand.
#[test]
fn disjoint_partitions_are_compatible() {
    let value = prop::option::of(0_u8..4);
    let partitions = || prop::collection::btree_set(value.clone(), 1..4);
    for level in LEVELS {
        holds(512, 60, &(partitions(), partitions(), any::<bool>()), |(mine, theirs, dynamic)| {
            let apart = mine.is_disjoint(&theirs);
            let answer = judge(level, &replacing(&mine, "n", dynamic), &replacing(&theirs, "m", !dynamic));
            prop_assert!(!apart || answer.verdict == Verdict::Compatible, "{level}: {answer:?}");
            prop_assert!(apart || !answer.verdict.accepts(), "{level}: one partition is in both");
            Ok(apart)
        });
    }
}

/// Replaces the file of each of these partitions; a dynamic overwrite names the partitions and no file that it read.
fn replacing(partitions: &BTreeSet<Option<u8>>, to: &str, dynamic: bool) -> DeltaFacts {
    let column = PartitionColumn { name: "p".into(), physical_name: "p".into(), column_type: ColumnType::Integer };
    let values = |value: &Option<u8>| vec![(Arc::from("p"), value.map(|value| Arc::from(value.to_string())))];
    let file = |prefix: &str, value: &Option<u8>| DeltaFile {
        unit: UnitId::file(&format!("{prefix}-{value:?}")),
        partition: Some(values(value)),
        data_change: true,
    };
    let scope = partitions_in(&partitions.iter().map(values).collect::<Vec<_>>(), std::slice::from_ref(&column));
    let mut facts =
        DeltaFacts { operation: "WRITE".into(), data_change: true, changes_data: true, ..DeltaFacts::default() };
    facts.added = partitions.iter().map(|value| file(to, value)).collect();
    facts.removed = partitions.iter().map(|value| file("old", value)).collect();
    facts.footprint.removed_units = facts.removed.iter().map(|file| file.unit.clone()).collect();
    facts.footprint.predicates = vec![split_read(vec![scope], std::slice::from_ref(&column))];
    if !dynamic {
        facts.footprint.read_units = facts.footprint.removed_units.clone();
    }
    facts.table.partition_columns = vec![column];
    facts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

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

    /// Property 8: other paths, and other names of the partition columns.
    #[test]
    fn renaming_changes_nothing(ours in facts(), landed in facts()) {
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
                let without = stripped(&ours, &landed, reason.check, &evidence);
                prop_assert!(without.is_some(), "{}: {evidence}", reason.check);
                (ours, landed) = without.unwrap();
                let then = judge(level, &ours, &landed);
                prop_assert!(then.reason != Some(reason) || then.evidence != Some(evidence.clone()), "{}: {evidence}", reason.check);
            }
        }
    }
}
