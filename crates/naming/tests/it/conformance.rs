//! Names that the real clients wrote, against what the clients said of those tables.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lakebed_naming::NameError;
use lakebed_naming::delta::{CheckpointKind, LogListing, LogName};
use lakebed_naming::lance::{ManifestName, TableName, newest};

/// The folder of conformance data, or `None` after saying that the test skips.
fn conformance() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let folder = std::env::var_os("LAKEBED_CONFORMANCE").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no conformance data at {}", folder.display());
    None
}

/// Files below `root` as names relative to it, with their sizes.
fn walk(root: &Path) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                let relative = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.push((relative, metadata.len()));
            }
        }
    }
    files
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Every folder below `root`, at most three levels down, that holds a child of this name.
fn tables(root: &Path, child: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if folder.join(child).is_dir() {
            found.push(folder.join(child));
        }
        for entry in fs::read_dir(&folder).unwrap().flatten().filter(|entry| entry.path().is_dir() && depth < 3) {
            folders.push((entry.path(), depth + 1));
        }
    }
    found.sort();
    found
}

#[test]
fn the_newest_version_of_every_delta_table_is_what_the_clients_say() {
    let Some(root) = conformance() else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    for log in tables(&root.join("delta"), "_delta_log") {
        // The expected answer stands beside the table, which may itself lie in a folder of the fixture.
        let expected = log.ancestors().skip(1).take(3).map(|table| table.with_extension_added("expected.json"));
        let Some(expected) = expected.into_iter().find(|path| path.is_file()) else { continue };
        let expected = json(&expected);
        let listing = LogListing::new(walk(&log));
        let segment = listing.plan(None).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        let found = (Some(segment.version.get()), segment.checkpoint.map(|start| (start.version.get(), start.kind)));
        let wanted = (expected["version"].as_u64(), expected["replay"].get("checkpoint").map(start_of));
        // A table that only Spark opened has no word about the checkpoint.
        if found.0 != wanted.0 || wanted.1.is_some_and(|start| start != found.1) {
            wrong.push(format!("{}: {found:?}, not {wanted:?}", log.display()));
        }
        compared += 1;
    }
    println!("compared {compared} tables");
    assert!(compared >= 200, "only {compared} tables were compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn logs_that_cannot_be_read_are_refused_for_their_reason() {
    let Some(root) = conformance() else { return };
    let plan = |table: &str| LogListing::new(walk(&root.join("delta").join(table).join("_delta_log"))).plan(None);
    // deltalake's kernel says of the first: "Expected contiguous commit files, but found gap".
    assert!(matches!(plan("delta-rs/data_err_logs__table_c"), Err(NameError::Gap { .. })));
    // Nothing but a checksum file.
    assert_eq!(plan("kernel-rs/crc-malformed"), Err(NameError::NoTable));
}

/// The version and kind of checkpoint from which the independent replay started.
fn start_of(answer: &serde_json::Value) -> Option<(u64, CheckpointKind)> {
    let kind = match answer[1].as_str()? {
        "classic" => CheckpointKind::Classic,
        "multipart" => CheckpointKind::MultiPart,
        "v2" => CheckpointKind::V2,
        other => panic!("an unknown kind of checkpoint: {other}"),
    };
    Some((answer[0].as_u64()?, kind))
}

#[test]
fn every_version_that_spark_lists_is_there() {
    let Some(root) = conformance() else { return };
    let mut compared = 0;
    for log in tables(&root.join("delta-spark"), "_delta_log") {
        let expected = log.parent().unwrap().with_extension_added("expected.json");
        if !expected.is_file() {
            continue;
        }
        let expected = json(&expected);
        let listing = LogListing::new(walk(&log));
        assert_eq!(
            listing.newest().map(|newest| newest.get()),
            expected["latest_version"].as_u64(),
            "{}",
            log.display()
        );
        let versions: Vec<u64> =
            expected["versions"].as_array().unwrap().iter().filter_map(|entry| entry["version"].as_u64()).collect();
        assert!(!versions.is_empty());
        for version in versions {
            let plan = listing.plan(Some(lakebed_naming::Version::new(version)));
            assert!(plan.is_ok(), "{} at {version}: {plan:?}", log.display());
        }
        compared += 1;
    }
    println!("compared {compared} tables");
    assert!(compared >= 50, "only {compared} tables were compared");
}

#[test]
fn every_name_in_real_delta_logs_is_understood() {
    let Some(root) = conformance() else { return };
    let mut strange = BTreeSet::new();
    let mut names = 0;
    for origin in ["delta", "delta-spark"] {
        for log in tables(&root.join(origin), "_delta_log") {
            for (name, _) in walk(&log) {
                names += 1;
                let parsed = LogName::parse(&name);
                match parsed.file_name() {
                    Some(printed) => assert_eq!(printed, name),
                    None => drop(strange.insert(name)),
                }
            }
        }
    }
    assert!(names > 1_000, "only {names} names were read");
    let expected = [
        ".s3-optimization-0",
        ".s3-optimization-1",
        ".s3-optimization-2",
        ".tmp/00000000000000000005.json",
        "_autostats/00000000000000000007.0000000000.stats.json",
    ];
    assert_eq!(strange, expected.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn every_name_in_real_lance_tables_is_understood() {
    let Some(root) = conformance() else { return };
    let mut compared = 0;
    for versions in tables(&root.join("lance"), "_versions") {
        let table = versions.parent().unwrap();
        if table.file_name().is_none_or(|name| name != "table.lance") {
            continue;
        }
        let expected = json(&table.parent().unwrap().join("expected.json"));
        let files: Vec<String> = walk(&versions).into_iter().map(|(name, _)| name).collect();
        let found = newest(&files).unwrap().unwrap();
        assert_eq!(Some(found.version.get()), expected["latest_version"].as_u64(), "{}", table.display());
        let history =
            files.iter().filter(|name| matches!(ManifestName::parse(name), ManifestName::Version { .. })).count();
        assert_eq!(history, expected["versions"].as_array().unwrap().len(), "{}", table.display());
        for (name, _) in walk(table) {
            assert!(!matches!(TableName::parse(&name), TableName::Other | TableName::Temporary), "{name}");
            let spelled_otherwise = matches!(TableName::parse(&name), TableName::Data { name: None, .. });
            assert!(!spelled_otherwise, "{name}");
        }
        compared += 1;
    }
    assert_eq!(compared, 7);
}

/// `PathBuf::with_extension` would cut a dot of the table's own name.
trait WithExtensionAdded {
    fn with_extension_added(&self, extension: &str) -> PathBuf;
}

impl WithExtensionAdded for Path {
    fn with_extension_added(&self, extension: &str) -> PathBuf {
        PathBuf::from(format!("{}.{extension}", self.display()))
    }
}
