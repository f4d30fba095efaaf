//! Predicates that real Spark and delta-rs wrote into commit logs, and those of the measured conflict cases.

use lakebed_sql::{SqlError, parse_predicate, print};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> Option<PathBuf> {
    let given = std::env::var_os("LAKEBED_CONFORMANCE").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    given.or(Some(beside)).filter(|path| path.is_dir())
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl") {
            out.push(path);
        }
    }
}

/// The texts under `predicate` and in `predicates`, wherever they stand.
fn collect(value: &Value, printed: &mut BTreeSet<String>, filters: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let (true, Value::String(text)) = (key == "predicate", value) {
                    let unquoted = serde_json::from_str::<String>(text).unwrap_or_else(|_| text.clone());
                    printed.insert(unquoted);
                } else if let (true, Value::Array(reads)) = (key == "predicates", value) {
                    let all = reads.iter().filter_map(Value::as_array).flatten();
                    filters.extend(all.filter_map(Value::as_str).map(str::to_owned));
                }
                collect(value, printed, filters);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, printed, filters)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn predicates_of_real_logs() {
    let Some(root) = root() else {
        println!("skipped: no conformance data");
        return;
    };
    let mut paths = Vec::new();
    for folder in ["delta", "delta-spark", "delta-conflicts", "delta-commands"] {
        files(&root.join(folder), &mut paths);
    }
    let (mut printed, mut filters) = (BTreeSet::new(), BTreeSet::new());
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for line in text.lines().filter(|line| line.contains("predicate")) {
            if let Ok(value) = serde_json::from_str(line) {
                collect(&value, &mut printed, &mut filters);
            }
        }
    }
    assert!(printed.len() > 100 && filters.len() > 80, "{} {}", printed.len(), filters.len());
    // Filters of the conflict cases are SQL: all must read, and print to the same tree.
    for text in &filters {
        let expr = parse_predicate(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parse_predicate(&print(&expr)), Ok(expr), "{text}");
    }
    let refused: Vec<(&String, SqlError)> =
        printed.iter().filter_map(|text| parse_predicate(text).err().map(|error| (text, error))).collect();
    println!("{} printed predicates, {} refused, {} filters", printed.len(), refused.len(), filters.len());
    for (text, error) in &refused {
        println!("refused: {text}: {error}");
        // Those that compare two relations, name a column of two words, or print a literal that is no word.
        assert!(text.contains('#'), "{text}: {error}");
    }
}
