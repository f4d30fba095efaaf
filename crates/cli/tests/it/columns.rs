//! Columns that change, by themselves and along with rows.

use crate::common::{Lakebed, trips};
use serde_json::{Value, json};

fn rows(lakebed: &Lakebed, table: &str, version: Option<u64>) -> Value {
    let number = version.map(|version| version.to_string());
    let mut args = vec!["scan", table];
    if let Some(number) = &number {
        args.extend(["--version", number]);
    }
    let mut rows = lakebed.json(&args).as_array().unwrap().clone();
    rows.sort_by_key(|row| row["id"].as_i64().or_else(|| row["number"].as_i64()));
    Value::Array(rows)
}

fn schema(lakebed: &Lakebed, table: &str) -> Vec<(String, Value)> {
    let show = lakebed.json(&["show", table]);
    let fields = show["schema"].as_array().unwrap().iter();
    fields.map(|field| (field["name"].as_str().unwrap().to_owned(), field["type"].clone())).collect()
}

/// Every version shows the columns that it had, also of files that were written under others.
#[test]
fn each_version_has_its_own_columns() {
    let lakebed = trips();
    lakebed.ok(&["columns", "trips", "add", "tip float, seats integer"]);
    lakebed.write("more.jsonl", "{\"id\":4,\"city\":\"Rome\",\"fare\":1,\"tip\":0.5,\"seats\":2}\n");
    lakebed.ok(&["append", "trips", "more.jsonl"]);
    let refused = lakebed.fails(2, &["columns", "trips", "drop", "city"]);
    assert!(refused.contains("delta.columnMapping.mode=name") && refused.contains("--upgrade"), "{refused}");
    lakebed.ok(&["columns", "trips", "drop", "city", "--upgrade"]);
    lakebed.ok(&["columns", "trips", "rename", "id", "number"]);
    lakebed.ok(&["columns", "trips", "widen", "seats", "long", "--upgrade"]);
    lakebed.ok(&["columns", "trips", "widen", "tip", "double"]);
    lakebed.write("big.jsonl", "{\"number\":5,\"fare\":2,\"seats\":5000000000,\"tip\":0.1}\n");
    lakebed.ok(&["append", "trips", "big.jsonl"]);
    // A column that comes again under an old name is another column.
    lakebed.ok(&["columns", "trips", "add", "city string"]);

    assert_eq!(rows(&lakebed, "trips", Some(1))[0], json!({"id": 1, "city": "Lyon", "fare": 12.5}));
    assert_eq!(
        rows(&lakebed, "trips", Some(2))[0],
        json!({"id": 1, "city": "Lyon", "fare": 12.5, "tip": null, "seats": null})
    );
    assert_eq!(rows(&lakebed, "trips", Some(4))[3], json!({"id": 4, "fare": 1.0, "tip": 0.5, "seats": 2}));
    let newest = rows(&lakebed, "trips", None);
    assert_eq!(newest[0], json!({"number": 1, "fare": 12.5, "tip": null, "seats": null, "city": null}));
    assert_eq!(newest[3], json!({"number": 4, "fare": 1.0, "tip": 0.5, "seats": 2, "city": null}));
    assert_eq!(newest[4], json!({"number": 5, "fare": 2.0, "tip": 0.1, "seats": 5_000_000_000_i64, "city": null}));
    // Joined, the files have the newest columns, and the rows are the same.
    lakebed.ok(&["compact", "trips"]);
    assert_eq!(rows(&lakebed, "trips", None), newest);
    let operations: Vec<Value> = lakebed
        .json(&["history", "trips"])
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["operation"].clone())
        .collect();
    assert_eq!(
        operations[..10],
        [
            "OPTIMIZE",
            "ADD COLUMNS",
            "WRITE",
            "CHANGE COLUMN",
            "CHANGE COLUMN",
            "RENAME COLUMN",
            "DROP COLUMNS",
            "WRITE",
            "ADD COLUMNS",
            "WRITE"
        ]
    );
}

