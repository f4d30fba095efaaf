//! Deletions of one row, however each is stored.

use crate::isolation::under;
use crate::support::{
    batch, columns, committed, created, ids, once, opened, place, prepared_delta, sound, source, unique_id,
    written_fragment,
};
use lakebed_delta::action::DeletionVector;
use lakebed_delta::deletion_vector::VectorFile;
use lakebed_lance::deletion;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, NewTable, Prepared, Snapshot, Table, TableFormat};
use lakebed_transaction::{Evidence, Outcome, RowSet, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use TableFormat::{Delta, Lance};

/// Rows that go, stored inside the entry or in a file of their own.
async fn vector(store: &Arc<dyn Store>, rows: &BTreeSet<u64>, inline: bool) -> DeletionVector {
    let mut file = VectorFile::new(unique_id());
    let descriptor = file.push(&rows.iter().copied().collect()).unwrap();
    let (name, bytes) = file.finish();
    if inline {
        // The vector stands behind its length; inside an entry it is text, filled up to whole groups of four bytes.
        let start = usize::try_from(descriptor.offset.unwrap()).unwrap() + 4;
        let mut body = bytes[start..start + usize::try_from(descriptor.size_in_bytes).unwrap()].to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let (storage_type, path_or_inline_dv) = ("i".to_owned(), z85::encode(body));
        return DeletionVector { storage_type, path_or_inline_dv, offset: None, ..descriptor };
    }
    store.put(&name, bytes).await.unwrap();
    descriptor
}

/// The table's only file with other rows deleted.
fn deletes(table: &Table, before: Option<&DeletionVector>, after: &DeletionVector) -> Prepared {
    let path = table.snapshot().files()[0].path.clone();
    let named = |vector: &DeletionVector| format!(r#","deletionVector":{}"#, serde_json::to_string(vector).unwrap());
    let remove = format!(
        r#"{{"remove":{{"path":"{path}","deletionTimestamp":1,"dataChange":true,"extendedFileMetadata":true,"partitionValues":{{}},"size":4{}}}}}"#,
        before.map_or_else(String::new, named)
    );
    let add = format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":4,"modificationTime":1,"dataChange":true,"stats":"{{\"numRecords\":100,\"tightBounds\":false}}"{}}}}}"#,
        named(after)
    );
    prepared_delta(table.version(), unique_id(), "DELETE", &[remove, add])
}

/// Field case 28 on Delta: a deletion inside the entry and one in a file are two deletions from one file, in every pairing. The
/// second is refused at every level; planned again it deletes the rows of both, and none of them comes back.
#[tokio::test]
async fn case_28_delta_deletions_of_one_row_meet_however_they_are_stored() {
    let small: BTreeSet<u64> = [3, 4, 7, 11, 18, 29].into();
    let large: BTreeSet<u64> = (10..60).collect();
    for policy in ["delta-serializable", "delta-write-serializable", "delta-snapshot"] {
        for (first_inline, second_inline) in [(true, false), (false, true), (true, true), (false, false)] {
            let what = format!("{policy}: inline {first_inline}, then inline {second_inline}");
            let store = place(Delta);
            let properties = BTreeMap::from([("delta.enableDeletionVectors".to_owned(), "true".to_owned())]);
            let mut first = created(&store, &NewTable::new(Delta, columns()).with_properties(properties)).await;
            let all: Vec<i64> = (0..100).collect();
            committed(&first.append(source(batch(&all)), &once()).await.unwrap());
            let mut second = opened(&store).await;
            let rows = |inline: bool| if inline { &small } else { &large };
            let mine = vector(&store, rows(first_inline), first_inline).await;
            let theirs = vector(&store, rows(second_inline), second_inline).await;
            let (a, b) = (deletes(&first, None, &mine), deletes(&second, None, &theirs));
            committed(&first.commit_prepared(a, &under(policy)).await.unwrap());
            let report = second.commit_prepared(b, &under(policy)).await.unwrap();
            let Outcome::Conflict(conflict) = &report.outcome else { panic!("{what}: {:?}", report.outcome) };
            assert_eq!(conflict.why.verdict, Verdict::Retryable, "{what}");
            assert_eq!(left(&store).await, without(rows(first_inline)), "{what}");
            let union: BTreeSet<u64> = rows(first_inline).union(rows(second_inline)).copied().collect();
            if union == *rows(first_inline) {
                continue;
            }
            // Planned again, on what is there now.
            second.refresh().await.unwrap();
            let both = vector(&store, &union, second_inline).await;
            let again = deletes(&second, Some(&mine), &both);
            committed(&second.commit_prepared(again, &under(policy)).await.unwrap());
            assert_eq!(left(&store).await, without(&union), "{what}");
        }
    }
}

