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