#[test]
fn nested_fields_change_too() {
    let lakebed = Lakebed::new();
    lakebed.ok(&[
        "create",
        "t",
        "--format",
        "delta",
        "--schema",
        "id long, home struct<city string, zip integer>, tags array<integer>, marks map<string, struct<n short>>",
        "--property",
        "delta.columnMapping.mode=name",
        "--property",
        "delta.enableTypeWidening=true",
    ]);
    let row = r#"{"id":1,"home":{"city":"Lyon","zip":69},"tags":[1,2],"marks":{"a":{"n":3}}}"#;
    lakebed.write("rows.jsonl", format!("{row}\n"));
    lakebed.ok(&["append", "t", "rows.jsonl"]);
    lakebed.ok(&["columns", "t", "add", "floor integer", "--in", "home"]);
    lakebed.ok(&["columns", "t", "rename", "home.zip", "code"]);
    lakebed.ok(&["columns", "t", "drop", "home.city"]);
    lakebed.ok(&["columns", "t", "widen", "tags.element", "long"]);
    lakebed.ok(&["columns", "t", "widen", "marks.value.n", "long"]);
    lakebed.ok(&["columns", "t", "widen", "home.code", "long"]);
    let newest = json!([{"id": 1, "home": {"code": 69, "floor": null}, "tags": [1, 2], "marks": {"a": {"n": 3}}}]);
    assert_eq!(rows(&lakebed, "t", None), newest);
    assert_eq!(rows(&lakebed, "t", Some(1)), json!([serde_json::from_str::<Value>(row).unwrap()]));
    lakebed.ok(&["compact", "t"]);
    lakebed.write("new.jsonl", "{\"id\":2,\"tags\":[5000000000],\"home\":{\"floor\":3}}\n");
    lakebed.ok(&["append", "t", "new.jsonl"]);
    assert_eq!(rows(&lakebed, "t", None)[0], newest[0]);
    assert_eq!(rows(&lakebed, "t", None)[1]["tags"], json!([5_000_000_000_i64]));
    // Where the change stands, by the protocol: in the nearest field, with the way from there.
    let fields: Value = serde_json::from_str(&last_schema(&lakebed, "t")).unwrap();
    let changes = |field: &Value| field["metadata"]["delta.typeChanges"].clone();
    let tags = fields["fields"].as_array().unwrap().iter().find(|field| field["name"] == "tags").unwrap();
    assert_eq!(changes(tags), json!([{"toType": "long", "fromType": "integer", "fieldPath": "element"}]));
    let marks = fields["fields"].as_array().unwrap().iter().find(|field| field["name"] == "marks").unwrap();
    let inner = &marks["type"]["valueType"]["fields"][0];
    assert_eq!(changes(inner), json!([{"toType": "long", "fromType": "short"}]));
}

/// The schema text of the newest metaData in the log.
fn last_schema(lakebed: &Lakebed, table: &str) -> String {
    let log = lakebed.path(table).join("_delta_log");
    let mut names: Vec<_> = std::fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let text = names.iter().filter(|name| name.extension().is_some_and(|end| end == "json")).rev().find_map(|name| {
        let text = std::fs::read_to_string(name).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
        lines.iter().find_map(|line| Some(line.get("metaData")?["schemaString"].as_str()?.to_owned()))
    });
    text.unwrap()
}

