//! What came and went between versions: Spark's own change feed, and rows before plus changes equal rows after.

use super::spark::{Case, cases, columns_spelled};
use super::{cells, folder, open, rows_of};
use arrow_array::RecordBatch;
use lakebed_data::json_row;
use lakebed_table::{Change, ChangedRows, ScanRequest, Snapshot, Table, TableError, VersionSpec};
use serde_json::Value;
use std::collections::BTreeMap;

async fn changes(table: &Table, from: u64, to: u64) -> Result<Vec<ChangedRows>, TableError> {
    let mut changes = table.changes(VersionSpec::Number(from), VersionSpec::Number(to)).await?;
    let mut all = Vec::new();
    while let Some(changed) = changes.next().await? {
        all.push(changed);
    }
    Ok(all)
}

/// The rows of one kind as JSON.
fn json(changes: &[ChangedRows], change: Change) -> Vec<Value> {
    let of_kind = changes.iter().filter(|changed| changed.change == change);
    of_kind
        .flat_map(|changed| (0..changed.batch.num_rows()).map(|row| json_row(&changed.batch, row).unwrap()))
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect()
}

#[tokio::test]
async fn the_change_feed_is_that_of_spark() {
    let mut compared = 0;
    for Case { name, root, expected, .. } in &cases() {
        let table = open(root).await.unwrap();
        for (version, theirs) in expected["table_changes"].as_object().into_iter().flatten() {
            let version: u64 = version.parse().unwrap();
            // The first version has no version before it to begin at.
            let Some(before) = version.checked_sub(1) else { continue };
            let ours = changes(&table, before, version).await.unwrap();
            assert!(ours.iter().all(|changed| changed.version.get() == version));
            let columns = table.at(VersionSpec::Number(version)).await.unwrap().summary().unwrap().columns;
            for (change, kinds) in
                [(Change::Insert, ["insert", "update_postimage"]), (Change::Delete, ["delete", "update_preimage"])]
            {
                let is_kind = |row: &&Value| kinds.contains(&row["_change_type"].as_str().unwrap());
                let theirs: Vec<Value> = theirs.as_array().unwrap().iter().filter(is_kind).cloned().collect();
                let (ours, theirs) = (json(&ours, change), columns_spelled(&theirs, &columns, &[]));
                assert_eq!(columns_spelled(&ours, &columns, &[]), theirs, "{name} at {version}: {change:?}");
                compared += theirs.len();
            }
        }
    }
    println!("{compared} changed rows of Spark's");
    assert!(folder("delta-spark").is_none() || compared >= 29, "only {compared} rows");
}

/// Made by hand: its last commit tells changes that its files do not have.
const BY_HAND: &str = "cdf-table-simple";

async fn rows(table: &Table, version: u64) -> Option<(Snapshot, Vec<RecordBatch>)> {
    let snapshot = table.at(VersionSpec::Number(version)).await.ok()?;
    let rows = table.scan(&snapshot, &ScanRequest::default()).ok()?.all().await.ok()?;
    Some((snapshot, rows))
}

/// How many rows of each spelling.
fn counts(batches: &[RecordBatch]) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for row in cells::rows(batches) {
        *counts.entry(row).or_default() += 1;
    }
    counts
}

/// Applies the changes of each version to the rows before it; how many versions were compared.
async fn check_steps(name: &str, table: &Table) -> usize {
    let mut steps = 0;
    let mut before: Option<(Snapshot, Vec<RecordBatch>)> = None;
    for version in 0..=table.version().get() {
        let after = rows(table, version).await;
        if let (Some((old, old_rows)), Some((new, new_rows))) = (&before, &after)
            // Rows of another schema are spelled in another way.
            && old.summary().unwrap().columns == new.summary().unwrap().columns
        {
            let changes = changes(table, version - 1, version).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut counted = counts(old_rows);
            let mut came = false;
            for changed in &changes {
                assert!(!came || changed.change == Change::Insert, "{name} at {version}: what went comes first");
                came = changed.change == Change::Insert;
                for (row, count) in counts(std::slice::from_ref(&changed.batch)) {
                    *counted.entry(row).or_default() += if came { count } else { -count };
                }
            }
            counted.retain(|_, count| *count != 0);
            assert_eq!(counted, counts(new_rows), "{name} at {version}");
            steps += 1;
        }
        before = after;
    }
    steps
}

#[tokio::test]
async fn rows_before_and_changes_make_rows_after() {
    let mut steps = 0;
    for Case { name, root, .. } in &cases() {
        steps += check_steps(name, &open(root).await.unwrap()).await;
    }
    if let Some(root) = folder("delta") {
        for row in rows_of(&root.join("INVENTORY.tsv")) {
            let [origin, name, inner, ..] = row.as_slice() else { panic!("{row:?}") };
            // Long logs of one shape, and tables of a hundred thousand rows, add nothing here but time.
            let large =
                row[8].parse::<u64>().is_ok_and(|rows| rows > 5_000) || row[6].parse::<u64>().is_ok_and(|v| v > 60);
            let skips = large || name == BY_HAND;
            if let (Ok(table), false) = (open(&root.join(origin).join(name).join(inner)).await, skips) {
                steps += check_steps(name, &table).await;
            }
        }
    }
    println!("{steps} versions");
    assert!(folder("delta-spark").is_none() || steps >= 400, "only {steps} versions");
}
