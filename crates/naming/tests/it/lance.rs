//! Lance names against the examples of the format's reference and of real tables.

use lakebed_naming::lance::{
    BranchName, DataFileName, DeletionFileName, DeletionKind, DetachedVersion, Found, ListingOrder, ManifestName, Page,
    Scheme, StagedTarget, TableName, TagName, TransactionFileName, hint_path, index_folder, manifest_path, newest,
    staged_path,
};
use lakebed_naming::{NameError, Uuid, Version};

const ID: &str = "0f2c6a1e-0000-4000-8000-000000000001";

fn id() -> Uuid {
    ID.parse().unwrap()
}

fn version(number: u64) -> Version {
    Version::new(number)
}

#[test]
fn manifests_are_named_as_pylance_names_them() {
    assert_eq!(manifest_path(Scheme::V2, version(1)), "_versions/18446744073709551614.manifest");
    assert_eq!(manifest_path(Scheme::V1, version(1)), "_versions/1.manifest");
    assert_eq!(hint_path(), "_versions/latest_version_hint.json");
    // A detached manifest that pylance wrote.
    let detached = ManifestName::parse("d12866713636633561789.manifest");
    assert_eq!(detached, ManifestName::Detached(DetachedVersion::new(12_866_713_636_633_561_789).unwrap()));
    assert_eq!(detached.path().as_deref(), Some("_versions/d12866713636633561789.manifest"));
}

#[test]
fn detached_numbers_always_carry_the_top_bit() {
    assert_eq!(DetachedVersion::new(42), None);
    assert_eq!(DetachedVersion::from_random(42).get(), 9_223_372_036_854_775_850);
    assert_eq!(ManifestName::parse("d42.manifest"), ManifestName::Other);
}

#[test]
fn staged_names_tell_their_target() {
    let v2 = StagedTarget::Version { scheme: Scheme::V2, version: version(12) };
    let name = staged_path(v2, id());
    assert_eq!(name, format!("_versions/18446744073709551603.manifest-{ID}"));
    let cases = [
        (format!("18446744073709551603.manifest-{ID}"), v2),
        (format!("12.manifest-{ID}"), StagedTarget::Version { scheme: Scheme::V1, version: version(12) }),
        (
            format!("d9223372036854775850.manifest-{ID}"),
            StagedTarget::Detached(DetachedVersion::new(9_223_372_036_854_775_850).unwrap()),
        ),
    ];
    for (file, target) in cases {
        assert_eq!(ManifestName::parse(&file), ManifestName::Staged { target, id: id() }, "{file}");
    }
}

#[test]
fn strange_names_in_the_versions_folder_are_no_versions() {
    for name in [
        "",
        ".manifest",
        "manifest",
        "d.manifest",
        "-1.manifest",
        "+1.manifest",
        "1.manifest.bak",
        "01.manifest",
        "1e3.manifest",
        "99999999999999999999.manifest",
        // A V1 number that somebody padded would otherwise be a version near 2^64.
        "00000000000000000005.manifest",
        "18446744073709551615.manifest.crc",
        "１.manifest",
        "12.manifest-not-a-uuid",
    ] {
        assert_eq!(ManifestName::parse(name), ManifestName::Other, "{name}");
    }
    for name in ["4.manifest#1", "18446744073709551614.manifest#12", ".tmp1234"] {
        assert_eq!(ManifestName::parse(name), ManifestName::Temporary, "{name}");
    }
}

#[test]
fn side_files_are_named_as_pylance_names_them() {
    let transaction = TransactionFileName::parse("0-405df78b-cf81-4655-be68-535a3b45345f.txn").unwrap();
    assert_eq!(transaction.read_version, version(0));
    assert_eq!(transaction.path(), "_transactions/0-405df78b-cf81-4655-be68-535a3b45345f.txn");
    let deletion = DeletionFileName::parse("4-5-12354191675301826020.arrow").unwrap();
    assert_eq!(
        deletion,
        DeletionFileName {
            fragment: 4,
            read_version: version(5),
            id: 12_354_191_675_301_826_020,
            kind: DeletionKind::Arrow
        }
    );
    assert_eq!(deletion.path(), "_deletions/4-5-12354191675301826020.arrow");
    assert_eq!(index_folder(id()), format!("_indices/{ID}"));
    for name in ["4-5.arrow", "4-5-6-7.bin", "4-5-6.txt", "-5-6.bin", "4--6.bin", "4-5-99999999999999999999.bin"] {
        assert_eq!(DeletionFileName::parse(name), None, "{name}");
    }
    for name in
        ["1-.txn", "-0f2c6a1e-0000-4000-8000-000000000001.txn", "1.txn", "1-0f2c6a1e000040008000000000000001.txn"]
    {
        assert_eq!(TransactionFileName::parse(name), None, "{name}");
    }
}

#[test]
fn data_files_spell_three_bytes_as_bits() {
    // A file that pylance wrote: 01001101 is 0x4d, 10011111 is 0x9f, 11111101 is 0xfd.
    let bytes = [0x4d, 0x9f, 0xfd, 0x44, 0x22, 0xa4, 0xa9, 0x09, 0xe3, 0x0a, 0x49, 0x51, 0x00, 0x8b, 0x4a, 0x80];
    let name = DataFileName { id: Uuid::from_bytes(bytes) };
    assert_eq!(name.path(), "data/0100110110011111111111014422a4a909e30a4951008b4a80.lance");
    assert_eq!(DataFileName::parse(&name.file_name()), Some(name));
    for other in
        ["x.lance", "0100110110011111111111014422A4A909E30A4951008B4A80.lance", "+10011011001111111111101.lance"]
    {
        assert_eq!(DataFileName::parse(other), None, "{other}");
    }
}