#[test]
fn what_does_not_fit_is_refused_and_says_what_to_do() {
    let lakebed = Lakebed::new();
    lakebed.ok(&[
        "create",
        "t",
        "--format",
        "delta",
        "--schema",
        "id long, day date, n integer",
        "--partition-by",
        "day",
        "--property",
        "delta.columnMapping.mode=name",
        "--property",
        "delta.constraints.small=n < 10",
    ]);
    for (args, words) in [
        (vec!["add", "ID string"], vec!["id", "already"]),
        (vec!["add", "x long not null"], vec!["NOT NULL"]),
        (vec!["add", "x long", "--in", "id"], vec!["no struct"]),
        (vec!["drop", "day"], vec!["partitioned by day"]),
        (vec!["drop", "n"], vec!["small", "n < 10"]),
        (vec!["rename", "n", "m"], vec!["small"]),
        (vec!["drop", "nobody"], vec!["no column nobody", "id, day, n"]),
        (vec!["rename", "id", "N"], vec!["n", "already"]),
        (vec!["widen", "n", "short", "--upgrade"], vec!["integer", "short"]),
        (vec!["widen", "id", "double", "--upgrade"], vec!["long", "double"]),
    ] {
        let args: Vec<&str> = ["columns", "t"].into_iter().chain(args).collect();
        let said = lakebed.fails(2, &args);
        assert!(words.iter().all(|word| said.contains(word)), "{args:?}: {said}");
    }
    lakebed.fails(2, &["columns", "t", "drop", "1 + 1"]);
    assert_eq!(lakebed.json(&["show", "t"])["version"], 0);
    // Partition columns have another name in folders and the log than here.
    lakebed.write("rows.csv", "id,day,n\n1,2026-01-02,3\n");
    lakebed.ok(&["append", "t", "rows.csv"]);
    lakebed.ok(&["columns", "t", "rename", "day", "date"]);
    assert_eq!(lakebed.json(&["show", "t"])["partition_columns"], json!(["date"]));
    assert_eq!(
        lakebed.json(&["scan", "t", "--where", "date = '2026-01-02'"]),
        json!([{"id": 1, "date": "2026-01-02", "n": 3}])
    );
}

#[test]
fn rows_bring_columns_along() {
    let lakebed = trips();
    lakebed.write("wide.jsonl", "{\"id\":4,\"city\":\"Rome\",\"stops\":[\"a\",\"b\"],\"rain\":true}\n");
    let refused = lakebed.fails(1, &["append", "trips", "wide.jsonl"]);
    assert!(refused.contains("rain") || refused.contains("stops"), "{refused}");
    let appended = lakebed.json(&["append", "trips", "wide.jsonl", "--merge-schema"]);
    assert_eq!(appended["version"], 2);
    let names: Vec<String> = schema(&lakebed, "trips").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[..3], ["id", "city", "fare"]);
    assert_eq!(names[3..].iter().collect::<std::collections::BTreeSet<_>>().len(), 2);
    let all = rows(&lakebed, "trips", None);
    assert_eq!((&all[3]["stops"], &all[3]["rain"], &all[3]["fare"]), (&json!(["a", "b"]), &json!(true), &Value::Null));
    assert_eq!(all[0]["rain"], Value::Null);
    // With nothing new it is an append like any other.
    lakebed.ok(&["append", "trips", "trips.csv", "--merge-schema"]);
    assert_eq!(lakebed.json(&["show", "trips"])["num_rows"], 7);
    let log = std::fs::read_to_string(lakebed.path("trips/_delta_log/00000000000000000003.json")).unwrap();
    assert!(!log.contains("metaData"), "{log}");
}

#[test]
fn an_overwrite_replaces_columns_when_it_is_told_to() {
    let lakebed = trips();
    lakebed.write("other.jsonl", "{\"id\":7,\"name\":\"x\"}\n");
    lakebed.fails(1, &["overwrite", "trips", "other.jsonl"]);
    lakebed.ok(&["overwrite", "trips", "other.jsonl", "--replace-schema"]);
    assert_eq!(rows(&lakebed, "trips", None), json!([{"id": 7, "name": "x"}]));
    assert_eq!(rows(&lakebed, "trips", Some(1))[0], json!({"id": 1, "city": "Lyon", "fare": 12.5}));
    assert_eq!(lakebed.json(&["history", "trips"])[0]["data_change"], true);
}

