//! Entries as the `precise` rules see them.

use crate::support::snapshot_of;
use lakebed_delta::{Landed, Reads, Snapshot, Transaction, inline_rows};
use lakebed_naming::Version;
use lakebed_transaction::{BinaryOp, Expr, PreciseKind, ReadPredicate, RowSet, Scalar, TransactionId, UnitId};

/// The protocol's example of an inline vector, with the magic number of the portable form: rows 3, 4, 7, 11, 18 and 29.
const VECTOR: &str = r#"{"storageType":"i","pathOrInlineDv":"^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":44,"cardinality":6}"#;

fn vector_rows() -> RowSet {
    [3, 4, 7, 11, 18, 29].into_iter().collect()
}

fn table() -> Snapshot {
    let schema = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"p\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}},{\"name\":\"v\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"#;
    let metadata = format!(
        r#"{{"metaData":{{"id":"t","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{schema}","partitionColumns":["p"],"configuration":{{"delta.enableDeletionVectors":"true"}}}}}}"#
    );
    let protocol = r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}"#;
    snapshot_of(&[&format!("{protocol}\n{metadata}\n{}\n{}", add("a", 1, 0, 9, ""), add("b", 2, 10, 19, ""))])
}

fn add(path: &str, p: i64, low: i64, high: i64, vector: &str) -> String {
    let stats = format!(
        r#"{{\"numRecords\":30,\"minValues\":{{\"v\":{low}}},\"maxValues\":{{\"v\":{high}}},\"nullCount\":{{\"v\":0}}}}"#
    );
    let vector = if vector.is_empty() { String::new() } else { format!(r#","deletionVector":{vector}"#) };
    format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{"p":"{p}"}},"size":9,"modificationTime":1,"dataChange":true,"stats":"{stats}"{vector}}}}}"#
    )
}

fn remove(path: &str) -> String {
    format!(r#"{{"remove":{{"path":"{path}","deletionTimestamp":1,"dataChange":true}}}}"#)
}

fn landed(operation: &str, actions: &[String]) -> Landed {
    let info = format!(r#"{{"commitInfo":{{"operation":"{operation}","readVersion":0,"isBlindAppend":false}}}}"#);
    Landed::parse(Version::new(1), format!("{info}\n{}", actions.join("\n")).as_bytes()).unwrap()
}

fn ours(operation: &str, predicates: Vec<ReadPredicate>, actions: &[String]) -> Transaction {
    let actions = landed(operation, actions).actions()[1..].to_vec();
    let mut ours = Transaction::new(TransactionId::new("8f3e5c3e-6d6a-4c55-9d52-3a1f0c1b2a10"), operation, actions);
    ours.reads = Reads { predicates, ..Reads::default() };
    ours
}

fn large_values() -> Vec<ReadPredicate> {
    let filter = Expr::column("v").binary(BinaryOp::Greater, Expr::Literal(Scalar::Int(3)));
    vec![ReadPredicate { partition: Vec::new(), data: vec![filter] }]
}

#[test]
fn a_vector_that_grows_takes_out_its_rows_and_no_others() {
    let entry = landed("DELETE", &[remove("a"), add("a", 1, 0, 9, VECTOR)]);
    let images = entry.images(Some(&table()), &inline_rows);
    assert_eq!(images.kind, PreciseKind::Delete);
    assert_eq!(images.footprint.updated_units.as_slice(), [UnitId::file("a")]);
    assert_eq!(images.footprint.rows, [(UnitId::file("a"), vector_rows())]);
    assert!(images.footprint.added_units.is_empty() && images.footprint.removed_units.is_empty());
    assert_eq!((images.read_version, images.version), (Some(Version::new(0)), Some(Version::new(1))));
}

/// A vector that shrinks brings rows back, and of one that is not at hand nothing is known: the file goes and comes.
#[test]
fn any_other_change_of_a_vector_is_a_file_that_goes_and_comes() {
    let shrinks = [remove("a").replace("}}", &format!(r#","deletionVector":{VECTOR}}}}}"#)), add("a", 1, 0, 9, "")];
    let elsewhere =
        r#"{"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^","offset":4,"sizeInBytes":40,"cardinality":6}"#;
    for actions in [shrinks, [remove("a"), add("a", 1, 0, 9, elsewhere)]] {
        let images = landed("RESTORE", &actions).images(Some(&table()), &inline_rows);
        assert_eq!(images.footprint.removed_units.as_slice(), [UnitId::file("a")], "{actions:?}");
        assert_eq!(images.footprint.added_units.len(), 1);
        assert!(images.footprint.updated_units.is_empty());
    }
}

#[test]
fn files_carry_what_their_entries_say() {
    let images = landed("WRITE", &[add("c", 2, 5, 7, ""), remove("b")]).images(Some(&table()), &inline_rows);
    let [added] = images.footprint.added_units.as_slice() else { panic!("{images:?}") };
    assert_eq!(added.partition, [("p".into(), Scalar::Int(2))]);
    assert_eq!((&added.bounds[0].1.min, &added.bounds[0].1.max), (&Some(Scalar::Int(5)), &Some(Scalar::Int(7))));
    // The entry says nothing of the file that it takes out; the version that ours read does.
    assert_eq!(images.known_units[0].bounds[0].1.max, Some(Scalar::Int(19)));
    let bare = landed("WRITE", &[add("c", 2, 5, 7, "")]).images(None, &inline_rows);
    assert!(bare.footprint.added_units[0].bounds.is_empty() && bare.footprint.added_units[0].partition.is_empty());
}

#[test]
fn ours_met_the_rows_that_it_deletes() {
    let actions = [remove("a"), add("a", 1, 0, 9, VECTOR), remove("b")];
    let delete = ours("DELETE", large_values(), &actions).images(Some(&table()), &inline_rows);
    let met = delete.matched.unwrap();
    assert!(met.contains(&(UnitId::file("a"), vector_rows())) && met.contains(&(UnitId::file("b"), (0..30).collect())));
    assert!(delete.follows_met_rows && delete.copied_units.is_empty());
    // A merge may have met rows that it left alone, and two reads may have met different rows.
    let merge = ours("MERGE", large_values(), &actions).images(Some(&table()), &inline_rows);
    let twice =
        ours("DELETE", [large_values(), large_values()].concat(), &actions).images(Some(&table()), &inline_rows);
    assert!([merge, twice].iter().all(|images| images.matched.is_none() && !images.follows_met_rows));
    // Which rows of a file that is replaced were met cannot be told.
    let copies =
        ours("UPDATE", large_values(), &[remove("a"), add("n", 1, 0, 9, "")]).images(Some(&table()), &inline_rows);
    assert_eq!((copies.matched, copies.copied_units.as_slice()), (None, &[UnitId::file("a")][..]));
}
