//! Field cases that the rules alone decide, on facts. What needs files and logs is tested where tables are.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, like the tests")]

use crate::lance::facts::facts as lance_facts;
use lakebed_conflict::delta::{
    DeltaFacts, DeltaFile, DeltaPolicy, MetadataChange, MetadataState, PartitionColumn, ProtocolAccess, ProtocolChange,
    ProtocolState, split_read,
};
use lakebed_conflict::lance;
use lakebed_conflict::maxcompute::{Compaction, Hints, MaxComputeFacts, judge as matrix};
use lakebed_sql::parse_expression;
use lakebed_transaction::{ColumnType, Judgement, LanceKind, UnitId, Verdict};
use std::sync::Arc;

/// `ours` over `landed` under Lance's rules.
fn on_lance(ours: &str, landed: &str) -> Judgement {
    let (ours, landed) = (lance_facts(ours), lance_facts(landed));
    lance::judge((ours.0, &ours.1), (landed.0, &landed.1))
}

fn lance_verdict(ours: &str, landed: &str) -> Verdict {
    on_lance(ours, landed).verdict
}

/// `WRITE +a -b` with partitions `+a@2024-01-01`; a trailing `=` marks `dataChange: false`.
fn commit(text: &str) -> DeltaFacts {
    let mut words = text.split(' ');
    let mut facts = DeltaFacts { operation: Arc::from(words.next().unwrap()), ..DeltaFacts::default() };
    for word in words {
        let (relayout, word) = word.strip_suffix('=').map_or((false, word), |word| (true, word));
        let (path, day) = word[1..].split_once('@').map_or((&word[1..], None), |(path, day)| (path, Some(day)));
        let partition = Some(day.map(|day| (Arc::from("day"), Some(Arc::from(day)))).into_iter().collect());
        let file = DeltaFile { unit: UnitId::file(path), partition, data_change: !relayout };
        facts.data_change |= file.data_change;
        if word.starts_with('+') { facts.added.push(file) } else { facts.removed.push(file) }
    }
    facts.changes_data = lakebed_conflict::delta::operation_changes_data(&facts.operation);
    facts.footprint.removed_units = facts.removed.iter().map(|file| file.unit.clone()).collect();
    facts
}

/// The same, having read these files.
fn reading(mut facts: DeltaFacts, files: &[&str]) -> DeltaFacts {
    facts.footprint.read_units = files.iter().copied().map(UnitId::file).collect();
    facts
}

const LEVELS: [DeltaPolicy; 3] = [DeltaPolicy::Serializable, DeltaPolicy::WriteSerializable, DeltaPolicy::Snapshot];

fn classes(ours: &DeltaFacts, landed: &DeltaFacts) -> [Option<&'static str>; 3] {
    LEVELS.map(|policy| policy.judge(ours, landed).reason.and_then(|reason| reason.error_class))
}

fn accepted(ours: &DeltaFacts, landed: &DeltaFacts) -> [bool; 3] {
    LEVELS.map(|policy| policy.judge(ours, landed).verdict.accepts())
}

fn in_matrix(facts: &DeltaFacts) -> MaxComputeFacts {
    MaxComputeFacts::of_delta(facts, &[], Hints { compaction: Compaction::Minor, reads_target: None })
}

fn blind(mut facts: DeltaFacts) -> DeltaFacts {
    facts.declared_blind = Some(true);
    facts
}

fn metadata(key: &str) -> MetadataChange {
    let configuration = [(Arc::from(key), Arc::from("true"))].into();
    MetadataChange { state: MetadataState { configuration, ..MetadataState::default() }, identity_only: false }
}

/// Field case 15: of two full overwrites of one file the second is refused; the matrix lets the later one replace.
#[test]
fn case_15_two_full_overwrites() {
    let (first, second) = (commit("WRITE +f1 -f0"), reading(commit("WRITE +f2 -f0"), &["f0"]));
    assert_eq!(accepted(&second, &first), [false; 3]);
    assert_eq!(accepted(&commit("WRITE +f2 -f0"), &first), [false; 3]);
    assert_eq!(lance_verdict("Overwrite added=2", "Overwrite added=1"), Verdict::Retryable);
    assert_eq!(matrix(&in_matrix(&second), &in_matrix(&first)).verdict, Verdict::LaterOverwrites);
}

/// Field case 16: a rewrite of A meets an append of B; both stand, and nothing asks the rewrite to know of B.
#[test]
fn case_16_a_rewrite_and_an_append() {
    let rewrite = reading(commit("OPTIMIZE +c= -a="), &["a"]);
    assert_eq!(accepted(&rewrite, &blind(commit("WRITE +b"))), [true; 3]);
    assert_eq!(lance_verdict("Rewrite group=0>2", "Append added=1"), Verdict::Compatible);
}

