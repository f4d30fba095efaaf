//! The benchmark, small.

use crate::common::{Lakebed, trips};

#[test]
fn both_formats_are_measured_and_audited() {
    let lakebed = Lakebed::new();
    for format in ["delta", "lance"] {
        let place = format!("{format}-place");
        let measured = lakebed.json(&[
            "bench",
            &place,
            "--format",
            format,
            "--writers",
            "4",
            "--commits",
            "6",
            "--durability",
            "none",
        ]);
        assert_eq!(measured["commits"], 24, "{measured}");
        assert_eq!((&measured["lost"], &measured["doubled"]), (&0.into(), &0.into()));
        assert_eq!(measured["durability"], "none");
        for key in ["seconds", "commits_per_second", "p50_ms", "p99_ms"] {
            assert!(measured[key].as_f64().is_some_and(|number| number > 0.0), "{key}: {measured}");
        }
        assert!(measured["p50_ms"].as_f64() <= measured["p99_ms"].as_f64());
        assert!(measured["attempts_per_commit"].as_f64() >= Some(1.0), "{measured}");
        let least = if format == "lance" { 2.0 } else { 1.0 };
        assert!(measured["requests_per_commit"].as_f64() >= Some(least), "{measured}");
        assert!(!lakebed.path(&place).exists(), "nothing stays");
    }
}

#[test]
fn a_place_that_is_not_empty_is_left_alone() {
    let lakebed = trips();
    let told = lakebed.fails(1, &["bench", "trips", "--format", "delta", "--writers", "1", "--commits", "1"]);
    assert!(told.contains("trips") && told.contains("not empty"), "{told}");
    assert_eq!(lakebed.json(&["show", "trips"])["num_rows"], 3);
}

#[test]
fn a_kept_table_has_every_commit() {
    let lakebed = Lakebed::new();
    lakebed.ok(&["bench", "kept", "--format", "lance", "--writers", "2", "--commits", "3", "--keep"]);
    let shown = lakebed.json(&["show", "kept"]);
    assert_eq!((&shown["version"], &shown["num_files"]), (&7.into(), &6.into()));
}
