//! What a prepared commit or a property change must not do to a table: each of these once made a table lie to somebody.

use crate::support::{columns, created, place};
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Prepared, ProtocolSummary, Table, TableFormat};
use lakebed_transaction::Outcome;

async fn delta_table() -> Table {
    created(&place(TableFormat::Delta), &NewTable::new(TableFormat::Delta, columns())).await
}

async fn give(table: &mut Table, lines: &str) -> Result<Outcome, String> {
    let prepared = Prepared::DeltaActions(lines.as_bytes().to_vec().into());
    let report = table.commit_prepared(prepared, &CommitOptions::default()).await.map_err(|error| error.to_string())?;
    Ok(report.outcome)
}

const ADD: &str =
    r#"{"add":{"path":"a.parquet","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}"#;

#[tokio::test]
async fn actions_that_say_nothing_or_cannot_be_are_refused_and_nothing_is_committed() {
    let mut table = delta_table().await;
    let before = table.version();
    let climbing = ADD.replace("a.parquet", "../a.parquet");
    let negative = ADD.replace(r#""size":1"#, r#""size":-5"#);
    let cases = [
        ("", "holds no action"),
        ("{}", "holds no action"),
        (r#"{"ad":{"path":"x"}}"#, "ad"),
        (r#"{"add":null}"#, "holds no action"),
        (climbing.as_str(), "climbs out"),
        (negative.as_str(), "-5"),
        (r#"{"remove":{"path":"nobody.parquet","dataChange":true,"deletionTimestamp":1}}"#, "nobody.parquet"),
        (r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":1}}"#, "1/2 down to 1/1"),
    ];
    for (lines, part) in cases {
        let error = give(&mut table, lines).await.unwrap_err();
        assert!(error.contains(part), "{lines}: {error}");
    }
    assert!(!table.refresh().await.unwrap());
    assert_eq!(table.version(), before);
}

#[tokio::test]
async fn actions_that_name_their_id_land_once_however_often_they_are_given() {
    let mut table = delta_table().await;
    let info = r#"{"commitInfo":{"txnId":"6f1c4b1e-6a51-4a36-9a0d-3f0c3a6f0001","operation":"WRITE"}}"#;
    let lines = format!("{info}\n{ADD}\n");
    let first = give(&mut table, &lines).await.unwrap();
    let Outcome::Committed { version, .. } = first else { panic!("{first:?}") };
    let _ = give(&mut table, &ADD.replace("a.parquet", "b.parquet")).await.unwrap();
    let again = give(&mut table, &lines).await.unwrap();
    assert!(matches!(again, Outcome::Committed { version: at, .. } if at == version), "{again:?}");
    assert_eq!(table.snapshot().summary().unwrap().num_files, 2);
}

#[tokio::test]
async fn a_batch_of_an_application_lands_once() {
    let mut table = delta_table().await;
    let batch = |version: i64, file: &str| {
        let txn = format!(r#"{{"txn":{{"appId":"stream","version":{version}}}}}"#);
        format!("{txn}\n{}\n", ADD.replace("a.parquet", file))
    };
    assert!(matches!(give(&mut table, &batch(5, "five.parquet")).await.unwrap(), Outcome::Committed { .. }));
    for repeated in [5, 3] {
        assert!(matches!(give(&mut table, &batch(repeated, "again.parquet")).await.unwrap(), Outcome::Nothing { .. }));
    }
    assert!(matches!(give(&mut table, &batch(6, "six.parquet")).await.unwrap(), Outcome::Committed { .. }));
    assert_eq!(table.snapshot().summary().unwrap().num_files, 2);
}

#[tokio::test]
async fn properties_that_belong_to_features_are_not_set_by_themselves() {
    let mut table = delta_table().await;
    for key in [
        "delta.columnMapping.maxColumnId",
        "delta.constraints.positive",
        "delta.minReaderVersion",
        "delta.rowTracking.materializedRowIdColumnName",
        "delta.enableFoo",
    ] {
        let set = [(key.to_owned(), "1".to_owned())].into();
        let error = table.set_properties(set, Vec::new(), &CommitOptions::default()).await.unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
    let banana = [("delta.logRetentionDuration".to_owned(), "banana".to_owned())].into();
    assert!(table.set_properties(banana, Vec::new(), &CommitOptions::default()).await.is_err());
}

fn supports(table: &Table, feature: &str) -> bool {
    match table.snapshot().summary().unwrap().protocol {
        ProtocolSummary::Delta { writer_features, .. } => writer_features.iter().any(|name| name == feature),
        ProtocolSummary::Lance { .. } => false,
    }
}

/// deltalake writes such tables: names for files stand in the schema, and the feature that they need was never turned on.
#[tokio::test]
async fn a_mapping_without_its_feature_has_no_effect_and_gets_none_by_another_property() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("_delta_log");
    std::fs::create_dir(&log).unwrap();
    let column = |name: &str, id: i64| {
        let names =
            serde_json::json!({"delta.columnMapping.id": id, "delta.columnMapping.physicalName": format!("col-{id}")});
        serde_json::json!({"name": name, "type": "string", "nullable": true, "metadata": names})
    };
    let schema = serde_json::json!({"type": "struct", "fields": [column("s", 1), column("p", 2)]});
    let metadata = serde_json::json!({
        "id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": schema.to_string(),
        "partitionColumns": ["p"], "configuration": {"delta.columnMapping.mode": "name"},
    });
    let protocol = r#"{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":["appendOnly"]}"#;
    let add = ADD.replace("\"partitionValues\":{}", r#""partitionValues":{"p":"x"}"#);
    let lines = format!("{{\"protocol\":{protocol}}}\n{{\"metaData\":{metadata}}}\n{add}\n");
    std::fs::write(log.join("00000000000000000000.json"), lines).unwrap();
    let mut table = Table::open(folder.path().to_str().unwrap(), &OpenOptions::default()).await.unwrap();

    let feed = [("delta.enableChangeDataFeed".to_owned(), "true".to_owned())].into();
    let report = table.set_properties(feed, Vec::new(), &CommitOptions::default()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Committed { .. }), "{report:?}");
    assert!(supports(&table, "changeDataFeed") && !supports(&table, "columnMapping"));
    assert_eq!(table.snapshot().files()[0].partition_values["p"], Some("x".to_owned()));

    // Taken away and asked for again, it comes with the names that the files have.
    let mode = "delta.columnMapping.mode".to_owned();
    let _ = table.set_properties([].into(), vec![mode.clone()], &CommitOptions::default()).await.unwrap();
    let name = [(mode, "name".to_owned())].into();
    let _ = table.set_properties(name, Vec::new(), &CommitOptions::default()).await.unwrap();
    assert!(supports(&table, "columnMapping"));
    assert_eq!(table.snapshot().files()[0].partition_values["p"], Some("x".to_owned()));
}
