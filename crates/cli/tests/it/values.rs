//! How values look in JSON.

use crate::common::Lakebed;
use serde_json::{Value, json};

#[test]
fn every_type_has_its_form() {
    let lakebed = Lakebed::new();
    let schema = "i int, l long, f float, d double, e decimal(20,2), b boolean, s string, x binary, day date, at timestamp, \
                  wall timestamp_ntz, list array<int>, m map<string,long>, r struct<a: int, b: string>";
    lakebed.ok(&["create", "t", "--format", "delta", "--schema", schema]);
    let row = json!({
        "i": -5, "l": 9_007_199_254_740_993_i64, "f": 0.1, "d": "NaN", "e": "12345678901234567.89", "b": true,
        "s": "é\"\n", "x": "AP8=", "day": "2026-11-29", "at": "2026-11-29T10:30:00.000001Z",
        "wall": "2026-11-29T10:30:00", "list": [1, null, 3], "m": {"k": 7}, "r": {"a": 1, "b": null},
    });
    let nulls = json!({"i": null});
    lakebed.write("r.jsonl", format!("{row}\n{nulls}\n"));
    lakebed.ok(&["append", "t", "r.jsonl"]);
    let rows = lakebed.json(&["scan", "t"]);
    let mut wanted = row;
    wanted["l"] = json!("9007199254740993");
    wanted["wall"] = json!("2026-11-29T10:30:00.000000");
    assert_eq!(rows[0], wanted);
    let keys: Vec<&str> = rows[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["i", "l", "f", "d", "e", "b", "s", "x", "day", "at", "wall", "list", "m", "r"]);
    assert!(rows[1].as_object().unwrap().values().all(Value::is_null), "{rows}");
}

/// Rows from texts leave void and variant columns NULL, whether they name them or not; a value of them is refused by its place.
#[test]
fn columns_that_no_text_has_a_value_for_are_null() {
    let lakebed = Lakebed::new();
    let features = r#"["variantType"]"#;
    let field =
        |name: &str, type_name: &str| json!({"name": name, "type": type_name, "nullable": true, "metadata": {}});
    let fields = [field("id", "long"), field("nothing", "void"), field("any", "variant")];
    let schema = json!({"type": "struct", "fields": fields}).to_string();
    let metadata = json!({"metaData": {
        "id": "v", "format": {"provider": "parquet", "options": {}}, "schemaString": schema,
        "partitionColumns": [], "configuration": {}
    }});
    std::fs::create_dir_all(lakebed.path("t/_delta_log")).unwrap();
    let protocol = format!(
        r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":{features},"writerFeatures":{features}}}}}"#
    );
    lakebed.write("t/_delta_log/00000000000000000000.json", format!("{protocol}\n{metadata}\n"));
    lakebed.write("a.jsonl", "{\"id\":1}\n{\"id\":2,\"nothing\":null,\"any\":null}\n");
    lakebed.write("b.csv", "nothing,id\n,3\n");
    lakebed.ok(&["append", "t", "a.jsonl"]);
    lakebed.ok(&["append", "t", "b.csv"]);
    let row = |id: i64| json!({"id": id, "nothing": null, "any": null});
    // In which order files are read is nobody's promise.
    let mut rows = lakebed.json(&["scan", "t", "--where", "nothing IS NULL"]).as_array().unwrap().clone();
    rows.sort_by_key(|row| row["id"].as_i64());
    assert_eq!(rows, [row(1), row(2), row(3)]);
    lakebed.write("c.jsonl", "{\"id\":4,\"nothing\":4}\n");
    let refused = lakebed.run(&["append", "t", "c.jsonl"]);
    assert!(refused.code != 0 && refused.stderr.contains("column nothing, row 1"), "{refused:?}");
}
