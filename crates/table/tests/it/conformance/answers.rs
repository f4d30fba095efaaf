//! Tables of many clients: the rows that stand beside them as Parquet, and how many rows another reader counts.

use super::{cells, copy, folder, open, rows_of};
use arrow_array::RecordBatch;
use lakebed_table::{ScanRequest, Table, TableError, VersionSpec};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Tables of which some rows are not read, with what the refusal must say: see the file's head.
const NOT_SCANNED: &str = include_str!("not_scanned.tsv");

/// The answer to this one was read by a session in another zone than the one that wrote its partition value without a zone.
/// Without a zone ours takes UTC, as the kernels and delta-rs do.
const ZONED: (&str, &str, &str) =
    ("kernel-rs-golden/data-reader-partition-values", "µs 1631124671000000", "µs 1631099471000000");

/// One row of the inventory that has an answer.
struct Case {
    label: String,
    beside: PathBuf,
    root: PathBuf,
    expected: Value,
    _copy: Option<tempfile::TempDir>,
}

fn cases() -> Vec<Case> {
    let Some(root) = folder("delta") else { return Vec::new() };
    rows_of(&root.join("INVENTORY.tsv"))
        .into_iter()
        .filter_map(|row| {
            let [origin, name, inner, ..] = row.as_slice() else { panic!("{row:?}") };
            let answer = std::fs::read(root.join(origin).join(format!("{name}.expected.json"))).ok()?;
            let beside = root.join(origin).join(name);
            let own = beside.join(inner);
            let copy = renamed(&own);
            Some(Case {
                label: format!("{origin}/{name}"),
                root: copy.as_ref().map_or(own, |copy| copy.path().to_owned()),
                _copy: copy,
                beside,
                expected: serde_json::from_slice(&answer).unwrap(),
            })
        })
        .collect()
}

/// What Spark's own tests put before names of data files and of deletion vectors.
const PREFIXES: [&str; 2] = ["test%file%prefix-", "test%dv%prefix-"];
/// What stands for the folder of a deletion vector that the log names absolutely.
const SPECIAL_FOLDER: &str = "{{FOLDER_WITH_SPECIAL_CHAR}}";

/// A copy of a table whose files are called as its log calls them, where that differs: Spark's tests see through their own
/// prefixes, and a folder is left open.
fn renamed(table: &Path) -> Option<tempfile::TempDir> {
    let commits = std::fs::read_dir(table.join("_delta_log")).ok()?;
    let commits: Vec<_> = commits
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| (std::fs::read_to_string(&path).unwrap_or_default(), path))
        .collect();
    let says = |text: &str| commits.iter().any(|(commit, _)| commit.contains(text));
    let (file_prefix, special) = (says("test%25file%25prefix-"), says(SPECIAL_FOLDER));
    let entries: Vec<_> = std::fs::read_dir(table).ok()?.map(|entry| entry.unwrap()).collect();
    let name = |entry: &std::fs::DirEntry| entry.file_name().to_str().unwrap().to_owned();
    let dv_prefix = entries.iter().any(|entry| name(entry).starts_with(PREFIXES[1]));
    if !file_prefix && !special && !dv_prefix {
        return None;
    }
    let copies = tempfile::tempdir().unwrap();
    copy(table, copies.path());
    for entry in entries {
        let name = name(&entry);
        let target = match name.strip_prefix(PREFIXES[1]) {
            Some(rest) => rest.to_owned(),
            None if file_prefix && name.starts_with("part-") => format!("{}{name}", PREFIXES[0]),
            None => continue,
        };
        std::fs::rename(copies.path().join(&name), copies.path().join(target)).unwrap();
    }
    for (text, path) in commits.iter().filter(|_| special) {
        let folder = format!("{}/folder&with%25special%20char", copies.path().display());
        let target = copies.path().join("_delta_log").join(path.file_name().unwrap());
        std::fs::write(target, text.replace(SPECIAL_FOLDER, &folder)).unwrap();
    }
    Some(copies)
}

/// The folders with Parquet answers, each with the version that it is about; `None`: the newest.
fn answers(beside: &Path) -> Vec<(Option<u64>, PathBuf)> {
    let folder = beside.join("expected");
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let version =
                path.file_name().unwrap().to_str().unwrap().strip_prefix('v').map(|text| text.parse().unwrap());
            found.push((version, path.join("table_content")));
        }
    }
    if found.is_empty() {
        found.push((None, folder));
    }
    found
}

fn parquet_rows(folder: &Path) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "parquet") {
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap().build().unwrap();
            batches.extend(reader.map(Result::unwrap));
        }
    }
    batches
}

