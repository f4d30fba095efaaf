//! New tables: the plainest protocol, and definitions that cannot be used.

use lakebed_delta::action::{Action, Metadata, Protocol};
use lakebed_ops::{TableDefinition, delta_definition};
use lakebed_transaction::{Column, ColumnType};

fn definition(properties: &[(&str, &str)]) -> TableDefinition {
    TableDefinition {
        columns: vec![Column::new("id", ColumnType::Long, false), Column::new("Day", ColumnType::Date, true)],
        partition_columns: vec!["day".to_owned()],
        properties: properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
    }
}

fn made(definition: &TableDefinition) -> (Protocol, Metadata) {
    let actions = delta_definition(definition, "9c0f6a44-3f58-4a8e-9d3c-4f2a1c0d7e11", 7).unwrap();
    let [Action::Protocol(protocol), Action::Metadata(metadata)] = actions.as_slice() else { panic!("{actions:?}") };
    (protocol.clone(), metadata.clone())
}

fn refused(definition: &TableDefinition) -> String {
    delta_definition(definition, "id", 7).unwrap_err().to_string()
}

#[test]
fn a_plain_table_has_the_plainest_protocol_and_its_columns_as_spelled() {
    let (protocol, metadata) = made(&definition(&[("delta.appendOnly", "true"), ("owner", "me")]));
    assert_eq!((protocol.min_reader_version, protocol.min_writer_version), (1, 2));
    assert_eq!((protocol.reader_features, protocol.writer_features), (None, None));
    assert_eq!(metadata.partition_columns, ["Day"]);
    assert_eq!(
        metadata.schema_string,
        r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":false,"metadata":{}},{"name":"Day","type":"date","nullable":true,"metadata":{}}]}"#
    );
    assert_eq!(metadata.configuration.get("owner"), Some("me"));
}

#[test]
fn a_property_turns_on_the_feature_that_it_needs() {
    let (protocol, _) = made(&definition(&[("delta.enableDeletionVectors", "true")]));
    assert_eq!((protocol.min_reader_version, protocol.min_writer_version), (3, 7));
    assert_eq!(protocol.reader_features, Some(vec!["deletionVectors".to_owned()]));
    let writers = protocol.writer_features.unwrap();
    assert!(
        ["appendOnly", "deletionVectors", "invariants"].iter().all(|name| writers.iter().any(|w| w == name)),
        "{writers:?}"
    );
}

#[test]
fn a_column_of_wall_clock_times_needs_its_feature() {
    let mut wanted = definition(&[]);
    wanted.columns.push(Column::new("at", ColumnType::TimestampNtz, true));
    assert!(made(&wanted).0.supports("timestampNtz"));
}

#[test]
fn what_is_not_written_is_refused_by_the_features_name() {
    assert!(refused(&definition(&[("delta.enableIcebergCompatV2", "true")])).contains("icebergCompatV2"));
    assert!(refused(&definition(&[("delta.enableVariantShredding", "true")])).contains("variantShredding"));
    assert!(
        refused(&definition(&[("delta.feature.materializePartitionColumns", "supported")])).contains("materialize")
    );
    assert!(refused(&definition(&[("delta.feature.fooUnknown", "supported")])).contains("fooUnknown"));
    assert!(delta_definition(&definition(&[("delta.columnMapping.mode", "none")]), "id", 7).is_ok());
}

#[test]
fn mapped_columns_get_ids_and_names_of_their_own() {
    let (protocol, metadata) = made(&definition(&[("delta.columnMapping.mode", "name")]));
    assert!(protocol.supports("columnMapping"));
    assert_eq!(metadata.configuration.get("delta.columnMapping.maxColumnId"), Some("2"));
    let schema = lakebed_delta::schema::StructType::parse(&metadata.schema_string).unwrap();
    let ids: Vec<_> = schema.fields.iter().map(|field| field.metadata["delta.columnMapping.id"].as_i64()).collect();
    assert_eq!(ids, [Some(1), Some(2)]);
    let names: Vec<&str> = schema
        .fields
        .iter()
        .map(|field| field.metadata["delta.columnMapping.physicalName"].as_str().unwrap())
        .collect();
    assert!(names[0] != names[1] && names.iter().all(|name| name.starts_with("col-")), "{names:?}");
}

#[test]
fn row_tracking_names_the_columns_for_rows_that_move() {
    let (protocol, metadata) = made(&definition(&[("delta.enableRowTracking", "true")]));
    assert!(protocol.supports("rowTracking") && protocol.supports("domainMetadata"));
    assert_eq!(protocol.min_reader_version, 1, "no reader has to know it");
    let name = metadata.configuration.get("delta.rowTracking.materializedRowIdColumnName").unwrap();
    assert!(name.starts_with("_row-id-col-"), "{name}");
}

#[test]
fn a_feature_that_is_asked_for_by_name_is_supported_and_the_wish_is_not_kept() {
    let (protocol, metadata) = made(&definition(&[("delta.feature.rowTracking", "supported")]));
    assert!(protocol.supports("rowTracking"));
    assert_eq!(metadata.configuration.get("delta.feature.rowTracking"), None);
    assert_eq!(metadata.configuration.get("delta.enableRowTracking"), None);
}

#[test]
fn values_that_no_commit_could_use_are_refused_when_they_are_set() {
    assert!(refused(&definition(&[("delta.isolationLevel", "ReadCommitted")])).contains("WriteSerializable"));
    assert!(refused(&definition(&[("delta.checkpointInterval", "0")])).contains("at least 1"));
    assert!(delta_definition(&definition(&[("delta.isolationLevel", "writeSerializable")]), "id", 7).is_ok());
}

#[test]
fn partition_columns_must_be_columns_of_simple_types_and_leave_one_over() {
    let mut wanted = definition(&[]);
    wanted.partition_columns = vec!["dya".to_owned()];
    assert!(refused(&wanted).contains("id, Day"));
    wanted.partition_columns = vec!["id".to_owned(), "day".to_owned()];
    assert!(refused(&wanted).contains("at least one column"));
    wanted.columns.push(Column::new("ID", ColumnType::String, true));
    assert!(refused(&wanted).contains("twice"));
}
