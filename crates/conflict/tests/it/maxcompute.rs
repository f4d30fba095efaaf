//! The matrix of MaxCompute against its cells as the reference prints them, and transactions of both formats put into it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

use lakebed_conflict::delta::{
    DeltaFacts, DeltaFile, MetadataChange, MetadataState, PartitionColumn, partitions_in, split_read,
};
use lakebed_conflict::lance::LanceFacts;
use lakebed_conflict::maxcompute::{Compaction, Hints, MAXCOMPUTE, MaxComputeFacts, Partition, PartitionSet, judge};
use lakebed_transaction::{
    BinaryOp, ColumnType, DeltaKind, Evidence, Expr, Kind, LanceKind, MaxComputeKind, Scalar, UnitId, Verdict,
};
use std::sync::Arc;

const CASES: &str = include_str!("../testdata/maxcompute.txt");

/// `U p=1,q=a p=2 reads`: the kind, partitions, and whether the target was read.
fn facts(text: &str) -> MaxComputeFacts {
    let mut words = text.split(' ');
    let kind = match words.next().unwrap() {
        "O" => MaxComputeKind::Overwrite,
        "I" => MaxComputeKind::Insert,
        "U" => MaxComputeKind::Update,
        "m" => MaxComputeKind::MinorCompact,
        "M" => MaxComputeKind::MajorCompact,
        "?" => MaxComputeKind::Unspecified,
        other => panic!("no kind {other}"),
    };
    let (mut partitions, mut reads, mut nothing) = (Vec::new(), false, false);
    for word in words {
        match word {
            "reads" => reads = true,
            "nothing" => nothing = true,
            _ => partitions.push(partition(word)),
        }
    }
    let whole = partitions.is_empty() && !nothing;
    let partitions = if whole { PartitionSet::whole_table() } else { PartitionSet::of(partitions) };
    MaxComputeFacts { kind, partitions, reads_target: reads }
}

fn partition(text: &str) -> Partition {
    let value = |text: &str| match (text, text.parse::<i64>(), text.split_once('.')) {
        ("NULL", _, _) => Scalar::Null,
        (_, Ok(number), _) => Scalar::Int(number),
        (_, _, Some((whole, fraction))) => Scalar::Decimal {
            unscaled: format!("{whole}{fraction}").parse().unwrap(),
            scale: u8::try_from(fraction.len()).unwrap(),
        },
        _ => Scalar::string(text),
    };
    text.split(',')
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, text)| (Arc::from(name), value(text)))
        .collect()
}

