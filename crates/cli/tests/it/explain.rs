//! Verdicts without a table, against those that the real clients gave.

use crate::common::{Lakebed, conformance};
use serde_json::{Value, json};
use std::path::Path;

/// Runs a batch; the answers in order.
fn batch(cases: &[Value], json: bool) -> Vec<Value> {
    let lakebed = Lakebed::new();
    let lines: Vec<String> = cases.iter().map(ToString::to_string).collect();
    lakebed.write("cases.jsonl", lines.join("\n"));
    let args: &[&str] =
        if json { &["explain", "--batch", "cases.jsonl", "--json"] } else { &["explain", "--batch", "cases.jsonl"] };
    let run = lakebed.ok(args);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn accepts(answer: &Value) -> bool {
    matches!(answer["verdict"].as_str(), Some("compatible" | "rebase" | "reordered"))
}

fn lance_case(folder: &Path, id: usize, ours: &str, landed: &[&str]) -> Value {
    let landed: Vec<_> = landed.iter().map(|name| folder.join("landed").join(format!("{name}.txn"))).collect();
    json!({
        "id": id, "policy": "lance", "ours": folder.join("ours").join(format!("{ours}.txn")), "landed": landed,
        "base": folder.join("base.manifest"),
    })
}

#[test]
fn every_verdict_of_pylance_in_one_process() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let rows = std::fs::read_to_string(folder.join("verdicts.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = rows.lines().skip(1).map(|row| row.split('\t').collect()).collect();
    let cases: Vec<Value> =
        rows.iter().enumerate().map(|(at, row)| lance_case(&folder, at, row[0], &[row[1]])).collect();
    let answers = batch(&cases, false);
    assert_eq!((rows.len(), answers.len()), (861, 861));
    let mut wrong = Vec::new();
    for (at, (row, answer)) in rows.iter().zip(&answers).enumerate() {
        assert_eq!(answer["id"], at, "answers stand in the order of the cases");
        let found = if accepts(answer) { "compatible" } else { answer["verdict"].as_str().unwrap_or("error") };
        if found != row[2] {
            wrong.push(format!("{} over {}: {answer}, pylance says {}", row[0], row[1], row[2]));
        }
        assert_eq!(answer["landed_index"].is_null(), answer["verdict"] == "compatible", "{answer}");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A row of measured verdicts: a case, and what it must answer.
struct Measured {
    case: Value,
    expect: String,
    level: String,
}

/// The rows of a table of verdicts by the names of its columns; `files` gives a row's file of ours.
fn measured(folder: &Path, table: &str, files: impl Fn(&dyn Fn(&str) -> String) -> String) -> Vec<Measured> {
    let text = std::fs::read_to_string(folder.join(table)).unwrap();
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap().split('\t').collect();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let cell = |name: &str| {
                let at = heads.iter().position(|head| *head == name).unwrap_or_else(|| panic!("no column {name}"));
                cells.get(at).copied().unwrap_or_default().to_owned()
            };
            let landed: Vec<_> =
                cell("landed").split_whitespace().map(|name| folder.join("landed").join(name)).collect();
            let (ours, base) = (folder.join("ours").join(files(&cell)), folder.join("bases").join(cell("base")));
            let case = json!({"id": cell("id"), "policy": "delta", "ours": ours, "landed": landed, "base": base});
            Measured { case, expect: cell("expect"), level: cell("effective_level") }
        })
        .collect()
}

/// Judges every row in one process and compares; how many rows had to agree, and how many named a level.
fn agree_with_spark(rows: &[Measured]) -> (usize, usize) {
    let cases: Vec<Value> = rows.iter().map(|row| row.case.clone()).collect();
    let answers = batch(&cases, true);
    assert_eq!(answers.len(), rows.len());
    let (mut judged, mut levels, mut wrong) = (0, 0, Vec::new());
    for (row, answer) in rows.iter().zip(&answers) {
        assert_eq!(answer["id"], row.case["id"], "answers stand in the order of the cases");
        if row.expect == "skip" {
            continue;
        }
        judged += 1;
        let verdict = match row.expect.as_str() {
            "accept" => accepts(answer),
            "reject" => answer["verdict"].is_string() && !accepts(answer),
            "either" => answer["verdict"].is_string(),
            expected => {
                let class = expected.strip_prefix("refuse:").unwrap_or_else(|| panic!("no expectation {expected}"));
                answer["verdict"].is_string() && !accepts(answer) && answer["error_class"] == class
            }
        };
        levels += usize::from(!row.level.is_empty());
        if !verdict || !(row.level.is_empty() || answer["effective_level"] == row.level.as_str()) {
            wrong.push(format!("expected {} at {}, answered {answer}", row.expect, row.level));
        }
    }
    assert!(wrong.is_empty(), "{} of {judged} wrong:\n{}", wrong.len(), wrong.join("\n"));
    (judged, levels)
}

#[test]
fn every_verdict_of_spark_in_one_process() {
    let Some(folder) = conformance("delta-conflicts") else { return };
    let rows = measured(&folder, "verdicts.tsv", |cell| cell("ours"));
    assert_eq!(rows.len(), 13_807);
    let (judged, levels) = agree_with_spark(&rows);
    assert_eq!((judged, levels), (13_508, 13_446));
}

#[test]
fn every_pair_of_commands_of_spark_in_one_process() {
    let Some(folder) = conformance("delta-commands") else { return };
    let rows = measured(&folder, "cases.tsv", |cell| format!("{}.{}.json", cell("base"), cell("ours")));
    assert_eq!(rows.len(), 1_239);
    let (judged, levels) = agree_with_spark(&rows);
    assert_eq!((judged, levels), (1_191, 394));
}

#[test]
fn the_first_conflict_is_the_answer() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let lakebed = Lakebed::new();
    let name = |side: &str, name: &str| folder.join(side).join(format!("{name}.txn")).display().to_string();
    let base = folder.join("base.manifest").display().to_string();
    let answer = lakebed.json(&[
        "explain",
        "--policy",
        "lance",
        "--ours",
        &name("ours", "delete-whole-f0"),
        "--landed",
        &name("landed", "append"),
        "--landed",
        &name("landed", "delete-f0-rows"),
        "--base",
        &base,
    ]);
    assert_eq!((&answer["policy"], &answer["verdict"]), (&json!("lance"), &json!("retryable")));
    assert_eq!(answer["landed_index"], 1);
    assert_eq!(answer["overlap"], "fragment 0");
    assert_eq!((&answer["wanted"], &answer["error_class"]), (&json!(null), &json!(null)));
    for key in ["check", "reason", "advice"] {
        assert!(answer[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {answer}");
    }
    let text = lakebed.ok(&["explain", "--policy", "lance", "--ours", &name("ours", "append")]).stdout;
    assert!(text.starts_with("compatible under lance@"), "{text}");
}

#[test]
fn a_case_that_cannot_be_judged_does_not_stop_the_rest() {
    let lakebed = Lakebed::new();
    lakebed.write(
        "ours.json",
        r#"{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}"#,
    );
    let good = json!({"id": "good", "policy": "delta-serializable", "ours": "ours.json", "landed": [], "base": null});
    let lines = [
        good.to_string(),
        json!({"id": 7, "policy": "delta", "ours": "missing.json", "landed": []}).to_string(),
        json!({"id": "p", "policy": "nope", "ours": "ours.json", "landed": []}).to_string(),
        "not json".to_owned(),
        json!({"id": "k", "policy": "delta", "landed": []}).to_string(),
        good.to_string(),
    ];
    lakebed.write("cases.jsonl", lines.join("\n") + "\n\n");
    let run = lakebed.ok(&["explain", "--batch", "cases.jsonl"]);
    let answers: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("good"), &json!(7), &json!("p"), &json!(null), &json!("k"), &json!("good")]);
    let errors: Vec<bool> = answers.iter().map(|answer| answer["error"].is_string()).collect();
    assert_eq!(errors, [false, true, true, true, true, false]);
    assert_eq!(
        (&answers[0]["verdict"], &answers[0]["effective_level"]),
        (&json!("compatible"), &json!("Serializable"))
    );
    assert!(answers[1]["error"].as_str().unwrap().contains("missing.json"));
    assert!(answers[2]["error"].as_str().unwrap().contains("delta-write-serializable"), "{}", answers[2]);
}

#[test]
fn what_cannot_commit_at_all_is_incompatible() {
    let lakebed = Lakebed::new();
    lakebed.write(
        "ours.json",
        r#"{"metaData":{"id":"a","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{"delta.isolationLevel":"Chaos"}}}"#,
    );
    let answer = lakebed.json(&["explain", "--policy", "delta", "--ours", "ours.json"]);
    assert_eq!(answer["verdict"], "incompatible");
    assert_eq!(answer["error_class"], "DELTA_INVALID_ISOLATION_LEVEL");
    assert_eq!(answer["landed_index"], Value::Null);
}

#[test]
fn the_matrix_judges_both_formats() {
    let lakebed = Lakebed::new();
    let add = |path: &str, day: &str| {
        format!(
            r#"{{"add":{{"path":"{path}","partitionValues":{{"day":"{day}"}},"size":1,"modificationTime":1,"dataChange":true}}}}"#
        )
    };
    let insert = r#"{"commitInfo":{"operation":"WRITE","isBlindAppend":true}}"#;
    lakebed.write("ours.json", add("a", "1"));
    lakebed.write("same.json", format!("{insert}\n{}", add("b", "1")));
    lakebed.write("other.json", format!("{insert}\n{}", add("c", "2")));
    lakebed.ok(&["create", "t", "--format", "delta", "--schema", "id long, day int", "--partition-by", "day"]);
    let judge = |landed: &str, base: &[&str]| {
        let args = ["explain", "--policy", "maxcompute", "--ours", "ours.json", "--landed", landed];
        lakebed.json(&[&args[..], base].concat())
    };
    let same = judge("same.json", &["--base", "t"]);
    assert_eq!((&same["verdict"], &same["check"]), (&json!("retryable"), &json!("partition-changed")));
    assert_eq!((&same["overlap"], &same["landed_index"]), (&json!("partition day=1"), &json!(0)));
    assert_eq!(judge("other.json", &["--base", "t"])["verdict"], "compatible");
    // Without a base the table counts as unpartitioned.
    assert_eq!(judge("other.json", &[])["overlap"], "the whole table");
    let told = lakebed.fails(2, &["explain", "--policy", "maxcompute", "--ours", "ours.parquet"]);
    assert!(told.contains(".txn"), "{told}");
}

/// MaxCompute's matrix by Lance's operations: a later overwrite always stands, writers of rows exclude each other, and
/// compactions stand beside them by what they do with deleted rows.
#[test]
fn the_matrix_judges_lance() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let kinds = |side: &str, kind: &str| {
        let mut names: Vec<String> = std::fs::read_dir(folder.join(side))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".txn", ""))
            .filter(|name| name.starts_with(kind))
            .collect();
        names.sort();
        names.into_iter().next().unwrap_or_else(|| panic!("no {kind} among {side}"))
    };
    let rows = [
        ("append", "append", None, "retryable"),
        ("append", "delete", None, "retryable"),
        ("append", "overwrite", None, "retryable"),
        ("append", "rewrite", Some("minor"), "compatible"),
        ("append", "rewrite", None, "unspecified"),
        ("delete", "append", None, "retryable"),
        ("delete", "rewrite", Some("major"), "compatible"),
        ("overwrite", "append", None, "later-overwrites"),
        ("overwrite", "rewrite", Some("major"), "later-overwrites"),
        ("rewrite", "append", Some("minor"), "compatible"),
        ("rewrite", "append", Some("major"), "retryable"),
        ("rewrite", "rewrite", Some("minor"), "retryable"),
        ("restore", "append", None, "unspecified"),
    ];
    let cases: Vec<Value> = rows
        .iter()
        .enumerate()
        .map(|(at, (ours, landed, compaction, _))| {
            let mut case = lance_case(&folder, at, &kinds("ours", ours), &[&kinds("landed", landed)]);
            case["policy"] = json!("maxcompute");
            case["compaction"] = json!(compaction);
            case
        })
        .collect();
    for (row, answer) in rows.iter().zip(batch(&cases, true)) {
        assert_eq!(answer["verdict"], row.3, "{row:?}: {answer}");
    }
}

