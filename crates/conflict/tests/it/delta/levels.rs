//! Level texts, the step down, and the policies by name.

use lakebed_conflict::delta::{
    DeltaFacts, DeltaFile, DeltaPolicy, IsolationLevel, MetadataChange, MetadataState, table_of,
};
use lakebed_transaction::{DeltaKind, UnitId, Verdict};
use std::sync::Arc;

fn at_level(level: &str) -> DeltaFacts {
    let mut facts = DeltaFacts::default();
    facts.table.metadata = metadata(level);
    facts
}

fn metadata(level: &str) -> MetadataState {
    let configuration = [(Arc::from("delta.isolationLevel"), Arc::from(level))].into();
    MetadataState { configuration, ..MetadataState::default() }
}

fn add(data_change: bool) -> DeltaFile {
    DeltaFile { unit: UnitId::file("n"), partition: Some(Vec::new()), data_change }
}

#[test]
fn texts_in_any_case_but_not_trimmed() {
    use IsolationLevel::{Serializable, SnapshotIsolation, WriteSerializable};
    let level = |text| IsolationLevel::of_property(Some(text));
    assert_eq!(IsolationLevel::of_property(None), Ok(Serializable));
    assert_eq!(level("Serializable"), Ok(Serializable));
    assert_eq!(level("SERIALIZABLE"), Ok(Serializable));
    assert_eq!(level("WriteSerializable"), Ok(WriteSerializable));
    assert_eq!(level("writeSerializable"), Ok(WriteSerializable));
    assert_eq!(level("snapshotisolation"), Ok(SnapshotIsolation));
    for text in ["", " Serializable", "Serializable ", "ReadCommitted", "write-serializable", "serıalizable"] {
        let error = level(text).unwrap_err();
        assert_eq!(error.text, text);
        assert!(error.to_string().starts_with("[DELTA_INVALID_ISOLATION_LEVEL] invalid isolation level"), "{error}");
    }
}

#[test]
fn an_unusable_text_stands_in_the_way_of_everything() {
    let mut ours = at_level("ReadCommitted");
    for policy in DeltaPolicy::ALL {
        for answer in [policy.judge_alone(&ours), policy.judge(&ours, &DeltaFacts::default())] {
            assert_eq!(answer.verdict, Verdict::Incompatible, "{}", policy.name());
            assert_eq!(answer.reason.unwrap().error_class, Some("DELTA_INVALID_ISOLATION_LEVEL"));
        }
    }
    // The commit that repairs the text can be written: its own metadata counts.
    ours.metadata = Some(MetadataChange { state: MetadataState::default(), identity_only: false });
    assert_eq!(DeltaPolicy::TableLevel.judge_alone(&ours).verdict, Verdict::Compatible);
}

#[test]
fn no_data_is_checked_a_level_down() {
    use IsolationLevel::{Serializable, SnapshotIsolation, WriteSerializable};
    let effective = |level: &str, change: fn(&mut DeltaFacts)| {
        let mut ours = at_level(level);
        change(&mut ours);
        DeltaPolicy::TableLevel.effective_level(&ours).unwrap()
    };
    let optimize: fn(&mut DeltaFacts) = |ours| ours.added.push(add(false));
    assert_eq!(effective("Serializable", optimize), SnapshotIsolation);
    assert_eq!(effective("WriteSerializable", optimize), SnapshotIsolation);
    let empty_delete: fn(&mut DeltaFacts) = |ours| ours.changes_data = true;
    assert_eq!(effective("Serializable", empty_delete), SnapshotIsolation);
    assert_eq!(effective("WriteSerializable", empty_delete), WriteSerializable);
    assert_eq!(effective("SnapshotIsolation", empty_delete), SnapshotIsolation);
    let blockers: [fn(&mut DeltaFacts); 4] = [
        |ours| ours.data_change = true,
        |ours| ours.domains.extend([Arc::<str>::from("x")]),
        |ours| ours.app_ids_written.extend([Arc::<str>::from("a")]),
        |ours| ours.large = true,
    ];
    for blocker in blockers {
        assert_eq!(effective("Serializable", blocker), Serializable);
    }
    let high_water_mark: fn(&mut DeltaFacts) = |ours| ours.domains.extend([Arc::<str>::from("delta.rowTracking")]);
    assert_eq!(effective("Serializable", high_water_mark), SnapshotIsolation);
    // What is known of an action that is not known is not enough to step down.
    assert_eq!(effective("Serializable", |ours| ours.carries_unknown_actions = true), Serializable);
}

#[test]
fn policies_by_name() {
    for (name, policy, label) in [
        ("delta", DeltaPolicy::TableLevel, "delta-write-serializable@1"),
        ("delta-serializable", DeltaPolicy::Serializable, "delta-serializable@1"),
        ("delta-write-serializable", DeltaPolicy::WriteSerializable, "delta-write-serializable@1"),
        ("delta-snapshot", DeltaPolicy::Snapshot, "delta-snapshot@1"),
    ] {
        assert_eq!(DeltaPolicy::named(name), Some(policy));
        assert_eq!(policy.name(), name);
        let mut ours = at_level("writeserializable");
        ours.data_change = true;
        assert_eq!(policy.label(&ours), label);
    }
    assert_eq!(DeltaPolicy::named("Delta"), None);
    assert_eq!(DeltaPolicy::named("lance"), None);
}

#[test]
fn print_as_markdown() {
    let printed = |level| table_of(level).markdown::<DeltaKind>();
    expect_test::expect_file!["../../../../../docs/rules/delta-serializable.md"]
        .assert_eq(&printed(IsolationLevel::Serializable));
    expect_test::expect_file!["../../../../../docs/rules/delta-write-serializable.md"]
        .assert_eq(&printed(IsolationLevel::WriteSerializable));
    expect_test::expect_file!["../../../../../docs/rules/delta-snapshot.md"]
        .assert_eq(&printed(IsolationLevel::SnapshotIsolation));
}

/// The order in which Spark's own commits that break several rules at once are refused.
#[test]
fn checks_stand_in_the_order_of_spark() {
    let order = [
        "DELTA_CONCURRENT_WRITE",
        "DELTA_INVALID_PROTOCOL_VERSION",
        "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
        "DELTA_PROTOCOL_CHANGED",
        "DELTA_METADATA_CHANGED",
        "DELTA_CONCURRENT_TRANSACTION",
        "DELTA_CONCURRENT_APPEND",
        "DELTA_CONCURRENT_DELETE_READ",
        "DELTA_CONCURRENT_DELETE_DELETE",
    ];
    for level in [IsolationLevel::Serializable, IsolationLevel::WriteSerializable] {
        let classes: Vec<_> = table_of(level).first.iter().filter_map(|check| check.reason.error_class).collect();
        let places = order.map(|class| classes.iter().position(|known| *known == class).expect(class));
        assert!(places.is_sorted(), "{classes:?}");
    }
    let snapshot = table_of(IsolationLevel::SnapshotIsolation).first;
    assert!(snapshot.iter().all(|check| check.reason.error_class != Some("DELTA_CONCURRENT_APPEND")));
}
