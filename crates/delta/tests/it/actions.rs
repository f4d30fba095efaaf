//! The JSON form of actions: what is tolerated, and what is written.

use lakebed_delta::action::{
    Action, Add, DeletionVector, DomainMetadata, Metadata, Protocol, TextMap, Txn, parse_actions, write_actions,
};

#[test]
fn foreign_spellings_are_tolerated() {
    let commit = br#"
{"commitInfo":{"timestamp":1,"operationParameters":{"mode":"Append","n":3,"b":true,"x":null},"isBlindAppend":null},"unknown":{"a":[1]}}
{"add":{"path":"a","partitionValues":{"p":null,"q":7,"r":true},"size":1,"modificationTime":2,"dataChange":true,"stats":null,"tags":null,"later":[1,2]}}

{"remove":{"path":"b"}}
{"somethingNew":{"path":"c"}}
{"metaData":{"id":"x","name":null,"format":{"provider":"parquet","options":null},"schemaString":"","partitionColumns":null,"configuration":null,"createdTime":null}}
{"cdc":{"path":"_change_data/x","partitionValues":{},"size":1,"dataChange":false}}"#;
    let actions = parse_actions("c", commit).unwrap();
    let [
        Action::CommitInfo(info),
        Action::Add(add),
        Action::Remove(remove),
        Action::Metadata(metadata),
        Action::Cdc(_),
    ] = actions.as_slice()
    else {
        panic!("{actions:?}")
    };
    assert_eq!(info.parameter("n").as_deref(), Some("3"));
    assert_eq!(info.parameter("mode").as_deref(), Some("Append"));
    assert_eq!((info.parameter("x"), info.flag("isBlindAppend")), (None, None));
    let values: Vec<_> = add.partition_values.iter().collect();
    assert_eq!(values, [("p", None), ("q", Some("7")), ("r", Some("true"))]);
    assert!(remove.data_change, "a remove changes data unless it says otherwise");
    assert_eq!(metadata.partition_columns, Vec::<String>::new());
}

#[test]
fn damage_is_named_with_its_line() {
    for (commit, line) in [(&b"{\"add\":{\"size\":1}}"[..], 1), (b"\n{\"add\":", 2), (b"{}\n[1]", 2), (b"\xff", 1)] {
        let error = parse_actions("_delta_log/7.json", commit).unwrap_err().to_string();
        assert!(error.contains("_delta_log/7.json") && error.contains(&format!("line {line}")), "{error}");
    }
    let deep = format!("{{\"commitInfo\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse_actions("c", deep.as_bytes()).is_err());
}

#[test]
fn actions_are_written_as_spark_writes_them() {
    let vector = DeletionVector {
        storage_type: "u".into(),
        path_or_inline_dv: "ab^-aqEH.-t@S}K{vb[*k^".into(),
        offset: Some(1),
        size_in_bytes: 36,
        cardinality: 2,
    };
    let add = Add {
        partition_values: [("p", Some("1")), ("q", None)].into_iter().collect(),
        stats: Some(r#"{"numRecords":10}"#.into()),
        deletion_vector: Some(vector),
        base_row_id: Some(3),
        ..Add::new("p=1/a%20b.parquet", 10, 20)
    };
    let remove = add.to_remove(99, false);
    let actions = [
        Action::Protocol(Protocol::default()),
        Action::Metadata(Metadata {
            id: "i".into(),
            created_time: Some(5),
            partition_columns: vec!["p".into()],
            configuration: [("k", Some("v"))].into_iter().collect::<TextMap>(),
            ..Metadata::default()
        }),
        Action::Txn(Txn { app_id: "a".into(), version: 3, last_updated: None }),
        Action::Domain(DomainMetadata { domain: "d".into(), configuration: "{}".into(), removed: false }),
        Action::Remove(remove),
        Action::Add(add),
    ];
    let text = String::from_utf8(write_actions(&actions).unwrap()).unwrap();
    let vector = r#""deletionVector":{"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^","offset":1,"sizeInBytes":36,"cardinality":2}"#;
    let expected = [
        r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#.to_owned(),
        r#"{"metaData":{"id":"i","format":{"provider":"parquet","options":{}},"schemaString":"","partitionColumns":["p"],"configuration":{"k":"v"},"createdTime":5}}"#.to_owned(),
        r#"{"txn":{"appId":"a","version":3}}"#.to_owned(),
        r#"{"domainMetadata":{"domain":"d","configuration":"{}","removed":false}}"#.to_owned(),
        format!(r#"{{"remove":{{"path":"p=1/a%20b.parquet","deletionTimestamp":99,"dataChange":false,"extendedFileMetadata":true,"partitionValues":{{"p":"1","q":null}},"size":10,{vector},"baseRowId":3}}}}"#),
        format!(r#"{{"add":{{"path":"p=1/a%20b.parquet","partitionValues":{{"p":"1","q":null}},"size":10,"modificationTime":20,"dataChange":true,"stats":"{{\"numRecords\":10}}",{vector},"baseRowId":3}}}}"#),
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    assert_eq!(parse_actions("c", text.as_bytes()).unwrap(), actions);
}
