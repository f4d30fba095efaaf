//! Ways in which names went wrong in the wild.

use lakebed_naming::delta::{LogListing, LogName, TemporaryName, commit_file};
use lakebed_naming::lance::{ManifestName, Scheme, TableName, manifest_path, newest};
use lakebed_naming::{NameError, Version};

use crate::delta_listing::{classic, commits, part, version};

fn named(names: &[&str]) -> Vec<(String, u64)> {
    names.iter().map(|name| ((*name).to_owned(), 10)).collect()
}

fn start(listing: &LogListing, at: Option<u64>) -> Option<u64> {
    let segment = listing.plan(at.map(Version::new)).unwrap();
    segment.checkpoint.map(|checkpoint| checkpoint.version.get())
}

/// Case 38: the reverse-numbered name of version 1 is version 1, not an alias of the newest.
#[test]
fn case_38_reverse_numbers_decode_to_their_version() {
    for number in [1, 2, 9, 10, 99, 1 << 32, (1 << 63) - 1] {
        for scheme in [Scheme::V1, Scheme::V2] {
            let path = manifest_path(scheme, version(number));
            let file = path.strip_prefix("_versions/").unwrap();
            assert_eq!(ManifestName::parse(file), ManifestName::Version { scheme, version: version(number) });
            if scheme == Scheme::V2 {
                assert_eq!(file.strip_suffix(".manifest").unwrap().len(), 20);
            }
        }
    }
    assert_eq!(manifest_path(Scheme::V2, version(1)), "_versions/18446744073709551614.manifest");
    assert_eq!(manifest_path(Scheme::V2, version(10)), "_versions/18446744073709551605.manifest");
    assert_eq!(newest(["18446744073709551614.manifest"]).unwrap().unwrap().version, version(1));
}

/// Case 39: plain numbers compare as numbers, and a folder in both schemes is reported with both names.
#[test]
fn case_39_plain_numbers_are_numbers_and_mixed_folders_are_reported() {
    let mut names = vec!["1.manifest", "9.manifest", "10.manifest", "11.manifest"];
    assert_eq!(newest(&names).unwrap().unwrap().version, version(11));
    names.push("18446744073709551603.manifest");
    let error = NameError::from(newest(&names).unwrap_err());
    let text = error.to_string();
    assert!(text.contains("11.manifest") && text.contains("18446744073709551603.manifest"), "{text}");
}

/// Case 40: a detached manifest is no version of the history.
#[test]
fn case_40_detached_manifests_are_not_counted() {
    let names = ["1.manifest", "2.manifest", "d9223372036854775850.manifest", "3.manifest"];
    assert_eq!(newest(names).unwrap().unwrap().version, version(3));
    let reverse: Vec<String> = (1..=3)
        .map(|number| manifest_path(Scheme::V2, version(number)).replace("_versions/", ""))
        .chain(["d9223372036854775850.manifest".to_owned()])
        .collect();
    assert_eq!(newest(reverse).unwrap().unwrap().version, version(3));
}

/// Case 42: pending files of another engine in a folder of the log are no versions.
#[test]
fn case_42_files_in_folders_of_the_log_are_no_versions() {
    let mut names = commits(0..=2);
    names.extend(named(&[
        ".tmp/00000000000000000003.json",
        "_commits/00000000000000000003.0f2c6a1e-0000-4000-8000-000000000001.json",
    ]));
    assert_eq!(LogListing::new(names).newest(), Some(version(2)));
}

/// Case 43: strangers' files do not make the log unreadable, and `0.json` is not version 0.
#[test]
fn case_43_unknown_names_are_ignored() {
    let mut names = commits(0..=0);
    names.extend(named(&["_vendor_state/0.zip", "_sidecars/", ".DS_Store", "0.json"]));
    let segment = LogListing::new(names).plan(None).unwrap();
    assert_eq!(segment.commit_names(), [commit_file(version(0))]);
    assert_eq!(LogListing::new(named(&["0.json"])).plan(None), Err(NameError::NoTable));
}

/// Case 44: a uuid-named JSON in the log's root is no commit.
#[test]
fn case_44_a_staged_name_outside_its_folder_is_no_commit() {
    let mut names = commits(0..=1);
    names.extend(named(&["00000000000000000002.0f2c6a1e-0000-4000-8000-000000000001.json"]));
    let listing = LogListing::new(names);
    assert_eq!(listing.newest(), Some(version(1)));
    assert_eq!(listing.newest().and_then(Version::next), Some(version(2)));
}

/// Case 52: two checkpoints at or after the hint are no fault.
#[test]
fn case_52_two_checkpoints_serve_two_versions() {
    let mut names = commits(0..=4);
    names.extend([classic(2), classic(4)]);
    let listing = LogListing::new(names);
    assert_eq!(start(&listing, None), Some(4));
    assert_eq!(start(&listing, Some(3)), Some(2));
    let from_two = listing.plan_from(listing.candidates(version(3)).next(), None).unwrap();
    assert_eq!(from_two.commits.len(), 2);
}

/// Case 55: without the hinted checkpoint, a proven start is needed: commit 0 or another complete checkpoint.
#[test]
fn case_55_fallback_needs_a_proven_start() {
    let whole = LogListing::new(commits(0..=6)).plan(None).unwrap();
    assert_eq!((whole.checkpoint, whole.commits.len()), (None, 7));

    let error = LogListing::new(commits(4..=6)).plan(None).unwrap_err();
    assert_eq!(error, NameError::NoStart { at: version(6), first_commit: Some(version(4)), oldest_readable: None });
    let text = error.to_string();
    assert!(text.contains("the log starts at 4") && text.contains("no usable checkpoint"), "{text}");

    let mut names = commits(2..=6);
    names.push(classic(2));
    assert_eq!(start(&LogListing::new(names), None), Some(2));
}

/// Case 56: parts of two multi-part checkpoints are never mixed, and an incomplete one is never used.
#[test]
fn case_56_incomplete_multi_part_checkpoints_are_not_used() {
    let mut names = commits(0..=5);
    names.extend([classic(1), part(3, 1, 3), part(3, 3, 3)]);
    let listing = LogListing::new(names.clone());
    assert_eq!((start(&listing, None), start(&listing, Some(3))), (Some(1), Some(1)));

    names.extend((1..=4).map(|number| part(3, number, 4)));
    let listing = LogListing::new(names);
    let segment = listing.plan(None).unwrap();
    let expected: Vec<String> = (1..=4).map(|number| part(3, number, 4).0).collect();
    assert_eq!(segment.checkpoint_names(), expected);
    assert_eq!(start(&listing, Some(3)), Some(3));
}

/// Case 66: the staging name of an interrupted local put is neither a version nor unknown to cleanup.
#[test]
fn case_66_interrupted_local_puts_are_temporary() {
    let mut names = commits(0..=2);
    names.extend(named(&["00000000000000000003.json#1"]));
    assert_eq!(LogListing::new(names).newest(), Some(version(2)));
    let parsed = LogName::parse("00000000000000000003.json#1");
    assert!(matches!(parsed, LogName::Temporary(TemporaryName::LocalPut { number: 1, .. })));
    assert_eq!(ManifestName::parse("4.manifest#1"), ManifestName::Temporary);
    assert_eq!(newest(["3.manifest", "4.manifest#1"]).unwrap().unwrap().version, version(3));
    // As a killed pylance leaves it.
    for name in ["_transactions/.tmpl9CJoE", "data/.tmpl9CJoE", "_deletions/.tmp-0-1", "_versions/.tmp_7.manifest"] {
        assert_eq!(TableName::parse(name), TableName::Temporary, "{name}");
    }
}