#[test]
fn refs_obey_the_naming_rules() {
    for (name, file) in [("v1", "v1"), ("release-1.0_x", "release-1.0_x"), ("ü", "%C3%BC"), ("2026.11", "2026.11")] {
        let tag = TagName::new(name).unwrap();
        assert_eq!(tag.path(), format!("_refs/tags/{file}.json"));
        assert_eq!(TagName::parse(&format!("{file}.json")), Some(tag));
    }
    // Files that pylance wrote for these branches.
    for (name, file) in [("ä/ö", "%C3%A4%2F%C3%B6"), ("é", "%C3%A9"), ("a/b/c", "a%2Fb%2Fc")] {
        let branch = BranchName::new(name).unwrap();
        assert_eq!(branch.path(), format!("_refs/branches/{file}.json"));
        assert_eq!(BranchName::parse(&format!("{file}.json")), Some(branch));
    }
    for other in ["ü", "%c3%bc", "%C3", "%C3%", "%", "%41", "a/b", "%FF"] {
        assert_eq!(BranchName::parse(&format!("{other}.json")), None, "{other}");
    }
    for name in ["", ".a", "a.", "a..b", "a/b", "a b", "a.lock", "a%2Fb", "a\\b"] {
        assert!(matches!(TagName::new(name), Err(NameError::Ref { kind: "tag", .. })), "{name}");
    }
    for name in ["dev", "team/dev", "a/b/c", "main/x", "_versions", ".hidden"] {
        let branch = BranchName::new(name).unwrap();
        assert_eq!(branch.path(), format!("_refs/branches/{}.json", name.replace('/', "%2F")));
        assert_eq!(branch.tree(), format!("tree/{name}"));
    }
    for name in ["", "main", "/a", "a/", "a//b", "a/../b", "..", "a\\b", "a.lock", "a b", "a/./b", "a%2Fb"] {
        assert!(matches!(BranchName::new(name), Err(NameError::Ref { kind: "branch", .. })), "{name}");
    }
}

#[test]
fn names_below_the_root_are_told_apart() {
    assert_eq!(
        TableName::parse("_refs/branches/team%2Fdev.json"),
        TableName::Branch(BranchName::new("team/dev").unwrap())
    );
    assert_eq!(TableName::parse("_refs/tags/v1.json"), TableName::Tag(TagName::new("v1").unwrap()));
    assert_eq!(
        TableName::parse(&format!("_indices/{ID}/page_data.lance")),
        TableName::Index { id: id(), path: "page_data.lance" }
    );
    assert_eq!(TableName::parse("data/any.lance"), TableName::Data { path: "any.lance", name: None });
    assert_eq!(TableName::parse("_versions/sub/1.manifest"), TableName::Other);
    assert_eq!(TableName::parse(".lance-reserved"), TableName::Other);
    for temporary in [
        "_versions/1.manifest#2".to_owned(),
        "data/.tmpAbC".to_owned(),
        format!("_refs/tags/v1.json.tmp.{ID}"),
        format!("_transactions/1-{ID}.txn#1"),
    ] {
        assert_eq!(TableName::parse(&temporary), TableName::Temporary, "{temporary}");
    }
}

#[test]
fn a_page_of_a_lexical_listing_proves_its_end_only_past_the_held_version() {
    let v2 = |numbers: &[u64]| -> Vec<String> {
        numbers.iter().map(|number| manifest_path(Scheme::V2, version(*number)).split_off("_versions/".len())).collect()
    };
    let page = |names: Vec<String>, order, held: Option<u64>| Page::new(names, order, held.map(Version::new)).unwrap();

    let ends = page(v2(&[7, 6, 5]), ListingOrder::Lexical, Some(5));
    assert_eq!((ends.newer, ends.nothing_newer_follows), (vec![version(6), version(7)], true));
    let goes_on = page(v2(&[7, 6]), ListingOrder::Lexical, Some(5));
    assert_eq!((goes_on.newer, goes_on.nothing_newer_follows), (vec![version(6), version(7)], false));
    // The held version itself may have been cleaned away: an older one proves as much.
    assert!(page(v2(&[7, 3]), ListingOrder::Lexical, Some(5)).nothing_newer_follows);
    assert!(!page(v2(&[7, 6, 5]), ListingOrder::Any, Some(5)).nothing_newer_follows);
    // A store that was said to be lexical, and is not.
    assert!(!page(v2(&[5, 7]), ListingOrder::Lexical, Some(6)).nothing_newer_follows);
    let unchanged = page(v2(&[5]), ListingOrder::Lexical, Some(5));
    assert!(unchanged.newer.is_empty() && unchanged.nothing_newer_follows);

    let open = page(v2(&[7]), ListingOrder::Lexical, None);
    assert_eq!(open.newest, Some(Found { scheme: Scheme::V2, version: version(7) }));
    assert!(open.nothing_newer_follows);
    // V1 names do not sort by version.
    let v1 = Page::new(["10.manifest", "9.manifest"], ListingOrder::Lexical, Some(version(9))).unwrap();
    assert_eq!((v1.newer, v1.nothing_newer_follows), (vec![version(10)], false));
    assert_eq!(newest(Vec::<String>::new()), Ok(None));
}
