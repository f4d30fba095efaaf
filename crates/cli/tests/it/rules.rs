//! The printed rules.

use crate::common::Lakebed;
use std::path::Path;

const POLICIES: [&str; 8] = [
    "lance",
    "delta-serializable",
    "delta-write-serializable",
    "delta-snapshot",
    "maxcompute",
    "precise",
    "precise-reorder",
    "lance-definitions",
];

#[test]
fn policies_are_listed() {
    let lakebed = Lakebed::new();
    let list = lakebed.json(&["rules"]);
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|entry| entry["policy"].as_str().unwrap()).collect();
    assert_eq!(names, POLICIES);
    let text = lakebed.ok(&["rules"]).stdout;
    assert!(POLICIES.iter().all(|name| text.contains(name)), "{text}");
    let told = lakebed.fails(2, &["rules", "nope"]);
    assert!(told.contains("delta-snapshot"), "{told}");
}

#[test]
fn the_documents_are_what_is_printed() {
    let lakebed = Lakebed::new();
    for policy in POLICIES {
        let printed = lakebed.ok(&["rules", policy, "--markdown"]).stdout;
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/rules/{policy}.md"));
        let document = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(document == printed, "{} is stale; print it anew", file.display());
    }
}

#[test]
fn a_table_is_total() {
    let lakebed = Lakebed::new();
    for (policy, kinds) in POLICIES.into_iter().zip([17, 11, 11, 11, 6, 8, 8, 17]) {
        let rules = lakebed.json(&["rules", policy]);
        let rows = rules["rows"].as_array().unwrap();
        assert_eq!((&rules["policy"], rows.len()), (&policy.into(), kinds));
        for row in rows {
            let landed = row["landed"].as_object().unwrap();
            assert_eq!(landed.len(), kinds);
            assert!(
                landed.values().all(|cell| cell["otherwise"]["verdict"].is_string() && cell["when"].is_array()),
                "{row}"
            );
        }
        let text = lakebed.ok(&["rules", policy]).stdout;
        assert!(text.contains(&format!("{policy}@")) && text.contains("verdict"), "{text}");
    }
}
