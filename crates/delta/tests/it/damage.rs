//! Logs that are damaged or cut off: an answer in words, never a panic, never another version.

use crate::support::{conformance, load_names, names};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_delta::{Hint, Load, LoadStep};
use lakebed_naming::Version;
use proptest::prelude::*;
use std::path::Path;

fn feed_all(load: &mut Load, table: &Path, change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>) -> Result<u64, String> {
    for _ in 0..10 {
        match load.step().map_err(|error| error.to_string())? {
            LoadStep::Done(snapshot) => return Ok(snapshot.version().get()),
            LoadStep::Relist => return Err("relist".into()),
            LoadStep::Needs(needs) => {
                for name in needs {
                    let bytes = std::fs::read(table.join(name.as_str())).ok();
                    let bytes = bytes.and_then(|bytes| change(name.as_str(), bytes));
                    load.feed(name, bytes.map(Bytes::from));
                }
            }
        }
    }
    panic!("a load never ends")
}

#[test]
fn a_damaged_checkpoint_gives_way_to_an_older_start() {
    let Some(root) = conformance("delta") else { return };
    let table = root.join("delta-rs/simple_table_with_checkpoint");
    let mut load = Load::new(names(&table), true, None);
    let cut = |name: &str, bytes: Vec<u8>| {
        if name.ends_with("10.checkpoint.parquet") { Some(bytes[..bytes.len() / 2].to_vec()) } else { Some(bytes) }
    };
    assert_eq!(feed_all(&mut load, &table, cut), Ok(10));
    // Gone between the listing and the read: the same.
    let mut load = Load::new(names(&table), true, None);
    assert_eq!(feed_all(&mut load, &table, |name, bytes| (!name.contains("checkpoint")).then_some(bytes)), Ok(10));
    // Without the commits that a full replay needs, the damage itself is the answer.
    let few: Vec<_> = names(&table).into_iter().filter(|(name, _)| !name.ends_with("0000.json")).collect();
    let mut load = Load::new(few, true, None);
    let error = feed_all(&mut load, &table, cut).unwrap_err();
    assert!(error.contains("00000000000000000010.checkpoint.parquet is damaged"), "{error}");
}

#[test]
fn a_missing_commit_is_an_error_and_never_an_older_version() {
    let Some(root) = conformance("delta") else { return };
    let table = root.join("delta-rs/simple_table");
    let all = names(&table);
    let gap: Vec<_> = all.iter().filter(|(name, _)| !name.ends_with("2.json")).cloned().collect();
    let error = load_names(&table, &gap, None).unwrap_err().to_string();
    assert!(error.contains("version 4") && error.contains("no commit 2"), "{error}");
    // Below the gap everything can still be read.
    assert_eq!(load_names(&table, &gap, Some(Version::new(1))).unwrap().version(), Version::new(1));
    let error = load_names(&table, &all, Some(Version::new(9))).unwrap_err().to_string();
    assert!(error.contains("version 9 does not exist"), "{error}");
    let mut load = Load::new(all, true, None);
    let error = feed_all(&mut load, &table, |name, bytes| (!name.ends_with("3.json")).then_some(bytes)).unwrap_err();
    assert!(error.contains("3.json") && error.contains("not there any more"), "{error}");
}

