//! Deletion vectors of ours merged with landed ones.

use crate::support::snapshot_of;
use bytes::Bytes;
use lakebed_commit::{Fetched, Finished, Format, Need, ObjectName, Rebased};
use lakebed_conflict::delta::DeltaPolicy;
use lakebed_delta::action::{Action, Add, DeletionVector, parse_actions};
use lakebed_delta::deletion_vector::{VectorFile, VectorPlace, decode_framed, place};
use lakebed_delta::{DeltaFormat, Landed, LandedRows, Pending, RowChange, Snapshot, Transaction, landed_rows, stats};
use lakebed_naming::{Uuid, Version};
use lakebed_transaction::{RowSet, TransactionId, UnitId};
use std::sync::Arc;

const FORMAT: DeltaFormat = DeltaFormat::new(DeltaPolicy::Serializable);

const BASE: &str = r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}
{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{"delta.enableDeletionVectors":"true"},"createdTime":1}}
{"add":{"path":"a.parquet","partitionValues":{},"size":9,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":5,\"minValues\":{\"id\":1}}"}}"#;

fn rows(rows: &[u64]) -> RowSet {
    rows.iter().copied().collect()
}

fn file(seed: u8, sets: &[RowSet]) -> (Vec<DeletionVector>, ObjectName, Bytes) {
    let mut file = VectorFile::new(Uuid::from_bytes([seed; 16]));
    let vectors = sets.iter().map(|rows| file.push(rows).unwrap()).collect();
    let (object, bytes) = file.finish();
    (vectors, ObjectName::new(object), bytes)
}

/// The actions that replace the vector of the table's only file.
fn marked(base: &Snapshot, vector: Option<&DeletionVector>) -> Vec<Action> {
    let add = base.files().next().unwrap();
    let remove = Action::Remove(add.to_remove(2, true));
    let Some(vector) = vector else { return vec![remove] };
    let loose = stats::loosened(add.stats.as_deref(), 5);
    let add = Add { deletion_vector: Some(vector.clone()), stats: Some(Arc::from(loose)), ..Add::clone(add) };
    vec![remove, Action::Add(add)]
}

fn ours(base: &Snapshot, vector: &DeletionVector, deleted: RowSet) -> Pending {
    let id = TransactionId::new("0f2c6a1e-0000-4000-8000-000000000001");
    let mut transaction = Transaction::new(id, "DELETE", marked(base, Some(vector)));
    transaction.row_changes = vec![RowChange { path: Arc::from("a.parquet"), deleted }];
    Pending::on(base.core(), transaction).unwrap()
}

fn landed(base: &Snapshot, at: u64, vector: Option<&DeletionVector>) -> (Landed, Snapshot) {
    let transaction = Transaction::new(TransactionId::new("theirs"), "DELETE", marked(base, vector));
    let mut pending = Pending::on(base.core(), transaction).unwrap();
    let entry = FORMAT.render(&mut pending, Version::new(at), 5).unwrap().entry;
    let next = base.advance(Version::new(at), &entry).unwrap();
    (Landed::parse(Version::new(at), &entry).unwrap(), next)
}

/// Finishes a window; the one file that it wanted written, if any.
fn finish(pending: &mut Pending, fetched: &mut Fetched) -> Option<(ObjectName, Bytes)> {
    match FORMAT.finish(pending, fetched).unwrap() {
        Finished::Ready => None,
        Finished::Needs(needs) => {
            let [Need::Write(name, bytes)] = needs.as_slice() else { panic!("{needs:?}") };
            fetched.mark_written(name.clone());
            assert!(matches!(FORMAT.finish(pending, fetched).unwrap(), Finished::Ready));
            Some((name.clone(), bytes.clone()))
        }
        conflict @ Finished::Conflict { .. } => panic!("{conflict:?}"),
    }
}

fn deleted(add: &Add, name: &ObjectName, bytes: &Bytes) -> RowSet {
    let vector = add.deletion_vector.as_ref().unwrap();
    let VectorPlace::Object { object, range } = place(vector).unwrap() else { panic!("{vector:?}") };
    assert_eq!(object, name.as_str());
    let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
    decode_framed(vector, &bytes[range]).unwrap()
}

fn written(pending: &mut Pending, at: u64) -> (Vec<Action>, Bytes) {
    let entry = FORMAT.render(pending, Version::new(at), 6).unwrap().entry;
    (parse_actions("ours", &entry).unwrap(), entry)
}

