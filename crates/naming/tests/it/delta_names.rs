//! Delta names against the examples of the protocol's reference.

use lakebed_naming::delta::{
    CheckpointEncoding, CheckpointForm, CheckpointName, CheckpointPart, DataPath, DeletionVectorName, LogName,
    TemporaryName, commit_path, data_file, encode_path, list_after, partition_folder,
};
use lakebed_naming::{NameError, Uuid, Version, VersionRange};

const ID: &str = "0f2c6a1e-0000-4000-8000-000000000001";

fn id() -> Uuid {
    ID.parse().unwrap()
}

fn version(number: u64) -> Version {
    Version::new(number)
}

fn checkpoint(number: u64, form: CheckpointForm) -> LogName {
    LogName::Checkpoint(CheckpointName { version: version(number), form })
}

#[test]
fn every_kind_of_log_name_is_recognised_and_printed() {
    let part = CheckpointPart::new(2, 3).unwrap();
    let cases = [
        ("00000000000000000007.json".to_owned(), LogName::Commit(version(7))),
        ("00000000000000000007.checkpoint.parquet".to_owned(), checkpoint(7, CheckpointForm::Classic)),
        (
            "00000000000000000007.checkpoint.0000000002.0000000003.parquet".to_owned(),
            checkpoint(7, CheckpointForm::MultiPart(part)),
        ),
        (
            format!("00000000000000000007.checkpoint.{ID}.json"),
            checkpoint(7, CheckpointForm::Uuid { id: id(), encoding: CheckpointEncoding::Json }),
        ),
        (
            format!("00000000000000000007.checkpoint.{ID}.parquet"),
            checkpoint(7, CheckpointForm::Uuid { id: id(), encoding: CheckpointEncoding::Parquet }),
        ),
        (
            "00000000000000000002.00000000000000000007.compacted.json".to_owned(),
            LogName::Compacted(VersionRange::new(version(2), version(7)).unwrap()),
        ),
        ("00000000000000000007.crc".to_owned(), LogName::Checksum(version(7))),
        ("_last_checkpoint".to_owned(), LogName::LastCheckpoint),
        ("_last_vacuum_info".to_owned(), LogName::LastVacuumInfo),
        (
            format!("_staged_commits/00000000000000000007.{ID}.json"),
            LogName::StagedCommit { version: version(7), id: id() },
        ),
        (
            format!("_sidecars/00000000000000000007.checkpoint.0000000001.0000000002.{ID}.parquet"),
            LogName::Sidecar { file: format!("00000000000000000007.checkpoint.0000000001.0000000002.{ID}.parquet") },
        ),
        (
            ".00000000000000000007.json.crc".to_owned(),
            LogName::HadoopChecksum { folder: String::new(), of: "00000000000000000007.json".to_owned() },
        ),
        (
            "_sidecars/.x.parquet.crc".to_owned(),
            LogName::HadoopChecksum { folder: "_sidecars/".to_owned(), of: "x.parquet".to_owned() },
        ),
        (
            format!("..00000000000000000007.json.{ID}.tmp.crc"),
            LogName::HadoopChecksum { folder: String::new(), of: format!(".00000000000000000007.json.{ID}.tmp") },
        ),
        (
            format!(".00000000000000000007.json.{ID}.tmp"),
            LogName::Temporary(TemporaryName::Renamed { of: "00000000000000000007.json".to_owned(), id: id() }),
        ),
        (
            format!(".tmp/00000000000000000007.json.{ID}"),
            LogName::Temporary(TemporaryName::DynamoCommit { version: version(7), id: id() }),
        ),
        (format!("_commit_{ID}.json.tmp"), LogName::Temporary(TemporaryName::DeltaRs(id()))),
        (
            "00000000000000000007.json#1".to_owned(),
            LogName::Temporary(TemporaryName::LocalPut { of: "00000000000000000007.json".to_owned(), number: 1 }),
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(LogName::parse(&name), expected, "{name}");
        assert_eq!(expected.file_name(), Some(name.clone()));
        assert_eq!(expected.path(), Some(format!("_delta_log/{name}")));
    }
}

#[test]
fn names_that_are_nearly_right_are_not_taken() {
    for name in [
        "".to_owned(),
        "00000000000000000007".to_owned(),
        "00000000000000000007.json.bak".to_owned(),
        "00000000000000000007.JSON".to_owned(),
        "99999999999999999999.json".to_owned(),
        "+0000000000000000007.json".to_owned(),
        "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٧.json".to_owned(),
        "7.checkpoint.parquet".to_owned(),
        "00000000000000000007.checkpoint".to_owned(),
        "00000000000000000007.checkpoint.json".to_owned(),
        "00000000000000000007.checkpoint.not-a-uuid.json".to_owned(),
        "00000000000000000007.checkpoint.0000000000.0000000003.parquet".to_owned(),
        "00000000000000000007.checkpoint.0000000004.0000000003.parquet".to_owned(),
        "00000000000000000007.checkpoint.1.3.parquet".to_owned(),
        "00000000000000000007.checkpoint.0000000001.9999999999.parquet".to_owned(),
        "00000000000000000007.00000000000000000007.compacted.json".to_owned(),
        "00000000000000000007.00000000000000000002.compacted.json".to_owned(),
        format!("00000000000000000007.{ID}.json"),
        ".DS_Store".to_owned(),
        "_last_checkpoint.bak".to_owned(),
    ] {
        assert_eq!(LogName::parse(&name), LogName::Other, "{name}");
    }
    for name in [
        "_sidecars",
        "_sidecars/",
        "_staged_commits",
        "_staged_commits/00000000000000000003.json",
        "_commits/00000000000000000003.json",
        "_sidecars/deep/x.parquet",
        "sub/_last_checkpoint",
        "/00000000000000000003.json",
    ] {
        assert_eq!(LogName::parse(name), LogName::InFolder, "{name}");
    }
}

#[test]
fn digits_of_another_width_are_told_apart_from_commits() {
    for (name, number) in [("0.json", 0), ("7.json", 7), ("007.json", 7), ("000000000000000000007.json", 7)] {
        assert_eq!(LogName::parse(name), LogName::UnpaddedCommit(version(number)), "{name}");
    }
    assert_eq!(commit_path(version(7)), "_delta_log/00000000000000000007.json");
}

#[test]
fn a_listing_can_start_at_a_version() {
    let after = list_after(version(10));
    for name in ["00000000000000000010.checkpoint.parquet", "00000000000000000010.crc", "00000000000000000010.json"] {
        assert!(format!("_delta_log/{name}") > after);
    }
    assert!(commit_path(version(9)) < after);
}

#[test]
fn deletion_vector_descriptors_decode_to_file_names() {
    let name = DeletionVectorName::from_descriptor("ab^-aqEH.-t@S}K{vb[*k^").unwrap();
    assert_eq!(name.path(), "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin");
    assert_eq!(name.descriptor(), "ab^-aqEH.-t@S}K{vb[*k^");
    assert_eq!(DeletionVectorName::new(name.id()).descriptor(), "^-aqEH.-t@S}K{vb[*k^");
    for text in [
        "",
        "short",
        "####################",
        "^-aqEH.-t@S}K{vb[*k\"",
        "../^-aqEH.-t@S}K{vb[*k^",
        "..^-aqEH.-t@S}K{vb[*k^",
    ] {
        assert!(matches!(DeletionVectorName::from_descriptor(text), Err(NameError::Path { .. })), "{text}");
    }
    for path in [
        "deletion_vector-x.bin",
        "/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
        "a/b/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
    ] {
        assert_eq!(DeletionVectorName::parse(path), None, "{path}");
    }
}

#[test]
fn paths_are_decoded_once_and_never_leave_the_table() {
    // The folder that deltalake made for the value `a b/c%d=é:#?&`, and how its log spells it.
    let stored = "s=a%20b%2Fc%25d%3D%C3%A9%3A%23%3F%26/part-0.parquet";
    let logged = "s=a%2520b%252Fc%2525d%253D%25C3%25A9%253A%2523%253F%2526/part-0.parquet";
    assert_eq!(DataPath::decode(logged), Ok(DataPath::Relative(stored.to_owned())));
    assert_eq!(encode_path(stored), logged);
    // Spark leaves characters outside ASCII as they are; both spellings name one file.
    let relative = DataPath::Relative("k=ünïcödé 日本/x".to_owned());
    assert_eq!(DataPath::decode("k=ünïcödé%20日本/x"), Ok(relative.clone()));
    assert_eq!(DataPath::decode(&encode_path("k=ünïcödé 日本/x")), Ok(relative));
    for absolute in ["s3://bucket/a%20b", "file:/tmp/x", "/tmp/x"] {
        assert_eq!(DataPath::decode(absolute), Ok(DataPath::Absolute(absolute.to_owned())));
    }
    assert_eq!(DataPath::decode("t=10:00/x"), Ok(DataPath::Relative("t=10:00/x".to_owned())));
    // As a URI is normalised; Spark reads such tables.
    for idle in ["./a/b", "a//b", "a/./b", ".//a/b/"] {
        assert_eq!(DataPath::decode(idle), Ok(DataPath::Relative("a/b".to_owned())), "{idle}");
    }
    for broken in ["", ".", "a%", "a%2", "a%zz", "a%FF", "../x", "a/%2E%2E/x", "a%é"] {
        assert!(matches!(DataPath::decode(broken), Err(NameError::Path { .. })), "{broken}");
    }
}

#[test]
fn partition_folders_are_escaped_as_spark_does() {
    for (value, folder) in [
        ("a/b", "k=a%2Fb"),
        ("with space", "k=with space"),
        ("ünïcödé 日本", "k=ünïcödé 日本"),
        ("&+", "k=&+"),
        ("%=:'\"\\#?[]{}^\t", "k=%25%3D%3A%27%22%5C%23%3F%5B%5D%7B%7D%5E%09"),
        ("", "k=__HIVE_DEFAULT_PARTITION__"),
    ] {
        assert_eq!(partition_folder("k", Some(value)), folder);
    }
    assert_eq!(encode_path(&partition_folder("k", Some("a/b"))), "k=a%252Fb");
    assert_eq!(data_file(3, id(), "snappy"), format!("part-00003-{ID}-c000.snappy.parquet"));
}
