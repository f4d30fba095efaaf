//! What a listing of the Delta log offers, by hand-made logs.

use lakebed_naming::delta::{CheckpointKind, LogListing, ReplayFile, commit_file};
use lakebed_naming::{NameError, Version, VersionRange};

const ID: &str = "0f2c6a1e-0000-4000-8000-000000000001";

pub(crate) fn version(number: u64) -> Version {
    Version::new(number)
}

pub(crate) fn range(first: u64, last: u64) -> VersionRange {
    VersionRange::new(version(first), version(last)).unwrap()
}

pub(crate) fn commits(numbers: impl IntoIterator<Item = u64>) -> Vec<(String, u64)> {
    numbers.into_iter().map(|number| (commit_file(version(number)), 100)).collect()
}

pub(crate) fn classic(number: u64) -> (String, u64) {
    (format!("{number:020}.checkpoint.parquet"), 1_000)
}

pub(crate) fn part(number: u64, part: u32, total: u32) -> (String, u64) {
    (format!("{number:020}.checkpoint.{part:010}.{total:010}.parquet"), 1_000)
}

fn compacted(first: u64, last: u64) -> (String, u64) {
    (format!("{first:020}.{last:020}.compacted.json"), 500)
}

#[test]
fn the_newest_complete_checkpoint_and_the_commits_above_it_rebuild_a_version() {
    let mut names = commits(0..=12);
    names.extend([classic(5), classic(10)]);
    let listing = LogListing::new(names);
    let latest = listing.plan(None).unwrap();
    assert_eq!(latest.version, version(12));
    assert_eq!(latest.checkpoint_names(), ["00000000000000000010.checkpoint.parquet"]);
    assert_eq!(latest.commit_names(), ["00000000000000000011.json", "00000000000000000012.json"]);
    let nine = listing.plan(Some(version(9))).unwrap();
    assert_eq!(nine.checkpoint.as_ref().map(|checkpoint| checkpoint.version), Some(version(5)));
    assert_eq!(nine.commits.len(), 4);
    let four = listing.plan(Some(version(4))).unwrap();
    assert_eq!((four.checkpoint, four.commits.len()), (None, 5));
    let ten = listing.plan(Some(version(10))).unwrap();
    assert!(ten.commits.is_empty() && ten.checkpoint.is_some());
    assert_eq!(listing.plan(Some(version(13))), Err(NameError::NotReached { at: version(13), newest: version(12) }));
}

#[test]
fn at_one_version_v2_comes_before_multi_part_before_classic() {
    let mut names = commits(0..=3);
    names.extend([
        classic(3),
        part(3, 1, 2),
        part(3, 2, 2),
        (format!("00000000000000000003.checkpoint.{ID}.json"), 9),
        classic(2),
    ]);
    let listing = LogListing::new(names);
    let order: Vec<_> = listing.candidates(version(3)).map(|found| (found.version.get(), found.kind)).collect();
    assert_eq!(
        order,
        [
            (3, CheckpointKind::V2),
            (3, CheckpointKind::MultiPart),
            (3, CheckpointKind::Classic),
            (2, CheckpointKind::Classic)
        ]
    );
    assert_eq!(listing.candidates(version(2)).count(), 1);
    // A reader that finds the first ones damaged goes down the list, and at last to commit 0.
    let second = &listing.checkpoints()[1];
    assert_eq!(listing.plan_from(Some(second), None).unwrap().checkpoint_names().len(), 2);
    let replay = listing.plan_from(None, None).unwrap();
    assert_eq!((replay.checkpoint, replay.commits.len()), (None, 4));
    assert!(matches!(listing.plan_from(Some(second), Some(version(2))), Err(NameError::NoStart { .. })));
}