async fn scanned(table: &Table, version: Option<u64>) -> Result<Vec<RecordBatch>, TableError> {
    let snapshot = table.at(version.map_or(VersionSpec::Newest, VersionSpec::Number)).await?;
    table.scan(&snapshot, &ScanRequest::default())?.all().await
}

/// What a refused scan must say, by table.
fn refusals() -> BTreeMap<&'static str, &'static str> {
    NOT_SCANNED
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once('\t').unwrap())
        .collect()
}

/// How many rows the newest version has by another reader's count, where one could count them.
fn counted(expected: &Value) -> Option<u64> {
    let by_scan = expected["num_rows"].as_u64().filter(|_| expected.get("num_rows_error").is_none());
    by_scan.or_else(|| expected["replay"]["live_rows_from_stats"].as_u64())
}

#[tokio::test]
async fn every_table_that_opens_is_shown_and_has_a_history() {
    let (mut tables, mut entries) = (0, 0);
    for case in cases() {
        let table = open(&case.root).await.unwrap_or_else(|error| panic!("{}: {error}", case.label));
        let summary = table.snapshot().summary().unwrap();
        assert_eq!(summary.num_files, case.expected["num_files"].as_u64().unwrap(), "{}", case.label);
        assert_eq!(table.snapshot().files().len() as u64, summary.num_files, "{}", case.label);
        let history = table.history(None).await.unwrap_or_else(|error| panic!("{}: {error}", case.label));
        let listed = std::fs::read_dir(case.root.join("_delta_log")).unwrap();
        let is_commit = |name: &str| name.len() == 25 && name.ends_with(".json");
        let commits = listed.filter(|entry| is_commit(entry.as_ref().unwrap().file_name().to_str().unwrap())).count();
        assert_eq!(history.len(), commits, "{}", case.label);
        assert!(history.windows(2).all(|pair| pair[0].version > pair[1].version), "{}", case.label);
        tables += 1;
        entries += history.len();
    }
    println!("{tables} tables, {entries} entries of their histories");
    assert!(folder("delta").is_none() || tables == 243);
}

#[tokio::test]
async fn rows_are_those_of_the_answers() {
    let refusals = refusals();
    let (mut wrong, mut refused) = (Vec::new(), Vec::new());
    let (mut tables, mut answered, mut versions, mut rows) = (0, 0, 0, 0);
    for case in cases() {
        let table = open(&case.root).await.unwrap_or_else(|error| panic!("{}: {error}", case.label));
        tables += 1;
        match scanned(&table, None).await {
            Err(error) => {
                let text = error.to_string();
                match refusals.get(&*case.label) {
                    Some(reason) if text.contains(reason) => refused.push(case.label.clone()),
                    Some(_) | None => wrong.push(format!("{}: {text}", case.label)),
                }
                continue;
            }
            Ok(_) if refusals.contains_key(&*case.label) => {
                wrong.push(format!("{}: is listed and was read", case.label))
            }
            Ok(batches) => {
                let ours: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
                rows += ours;
                if counted(&case.expected).is_some_and(|theirs| theirs != ours) {
                    wrong.push(format!("{}: {ours} rows, expected {:?}", case.label, counted(&case.expected)));
                }
            }
        }
        for (version, folder) in answers(&case.beside) {
            answered += 1;
            let ours = scanned(&table, version).await.map(|batches| cells::rows(&batches));
            let mut theirs = cells::rows(&parquet_rows(&folder));
            if case.label == ZONED.0 {
                theirs.iter_mut().for_each(|row| *row = row.replace(ZONED.1, ZONED.2));
            }
            match ours {
                Ok(ours) if ours == theirs => {}
                Ok(ours) => wrong.push(format!(
                    "{} at {version:?}: ours {:?}, theirs {:?}",
                    case.label,
                    ours.iter().filter(|row| !theirs.contains(row)).take(3).collect::<Vec<_>>(),
                    theirs.iter().filter(|row| !ours.contains(row)).take(3).collect::<Vec<_>>()
                )),
                Err(error) => wrong.push(format!("{} at {version:?}: {error}", case.label)),
            }
        }
        for (version, theirs) in case.expected["versions"].as_object().into_iter().flatten() {
            // Old versions may have lost their files to a vacuum; what can be read must be right.
            let (Ok(ours), Some(theirs)) = (scanned(&table, version.parse().ok()).await, theirs["num_rows"].as_u64())
            else {
                continue;
            };
            versions += 1;
            let ours: u64 = ours.iter().map(|batch| batch.num_rows() as u64).sum();
            if ours != theirs {
                wrong.push(format!("{} at {version}: {ours} rows, expected {theirs}", case.label));
            }
        }
    }
    println!(
        "{tables} tables, {} of them not scanned; {rows} rows, {answered} answers in Parquet, {versions} counted versions",
        refused.len()
    );
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