/// Field case 20: upserts that believed one key absent meet, though they share no file.
#[test]
fn case_20_upserts_of_one_new_key() {
    let answer = on_lance("Update added=1 keys=0/exact:7+9", "Update added=1 keys=0/exact:5+7");
    assert_eq!(answer.verdict, Verdict::Retryable);
    assert_eq!(answer.evidence.unwrap().to_string(), "key over field 0, hash 0000000000000007");
    assert_eq!(lance_verdict("Update added=1 keys=0/exact:7", "Update added=1 keys=0/exact:8"), Verdict::Compatible);
    assert_eq!(lance_verdict("Update added=1 keys=0/exact:7", "Append added=1"), Verdict::Retryable);
    // On Delta an upsert reads, so it is no blind append on either side.
    let upsert = |path: &str| {
        let mut facts = commit(&format!("MERGE +{path}"));
        facts.footprint.predicates = vec![split_read(vec![parse_expression("id = 1").unwrap()], &[])];
        assert!(!facts.derived_blind());
        facts
    };
    let landed = DeltaFacts { declared_blind: Some(false), ..upsert("a") };
    assert_eq!(
        classes(&upsert("b"), &landed),
        [Some("DELTA_CONCURRENT_APPEND"), Some("DELTA_CONCURRENT_APPEND"), None]
    );
}

/// Field case 24: two first inserts into an empty table both stand.
#[test]
fn case_24_two_first_inserts() {
    assert_eq!(accepted(&commit("WRITE +b"), &blind(commit("WRITE +a"))), [true; 3]);
    assert_eq!(lance_verdict("Append added=0", "Append added=0"), Verdict::Compatible);
}

/// Field case 26: an application id that was looked up and written meanwhile is a conflict, whatever the numbers were.
#[test]
fn case_26_one_application_twice() {
    let (mut ours, mut landed) = (commit("WRITE +b"), blind(commit("WRITE +a")));
    ours.app_ids_read = ["a".into()].into();
    ours.app_ids_written = ["a".into()].into();
    landed.app_ids_written = ["a".into()].into();
    assert_eq!(classes(&ours, &landed), [Some("DELTA_CONCURRENT_TRANSACTION"); 3]);
    landed.app_ids_written = ["b".into()].into();
    assert_eq!(classes(&ours, &landed), [None; 3]);
}

/// Field case 28: two deletions in one file meet however each is stored.
#[test]
fn case_28_deletes_of_one_row() {
    // On Delta a vector is a remove and an add of one path.
    let delete = || reading(commit("DELETE +f -f"), &["f"]);
    assert_eq!(accepted(&delete(), &commit("DELETE +f -f")), [false; 3]);
    // On Lance the rows are compared when the deletions are united.
    let answer = on_lance("Delete updated=0 rows=0:5", "Delete updated=0 rows=0:5");
    assert_eq!((answer.verdict, answer.reason.unwrap().check), (Verdict::Rebase, "rows-compared"));
    assert_eq!(lance_verdict("Delete updated=0", "Delete updated=0"), Verdict::Retryable);
}

/// Field case 30: an append that read the table meets a compaction. Delta's rules refuse it, as Spark does (what a
/// compaction adds counts as added); the matrix accepts it. Both counter-cases are refused by both.
#[test]
fn case_30_append_with_reads_and_a_compaction() {
    let append = reading(commit("WRITE +x"), &["a", "b"]);
    let compaction = commit("OPTIMIZE +c= -a= -b=");
    assert_eq!(accepted(&append, &compaction), [false; 3]);
    assert_eq!(matrix(&in_matrix(&append), &in_matrix(&compaction)).verdict, Verdict::Compatible);
    let rewrite = commit("UPDATE +c -a -b");
    assert_eq!(accepted(&append, &rewrite), [false; 3]);
    assert!(!matrix(&in_matrix(&append), &in_matrix(&rewrite)).verdict.accepts());
    let also_removes = reading(commit("UPDATE +x -a"), &["a", "b"]);
    assert_eq!(accepted(&also_removes, &compaction), [false; 3]);
    assert_eq!(lance_verdict("Delete updated=0 rows=0:1", "Rewrite group=0+1>7"), Verdict::Retryable);
    assert_eq!(lance_verdict("Append added=9", "Rewrite group=0+1>7"), Verdict::Compatible);
}

