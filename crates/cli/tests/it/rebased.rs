//! What ours would write after a rebase, against what Spark wrote, action by action.

use crate::common::{Lakebed, conformance};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Where ours does not follow Spark, with the reason: Spark's result breaks the protocol there.
const DIFFERS: &str = include_str!("../../testdata/rebased-differs.tsv");
/// Later than any clock: a timestamp above it follows from what landed alone.
const FAR_MS: i64 = 4_000_000_000_000;

#[test]
fn every_rebase_that_spark_wrote() {
    let Some(folder) = conformance("delta-conflicts") else { return };
    let text = std::fs::read_to_string(folder.join("verdicts.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()).collect();
    let rows: Vec<&Vec<&str>> = rows.iter().filter(|row| row.get(10).is_some_and(|file| !file.is_empty())).collect();
    let cases = rows.iter().map(|row| {
        let landed: Vec<_> = row[3].split_whitespace().map(|name| folder.join("landed").join(name)).collect();
        let (ours, base) = (folder.join("ours").join(row[2]), folder.join("bases").join(row[1]));
        json!({"id": row[0], "policy": "delta", "ours": ours, "landed": landed, "base": base}).to_string()
    });
    let lakebed = Lakebed::new();
    lakebed.write("cases.jsonl", cases.collect::<Vec<_>>().join("\n"));
    let run = lakebed.ok(&["explain", "--batch", "cases.jsonl", "--rebased"]);
    let answers: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((rows.len(), answers.len()), (1_049, 1_049));

    let mut differs: BTreeMap<&str, &str> = DIFFERS.lines().filter_map(|line| line.split_once('\t')).collect();
    let (mut equal, mut listed, mut refused, mut wrong) = (0, 0, 0, Vec::new());
    for (row, answer) in rows.iter().zip(&answers) {
        let (id, expect) = (row[0], row[4]);
        let theirs = std::fs::read_to_string(folder.join("committed").join(row[10])).unwrap();
        let theirs: Vec<Value> = theirs.lines().map(|line| normal(serde_json::from_str(line).unwrap())).collect();
        let Some(actions) = answer["rebased"].as_array() else {
            // Where Spark accepts what is unsound, ours may refuse.
            if expect == "either" && answer["verdict"].is_string() && answer["rebased_error"].is_null() {
                refused += 1;
            } else {
                wrong.push(format!("{id}: {answer}"));
            }
            continue;
        };
        assert!(actions.first().is_some_and(|first| first.get("commitInfo").is_some()), "{id}: {answer}");
        stamped(id, actions);
        let ours: Vec<Value> = actions.iter().cloned().map(normal).collect();
        match (ours == theirs, differs.remove(id)) {
            (true, None) => equal += 1,
            (false, Some(_)) => listed += 1,
            (true, Some(why)) => wrong.push(format!("{id}: equal, though listed ({why})")),
            (false, None) => {
                wrong.push(format!("{id} ({expect}):\n  ours  {}\n  spark {}", lines(&ours), lines(&theirs)))
            }
        }
    }
    println!(
        "{equal} rebases equal Spark's, {listed} differ as listed, {refused} unsound ones refused, {} wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(differs.is_empty(), "listed, but no such row: {differs:?}");
}

fn lines(actions: &[Value]) -> String {
    actions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n        ")
}

/// The enabling commit names its own version's timestamp.
fn stamped(id: &str, actions: &[Value]) {
    let stamp = &actions[0]["commitInfo"]["inCommitTimestamp"];
    let metadata = actions.iter().find_map(|action| action.get("metaData"));
    let enabled = metadata.and_then(|m| m["configuration"].get("delta.inCommitTimestampEnablementTimestamp"));
    if let Some(text) = enabled {
        assert!(stamp.as_i64().is_some_and(|stamp| text.as_str().unwrap().parse::<i64>().unwrap() <= stamp), "{id}");
    }
}

/// An action without times, random names and ids, and without what means the same when it is absent.
fn normal(action: Value) -> Value {
    let Value::Object(action) = action else { panic!("{action}") };
    let (kind, value) = action.into_iter().next().unwrap();
    let Value::Object(mut value) = value else { panic!("{kind}: {value}") };
    value.retain(|_, field| !(field.is_null() || field.as_object().is_some_and(Map::is_empty)));
    match kind.as_str() {
        "commitInfo" => info(&mut value),
        "protocol" => {
            for key in ["readerFeatures", "writerFeatures"] {
                if let Some(Value::Array(names)) = value.get_mut(key) {
                    names.sort_by_key(ToString::to_string);
                }
            }
        }
        "metaData" => metadata(&mut value),
        "domainMetadata" => {
            let document = value["configuration"].as_str().unwrap();
            value.insert("configuration".into(), serde_json::from_str(document).unwrap());
        }
        _ => {}
    }
    json!({kind: value})
}

/// What the two sides must have in common; engine, clock and id are their own, and `lakebed` is our own note.
fn info(value: &mut Map<String, Value>) {
    for key in ["timestamp", "engineInfo", "txnId", "lakebed"] {
        value.remove(key);
    }
    if let Some(stamp) = value.get_mut("inCommitTimestamp")
        && stamp.as_i64().unwrap() < FAR_MS
    {
        *stamp = json!("now");
    }
}

fn metadata(value: &mut Map<String, Value>) {
    let Some(Value::Object(configuration)) = value.get_mut("configuration") else { return };
    for (key, text) in configuration {
        let plain = text.as_str().unwrap().to_owned();
        if key == "delta.inCommitTimestampEnablementTimestamp" && plain.parse::<i64>().unwrap() < FAR_MS {
            *text = json!("now");
        }
        // A random name is a prefix and a UUID of 36 characters.
        if key.starts_with("delta.rowTracking.materialized") && plain.len() > 40 {
            *text = json!(plain[..plain.len() - 36]);
        }
    }
}