#[test]
fn a_stale_hint_costs_a_listing_and_nothing_else() {
    let Some(root) = conformance("delta") else { return };
    let table = root.join("delta-rs/simple_table");
    let hint = Hint::parse(br#"{"version":3,"size":5,"checksum":"x"}"#).unwrap();
    let all = names(&table);
    let late: Vec<_> = all.iter().filter(|(name, _)| name.as_str() > hint.list_after().as_str()).cloned().collect();
    let mut load = Load::new(late, false, None);
    assert!(matches!(load.step().unwrap(), LoadStep::Relist));
    load.relist(all);
    assert_eq!(feed_all(&mut load, &table, |_, bytes| Some(bytes)), Ok(4));
    let mut nothing = Load::new(Vec::<(String, u64)>::new(), false, None);
    assert!(matches!(nothing.step().unwrap(), LoadStep::Relist));
    for junk in [&b""[..], b"{}", b"{\"version\":-1}", b"[]", b"\xff\xfe"] {
        assert_eq!(Hint::parse(junk), None);
    }
}

#[test]
fn a_damaged_compacted_log_gives_way_to_its_commits() {
    let Some(root) = conformance("delta") else { return };
    let table = root.join("delta-rs/simple_table");
    let compacted = "_delta_log/00000000000000000001.00000000000000000003.compacted.json".to_owned();
    let twice = "{\"remove\":{\"path\":\"x\",\"dataChange\":true}}\n{\"add\":{\"path\":\"x\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,\"dataChange\":true}}";
    for bytes in [Some("{\"add\":"), Some(twice), None] {
        let all: Vec<_> = names(&table).into_iter().chain([(compacted.clone(), 9)]).collect();
        let mut load = Load::new(all, true, None);
        let LoadStep::Needs(first) = load.step().unwrap() else { panic!("objects are needed") };
        assert_eq!(first.len(), 3, "versions 0 and 4 and what stands for those between");
        for name in first {
            let own = std::fs::read(table.join(name.as_str())).ok();
            load.feed(name, own.or(bytes.map(Into::into)).map(Bytes::from));
        }
        let LoadStep::Needs(second) = load.step().unwrap() else { panic!("the commits are needed") };
        assert_eq!(second.len(), 3);
        for name in second {
            let bytes = std::fs::read(table.join(name.as_str())).unwrap();
            load.feed(name, Some(Bytes::from(bytes)));
        }
        let LoadStep::Done(snapshot) = load.step().unwrap() else { panic!("nothing more is needed") };
        let plain = load_names(&table, &names(&table), None).unwrap();
        assert_eq!((snapshot.version(), snapshot.num_files()), (plain.version(), plain.num_files()));
        assert_eq!(snapshot.commit_info(), plain.commit_info());
    }
}

#[test]
fn a_checksum_file_tells_the_timestamp_of_a_version_whose_commit_is_gone_and_nothing_else() {
    let Some(root) = conformance("delta-spark") else { return };
    let table = root.join("ict_from_start");
    let whole = load_names(&table, &names(&table), Some(Version::new(3))).unwrap();
    let is_of_3 = |name: &str| name.contains("00000000000000000003");
    let alone: Vec<_> =
        names(&table).into_iter().filter(|(name, _)| is_of_3(name) && !name.ends_with("3.json")).collect();
    assert!(alone.iter().any(|(name, _)| name.ends_with(".crc")), "{alone:?}");
    let short = load_names(&table, &alone, Some(Version::new(3))).unwrap();
    assert_eq!(short.commit_info(), None);
    assert!(whole.in_commit_timestamp_ms().is_some());
    assert_eq!(short.in_commit_timestamp_ms(), whole.in_commit_timestamp_ms());
    // A checksum file that lies, or is none, changes nothing of the state.
    for junk in ["", "{", r#"{"numFiles":0,"metadata":{"id":"other"},"inCommitTimestampOpt":"x"}"#] {
        let mut load = Load::new(alone.clone(), true, None);
        let lie = |name: &str, bytes: Vec<u8>| Some(if name.ends_with(".crc") { junk.into() } else { bytes });
        assert_eq!(feed_all(&mut load, &table, lie), Ok(3));
        let LoadStep::Done(snapshot) = load.step().unwrap() else { panic!("it is done") };
        assert_eq!((snapshot.num_files(), snapshot.table_id()), (whole.num_files(), whole.table_id()));
        assert_eq!(snapshot.in_commit_timestamp_ms(), None);
    }
}

fn load_bytes(name: &str, bytes: Vec<u8>) -> Result<(), String> {
    let mut load = Load::new([(name, bytes.len() as u64)], true, None);
    for _ in 0..4 {
        match load.step().map_err(|error| error.to_string())? {
            LoadStep::Needs(needs) => {
                for need in needs {
                    let own = need == ObjectName::new(name);
                    load.feed(need, own.then(|| Bytes::from(bytes.clone())));
                }
            }
            LoadStep::Done(_) | LoadStep::Relist => return Ok(()),
        }
    }
    panic!("a load never ends")
}

/// The Parquet reader skips rows of a list for ever where their levels are too few, so they are counted before it.
#[test]
fn lists_that_lack_levels_are_damage() {
    let Some(root) = conformance("delta") else { return };
    let path = root.join("delta-rs/simple_table_with_checkpoint/_delta_log/00000000000000000010.checkpoint.parquet");
    let whole = std::fs::read(path).unwrap();
    for (at, flip) in [(1909, 26), (1909, 127), (1948, 181), (2504, 3), (2504, 205), (2543, 57), (2581, 63)] {
        let mut bytes = whole.clone();
        bytes[at] ^= flip;
        let error = load_bytes("_delta_log/00000000000000000010.checkpoint.parquet", bytes).unwrap_err();
        assert!(error.contains("its Parquet data contradict themselves"), "{at} {flip}: {error}");
    }
}

/// A few hundred bytes that stand for a million rows of nothing: reading them would take as long as their writer likes.
#[test]
fn rows_of_nothing_are_damage() {
    use arrow_array::{ArrayRef, RecordBatch, new_null_array};
    use arrow_schema::{DataType, Field, Schema};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use std::sync::Arc;
    let add = DataType::Struct(vec![Field::new("path", DataType::Utf8, true)].into());
    let schema = Arc::new(Schema::new(vec![Field::new("add", add.clone(), true)]));
    let rows: ArrayRef = new_null_array(&add, 1 << 20);
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![rows]).unwrap();
    let properties = WriterProperties::builder().set_data_page_row_count_limit(usize::MAX).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let bytes = writer.into_inner().unwrap();
    assert!(bytes.len() < 8_192, "{}", bytes.len());
    let error = load_bytes("_delta_log/00000000000000000010.checkpoint.parquet", bytes).unwrap_err();
    assert!(error.contains("counts 1048576 rows"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_of_a_commit_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = load_bytes("_delta_log/00000000000000000000.json", bytes);
    }

    #[test]
    fn no_text_of_a_commit_panics(
        lines in proptest::collection::vec(
            r#"\{"(add|remove|metaData|protocol|txn|commitInfo|cdc|sidecar)":(null|\{("(path|size|stats|id|tags|minReaderVersion|schemaString|deletionVector)":(1|-1|"x"|null|\{\}|\[\]|1e400),?){0,3}\}|7)\}"#, 0..6)
    ) {
        let _ = load_bytes("_delta_log/00000000000000000000.json", lines.join("\n").into_bytes());
    }

    #[test]
    fn no_flipped_byte_of_a_checkpoint_panics(at in 0_usize..100_000, flip in 1_u8..=255, cut in 0_usize..100_000) {
        if let Some(root) = conformance("delta") {
            let path = root.join("delta-rs/simple_table_with_checkpoint/_delta_log/00000000000000000010.checkpoint.parquet");
            let mut bytes = std::fs::read(path).unwrap();
            let length = bytes.len();
            bytes[at % length] ^= flip;
            if cut % 4 == 0 {
                bytes.truncate(cut % length);
            }
            let _ = load_bytes("_delta_log/00000000000000000010.checkpoint.parquet", bytes);
        }
    }
}