#[test]
fn empty_checkpoint_files_and_compacted_logs_are_left_out_but_empty_commits_count() {
    let mut names = commits(0..=2);
    names.extend([
        (classic(2).0, 0),
        part(1, 1, 2),
        (part(1, 2, 2).0, 0),
        (compacted(1, 2).0, 0),
        (commit_file(version(3)), 0),
    ]);
    let listing = LogListing::new(names);
    assert!(listing.checkpoints().is_empty());
    assert_eq!(listing.incomplete_checkpoints().len(), 1);
    assert_eq!(listing.compacted().count(), 0);
    assert_eq!(listing.newest(), Some(version(3)));
}

#[test]
fn a_gap_is_an_error_that_names_what_is_missing() {
    let mut names = commits([0, 1, 4, 5, 7]);
    names.push(("3.json".to_owned(), 10));
    let listing = LogListing::new(names);
    assert_eq!(listing.gaps(), [range(2, 3), range(6, 6)]);
    let error = listing.plan(None).unwrap_err();
    assert_eq!(
        error,
        NameError::Gap { at: version(7), missing: vec![range(2, 3), range(6, 6)], unpadded: vec!["3.json".to_owned()] }
    );
    let text = error.to_string();
    assert!(text.contains("no commit 2 to 3, 6") && text.contains("3.json"), "{text}");
    // Below the gap everything is there.
    assert_eq!(listing.plan(Some(version(1))).unwrap().commits.len(), 2);
    // Version 2 itself is a hole, not the end of the log.
    assert!(matches!(listing.plan(Some(version(2))), Err(NameError::Gap { .. })));
}

#[test]
fn a_gap_below_a_checkpoint_does_no_harm_above_it() {
    let mut names = commits([0, 1, 5, 6]);
    names.push(classic(4));
    let listing = LogListing::new(names);
    assert_eq!(listing.plan(None).unwrap().commits.len(), 2);
    assert!(matches!(listing.plan(Some(version(3))), Err(NameError::Gap { .. })));
}

#[test]
fn a_gap_far_away_costs_no_memory() {
    let listing = LogListing::new(commits([0, u64::MAX]));
    let Err(NameError::Gap { missing, .. }) = listing.plan(None) else { panic!("a gap was not seen") };
    assert_eq!(missing, [range(1, u64::MAX - 1)]);
}

#[test]
fn a_checkpoint_alone_is_a_version() {
    let listing = LogListing::new([classic(10)]);
    assert_eq!((listing.newest(), listing.newest_commit()), (Some(version(10)), None));
    let segment = listing.plan(None).unwrap();
    assert!(segment.commits.is_empty() && !listing.has_commit(version(10)));
    assert!(matches!(listing.plan(Some(version(9))), Err(NameError::NoStart { .. })));
    assert_eq!(LogListing::new(Vec::<(String, u64)>::new()).plan(None), Err(NameError::NoTable));
}

#[test]
fn compacted_logs_stand_for_commits_that_are_all_wanted() {
    let mut names = commits(0..=9);
    names.extend([
        classic(2),
        compacted(2, 4),
        compacted(3, 5),
        compacted(3, 6),
        compacted(5, 8),
        compacted(7, 8),
        compacted(8, 9),
    ]);
    let listing = LogListing::new(names);
    let segment = listing.plan(Some(version(8))).unwrap();
    let offered: Vec<_> = segment.compacted.iter().map(|log| log.range).collect();
    assert_eq!(offered, [range(3, 5), range(3, 6), range(5, 8), range(7, 8)]);
    let shown: Vec<String> = segment
        .with_compacted()
        .into_iter()
        .map(|file| match file {
            ReplayFile::Commit(commit) => commit.version.to_string(),
            ReplayFile::Compacted(log) => log.range.to_string(),
        })
        .collect();
    assert_eq!(shown, ["3 to 6", "7 to 8"]);
    // A compacted log never hides that a commit is missing.
    let holed = LogListing::new(commits([0, 1, 3]).into_iter().chain([compacted(1, 3)]));
    assert!(matches!(holed.plan(None), Err(NameError::Gap { .. })));
}
