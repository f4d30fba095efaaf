//! What is refused before anything is offered to the store.

use crate::support::snapshot_of;
use lakebed_delta::action::{Action, Add, CommitInfo, DeletionVector, DomainMetadata, Txn};
use lakebed_delta::{DeltaError, Pending, Snapshot, Transaction, Vouched};
use lakebed_transaction::TransactionId;

const SCHEMA: &str = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},{\"name\":\"p\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"#;
const PLAIN: &str = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#;

fn metadata(schema: &str, partition: &str, properties: &str) -> String {
    format!(
        r#"{{"metaData":{{"id":"t","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{schema}","partitionColumns":[{partition}],"configuration":{{{properties}}}}}}}"#
    )
}

fn table(protocol: &str, metadata: &str) -> Snapshot {
    snapshot_of(&[&format!("{protocol}\n{metadata}\n")])
}

fn listed(features: &str) -> String {
    format!(r#"{{"protocol":{{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":[{features}]}}}}"#)
}

fn check(base: &Snapshot, actions: Vec<Action>) -> Result<Pending, DeltaError> {
    Pending::on(base.core(), Transaction::new(TransactionId::new("id"), "WRITE", actions))
}

fn refused(base: &Snapshot, actions: Vec<Action>, words: &str) {
    let error = check(base, actions).unwrap_err();
    assert!(matches!(error, DeltaError::Invalid { .. } | DeltaError::Unsupported { .. }), "{error:?}");
    assert!(error.to_string().contains(words), "{error} does not say {words}");
}

fn add(path: &str) -> Action {
    Action::Add(Add::new(path, 1, 1))
}

fn remove(path: &str, data_change: bool) -> Action {
    Action::Remove(Add::new(path, 1, 1).to_remove(5, data_change))
}

#[test]
fn one_file_is_named_once() {
    let base = table(PLAIN, &metadata(SCHEMA, "", ""));
    refused(&base, vec![add("a"), add("a")], "DELTA_DUPLICATE_ACTIONS_FOUND");
    refused(&base, vec![add("a%20b"), add("a b")], "DELTA_DUPLICATE_ACTIONS_FOUND");
    refused(&base, vec![remove("a", true), remove("a", true)], "DELTA_DUPLICATE_ACTIONS_FOUND");
    refused(&base, vec![remove("a", true), add("a")], "DELTA_DUPLICATE_ACTIONS_FOUND");
    assert!(check(&base, vec![remove("a", true), add("b")]).is_ok());
}

#[test]
fn partition_values_fit_the_table() {
    let base = table(PLAIN, &metadata(SCHEMA, r#""p""#, ""));
    let with = |values: &[(&'static str, Option<&'static str>)]| {
        Action::Add(Add { partition_values: values.iter().copied().collect(), ..Add::new("a", 1, 1) })
    };
    refused(&base, vec![add("a")], "DELTA_INVALID_PARTITIONING_SCHEMA");
    refused(&base, vec![with(&[("q", Some("1"))])], "DELTA_INVALID_PARTITIONING_SCHEMA");
    refused(&base, vec![with(&[("p", Some("1")), ("q", None)])], "DELTA_INVALID_PARTITIONING_SCHEMA");
    refused(&base, vec![with(&[("p", Some("1")), ("p", Some("2"))])], "DELTA_INVALID_PARTITIONING_SCHEMA");
    assert!(check(&base, vec![with(&[("p", None)])]).is_ok());
}

#[test]
fn append_only_tables_lose_no_rows() {
    let base = table(PLAIN, &metadata(SCHEMA, "", r#""delta.appendOnly":"TRUE""#));
    refused(&base, vec![remove("a", true)], "DELTA_CANNOT_MODIFY_APPEND_ONLY");
    assert!(check(&base, vec![remove("a", false), add("b")]).is_ok(), "a compaction loses none");
    let unlisted = table(&listed(""), &metadata(SCHEMA, "", r#""delta.appendOnly":"true""#));
    assert!(check(&unlisted, vec![remove("a", true)]).is_ok(), "without the feature the property means nothing");
}

#[test]
fn deletion_vectors_need_leave_and_a_row_count() {
    let vector = DeletionVector {
        storage_type: "i".into(),
        path_or_inline_dv: "x".into(),
        offset: None,
        size_in_bytes: 1,
        cardinality: 1,
    };
    let with = |stats: Option<&str>| {
        vec![Action::Add(Add {
            deletion_vector: Some(vector.clone()),
            stats: stats.map(Into::into),
            ..Add::new("a", 1, 1)
        })]
    };
    let vectors = r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}"#;
    let loose = Some(r#"{"numRecords":3,"tightBounds":false}"#);
    refused(&table(PLAIN, &metadata(SCHEMA, "", "")), with(loose), "DELTA_ADDING_DELETION_VECTORS_DISALLOWED");
    refused(&table(vectors, &metadata(SCHEMA, "", "")), with(loose), "DELTA_ADDING_DELETION_VECTORS_DISALLOWED");
    let base = table(vectors, &metadata(SCHEMA, "", r#""delta.enableDeletionVectors":"true""#));
    refused(&base, with(None), "no row count");
    refused(&base, with(Some(r#"{"numRecords":3}"#)), "WITH_TIGHT_BOUNDS");
    assert!(check(&base, with(loose)).is_ok());
    let replaced = vec![remove("a", true), with(loose).remove(0)];
    assert!(check(&base, replaced).is_ok(), "a vector goes with a remove of the file under its old one");
}

#[test]
fn registers_are_set_once_and_only_where_the_table_has_them() {
    let base = table(PLAIN, &metadata(SCHEMA, "", ""));
    let txn = |version| Action::Txn(Txn { app_id: "app".into(), version, last_updated: None });
    refused(&base, vec![txn(1), txn(2)], "txn app");
    let domain = |name: &str| {
        Action::Domain(DomainMetadata { domain: name.into(), configuration: String::new(), removed: false })
    };
    refused(&base, vec![domain("d")], "domainMetadata");
    let domains = table(&listed(r#""domainMetadata""#), &metadata(SCHEMA, "", ""));
    assert!(check(&domains, vec![domain("d")]).is_ok());
    refused(&domains, vec![domain("d"), domain("d")], "domainMetadata d");
    refused(&domains, vec![domain("delta.rowTracking")], "high-water mark");
    refused(&base, vec![Action::CommitInfo(CommitInfo::default())], "commitInfo");
    let meta = || Action::Metadata(base.metadata().clone());
    refused(&base, vec![meta(), meta()], "metaData");
}

#[test]
fn features_that_we_cannot_serve_are_refused_by_name_when_in_use() {
    let used = |key: &str| SCHEMA.replacen(r#"\"metadata\":{}"#, &format!(r#"\"metadata\":{{\"{key}\":\"1\"}}"#), 1);
    let cases = [
        ("invariants", used("delta.invariants"), ""),
        ("generatedColumns", used("delta.generationExpression"), ""),
        ("allowColumnDefaults", used("CURRENT_DEFAULT"), ""),
        ("identityColumns", used("delta.identity.start"), ""),
        ("checkConstraints", SCHEMA.to_owned(), r#""delta.constraints.c":"id > 0""#),
        ("icebergCompatV2", SCHEMA.to_owned(), r#""delta.enableIcebergCompatV2":"true""#),
        ("materializePartitionColumns", SCHEMA.to_owned(), ""),
    ];
    for (feature, schema, properties) in cases {
        let base = table(&listed(&format!("\"{feature}\"")), &metadata(&schema, "", properties));
        refused(&base, vec![add("a")], feature);
        let set = Action::Metadata(base.metadata().clone());
        assert!(check(&base, vec![set]).is_ok(), "{feature}: properties can be set");
        if !matches!(feature, "materializePartitionColumns") {
            let idle = table(&listed(&format!("\"{feature}\"")), &metadata(SCHEMA, "", ""));
            assert!(check(&idle, vec![add("a")]).is_ok(), "{feature} is supported and not in use");
        }
    }
    let named = table(&listed("\"checkConstraints\""), &metadata(SCHEMA, "", r#""delta.constraints.c":"id > 0""#));
    refused(&named, vec![add("a")], "c: id > 0");
    let mut vouched = Transaction::new(TransactionId::new("id"), "WRITE", vec![add("a")]);
    vouched.vouched = Vouched { values: true, changes: false };
    assert!(Pending::on(named.core(), vouched).is_ok(), "the caller answers for the rows");
    let feed = table(&listed(r#""changeDataFeed""#), &metadata(SCHEMA, "", r#""delta.enableChangeDataFeed":"true""#));
    refused(&feed, vec![remove("a", true), add("b")], "changeDataFeed");
    let moved = Action::Add(Add { data_change: false, ..Add::new("b", 1, 1) });
    assert!(check(&feed, vec![remove("a", false), moved]).is_ok(), "a compaction changes no row");
    assert!(check(&feed, vec![add("b")]).is_ok() && check(&feed, vec![remove("a", true)]).is_ok());
    refused(&table(&listed(r#""fooUnknown""#), &metadata(SCHEMA, "", "")), vec![add("a")], "fooUnknown");
    let eight = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":8}}"#;
    refused(&table(eight, &metadata(SCHEMA, "", "")), vec![add("a")], "writer version 8");
}

#[test]
fn schemas_and_partition_columns_make_sense() {
    let base = table(PLAIN, &metadata(SCHEMA, "", ""));
    let changed = |change: &dyn Fn(&mut lakebed_delta::action::Metadata)| {
        let mut metadata = base.metadata().clone();
        change(&mut metadata);
        vec![Action::Metadata(metadata)]
    };
    refused(&base, changed(&|m| m.partition_columns = vec!["x".into()]), "partition column x");
    refused(&base, changed(&|m| m.partition_columns = vec!["id".into(), "p".into()]), "every column");
    refused(&base, changed(&|m| m.schema_string = m.schema_string.replace(r#""p""#, r#""ID""#)), "case does not count");
    let nothing = Transaction::new(TransactionId::new("id"), "CREATE TABLE", Vec::new());
    let error = Pending::create(nothing).unwrap_err().to_string();
    assert!(error.contains("protocol"), "{error}");
    let unnamed = Transaction::new(TransactionId::new(""), "WRITE", Vec::new());
    assert!(Pending::on(base.core(), unnamed).is_err());
}