/// Field case 31: upserts into two days do not meet; a predicate that cannot be evaluated is a conflict that says where.
#[test]
fn case_31_upserts_into_two_partitions() {
    let days =
        [PartitionColumn { name: Arc::from("day"), physical_name: Arc::from("day"), column_type: ColumnType::Date }];
    let upsert = |filter: &str| {
        let mut facts = commit("MERGE +b@2024-01-01");
        facts.footprint.predicates = vec![split_read(vec![parse_expression(filter).unwrap()], &days)];
        facts.table.partition_columns = days.to_vec();
        facts
    };
    let landed = commit("MERGE +a@2024-01-02");
    for filter in ["day = DATE '2024-01-01'", "day = '2024-01-01'", "day = DATE '2024-01-01' AND day = source_day(1)"] {
        assert_eq!(accepted(&upsert(filter), &landed), [true; 3], "{filter}");
    }
    for filter in ["day = source_day(1)", "day = DATE '2024-01-02'", "v = 1"] {
        let answer = DeltaPolicy::Serializable.judge(&upsert(filter), &landed);
        assert_eq!(answer.verdict, Verdict::Retryable, "{filter}");
        assert_eq!(answer.evidence.unwrap().to_string(), "a [day=2024-01-02]", "{filter}");
    }
    let unreadable = DeltaPolicy::Serializable.judge(&upsert("day = 'soon'"), &landed);
    assert_eq!(unreadable.reason.unwrap().check, "unreadable-partition-value");
    assert!(unreadable.evidence.unwrap().to_string().contains("'soon'"));
}

/// Field case 100: a column that becomes NOT NULL meets rows that were checked against the old schema, in either order.
#[test]
fn case_100_not_null_and_appended_nulls() {
    for rows in ["Append added=1", "Update updated=0 added=1 rows=0:1"] {
        assert!(!lance_verdict("Project tightens", rows).accepts(), "{rows}");
        assert!(!lance_verdict(rows, "Project tightens").accepts(), "{rows}");
        assert!(lance_verdict("Project", rows).accepts(), "{rows}");
        assert!(lance_verdict(rows, "Project").accepts(), "{rows}");
    }
    // On Delta whoever tightens has read the table for NULLs, and a change of metadata makes even blind rows count.
    let mut tightens = commit("CHANGE_COLUMN");
    tightens.metadata = Some(metadata("delta.constraint"));
    tightens.footprint.read_whole_table = true;
    let append = blind(commit("WRITE +a"));
    assert_eq!(accepted(&tightens, &append)[..2], [false; 2]);
    assert_eq!(accepted(&append, &tightens), [false; 3]);
}

/// Field case 102: a rewrite of a column that landed dropped is planned again.
#[test]
fn case_102_rewrite_of_a_dropped_column() {
    let answer = on_lance("Update updated=0 columns modified=1", "Project lost=1 remaining=0");
    assert_eq!(answer.verdict, Verdict::Retryable);
    assert_eq!(answer.evidence.unwrap().to_string(), "field 1");
    assert!(lance_verdict("Update updated=0 columns modified=0", "Project lost=1 remaining=0").accepts());
}

/// Field case 103: a protocol with a feature that we do not know stops us by its name; one that we know is adopted.
#[test]
fn case_103_protocol_raised_by_a_rival() {
    let raised = |feature: &str, access| {
        let state = ProtocolState {
            reader_version: 3,
            writer_version: 7,
            writer_features: [Arc::from(feature)].into(),
            ..ProtocolState::default()
        };
        DeltaFacts { protocol: Some(ProtocolChange { state, access }), ..DeltaFacts::default() }
    };
    let ours = commit("WRITE +a");
    let unknown = ProtocolAccess::UnsupportedWriterFeatures(vec![Arc::from("someFutureFeature")]);
    for policy in LEVELS {
        let answer = policy.judge(&ours, &raised("someFutureFeature", unknown.clone()));
        assert_eq!(answer.verdict, Verdict::Incompatible);
        assert_eq!(answer.evidence.unwrap().to_string(), "someFutureFeature");
        let answer = policy.judge(&ours, &raised("rowTracking", ProtocolAccess::Usable));
        assert_eq!(answer.verdict, Verdict::Rebase);
    }
}

