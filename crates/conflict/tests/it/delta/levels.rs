//! Level texts, the step down, and the policies by name.

use lakebed_conflict::delta::{DeltaFacts, DeltaFile, DeltaPolicy, IsolationLevel, MetadataChange, MetadataState};
use lakebed_transaction::{UnitId, Verdict};
use std::sync::Arc;

fn table_of(level: &str) -> DeltaFacts {
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
    let mut ours = table_of("ReadCommitted");
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
        let mut ours = table_of(level);
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
        let mut ours = table_of("writeserializable");
        ours.data_change = true;
        assert_eq!(policy.label(&ours), label);
    }
    assert_eq!(DeltaPolicy::named("Delta"), None);
    assert_eq!(DeltaPolicy::named("lance"), None);
}