/// Statistics first; what they leave open is named, and whose rows nobody can look for is no obstacle.
#[test]
fn precise_names_the_rows_that_it_wants() {
    let lakebed = Lakebed::new();
    lakebed.ok(&["create", "t", "--format", "delta", "--schema", "id long, day int", "--partition-by", "day"]);
    let add = |path: &str, day: &str, low: i64, high: i64| {
        let stats = format!(
            r#"{{\"numRecords\":2,\"minValues\":{{\"id\":{low}}},\"maxValues\":{{\"id\":{high}}},\"nullCount\":{{\"id\":0}}}}"#
        );
        format!(
            r#"{{"add":{{"path":"{path}","partitionValues":{{"day":"{day}"}},"size":1,"modificationTime":1,"dataChange":true,"stats":"{stats}"}}}}"#
        )
    };
    let insert = |name: &str, blind: bool, add: &str| {
        lakebed.write(name, format!("{{\"commitInfo\":{{\"operation\":\"WRITE\",\"isBlindAppend\":{blind}}}}}\n{add}"));
    };
    insert("apart.json", true, &add("a", "1", 10, 20));
    insert("elsewhere.json", true, &add("b", "2", 1, 9));
    insert("open.json", true, &add("c", "1", 1, 9));
    insert("read.json", false, &add("c", "1", 1, 9));
    insert("sure.json", true, &add("d", "1", 5, 5));
    let reads = r#"{"reads":{"predicates":[["day = 1","id = 5"]],"files":[],"whole_table":false,"app_ids":[]},"operation":"MERGE","parameters":{}}"#;
    lakebed.write("ours.json", format!("{reads}\n{}", add("n", "1", 5, 5)));
    let judge = |policy: &str, landed: &[&str]| {
        let mut args = vec!["explain", "--policy", policy, "--ours", "ours.json", "--base", "t"];
        landed.iter().for_each(|landed| args.extend(["--landed", landed]));
        lakebed.json(&args)
    };
    for landed in ["apart.json", "elsewhere.json"] {
        assert_eq!(judge("precise", &[landed])["verdict"], "compatible", "{landed}");
    }
    let open = judge("precise", &["apart.json", "open.json"]);
    assert_eq!((&open["verdict"], &open["check"]), (&json!("need-facts"), &json!("rows-wanted")));
    assert_eq!((&open["landed_index"], &open["overlap"]), (&json!(1), &json!("c")));
    assert_eq!(open["wanted"]["added"], json!(["c"]));
    assert_eq!(open["wanted"]["filters"].as_array().map(Vec::len), Some(1));
    let sure = judge("precise", &["sure.json"]);
    assert_eq!((&sure["verdict"], &sure["check"]), (&json!("retryable"), &json!("rows-meet")));
    assert_eq!(sure["rules"], "precise@1");
    // Ours may go before a blind insert, and from then on not after what may have seen it.
    assert_eq!(judge("precise-reorder", &["sure.json"])["verdict"], "reordered");
    assert_eq!(judge("precise-reorder", &["read.json"])["verdict"], "need-facts");
    let later = judge("precise-reorder", &["sure.json", "elsewhere.json", "read.json"]);
    assert_eq!((&later["check"], &later["landed_index"]), (&json!("ordered-before-a-reader"), &json!(2)));
    let told = lakebed.fails(2, &["explain", "--policy", "precise", "--ours", "ours.parquet"]);
    assert!(told.contains(".json") && told.contains(".txn"), "{told}");
    let told = lakebed.fails(2, &["explain", "--policy", "precise", "--ours", "ours.txn"]);
    assert!(told.contains("--base"), "{told}");
}