/// Field case 104: metadata that changes nothing does not stand in the way of an append.
#[test]
fn case_104_identical_metadata() {
    let mut ours = commit("WRITE +b");
    ours.table.metadata = metadata("delta.appendOnly").state;
    let mut landed = blind(commit("WRITE +a"));
    landed.metadata = Some(metadata("delta.appendOnly"));
    assert_eq!(accepted(&ours, &landed), [true; 3]);
    landed.metadata = Some(metadata("other"));
    assert_eq!(classes(&ours, &landed), [Some("DELTA_METADATA_CHANGED"); 3]);
    ours.metadata = Some(metadata("delta.appendOnly"));
    landed.metadata = Some(metadata("delta.appendOnly"));
    assert_eq!(classes(&ours, &landed), [Some("DELTA_METADATA_CHANGED"); 3]);
}

/// Field case 107: a compaction judged against everything since its plan meets the deletion in between.
#[test]
fn case_107_a_compaction_and_deletes_since_its_plan() {
    assert_eq!(lance_verdict("Rewrite group=0>7", "Delete updated=0 rows=0:3"), Verdict::Retryable);
    let compaction = reading(commit("OPTIMIZE +c= -f="), &["f"]);
    assert_eq!(accepted(&compaction, &commit("DELETE +f -f")), [false; 3]);
}

/// Field case 108: replacement of a column by position, over each way in which a rival can touch its fragment.
#[test]
fn case_108_column_replacement_matrix() {
    for (rival, expected) in [
        ("Delete updated=0 rows=0:3", Verdict::Compatible),
        ("Update updated=0 added=9 rows=0:3", Verdict::Retryable),
        ("Update updated=0 columns modified=1", Verdict::Retryable),
        ("Update updated=0 columns modified=2", Verdict::Compatible),
        ("Delete removed=0", Verdict::Incompatible),
        ("Update updated=1 added=9 rows=1:3", Verdict::Compatible),
    ] {
        assert_eq!(lance_verdict("DataReplacement replace=0/1", rival), expected, "{rival}");
    }
    // Over a replacement, rows of its fragment are planned again; other fragments are free.
    assert_eq!(lance_verdict("Delete updated=0 rows=0:3", "DataReplacement replace=0/1"), Verdict::Retryable);
    assert_eq!(lance_verdict("Update updated=0 columns modified=1", "DataReplacement replace=0/1"), Verdict::Retryable);
    assert_eq!(lance_verdict("Delete updated=1 rows=1:3", "DataReplacement replace=0/1"), Verdict::Compatible);
}

/// Field case 140: what can be planned again and what can never follow are two verdicts.
#[test]
fn case_140_two_kinds_of_refusal() {
    assert_eq!(lance_verdict("Delete updated=0", "Delete updated=0"), Verdict::Retryable);
    assert_eq!(lance_verdict("Append added=1", "Overwrite added=1"), Verdict::Incompatible);
    // An index over a dropped column is what pylance accepts; the reason says what is lost.
    let answer = on_lance("CreateIndex new=x/1/1/0", "Project lost=1 remaining=0");
    assert_eq!(answer.verdict, Verdict::Compatible);
    assert!(answer.reason.unwrap().sentence.contains("index"), "{:?}", answer.reason);
}

/// Two compactions, a compaction and an overwrite, a compaction and a delete: never both applied, under any policy.
#[test]
fn compactions_never_double_rows() {
    let compaction = |to: &str| reading(commit(&format!("OPTIMIZE +{to}= -a= -b=")), &["a", "b"]);
    for landed in ["OPTIMIZE +c= -a= -b=", "WRITE +n -a -b", "DELETE +a -a", "DELETE -b"] {
        assert_eq!(accepted(&compaction("d"), &commit(landed)), [false; 3], "{landed}");
    }
    for landed in ["Rewrite group=0+1>7", "Overwrite added=7", "Delete updated=0", "Delete removed=1"] {
        assert!(!lance_verdict("Rewrite group=0+1>8", landed).accepts(), "{landed}");
    }
    let minor = in_matrix(&compaction("d"));
    for landed in ["OPTIMIZE +c= -a= -b=", "WRITE +n -a -b"] {
        assert!(!matrix(&minor, &in_matrix(&commit(landed))).verdict.accepts(), "{landed}");
    }
    let hints = Hints { compaction: Compaction::Major, reads_target: None };
    let major = MaxComputeFacts::of_lance(LanceKind::Rewrite, &lance_facts("Rewrite group=0>7").1, hints);
    for kind in [LanceKind::Delete, LanceKind::Update, LanceKind::Append, LanceKind::Overwrite, LanceKind::Rewrite] {
        let landed = MaxComputeFacts::of_lance(kind, &lance::LanceFacts::default(), hints);
        assert!(!matrix(&major, &landed).verdict.accepts(), "{kind}");
    }
}
