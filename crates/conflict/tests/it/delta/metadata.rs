//! What a writer in flight adopts, and what protocols support.

use lakebed_conflict::delta::{MetadataChange, MetadataDifference, MetadataState, ProtocolState};
use std::sync::Arc;

fn state(properties: &[(&str, &str)]) -> MetadataState {
    let configuration = properties.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value))).collect();
    MetadataState { configuration, ..MetadataState::default() }
}

fn supporting(features: &[&str]) -> ProtocolState {
    let writer_features = features.iter().map(|name| Arc::from(*name)).collect();
    ProtocolState { reader_version: 3, writer_version: 7, writer_features, ..ProtocolState::default() }
}

fn adopts(from: &[(&str, &str)], to: &[(&str, &str)], features: &[&str]) -> bool {
    let change = MetadataChange { state: state(to), identity_only: false };
    match change.difference_from(&state(from), &supporting(features)) {
        MetadataDifference::Adoptable => true,
        MetadataDifference::Other(_) => false,
        other @ (MetadataDifference::Identical | MetadataDifference::IdentityOnly) => panic!("{other:?}"),
    }
}

#[test]
fn properties_that_are_adopted() {
    let rows = [("delta.enableRowTracking", "true"), ("delta.rowTracking.materializedRowIdColumnName", "x")];
    assert!(adopts(&[], &rows, &["rowTracking"]));
    assert!(adopts(&[], &rows[..1], &["rowTracking"]), "names are not needed");
    assert!(!adopts(&[], &rows, &[]), "the feature is");
    assert!(!adopts(&[], &rows[1..], &["rowTracking"]), "names alone are no enablement");
    assert!(!adopts(&rows[..1], &rows, &["rowTracking"]), "names that come later are none either");
    assert!(adopts(&[], &[("delta.enableDeletionVectors", "TRUE")], &[]));
    assert!(!adopts(&[("delta.enableDeletionVectors", "true")], &[("delta.enableDeletionVectors", "false")], &[]));
    assert!(adopts(&[], &[("delta.checkpointPolicy", "v2")], &[]));
    assert!(!adopts(&[], &[("delta.checkpointPolicy", "classic")], &[]));
    assert!(adopts(&[], &[("delta.inCommitTimestampEnablementVersion", "3")], &[]));
    let changed = |value| [("delta.inCommitTimestampEnablementVersion", value)];
    assert!(!adopts(&changed("3"), &changed("4"), &[]), "an enablement is not moved");
    assert!(adopts(&[], &[("delta.columnMapping.maxColumnId", "7")], &[]));
    assert!(adopts(&[], &[("io.unitycatalog.tableId", "u")], &[]));
    assert!(adopts(&[("delta.columnMapping.mode", "none")], &[("delta.columnMapping.mode", "name")], &[]));
    assert!(!adopts(&[], &[("delta.columnMapping.mode", "id")], &[]));
    assert!(!adopts(&[("delta.columnMapping.mode", "id")], &[("delta.columnMapping.mode", "name")], &[]));
    assert!(!adopts(&[], &[("delta.isolationLevel", "WriteSerializable")], &[]), "a level is a change like any other");
    assert!(!adopts(&[("foo", "bar")], &[], &[]), "nothing may be removed");
}

#[test]
fn schemas_that_are_adopted() {
    let with = |schema: &str, mode: &str| MetadataState {
        schema: Arc::from(schema),
        schema_without_mapping: Arc::from("plain"),
        ..state(&[("delta.columnMapping.mode", mode)])
    };
    let difference = |from: &MetadataState, to: MetadataState| {
        MetadataChange { state: to, identity_only: false }.difference_from(from, &supporting(&[]))
    };
    let plain = with("plain", "none");
    assert_eq!(difference(&plain, plain.clone()), MetadataDifference::Identical);
    assert_eq!(difference(&plain, with("annotated", "name")), MetadataDifference::Adoptable);
    assert_eq!(difference(&plain, with("annotated", "none")), MetadataDifference::Other("schema".to_owned()));
    let other = MetadataState { schema_without_mapping: Arc::from("other"), ..with("annotated", "name") };
    assert_eq!(difference(&plain, other), MetadataDifference::Other("schema".to_owned()));
    let renamed = MetadataState { rest: Arc::from("name"), ..plain.clone() };
    assert!(matches!(difference(&plain, renamed), MetadataDifference::Other(_)));
}

#[test]
fn features_named_and_implied() {
    let legacy = |writer_version| ProtocolState { reader_version: 1, writer_version, ..ProtocolState::default() };
    assert!(legacy(2).supports("appendOnly") && legacy(2).supports("invariants"));
    assert!(!legacy(2).supports("checkConstraints") && legacy(3).supports("checkConstraints"));
    assert!(legacy(6).supports("identityColumns") && !legacy(5).supports("identityColumns"));
    assert!(!supporting(&[]).supports("appendOnly"), "writer version 7 implies nothing");
    assert!(supporting(&["rowTracking"]).supports("ROWTRACKING"));
    assert_eq!(legacy(2).dropped_by(&legacy(1)), ["appendOnly", "invariants"]);
    assert_eq!(legacy(2).dropped_by(&supporting(&["appendOnly", "invariants", "rowTracking"])), [""; 0]);
    assert_eq!(supporting(&["clustering", "rowTracking"]).dropped_by(&supporting(&["rowTracking"])), ["clustering"]);
}