/// Lance transactions by what they do to the version that ours read.
#[test]
fn precise_explains_lance_transactions() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let lakebed = Lakebed::new();
    let path = |name: &str| folder.join(name).display().to_string();
    let judge = |ours: &str, landed: &str| {
        let (ours, landed) = (path(&format!("ours/{ours}.txn")), path(&format!("landed/{landed}.txn")));
        let base = path("base.manifest");
        lakebed.json(&["explain", "--policy", "precise", "--ours", &ours, "--landed", &landed, "--base", &base])
    };
    assert_eq!(judge("append", "append")["verdict"], "compatible");
    assert_eq!(judge("project", "updcfg-schema")["check"], "metadata-would-be-lost");
    let lost = judge("createindex-mine-s-f0", "project-pn-drop-s");
    assert_eq!((&lost["verdict"], &lost["check"]), (&json!("retryable"), &json!("field-changed")));
    assert_eq!(lost["rules"], "precise@1");
}

/// Of the measured pairs of commands, `precise` accepts none of which no rebase without reading again gives log order, and most of
/// those of which one does, most of them without a look at any row.
#[test]
fn precise_puts_measured_pairs_in_log_order() {
    let Some(folder) = conformance("delta-commands") else { return };
    let table = std::fs::read_to_string(folder.join("cases.tsv")).unwrap();
    let mut lines = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let at = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let (base, ours, landed, rebasable) = (at("base"), at("ours"), at("landed"), at("rebasable"));
    let rows: Vec<Vec<&str>> = lines.filter(|row| !row[rebasable].is_empty()).collect();
    let path = |name: String| folder.join(name).display().to_string();
    let cases: Vec<Value> = rows
        .iter()
        .enumerate()
        .map(|(id, row)| {
            let landed: Vec<String> = row[landed].split(' ').map(|name| path(format!("landed/{name}"))).collect();
            let ours = path(format!("ours/{}.{}.json", row[base], row[ours]));
            json!({"id": id, "policy": "precise", "ours": ours, "landed": landed, "base": path(format!("bases/{}", row[base]))})
        })
        .collect();
    let (mut accepted, mut open, mut possible) = (0, 0, 0);
    for (row, answer) in rows.iter().zip(batch(&cases, true)) {
        let verdict = answer["verdict"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let accepts = matches!(verdict, "compatible" | "rebase" | "later-overwrites");
        assert!(!accepts || row[rebasable] == "yes", "{row:?}: {answer}");
        let counts = usize::from(row[rebasable] == "yes");
        possible += counts;
        accepted += counts * usize::from(accepts);
        open += counts * usize::from(verdict == "need-facts");
    }
    assert_eq!((rows.len(), possible), (864, 722));
    assert!(accepted >= 450 && accepted + open >= 586, "{accepted} accepted, {open} open");
}
