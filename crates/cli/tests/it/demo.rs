//! The demonstration, small.

use crate::common::Lakebed;
use serde_json::Value;

#[test]
fn everything_that_was_acknowledged_is_there() {
    let lakebed = Lakebed::new();
    let played = lakebed.json(&["demo", "--writers", "4", "--commits", "10", "--durability", "none", "--dir", "demo"]);
    assert_eq!(played["sound"], true, "{played}");
    let tables = played["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 2);
    for table in tables {
        assert_eq!(table["commits"], 40, "{table}");
        let audit = &table["audit"];
        assert_eq!((&audit["lost"], &audit["doubled"], &audit["gaps"]), (&0.into(), &0.into(), &0.into()));
        assert_eq!(audit["rows_equal"], true, "{table}");
        assert!(audit["rows_found"].as_u64().unwrap() > 0);
        let kinds: Vec<&str> =
            table["conflicts"].as_array().unwrap().iter().map(|kind| kind["check"].as_str().unwrap()).collect();
        let wanted: &[&str] = match table["format"].as_str().unwrap() {
            "delta" => &["rows-meet", "metadata-changed", "both-change-metadata"],
            _ => &["config-key-clash"],
        };
        assert!(wanted.iter().all(|check| kinds.contains(check)), "{kinds:?}");
        let explained = |kind: &Value| kind["explained"].as_str().is_some_and(|text| text.contains("cannot follow"));
        assert!(table["conflicts"].as_array().unwrap().iter().all(explained), "{table}");
    }
    // What is left there can be looked at; of the table that is only a log that is said.
    assert_eq!((&tables[0]["has_data_files"], &tables[1]["has_data_files"]), (&true.into(), &false.into()));
    lakebed.ok(&["verify", "demo/trips"]);
    lakebed.ok(&["history", "demo/trips.lance"]);
    assert!(lakebed.run(&["verify", "demo/trips.lance"]).stdout.contains("data/"));
    let rows = lakebed.json(&["scan", "demo/trips"]);
    assert_eq!(tables[0]["audit"]["rows_found"], rows.as_array().unwrap().len());
    let refused = lakebed.fails(1, &["demo", "--writers", "1", "--commits", "1", "--dir", "demo"]);
    assert!(refused.contains("--dir"), "{refused}");
}

#[test]
fn it_tells_what_it_did() {
    let lakebed = Lakebed::new();
    let text = lakebed.ok(&["demo", "--writers", "2", "--commits", "4", "--durability", "none"]).stdout;
    for part in ["outcomes", "requests", "conflicts", "history", "audit", "Every audit holds", "data files are not"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
