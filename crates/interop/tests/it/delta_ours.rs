//! What this program commits to Delta tables, read by deltalake.

use crate::support::delta::{create, printed, scan, source};
use crate::support::rows::{Rows, odd_rows};
use crate::support::{Python, Random, Texts, arguments, committed, copy, list, names, open, plainly, texts};
use lakebed_table::{CompactRequest, Compaction, Report, Scope, Table, VersionSpec};
use lakebed_transaction::Outcome;
use std::path::Path;

/// Commits of each series, the creation included.
const COMMITS: usize = 50;

/// One kind of commit.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Append,
    DeleteIds,
    DeleteRange,
    DeletePartition,
    DeleteNulls,
    DeleteNothing,
    OverwriteRange,
    OverwritePartition,
    OverwriteWhole,
    Set,
    Unset,
    CompactMinor,
    CompactMajor,
    CompactClustered,
}

use Kind::{
    Append, CompactClustered, CompactMajor, CompactMinor, DeleteIds, DeleteNothing, DeleteNulls, DeletePartition,
    DeleteRange, OverwritePartition, OverwriteRange, OverwriteWhole, Set, Unset,
};

/// How often each kind stands among twenty-six.
const PATTERN: &[Kind] = &[
    Append,
    Append,
    Append,
    Append,
    Append,
    Append,
    Append,
    Append,
    DeleteIds,
    DeleteIds,
    DeleteIds,
    DeleteRange,
    DeletePartition,
    DeleteNulls,
    DeleteNothing,
    OverwriteRange,
    OverwriteRange,
    OverwritePartition,
    OverwriteWhole,
    Set,
    Set,
    Set,
    Unset,
    CompactMinor,
    CompactMajor,
    CompactClustered,
];

/// A series of commits, and what it should leave behind.
struct Series {
    table: Table,
    random: Random,
    rows: Rows,
    properties: Texts,
    next_id: i64,
    /// Rows and properties of every version so far.
    states: Vec<(Rows, Texts)>,
}

impl Series {
    async fn begin(path: &Path, partitioned: bool, seed: u64) -> Self {
        let properties = Texts::from([("delta.checkpointInterval".to_owned(), "10".to_owned())]);
        let table = create(path, partitioned, properties.clone()).await;
        let states = vec![(Rows::new(), properties.clone())];
        Self { table, random: Random::new(seed), rows: Rows::new(), properties, next_id: 0, states }
    }

    fn fresh(&mut self, count: u64) -> Rows {
        let first = self.next_id;
        self.next_id += i64::try_from(count).unwrap();
        odd_rows(first..self.next_id, &mut self.random)
    }

    /// A statement of this kind; the report, and the rows and properties that it should leave.
    async fn statement(&mut self, kind: Kind) -> (Report, Rows, Texts) {
        match kind {
            Append => {
                let count = 2 + self.random.below(7);
                let more = self.fresh(count);
                let report = self.table.append(source(&more), &plainly()).await.unwrap();
                (report, self.rows.clone().into_iter().chain(more).collect(), self.properties.clone())
            }
            DeleteIds | DeleteRange | DeletePartition | DeleteNulls | DeleteNothing => self.delete(kind).await,
            OverwriteRange | OverwritePartition | OverwriteWhole => self.overwrite(kind).await,
            Set | Unset => self.set(kind).await,
            CompactMinor | CompactMajor | CompactClustered => {
                (self.compact(kind).await, self.rows.clone(), self.properties.clone())
            }
        }
    }

    async fn compact(&mut self, kind: Kind) -> Report {
        let compaction = if matches!(kind, CompactMinor) { Compaction::Minor } else { Compaction::Major };
        let by = if matches!(kind, CompactClustered) { vec!["id".to_owned(), "s".to_owned()] } else { Vec::new() };
        let request = CompactRequest { compaction, cluster_by: by, ..CompactRequest::default() };
        self.table.compact(&request, &plainly()).await.unwrap()
    }

