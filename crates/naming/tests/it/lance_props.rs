//! Every Lance name survives the way out and back, and no name makes the parsers panic.

use lakebed_naming::lance::{
    BranchName, DataFileName, DeletionFileName, DeletionKind, DetachedVersion, ListingOrder, ManifestName, Page,
    Scheme, StagedTarget, TableName, TagName, TransactionFileName, manifest_file, newest,
};
use lakebed_naming::{Uuid, Version};
use proptest::collection::vec;
use proptest::prelude::*;

const HISTORY_END: u64 = 1 << 63;

fn scheme() -> impl Strategy<Value = Scheme> {
    prop_oneof![Just(Scheme::V1), Just(Scheme::V2)]
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![0..20_u64, 0..HISTORY_END, HISTORY_END - 20..HISTORY_END].prop_map(Version::new)
}

fn target() -> impl Strategy<Value = StagedTarget> {
    prop_oneof![
        (scheme(), version()).prop_map(|(scheme, version)| StagedTarget::Version { scheme, version }),
        any::<u64>().prop_map(|bits| StagedTarget::Detached(DetachedVersion::from_random(bits))),
    ]
}

fn uuid() -> impl Strategy<Value = Uuid> {
    any::<[u8; 16]>().prop_map(Uuid::from_bytes)
}

fn reads_as(path: &str, expected: &TableName<'_>) -> bool {
    TableName::parse(path) == *expected
}

proptest! {
    #[test]
    fn manifest_names_round_trip(target in target(), id in uuid()) {
        let plain = match target {
            StagedTarget::Version { scheme, version } => ManifestName::Version { scheme, version },
            StagedTarget::Detached(number) => ManifestName::Detached(number),
        };
        for name in [plain, ManifestName::Staged { target, id }, ManifestName::Hint] {
            let file = name.file_name().unwrap();
            prop_assert_eq!(ManifestName::parse(&file), name);
            prop_assert!(reads_as(&name.path().unwrap(), &TableName::Manifest(name)));
        }
    }

    #[test]
    fn v2_names_have_twenty_digits_and_sort_newest_first(a in version(), b in version()) {
        let (name_a, name_b) = (manifest_file(Scheme::V2, a), manifest_file(Scheme::V2, b));
        prop_assert_eq!(name_a.len(), 29);
        prop_assert_eq!(a.cmp(&b), name_b.cmp(&name_a));
    }

    #[test]
    fn side_file_names_round_trip(
        numbers in any::<[u64; 3]>(), id in uuid(), kind in prop_oneof![Just(DeletionKind::Arrow), Just(DeletionKind::Bitmap)],
    ) {
        let [fragment, read_version, number] = numbers;
        let read_version = Version::new(read_version);
        let transaction = TransactionFileName { read_version, id };
        prop_assert!(reads_as(&transaction.path(), &TableName::Transaction(transaction)));
        let deletion = DeletionFileName { fragment, read_version, id: number, kind };
        prop_assert!(reads_as(&deletion.path(), &TableName::Deletion(deletion)));
        let data = DataFileName { id };
        let path = data.file_name();
        let expected = TableName::Data { path: &path, name: Some(data) };
        prop_assert!(reads_as(&data.path(), &expected));
        prop_assert_eq!(id.to_string().to_uppercase().parse::<Uuid>(), Ok(id));
    }

    #[test]
    fn ref_names_round_trip(text in "[a-zA-Z0-9._/-]{0,12}") {
        if let Ok(tag) = TagName::new(&text) {
            prop_assert!(reads_as(&tag.path(), &TableName::Tag(tag)));
        }
        if let Ok(branch) = BranchName::new(&text) {
            prop_assert!(reads_as(&branch.path(), &TableName::Branch(branch.clone())));
            let rest = format!("{text}/x");
            let expected = TableName::InTree { rest: &rest };
            let path = format!("{}/x", branch.tree());
            prop_assert!(reads_as(&path, &expected));
        }
    }

    #[test]
    fn no_name_panics_and_what_is_read_prints_the_same(
        name in prop_oneof![
            any::<String>(),
            "(_versions|_transactions|_deletions|data|_refs|_indices|tree)?/?(tags/|branches/)?[d0-9.%#é-]{0,24}(\\.manifest|\\.txn|\\.bin|\\.json|\\.lance)?",
        ],
    ) {
        let _ = TableName::parse(&name);
        if let Some(printed) = ManifestName::parse(&name).file_name() {
            prop_assert_eq!(printed, name);
        }
    }

    #[test]
    fn the_newest_does_not_depend_on_the_order(
        numbers in vec(0..HISTORY_END, 0..12), scheme in scheme(), noise in vec("[.d0-9a-z#-]{0,12}", 0..6), seed in any::<prop::sample::Index>(),
    ) {
        let mut names: Vec<String> = numbers.iter().map(|number| manifest_file(scheme, Version::new(*number))).collect();
        let expected = numbers.iter().max().map(|number| Version::new(*number));
        names.extend(noise);
        if !names.is_empty() {
            let split = seed.index(names.len());
            names.rotate_left(split);
        }
        let found = newest(&names).unwrap();
        prop_assert_eq!(found.map(|found| found.version), expected);
        prop_assert!(found.is_none_or(|found| found.scheme == scheme));
    }

    #[test]
    fn a_mixed_folder_is_never_resolved(v1 in 0..HISTORY_END, v2 in 0..HISTORY_END, v1_first in any::<bool>()) {
        let mut names = [manifest_file(Scheme::V1, Version::new(v1)), manifest_file(Scheme::V2, Version::new(v2))];
        if !v1_first {
            names.reverse();
        }
        let error = newest(&names).unwrap_err();
        prop_assert_eq!((error.v1_newest.get(), error.v2_newest.get()), (v1, v2));
        let text = error.to_string();
        prop_assert!(names.iter().all(|name| text.contains(name.as_str())));
    }

    #[test]
    fn pages_that_prove_the_end_are_right(numbers in vec(0..40_u64, 1..20), held in 0..40_u64, page_len in 1..20_usize) {
        let mut names: Vec<String> = numbers.iter().map(|number| manifest_file(Scheme::V2, Version::new(*number))).collect();
        names.sort();
        let held = Version::new(held);
        let page = Page::new(names.iter().take(page_len), ListingOrder::Lexical, Some(held)).unwrap();
        let whole = Page::new(&names, ListingOrder::Lexical, Some(held)).unwrap();
        let mut expected: Vec<Version> = numbers.iter().map(|number| Version::new(*number)).filter(|version| *version > held).collect();
        expected.sort();
        expected.dedup();
        prop_assert_eq!(&whole.newer, &expected);
        if page.nothing_newer_follows {
            prop_assert_eq!(page.newer, expected);
        }
    }
}
