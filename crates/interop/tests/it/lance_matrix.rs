//! The matrix of conflicts with pylance as the later writer: whatever we land on a table, a transaction of pylance that read the version
//! before answers as it does over its own.

use crate::support::{Python, Worker, committed, copy, open, plainly};
use common::{conformance, files, read};
use lakebed_lance::transaction::Transaction;
use lakebed_naming::Version;
use lakebed_naming::lance::{Scheme, manifest_path};
use lakebed_table::Prepared;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

#[path = "../../../lance/tests/it/common.rs"]
#[expect(dead_code, reason = "other tests use all of it")]
mod common;

/// The version that both read.
const READ: u64 = 4;
/// Transactions that we do not land: an operation that nobody knows, and an entry of the index of reused fragments that says nothing,
/// with which pylance opens no table.
const NOT_LANDED: [&str; 2] = ["unknown", "createindex-fri"];
/// Pairs that no rule refuses and that fail later: the deletion file of the winner, which is not in the data, is looked at; and the field that
/// is described is gone.
const FAIL_LATER: [(&str, &str); 2] =
    [("dataoverlay-f0-s", "update-rr-f0-moved"), ("updcfg-field1", "project-pn-drop-s")];

/// The table at the version that both read, in a folder.
fn base(data: &Path, folder: &Path) {
    let manifest = folder.join(manifest_path(Scheme::V2, Version::new(READ)));
    std::fs::create_dir_all(manifest.parent().unwrap()).unwrap();
    std::fs::copy(data.join("base.manifest"), manifest).unwrap();
}

/// Lets us land every transaction of a folder, each on a copy of its own; their names.
async fn land(data: &Path, kind: &str, folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for file in files(&data.join(kind)) {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        if NOT_LANDED.contains(&name.as_str()) {
            continue;
        }
        let path = folder.join(kind).join(&name);
        base(data, &path);
        let message = Transaction::decode(&name, &read(&file)).unwrap();
        let prepared = Prepared::LanceTransaction(message.encoded().clone());
        let report = open(&path).await.commit_prepared(prepared, &plainly()).await;
        match report {
            Ok(report) => {
                assert_eq!(committed(&report), READ + 1, "{name}");
                names.push(name);
            }
            Err(error) => println!("matrix: {kind} {name} is not committed by us: {error}"),
        }
    }
    names
}

/// The measured verdicts, by both transactions.
fn verdicts(data: &Path) -> BTreeMap<(String, String), String> {
    let text = std::fs::read_to_string(data.join("verdicts.tsv")).unwrap();
    let mut found = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        found.insert((cells[0].to_owned(), cells[1].to_owned()), cells[2].to_owned());
    }
    found
}

#[tokio::test]
async fn transactions_of_pylance_follow_whatever_we_landed() {
    let (Some(python), Some(data)) = (Python::find(), conformance("lance-conflicts")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let theirs = land(&data, "ours", folder.path()).await;
    let ours = land(&data, "landed", folder.path()).await;
    let verdicts = verdicts(&data);
    let mut worker = Worker::start(&python, "lance_held.py");
    let (mut answered, mut wrong) = (BTreeMap::<&str, u64>::new(), Vec::new());
    for their in &theirs {
        for our in &ours {
            let path = folder.path().join("pair");
            copy(&folder.path().join("landed").join(our), &path);
            let from = folder.path().join("ours").join(their);
            let answer = worker.ask(&json!({"do": "follow", "table": path, "from": from, "read": READ})).await;
            std::fs::remove_dir_all(&path).unwrap();
            let later = FAIL_LATER.contains(&(their.as_str(), our.as_str()));
            let measured = if later { "other" } else { verdicts[&(their.clone(), our.clone())].as_str() };
            let told = match answer["outcome"].as_str() {
                Some("accepted") => "compatible",
                Some("retryable") => "retryable",
                Some("incompatible") => "incompatible",
                Some(_) | None => "other",
            };
            *answered.entry(told).or_default() += 1;
            if told != measured {
                wrong.push(format!("{their} over {our}: {told}, and was {measured}: {answer}"));
            }
        }
    }
    println!("matrix: {} of pylance over {} of ours: {answered:?}, {} wrong", theirs.len(), ours.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(theirs.len() >= 20 && ours.len() >= 37, "{} of theirs, {} of ours", theirs.len(), ours.len());
}