#[test]
fn an_overwrite_by_partition_replaces_what_it_brings() {
    let lakebed = Lakebed::new();
    lakebed.ok(&["create", "t", "--format", "delta", "--schema", "id long, p string", "--partition-by", "p"]);
    lakebed.write("all.csv", "id,p\n1,a\n2,b\n3,\n4,c\n");
    lakebed.ok(&["append", "t", "all.csv"]);
    lakebed.write("some.csv", "id,p\n10,a\n30,\n");
    let answer = lakebed.json(&["overwrite", "t", "some.csv", "--by-partition"]);
    assert_eq!((&answer["metrics"]["files_removed"], &answer["metrics"]["rows_deleted"]), (&json!(2), &json!(2)));
    let ids: Vec<i64> =
        rows(&lakebed, "t", None).as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, [2, 4, 10, 30]);
    let plain = trips();
    let said = plain.fails(1, &["overwrite", "trips", "trips.csv", "--by-partition"]);
    assert!(said.contains("no partitions"), "{said}");
}

/// Where rows come from: by row on tables that track rows, else by file.
#[test]
fn rows_tell_the_version_that_wrote_them() {
    for tracked in ["true", "false"] {
        let lakebed = Lakebed::new();
        lakebed.write("one.csv", "id,n\n1,1\n2,2\n");
        lakebed.write("two.csv", "id,n\n3,3\n");
        let property = format!("delta.enableRowTracking={tracked}");
        lakebed.ok(&[
            "create",
            "t",
            "--format",
            "delta",
            "--schema",
            "id long, n long",
            "--property",
            &property,
            "--property",
            "delta.enableDeletionVectors=true",
        ]);
        lakebed.ok(&["append", "t", "one.csv"]);
        lakebed.ok(&["append", "t", "two.csv"]);
        lakebed.ok(&["delete", "t", "--where", "id = 2"]);
        let versions = |lakebed: &Lakebed| {
            let mut rows = lakebed.json(&["scan", "t", "--with-version", "--select", "id"]).as_array().unwrap().clone();
            rows.sort_by_key(|row| row["id"].as_i64());
            Value::Array(rows)
        };
        assert_eq!(
            versions(&lakebed),
            json!([{"id": 1, "_version": 1}, {"id": 3, "_version": 2}]),
            "tracked: {tracked}"
        );
        let files = lakebed.json(&["show", "t", "--files"])["files"].as_array().unwrap().clone();
        let mut found: Vec<(Option<u64>, Option<u64>)> =
            files.iter().map(|file| (file["added_version"].as_u64(), file["time_version"].as_u64())).collect();
        found.sort();
        assert_eq!(found, [(Some(1), Some(1)), (Some(2), Some(2))]);
        lakebed.ok(&["set", "t", "owner=us"]);
        lakebed.ok(&["compact", "t"]);
        let by_row = json!([{"id": 1, "_version": 1}, {"id": 3, "_version": 2}]);
        let by_file = json!([{"id": 1, "_version": 5}, {"id": 3, "_version": 5}]);
        assert_eq!(versions(&lakebed), if tracked == "true" { by_row } else { by_file });
        let file = &lakebed.json(&["show", "t", "--files"])["files"][0];
        // The file is of version 5, and the newest change of data up to it is the delete.
        assert_eq!((&file["added_version"], &file["time_version"]), (&json!(5), &json!(3)));
        let tombstones = lakebed.json(&["show", "t", "--tombstones"])["tombstones"].as_array().unwrap().clone();
        assert!(tombstones.iter().filter(|one| one["data_change"] == false).count() == 2, "{tombstones:?}");
    }
}