#[test]
fn disjoint_deletes_of_one_file_are_united_and_the_remove_names_the_winners_vector() {
    let base = snapshot_of(&[BASE]);
    let (mine, _, _) = file(1, &[rows(&[0])]);
    let (theirs, name, bytes) = file(2, &[rows(&[9, 10]), rows(&[3])]);
    let mut pending = ours(&base, &mine[0], rows(&[0]));
    let (winner, after) = landed(&base, 1, Some(&theirs[1]));
    let mut fetched = Fetched::default();
    assert_eq!(FORMAT.rebase(&mut pending, &winner, &fetched).unwrap(), Rebased::Needs(vec![name.clone()]));
    fetched.insert(name, Some(bytes));
    let known = landed_rows(pending.transaction(), &winner, &fetched).unwrap();
    assert_eq!(known, LandedRows::Known(vec![(UnitId::file("a.parquet"), rows(&[3]))]));
    assert_eq!(FORMAT.rebase(&mut pending, &winner, &fetched).unwrap(), Rebased::Done);
    let (name, bytes) = finish(&mut pending, &mut fetched).expect("a merged vector is written");
    let (actions, entry) = written(&mut pending, 2);
    let [Action::CommitInfo(_), Action::Remove(remove), Action::Add(add)] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert_eq!(remove.deletion_vector.as_ref(), Some(&theirs[1]));
    assert_eq!(deleted(add, &name, &bytes), rows(&[0, 3]));
    assert_eq!(add.deletion_vector.as_ref().unwrap().cardinality, 2);
    assert!(!stats::tight_bounds(add.stats.as_deref().unwrap()));
    let next = after.advance(Version::new(2), &entry).unwrap();
    assert_eq!((next.num_files(), next.num_rows()), (1, Some(3)), "one entry for the file, and both deletes");

    // A second winner takes another row: the union starts from its vector, and ours is still row 0 alone.
    let (third, name3, bytes3) = file(3, &[rows(&[2, 3])]);
    let (winner, after) = landed(&after, 2, Some(&third[0]));
    fetched.insert(name3, Some(bytes3));
    assert_eq!(FORMAT.rebase(&mut pending, &winner, &fetched).unwrap(), Rebased::Done);
    let (again, bytes) = finish(&mut pending, &mut fetched).expect("merged again");
    assert_ne!(again, name, "every merged file has a name of its own");
    let (actions, entry) = written(&mut pending, 3);
    let Some(Action::Add(add)) = actions.last() else { panic!("{actions:?}") };
    assert_eq!(deleted(add, &again, &bytes), rows(&[0, 2, 3]));
    let next = after.advance(Version::new(3), &entry).unwrap();
    assert_eq!((next.num_files(), next.num_rows()), (1, Some(2)));
}

#[test]
fn a_file_with_no_row_left_goes() {
    let base = snapshot_of(&[BASE]);
    let (mine, _, _) = file(1, &[rows(&[0, 1])]);
    let (theirs, name, bytes) = file(2, &[rows(&[2, 3, 4])]);
    let mut pending = ours(&base, &mine[0], rows(&[0, 1]));
    let (winner, after) = landed(&base, 1, Some(&theirs[0]));
    let mut fetched = Fetched::default();
    fetched.insert(name, Some(bytes));
    assert_eq!(FORMAT.rebase(&mut pending, &winner, &fetched).unwrap(), Rebased::Done);
    finish(&mut pending, &mut fetched);
    let (actions, entry) = written(&mut pending, 2);
    assert!(!actions.iter().any(|action| matches!(action, Action::Add(_))), "{actions:?}");
    let next = after.advance(Version::new(2), &entry).unwrap();
    assert_eq!((next.num_files(), next.num_rows()), (0, Some(0)));
}

#[test]
fn the_same_row_or_a_file_that_is_gone_is_a_conflict_whatever_the_policy_said() {
    let base = snapshot_of(&[BASE]);
    let (mine, _, _) = file(1, &[rows(&[0])]);
    let (theirs, name, bytes) = file(2, &[rows(&[0, 3])]);
    let mut fetched = Fetched::default();
    fetched.insert(name, Some(bytes));
    for (vector, check) in [(Some(&theirs[0]), "same-row-deleted"), (None, "file-rewritten")] {
        let mut pending = ours(&base, &mine[0], rows(&[0]));
        let (winner, _) = landed(&base, 1, vector);
        assert_eq!(FORMAT.rebase(&mut pending, &winner, &fetched).unwrap(), Rebased::Done);
        let Finished::Conflict { with, why, .. } = FORMAT.finish(&mut pending, &fetched).unwrap() else {
            panic!("{check} passed")
        };
        assert_eq!((with, why.reason.unwrap().check), (Version::new(1), check));
    }
}

#[test]
fn a_landed_vector_that_is_damaged_or_gone_is_an_error() {
    let base = snapshot_of(&[BASE]);
    let (mine, _, _) = file(1, &[rows(&[0])]);
    let (theirs, name, bytes) = file(2, &[rows(&[3])]);
    let (winner, _) = landed(&base, 1, Some(&theirs[0]));
    let mut flipped = bytes.to_vec();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    for broken in [None, Some(Bytes::from(flipped)), Some(bytes.slice(..3))] {
        let mut fetched = Fetched::default();
        fetched.insert(name.clone(), broken);
        let mut pending = ours(&base, &mine[0], rows(&[0]));
        assert!(FORMAT.rebase(&mut pending, &winner, &fetched).is_err());
    }
}

/// The bytes of a file, by the protocol: version 1; for each vector its big-endian length, the little-endian magic number
/// 1681511377 (`d1 d3 39 64`), the number of 32-bit bitmaps, and a big-endian CRC-32 of it all.
#[test]
fn a_file_of_vectors_is_laid_out_as_the_protocol_says() {
    let (vectors, name, bytes) = file(7, &[rows(&[3, 4]), rows(&[1 << 33])]);
    assert!(name.as_str().starts_with("deletion_vector_07070707-"), "{name}");
    assert_eq!((bytes[0], vectors[0].offset, vectors[0].cardinality), (1, Some(1), 2));
    let size = usize::try_from(vectors[0].size_in_bytes).unwrap();
    assert_eq!(bytes[1..5], u32::try_from(size).unwrap().to_be_bytes());
    assert_eq!(bytes[5..9], [0xd1, 0xd3, 0x39, 0x64]);
    assert_eq!(bytes[9..17], 1_u64.to_le_bytes());
    assert_eq!(bytes[17..21], 0_u32.to_le_bytes());
    assert_eq!(vectors[1].offset, Some(i64::try_from(1 + 4 + size + 4).unwrap()));
    let crc = u32::from_be_bytes(bytes[5 + size..9 + size].try_into().unwrap());
    assert_eq!(crc, crc_of(&bytes[5..5 + size]));
}

/// CRC-32 bit by bit, from its definition.
fn crc_of(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