async fn left(store: &Arc<dyn Store>) -> BTreeSet<u64> {
    ids(store).await.into_iter().map(|id| u64::try_from(id).unwrap()).collect()
}

fn without(rows: &BTreeSet<u64>) -> BTreeSet<u64> {
    (0..100).filter(|row| !rows.contains(row)).collect()
}

/// Field case 28 on Lance: a list of rows and a bitmap of rows are compared as sets of rows, in every pairing. A common row is
/// a conflict that names it; where there is none, both deletions stand.
#[tokio::test]
async fn case_28_lance_deletions_are_compared_as_rows() {
    let small = |from: u64| from..from + 10;
    let large = |from: u64| from..from + 6_000;
    for (first, second) in [(small(0), large(5)), (large(0), small(5)), (small(0), small(5)), (large(0), large(5))] {
        for shift in [0, 10_000] {
            let second = second.start + shift..second.end + shift;
            let what = format!("{first:?}, then {second:?}");
            let store = place(Lance);
            let mut one = created(&store, &NewTable::new(Lance, columns())).await;
            let fragment = written_fragment(&store, 20_000).await;
            committed(&one.append_fragments(vec![fragment], &once()).await.unwrap());
            let mut other = opened(&store).await;
            let rows = |range: &std::ops::Range<u64>| BTreeMap::from([(0, range.clone().collect::<RowSet>())]);
            committed(&one.delete_rows(rows(&first), "first", &once()).await.unwrap());
            let report = other.delete_rows(rows(&second), "second", &under("lance")).await.unwrap();
            let common: Vec<u64> = second.clone().filter(|row| first.contains(row)).collect();
            if common.is_empty() {
                committed(&report);
                assert_eq!(deleted(&store).await, first.clone().chain(second).collect(), "{what}");
                continue;
            }
            let Outcome::Conflict(conflict) = &report.outcome else { panic!("{what}: {:?}", report.outcome) };
            let Some(Evidence::Rows(_, named)) = &conflict.why.evidence else { panic!("{what}: {conflict}") };
            assert_eq!(conflict.why.verdict, Verdict::Retryable, "{what}");
            let named: Vec<u64> = named.iter().collect();
            assert!(!named.is_empty() && common.starts_with(&named), "{what}: {conflict}");
            assert_eq!(deleted(&store).await, first.clone().collect(), "{what}");
            other.refresh().await.unwrap();
            // Where the first took all of the rows, nothing is left to do.
            let report = other.delete_rows(rows(&second), "second", &CommitOptions::default()).await.unwrap();
            let done = matches!(report.outcome, Outcome::Committed { .. } | Outcome::Nothing { .. });
            assert!(done, "{what}: {:?}", report.outcome);
            assert_eq!(deleted(&store).await, first.clone().chain(second).collect(), "{what}");
            sound(&store, Lance).await;
        }
    }
}

async fn deleted(store: &Arc<dyn Store>) -> BTreeSet<u64> {
    let table = opened(store).await;
    let Snapshot::Lance(held) = table.snapshot() else { panic!("a Lance table") };
    let fragment = held.snapshot.fragment(0).unwrap();
    let name = held.snapshot.deletion_object(fragment).unwrap().unwrap();
    let bytes = store.get(name.as_str()).await.unwrap().unwrap();
    let kind = deletion::kind_of(name.as_str(), fragment.deletion_file.as_ref().unwrap()).unwrap();
    deletion::decode(name.as_str(), kind, &bytes, Some(fragment.physical_rows)).unwrap().iter().collect()
}