    async fn delete(&mut self, kind: Kind) -> (Report, Rows, Texts) {
        let ids: Vec<i64> = self.rows.keys().copied().collect();
        let mut left = self.rows.clone();
        let predicate = match kind {
            DeleteIds => {
                let mut gone = self.random.some(&ids, 4);
                gone.push(-1);
                left.retain(|id, _| !gone.contains(id));
                format!("id IN ({})", gone.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
            DeleteRange => {
                let from = ids.get(ids.len() / 2).copied().unwrap_or_default();
                left.retain(|id, (s, _)| !(*id >= from && *id < from + 5 && s.as_deref() != Some("")));
                format!("id >= {from} AND id < {} AND (s IS NULL OR s <> '')", from + 5)
            }
            DeletePartition => {
                let w = i32::try_from(self.random.below(3)).unwrap();
                left.retain(|_, (_, writer)| *writer != Some(w));
                format!("w = {w}")
            }
            DeleteNulls => {
                left.retain(|_, (s, w)| s.is_some() || w.is_none());
                "s IS NULL AND w IS NOT NULL".to_owned()
            }
            DeleteNothing | Append | OverwriteRange | OverwritePartition | OverwriteWhole | Set | Unset
            | CompactMinor | CompactMajor | CompactClustered => "id < 0".to_owned(),
        };
        let report = self.table.delete(&predicate, &plainly()).await.unwrap();
        let counted = u64::try_from(self.rows.len() - left.len()).unwrap();
        // Of files that go as a whole the statistics say how many rows they had.
        assert_eq!(report.metrics["rows_deleted"], counted, "{predicate}");
        (report, left, self.properties.clone())
    }

    async fn overwrite(&mut self, kind: Kind) -> (Report, Rows, Texts) {
        let mut left = self.rows.clone();
        let mut more = self.fresh(5);
        let scope = match kind {
            OverwriteRange => {
                let from = left.keys().nth(left.len() * 2 / 3).copied().unwrap_or_default();
                left.retain(|id, _| *id < from);
                Scope::Where(format!("id >= {from}"))
            }
            OverwritePartition => {
                left.retain(|_, (_, w)| *w != Some(1));
                more.values_mut().for_each(|(_, w)| *w = Some(1));
                Scope::Where("w = 1".to_owned())
            }
            OverwriteWhole | Append | DeleteIds | DeleteRange | DeletePartition | DeleteNulls | DeleteNothing | Set
            | Unset | CompactMinor | CompactMajor | CompactClustered => {
                left.clear();
                Scope::Whole
            }
        };
        let report = self.table.overwrite(source(&more), &scope, &plainly()).await.unwrap();
        left.extend(more);
        (report, left, self.properties.clone())
    }

    async fn set(&mut self, kind: Kind) -> (Report, Rows, Texts) {
        let mut properties = self.properties.clone();
        let key = format!("interop.key{}", self.random.below(4));
        let unset: Vec<String> = properties.keys().filter(|key| key.starts_with("interop.")).take(1).cloned().collect();
        let report = if matches!(kind, Unset) && !unset.is_empty() {
            properties.retain(|key, _| !unset.contains(key));
            self.table.set_properties(Texts::new(), unset, &plainly()).await.unwrap()
        } else {
            // A value of its own each time, so that no statement finds its work done.
            let set = Texts::from([(key, format!("{}", self.states.len()))]);
            properties.extend(set.clone());
            self.table.set_properties(set, Vec::new(), &plainly()).await.unwrap()
        };
        (report, self.rows.clone(), properties)
    }

    /// Commits once, unless there is nothing to do, which is checked.
    async fn step(&mut self, kind: Kind) {
        let (report, rows, properties) = self.statement(kind).await;
        let layout_only = matches!(kind, CompactMinor | CompactMajor | CompactClustered);
        if layout_only && matches!(report.outcome, Outcome::Nothing { .. }) {
            return;
        }
        if !layout_only && rows == self.rows && properties == self.properties {
            assert!(matches!(report.outcome, Outcome::Nothing { .. }), "{kind:?}: {:?}", report.outcome);
            return;
        }
        assert_eq!(committed(&report), self.states.len() as u64, "{kind:?}");
        (self.rows, self.properties) = (rows, properties);
        self.states.push((self.rows.clone(), self.properties.clone()));
        assert_eq!(scan(&self.table, self.table.snapshot()).await, self.rows, "our rows after {kind:?}");
        // Background work ends before the next commit, so that the checkpoints are the same in every run.
        assert_eq!(self.table.settle().await, Vec::<String>::new());
    }

    async fn run(&mut self) {
        while self.states.len() < COMMITS {
            for kind in self.random.shuffled(PATTERN) {
                if self.states.len() < COMMITS {
                    self.step(kind).await;
                }
            }
        }
    }
}

/// Every version, as deltalake and as a fresh handle of ours read it, against the bookkeeping.
async fn every_version(python: &Python, path: &Path, states: &[(Rows, Texts)]) {
    let mut more = vec!["--rows".to_owned(), "--history".to_owned(), "--each".to_owned()];
    more.extend(arguments(0..states.len() as u64));
    let document = python.on("delta_read.py", &[], path, &more).await;
    assert_eq!(document["version"].as_u64(), Some(states.len() as u64 - 1));
    let history: Vec<u64> = list(&document["history"]).iter().map(|one| one["version"].as_u64().unwrap()).collect();
    assert_eq!(history, (0..states.len() as u64).collect::<Vec<_>>());
    let table = open(path).await;
    let each = list(&document["each"]);
    assert_eq!(each.len(), states.len());
    for ((version, theirs), (rows, properties)) in (0..).zip(each).zip(states) {
        assert_eq!(theirs["version"].as_u64(), Some(version));
        assert_eq!(&printed(&theirs["rows"]), rows, "deltalake's rows of version {version}");
        assert_eq!(&texts(&theirs["properties"]), properties, "deltalake's properties of version {version}");
        let ours = table.at(VersionSpec::Number(version)).await.unwrap();
        let summary = ours.summary().unwrap();
        assert_eq!(&scan(&table, &ours).await, rows, "our rows of version {version}");
        assert_eq!(&summary.properties, properties, "our properties of version {version}");
        assert_eq!(theirs["num_files"].as_u64(), Some(summary.num_files), "files of version {version}");
        let from_statistics: Option<u64> = list(&theirs["files"]).iter().map(|file| file["num_rows"].as_u64()).sum();
        assert_eq!(from_statistics, Some(rows.len() as u64), "statistics of version {version}");
    }
}

/// A copy whose log begins at the newest checkpoint must be the same table: deltalake has to take the checkpoint.
async fn from_the_checkpoint_alone(python: &Python, path: &Path, rows: &Rows, properties: &Texts) {
    let folder = tempfile::tempdir().unwrap();
    let shortened = folder.path().join("shortened");
    copy(path, &shortened);
    let log = shortened.join("_delta_log");
    let checkpoints = names(&log, ".checkpoint.parquet");
    let newest = checkpoints.last().unwrap().split('.').next().unwrap();
    for name in names(&log, ".json").iter().filter(|name| name.as_str() < newest) {
        std::fs::remove_file(log.join(name)).unwrap();
    }
    let document = python.on("delta_read.py", &[], &shortened, &["--rows"]).await;
    assert_eq!(&printed(&document["rows"]), rows);
    assert_eq!(&texts(&document["properties"]), properties);
    let table = open(&shortened).await;
    assert_eq!(&scan(&table, table.snapshot()).await, rows);
}

/// deltalake commits on top, and we read what it says it left.
async fn theirs_on_top(python: &Python, series: &mut Series, path: &Path) {
    let before = series.states.len() as u64;
    let document = python.on("delta_write.py", &["mixed"], path, &["--commits", "10", "--seed", "5"]).await;
    assert!(series.table.refresh().await.unwrap(), "the handle sees the new versions");
    assert_eq!(series.table.version().get(), before + 9);
    assert_eq!(document["version"].as_u64(), Some(before + 9));
    assert_eq!(scan(&series.table, series.table.snapshot()).await, printed(&document["rows"]));
    for commit in list(&document["commits"]) {
        let version = commit["version"].as_u64().unwrap();
        let snapshot = series.table.at(VersionSpec::Number(version)).await.unwrap();
        let summary = snapshot.summary().unwrap();
        let rows = scan(&series.table, &snapshot).await;
        assert_eq!(commit["num_rows"].as_u64(), Some(rows.len() as u64), "rows of version {version}");
        assert_eq!(commit["num_files"].as_u64(), Some(summary.num_files), "files of version {version}");
        assert_eq!(texts(&commit["properties"]), summary.properties, "properties of version {version}");
    }
    // And we go on where it stopped, on the handle that was open all the time.
    let more = series.fresh(3);
    let mut expected = printed(&document["rows"]);
    let more: Rows = more.into_iter().map(|(id, row)| (id + 1_000_000, row)).collect();
    expected.extend(more.clone());
    assert_eq!(committed(&series.table.append(source(&more), &plainly()).await.unwrap()), before + 10);
    let document = python.on("delta_read.py", &[], path, &["--rows"]).await;
    assert_eq!(printed(&document["rows"]), expected);
}

/// deltalake updates, merges, compacts and removes every file that no version names: all rows must still be there.
async fn tended(python: &Python, series: &mut Series, path: &Path) {
    let document = python.on("delta_write.py", &["tend"], path, &[""; 0]).await;
    assert!(series.table.refresh().await.unwrap());
    let rows = printed(&document["rows"]);
    let theirs = list(&document["commits"]).last().unwrap();
    for table in [&series.table, &open(path).await] {
        let summary = table.snapshot().summary().unwrap();
        assert_eq!(theirs["version"].as_u64(), Some(table.version().get()));
        assert_eq!(theirs["num_files"].as_u64(), Some(summary.num_files));
        assert_eq!(texts(&theirs["properties"]), summary.properties);
        assert_eq!(scan(table, table.snapshot()).await, rows);
    }
    let _ = committed(&series.table.delete("w IS NULL", &plainly()).await.unwrap());
    let left: Rows = rows.into_iter().filter(|(_, (_, w))| w.is_some()).collect();
    let document = python.on("delta_read.py", &[], path, &["--rows"]).await;
    assert_eq!(printed(&document["rows"]), left);
}

async fn fifty_commits(partitioned: bool, seed: u64) {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let mut series = Series::begin(&path, partitioned, seed).await;
    series.run().await;
    assert_eq!(names(&path.join("_delta_log"), ".checkpoint.parquet").len(), 4);
    every_version(&python, &path, &series.states).await;
    from_the_checkpoint_alone(&python, &path, &series.rows, &series.properties).await;
    theirs_on_top(&python, &mut series, &path).await;
    tended(&python, &mut series, &path).await;
}

#[tokio::test]
async fn deltalake_reads_fifty_commits_of_ours_on_a_partitioned_table() {
    fifty_commits(true, 11).await;
}

#[tokio::test]
async fn deltalake_reads_fifty_commits_of_ours_on_an_unpartitioned_table() {
    fifty_commits(false, 12).await;
}

/// The vector that a minor compaction carries over is one that deltalake applies.
#[tokio::test]
async fn deltalake_reads_a_file_that_was_joined_with_its_deleted_rows() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let properties = Texts::from([("delta.enableDeletionVectors".to_owned(), "true".to_owned())]);
    let mut table = create(&path, false, properties).await;
    let mut rows = Rows::new();
    for part in 0..3 {
        let more = odd_rows(part * 20..part * 20 + 20, &mut Random::new(7));
        let _ = committed(&table.append(source(&more), &plainly()).await.unwrap());
        rows.extend(more);
    }
    let _ = committed(&table.delete("id IN (0, 19, 20, 41)", &plainly()).await.unwrap());
    rows.retain(|id, _| ![0, 19, 20, 41].contains(id));
    for compaction in [Compaction::Minor, Compaction::Major] {
        let request = CompactRequest { compaction, ..CompactRequest::default() };
        let _ = committed(&table.compact(&request, &plainly()).await.unwrap());
        let deleted = if compaction == Compaction::Minor { 4 } else { 0 };
        let summary = table.snapshot().summary().unwrap();
        assert_eq!((summary.num_files, summary.num_deleted_rows), (1, Some(deleted)));
        let document = python.on("delta_read.py", &[], &path, &["--rows"]).await;
        assert_eq!(printed(&document["rows"]), rows, "after {compaction:?}");
    }
}