#[test]
fn compact_says_what_it_did_and_what_it_did_not() {
    let lakebed = trips();
    lakebed.ok(&["append", "trips", "trips.csv"]);
    let answer = lakebed.json(&["compact", "trips", "--minor"]);
    assert_eq!((&answer["outcome"], &answer["version"]), (&json!("committed"), &json!(3)));
    assert_eq!((&answer["metrics"]["files_removed"], &answer["metrics"]["files_added"]), (&json!(2), &json!(1)));
    let run = lakebed.ok(&["compact", "trips"]);
    assert!(run.stdout.contains("nothing to do"), "{run:?}");
    lakebed.ok(&["compact", "trips", "--cluster-by", "city,fare"]);
    assert_eq!(lakebed.json(&["compact", "trips", "--cluster-by", "city,fare"])["outcome"], "nothing");
    assert_eq!(lakebed.run(&["compact", "trips", "--minor", "--cluster-by", "city"]).code, 2);
    let said = lakebed.fails(1, &["compact", "trips", "--where", "fare > 1"]);
    assert!(said.contains("partition"), "{said}");
    assert_eq!(lakebed.json(&["show", "trips"])["num_rows"], 6);
}

/// A table made like a file of texts has the types that its values have, unless texts are wanted.
#[test]
fn a_table_made_like_a_csv_has_its_types() {
    let lakebed = Lakebed::new();
    lakebed
        .write("t.csv", "id,zip,fare,day,ok,at\n1,01234,2.5,2024-02-29,true,2024-03-01T10:00:00Z\n2,98765,3,,false,\n");
    let types = |table: &str| -> Vec<String> {
        let shown = lakebed.json(&["show", table]);
        let columns = shown["schema"].as_array().unwrap().iter();
        columns.map(|column| column["type"].as_str().unwrap().to_owned()).collect()
    };
    lakebed.ok(&["create", "guessed", "--format", "delta", "--like", "t.csv"]);
    assert_eq!(types("guessed"), ["long", "string", "double", "date", "boolean", "timestamp"]);
    lakebed.ok(&["append", "guessed", "t.csv"]);
    assert_eq!(lakebed.json(&["scan", "guessed", "--where", "fare > 2.7 AND NOT ok"])[0]["zip"], "98765");
    lakebed.ok(&["create", "texts", "--format", "delta", "--like", "t.csv", "--all-text"]);
    assert_eq!(types("texts"), ["string"; 6]);
    lakebed.ok(&["append", "texts", "t.csv"]);
    lakebed.fails(2, &["create", "none", "--format", "delta", "--schema", "id long", "--all-text"]);
    // A later row that does not fit is named, and nothing is written.
    lakebed.write("bad.csv", "id,zip\n7,1\nseven,1\n");
    let told = lakebed.fails(1, &["append", "guessed", "bad.csv"]);
    assert!(told.contains("row 2") && told.contains("column id") && told.contains("seven"), "{told}");
}

/// Of a Lance table columns come, go and get other names without a look at its rows.
#[test]
fn columns_of_a_lance_table_change_in_the_schema_alone() {
    let lakebed = Lakebed::new();
    let schema = "id long not null, s string, place struct<city: string, zip: int>";
    lakebed.ok(&["create", "t.lance", "--format", "lance", "--schema", schema]);
    lakebed.ok(&["columns", "t.lance", "add", "note string"]);
    lakebed.ok(&["columns", "t.lance", "add", "street string", "--in", "place"]);
    lakebed.ok(&["columns", "t.lance", "rename", "s", "text"]);
    lakebed.ok(&["columns", "t.lance", "drop", "place.zip"]);
    let shown = lakebed.json(&["show", "t.lance"]);
    let names: Vec<_> = shown["schema"].as_array().unwrap().iter().map(|field| field["name"].clone()).collect();
    assert_eq!(names, ["id", "text", "place", "note"]);
    let told = lakebed.fails(1, &["columns", "t.lance", "widen", "id", "double"]);
    assert!(told.contains("lance-data"), "{told}");
    let told = lakebed.fails(2, &["columns", "t.lance", "add", "NOTE long"]);
    assert!(told.contains("note"), "{told}");
}
