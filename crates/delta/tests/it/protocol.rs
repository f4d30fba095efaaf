//! Which protocol a table gets and which are refused.

use lakebed_conflict::delta::ProtocolAccess;
use lakebed_delta::action::{Metadata, Protocol, TextMap};
use lakebed_delta::needed_features;
use lakebed_delta::schema::StructType;
use lakebed_transaction::{Column, ColumnType};

fn metadata(properties: &[(&str, &str)], types: &[ColumnType]) -> Metadata {
    let columns: Vec<Column> =
        types.iter().enumerate().map(|(at, t)| Column::new(format!("c{at}"), t.clone(), true)).collect();
    Metadata {
        schema_string: StructType::from_columns(&columns).to_json(),
        configuration: properties.iter().map(|(key, value)| (*key, Some(*value))).collect::<TextMap>(),
        ..Metadata::default()
    }
}

fn names(features: &[&str]) -> Option<Vec<String>> {
    Some(features.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn a_table_gets_the_plainest_protocol_that_serves_it() {
    let needed = |properties: &[(&str, &str)], types: &[ColumnType]| {
        let protocol = Protocol::needed_for(&metadata(properties, types)).unwrap();
        (protocol.min_reader_version, protocol.min_writer_version, protocol.reader_features, protocol.writer_features)
    };
    assert_eq!(needed(&[], &[ColumnType::Long]), (1, 2, None, None));
    assert_eq!(needed(&[("delta.appendOnly", "true"), ("owner", "me")], &[ColumnType::Long]), (1, 2, None, None));
    // As Spark 4.2 makes such tables (the inventory of its tables says so).
    assert_eq!(
        needed(&[("delta.enableChangeDataFeed", "true")], &[]),
        (1, 7, None, names(&["appendOnly", "changeDataFeed", "invariants"]))
    );
    assert_eq!(
        needed(&[("delta.enableDeletionVectors", "TRUE")], &[]),
        (3, 7, names(&["deletionVectors"]), names(&["appendOnly", "deletionVectors", "invariants"]))
    );
    let nested = ColumnType::Array(Box::new(Column::new("element", ColumnType::TimestampNtz, true)));
    assert_eq!(
        needed(&[], &[nested]),
        (3, 7, names(&["timestampNtz"]), names(&["appendOnly", "invariants", "timestampNtz"]))
    );
    assert_eq!(
        needed(&[("delta.feature.rowtracking", "supported")], &[]),
        (1, 7, None, names(&["appendOnly", "domainMetadata", "invariants", "rowTracking"]))
    );
    let error = needed_features(&metadata(&[("delta.feature.fooUnknown", "supported")], &[])).unwrap_err();
    assert!(error.to_string().contains("fooUnknown"), "{error}");
}

#[test]
fn an_upgrade_drops_nothing() {
    let old = Protocol { min_reader_version: 2, min_writer_version: 5, reader_features: None, writer_features: None };
    let new = old.upgraded_for(&metadata(&[("delta.enableDeletionVectors", "true")], &[])).unwrap().unwrap();
    assert_eq!(new.reader_features, names(&["columnMapping", "deletionVectors"]));
    let expected = [
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "deletionVectors",
        "generatedColumns",
        "invariants",
    ];
    assert_eq!(new.writer_features, names(&expected));
    assert!(old.state().dropped_by(&new.state()).is_empty());
    assert_eq!(new.upgraded_for(&metadata(&[("delta.enableDeletionVectors", "true")], &[])).unwrap(), None);
}

#[test]
fn what_is_not_known_is_named() {
    let protocol = |reader, writer, readers: &[&str], writers: &[&str]| Protocol {
        min_reader_version: reader,
        min_writer_version: writer,
        reader_features: (!readers.is_empty()).then(|| names(readers)).flatten(),
        writer_features: (!writers.is_empty()).then(|| names(writers)).flatten(),
    };
    let readable = |protocol: Protocol| protocol.check_readable().map_err(|error| error.to_string());
    assert_eq!(readable(protocol(1, 9, &[], &[])), Ok(()));
    assert_eq!(readable(protocol(3, 7, &["DELETIONVECTORS"], &["x"])), Ok(()));
    assert!(readable(protocol(4, 7, &[], &[])).unwrap_err().contains("reader version 4"));
    assert!(readable(protocol(3, 7, &["adaptiveMetadata-preview"], &[])).unwrap_err().contains("adaptiveMetadata"));
    assert!(readable(protocol(2, 7, &["columnMapping"], &[])).unwrap_err().contains("reader version 2"));
    assert_eq!(protocol(1, 8, &[], &[]).access(), ProtocolAccess::UnsupportedVersion);
    assert_eq!(protocol(3, 7, &["x"], &["x"]).access(), ProtocolAccess::UnsupportedReaderFeatures(vec!["x".into()]));
    assert_eq!(protocol(1, 7, &[], &["y"]).access(), ProtocolAccess::UnsupportedWriterFeatures(vec!["y".into()]));
    assert_eq!(protocol(1, 7, &[], &["rowTracking"]).access(), ProtocolAccess::Usable);
}