#[test]
fn cells_of_the_matrix() {
    let mut wrong = Vec::new();
    let mut cells = 0;
    for stanza in CASES.split("\n\n") {
        let lines: Vec<&str> = stanza.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let &[ours, landed, expected] = lines.as_slice() else { panic!("three lines, not\n{stanza}") };
        let answer = judge(
            &facts(ours.strip_prefix("ours ").expect("ours first")),
            &facts(landed.strip_prefix("landed ").expect("landed second")),
        );
        let spelled = format!("{} {}", answer.verdict, answer.reason.map_or("-", |reason| reason.check));
        if spelled != expected {
            wrong.push(format!("{ours} over {landed}: {spelled}, not {expected}"));
        }
        cells += usize::from(ours.len() == 6 && landed.len() == 8 && !expected.starts_with("unspecified"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(cells, 25);
}

/// The four rules that the reference gives for the 25 cells.
#[test]
fn four_rules_give_all_cells() {
    use MaxComputeKind::{Insert, MajorCompact, MinorCompact, Overwrite, Unspecified, Update};
    let mut accepted = 0;
    for ours in MaxComputeKind::ALL {
        for landed in MaxComputeKind::ALL {
            let whole = |kind| MaxComputeFacts::new(kind, PartitionSet::whole_table());
            let answer = judge(&whole(*ours), &whole(*landed));
            let expected = match (ours, landed) {
                (Unspecified, _) | (_, Unspecified) => false,
                (Overwrite, _) => true,
                (Insert | Update, _) => matches!(landed, MinorCompact | MajorCompact),
                (MinorCompact, _) => matches!(landed, Insert | Update),
                (MajorCompact, _) => *landed == MinorCompact,
            };
            assert_eq!(answer.verdict.accepts(), expected, "{ours} over {landed}");
            accepted += usize::from(expected);
        }
    }
    assert_eq!(accepted, 12);
}

#[test]
fn evidence_is_a_shared_partition() {
    let answer = judge(&facts("U p=1 p=2"), &facts("I p=3 p=2"));
    assert_eq!(answer.evidence, Some(Evidence::Partition(partition("p=2"))));
    assert_eq!(answer.evidence.unwrap().to_string(), "partition p=2");
    let answer = judge(&facts("U"), &facts("I"));
    assert_eq!(answer.evidence.unwrap().to_string(), "the whole table");
}

#[test]
fn prints_as_markdown() {
    let text = MAXCOMPUTE.markdown::<MaxComputeKind>();
    expect_test::expect_file!["../../../../docs/rules/maxcompute.md"].assert_eq(&text);
    assert!(text.starts_with("# Policy `maxcompute@2026`\n"), "{text}");
}

fn columns() -> Vec<PartitionColumn> {
    vec![PartitionColumn { name: Arc::from("p"), physical_name: Arc::from("c1"), column_type: ColumnType::Integer }]
}

fn file(path: &str, p: Option<&str>, data_change: bool) -> DeltaFile {
    let partition = Some(vec![(Arc::from("c1"), p.map(Arc::from))]);
    DeltaFile { unit: UnitId::file(path), partition, data_change }
}

fn commit(operation: &str, added: &[DeltaFile], removed: &[DeltaFile]) -> DeltaFacts {
    let mut facts = DeltaFacts { operation: Arc::from(operation), ..DeltaFacts::default() };
    facts.added = added.to_vec();
    facts.removed = removed.to_vec();
    facts.data_change = added.iter().chain(removed).any(|file| file.data_change);
    facts.footprint.removed_units = removed.iter().map(|file| file.unit.clone()).collect();
    facts
}

fn mapped(facts: &DeltaFacts) -> MaxComputeFacts {
    MaxComputeFacts::of_delta(facts, &columns(), Hints { compaction: Compaction::Minor, reads_target: None })
}

#[test]
fn delta_operations_have_kinds() {
    let (a, b) = (file("a", Some("1"), true), file("b", Some("1"), true));
    let (c, d) = (file("c", Some("1"), false), file("d", Some("1"), false));
    let kind = |operation, added: &[DeltaFile], removed: &[DeltaFile]| mapped(&commit(operation, added, removed)).kind;
    assert_eq!(kind("WRITE", std::slice::from_ref(&a), &[]), MaxComputeKind::Insert);
    assert_eq!(kind("WRITE", std::slice::from_ref(&a), std::slice::from_ref(&b)), MaxComputeKind::Overwrite);
    assert_eq!(kind("TRUNCATE", &[], std::slice::from_ref(&a)), MaxComputeKind::Overwrite);
    for operation in ["UPDATE", "DELETE", "MERGE"] {
        assert_eq!(kind(operation, std::slice::from_ref(&a), std::slice::from_ref(&b)), MaxComputeKind::Update);
    }
    for operation in ["OPTIMIZE", "WRITE", ""] {
        assert_eq!(
            kind(operation, std::slice::from_ref(&c), std::slice::from_ref(&d)),
            MaxComputeKind::MinorCompact,
            "{operation}"
        );
    }
    assert_eq!(kind("RESTORE", std::slice::from_ref(&a), &[]), MaxComputeKind::Unspecified);
    let mut ddl = commit("WRITE", std::slice::from_ref(&a), &[]);
    ddl.metadata = Some(MetadataChange { state: MetadataState::default(), identity_only: false });
    assert_eq!(mapped(&ddl).kind, MaxComputeKind::Unspecified);
    let named = DeltaFacts { kind: DeltaKind::Append, operation: Arc::from(""), ..commit("", &[a], &[]) };
    assert_eq!(mapped(&named).kind, MaxComputeKind::Insert);
    let optimize = commit("OPTIMIZE", &[c], &[d]);
    let unknown = MaxComputeFacts::of_delta(&optimize, &columns(), Hints::default());
    assert_eq!(unknown.kind, MaxComputeKind::Unspecified);
    let drops = Compaction::dropping_deleted_rows(true);
    let major = MaxComputeFacts::of_delta(&optimize, &columns(), Hints { compaction: drops, reads_target: None });
    assert_eq!(major.kind, MaxComputeKind::MajorCompact);
}

#[test]
fn delta_partitions_are_compared_as_values() {
    let insert = |text| mapped(&commit("WRITE", &[file("a", text, true)], &[]));
    let meet = |a, b| judge(&insert(a), &insert(b)).verdict;
    assert_eq!(meet(Some("1"), Some("2")), Verdict::Compatible);
    assert_eq!(meet(Some("1"), Some("01")), Verdict::Retryable);
    assert_eq!(meet(None, Some("1")), Verdict::Compatible);
    assert_eq!(meet(None, None), Verdict::Retryable);
    // A text that is no integer may be anything.
    assert_eq!(meet(Some("x"), Some("1")), Verdict::Retryable);
    // A remove without partition values may be anywhere.
    let unnamed = DeltaFile { partition: None, ..file("a", None, true) };
    let delete = mapped(&commit("DELETE", &[], &[unnamed]));
    assert_eq!(judge(&insert(Some("1")), &delete).verdict, Verdict::Retryable);
}

#[test]
fn delta_overwrites_touch_their_scope() {
    let insert = |p| mapped(&commit("WRITE", &[file("n", Some(p), true)], &[]));
    let overwrite = |filter: Option<Expr>| {
        let mut ours = commit("WRITE", &[file("a", Some("1"), true)], &[file("b", Some("1"), true)]);
        match filter {
            Some(filter) => ours.footprint.predicates.push(split_read(vec![filter], &columns())),
            None => ours.footprint.read_whole_table = true,
        }
        mapped(&ours)
    };
    let over = |filter: Option<Expr>, p| judge(&overwrite(filter), &insert(p)).verdict;
    let dynamic = || Some(partitions_in(&[vec![(Arc::from("p"), Some(Arc::from("1")))]], &columns()));
    assert_eq!(over(dynamic(), "2"), Verdict::Compatible);
    assert_eq!(over(dynamic(), "1"), Verdict::LaterOverwrites);
    assert_eq!(over(None, "2"), Verdict::LaterOverwrites);
    // A scope that is no list of partitions may hold any of them.
    let range = Expr::column("p").binary(BinaryOp::Less, Expr::Literal(Scalar::Int(2)));
    assert_eq!(over(Some(range), "2"), Verdict::LaterOverwrites);
    // A truncate is one by no rows: of the partitions whose files go, or of the whole table where it says so.
    let truncate = |whole| {
        let mut ours = commit("TRUNCATE", &[], &[file("b", Some("1"), true)]);
        ours.footprint.read_whole_table = whole;
        mapped(&ours)
    };
    for (whole, p, verdict) in [
        (false, "1", Verdict::LaterOverwrites),
        (false, "2", Verdict::Compatible),
        (true, "1", Verdict::LaterOverwrites),
        (true, "2", Verdict::LaterOverwrites),
    ] {
        assert_eq!(judge(&truncate(whole), &insert(p)).verdict, verdict, "{whole} {p}");
        assert_eq!(
            judge(&insert(p), &truncate(whole)).verdict.accepts(),
            verdict == Verdict::Compatible,
            "{whole} {p}"
        );
    }
    // One that selects rows is an update.
    let rows = Expr::column("v").binary(BinaryOp::Less, Expr::Literal(Scalar::Int(2)));
    assert_eq!(over(Some(rows), "1"), Verdict::Retryable);
}

#[test]
fn lance_operations_have_kinds() {
    let hints = Hints { compaction: Compaction::Major, reads_target: Some(false) };
    let facts = LanceFacts::default();
    let of = |kind| MaxComputeFacts::of_lance(kind, &facts, hints);
    for (kind, expected) in [
        (LanceKind::Append, MaxComputeKind::Insert),
        (LanceKind::Delete, MaxComputeKind::Update),
        (LanceKind::Update, MaxComputeKind::Update),
        (LanceKind::Overwrite, MaxComputeKind::Overwrite),
        (LanceKind::Rewrite, MaxComputeKind::MajorCompact),
        (LanceKind::Merge, MaxComputeKind::Unspecified),
        (LanceKind::Restore, MaxComputeKind::Unspecified),
        (LanceKind::Unknown, MaxComputeKind::Unspecified),
    ] {
        assert_eq!(of(kind).kind, expected, "{kind}");
    }
    // Ids are set aside for a compaction by a commit of its own, which meets nobody.
    for kind in [LanceKind::Append, LanceKind::Overwrite, LanceKind::Rewrite] {
        assert_eq!(judge(&of(kind), &of(LanceKind::ReserveFragments)).verdict, Verdict::Compatible);
    }
    assert_eq!(judge(&of(LanceKind::Append), &of(LanceKind::Append)).verdict, Verdict::Retryable);
}
