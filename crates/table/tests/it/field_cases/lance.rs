//! Cases that only Lance tables have. Those of names stand with the tests of names, those of tags, branches and cleanups with theirs.

use crate::support::{add, committed, once, opened, prepared_add, sound, three_rows, unique_id, written_fragment};
use bytes::Bytes;
use lakebed_lance::index;
use lakebed_lance::proto::table::transaction::{CreateIndex, Operation};
use lakebed_lance::proto::table::{IndexMetadata, Transaction as Message, Uuid};
use lakebed_lance::transaction::{Head, Transaction, append};
use lakebed_naming::Version;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, Prepared, Snapshot, Table, TableError, TableFormat, VersionSpec};
use lakebed_transaction::{Outcome, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

fn head(read: u64) -> Head {
    Head { read_version: Some(Version::new(read)), id: unique_id(), properties: BTreeMap::new() }
}

fn prepared(message: Message) -> Prepared {
    Prepared::LanceTransaction(Transaction::new(message).encoded().clone())
}

/// A newest manifest that cannot be read is an error that names it and what to do; nothing older is taken for the newest, and
/// the version before it opens when it is asked for.
async fn refuses(store: &Arc<dyn Store>, bytes: Vec<u8>, what: &str) {
    let newest = format!("_versions/{:020}.manifest", u64::MAX - 3);
    store.put(&newest, Bytes::from(bytes)).await.unwrap();
    let options = crate::support::isolated();
    let error = match Table::open_store(Arc::clone(store), &options).await {
        Ok(table) => panic!("{what}: opened at version {}", table.version()),
        Err(error) => error,
    };
    assert!(matches!(error, TableError::Format { .. }), "{what}: {error}");
    let text = error.to_string();
    assert!(text.contains(&newest) && text.contains("open an earlier version"), "{what}: {text}");
}

/// Field cases 62 and 63: a manifest that a power cut left empty, short or full of zeros, and hostile positions and lengths.
#[tokio::test]
async fn cases_62_and_63_a_damaged_newest_manifest_is_named_and_nothing_older_taken_for_it() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    // Not of the same process, which would know what version 3 held.
    let mut before = opened(&store).await;
    committed(&add(&mut table, &[4]).await);
    let whole = store.get(&format!("_versions/{:020}.manifest", u64::MAX - 3)).await.unwrap().unwrap().to_vec();
    for length in [0, 1, 8, whole.len() / 2, whole.len() - 1] {
        refuses(&store, whole[..length].to_vec(), "cut").await;
    }
    refuses(&store, vec![0; whole.len()], "zeros").await;
    let mut magic = whole.clone();
    let end = magic.len();
    magic[end - 1] ^= 1;
    refuses(&store, magic, "wrong magic").await;
    for position in [u64::MAX, u64::MAX >> 1, end as u64, 1] {
        let mut hostile = whole.clone();
        hostile[end - 16..end - 8].copy_from_slice(&position.to_le_bytes());
        refuses(&store, hostile, "hostile position").await;
    }
    let at = usize::try_from(u64::from_le_bytes(whole[end - 16..end - 8].try_into().unwrap())).unwrap();
    for length in [u32::MAX, 0, 1] {
        let mut hostile = whole.clone();
        hostile[at..at + 4].copy_from_slice(&length.to_le_bytes());
        refuses(&store, hostile, "hostile length").await;
    }
    // A handle that stood before reads what it names, and commits nothing over what it cannot read.
    assert_eq!(before.at(VersionSpec::Number(2)).await.unwrap().summary().unwrap().num_rows, Some(3));
    let answer = before.commit_prepared(prepared_add(&before.clone(), unique_id(), 2).await, &once()).await;
    assert!(!matches!(&answer, Ok(report) if matches!(report.outcome, Outcome::Committed { .. })), "{answer:?}");
    store.put(&format!("_versions/{:020}.manifest", u64::MAX - 3), whole.into()).await.unwrap();
    sound(&store, TableFormat::Lance).await;
}

/// Paths that a manifest spells are names below the table, never ways out of it.
#[tokio::test]
async fn paths_that_leave_the_table_are_refused_when_they_are_used() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    let mut fragment = written_fragment(&store, 2).await;
    fragment.files[0].path = "../../secret".to_owned();
    committed(&table.append_fragments(vec![fragment], &once()).await.unwrap());
    let Snapshot::Lance(held) = opened(&store).await.snapshot().clone() else { panic!("a Lance table") };
    let name = held.snapshot.data_object(&held.snapshot.fragments()[1].files[0]).unwrap();
    let error = store.get(name.as_str()).await.unwrap_err().to_string();
    assert!(error.contains(".."), "{error}");
    // A transaction file that lies elsewhere: the version opens, and who wants the transaction is told.
    let newest = format!("_versions/{:020}.manifest", u64::MAX - 3);
    let mut file = lakebed_lance::manifest::decode("newest", &store.get(&newest).await.unwrap().unwrap()).unwrap();
    file.manifest.transaction_file = "../../secret".to_owned();
    file.transaction = None;
    store.put(&newest, lakebed_lance::manifest::encode(&mut file).unwrap()).await.unwrap();
    let table = opened(&store).await;
    assert!(table.history(None).await.unwrap_err().to_string().contains(".."));
    // A base path that is the table itself, or that nobody lists, leads round in no circle.
    file.manifest.base_paths.push(lakebed_lance::proto::table::BasePath {
        id: 7,
        name: None,
        is_dataset_root: true,
        path: store.root().to_owned(),
    });
    file.manifest.fragments[0].files[0].base_id = Some(7);
    file.manifest.fragments[1].files[0].base_id = Some(8);
    (file.manifest.reader_feature_flags, file.manifest.writer_feature_flags) = (16, 16);
    store.put(&newest, lakebed_lance::manifest::encode(&mut file).unwrap()).await.unwrap();
    let Snapshot::Lance(held) = opened(&store).await.snapshot().clone() else { panic!("a Lance table") };
    let round = held.snapshot.data_object(&held.snapshot.fragments()[0].files[0]).unwrap();
    assert!(round.as_str().starts_with(store.root()));
    let unlisted = held.snapshot.data_object(&held.snapshot.fragments()[1].files[0]).unwrap_err().to_string();
    assert!(unlisted.contains("base path 8"), "{unlisted}");
}

/// Field case 74: an append that read version 2 follows what landed since; that is no branch, and the history says so.
#[tokio::test]
async fn case_74_an_append_on_an_old_version_follows_the_newest() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    let stale = prepared_add(&table, unique_id(), 2).await;
    committed(&add(&mut table, &[4]).await);
    let report = opened(&store).await.commit_prepared(stale, &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), 4);
    assert_eq!(sound(&store, TableFormat::Lance).await.rows(), 3 + 1 + 2);
    let history = opened(&store).await.history(Some(1)).await.unwrap();
    assert_eq!((history[0].version.get(), history[0].read_version), (4, Some(2)));
    // What cannot follow is refused.
    let Snapshot::Lance(held) = opened(&store).await.at(VersionSpec::Number(2)).await.unwrap() else { panic!() };
    let merge = lakebed_lance::proto::table::transaction::Merge {
        fragments: held.snapshot.fragments().to_vec(),
        schema: held.snapshot.fields().to_vec(),
        ..Default::default()
    };
    let message = Message { operation: Some(Operation::Merge(merge)), ..append(head(2), Vec::new()) };
    let report = opened(&store).await.commit_prepared(prepared(message), &once()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Conflict(_)), "{report:?}");
}

fn entry(id: u8, name: &str, version: u64) -> IndexMetadata {
    let mut entry = IndexMetadata {
        uuid: Some(Uuid { uuid: vec![id; 16].into() }),
        fields: vec![0],
        name: name.to_owned(),
        dataset_version: version,
        ..IndexMetadata::default()
    };
    index::set_coverage(&mut entry, [0].into_iter().collect());
    entry
}

fn replaced(read: u64, new: IndexMetadata, old: Vec<IndexMetadata>) -> Prepared {
    let create = CreateIndex { new_indices: vec![new], removed_indices: old };
    prepared(Message { operation: Some(Operation::CreateIndex(create)), ..append(head(read), Vec::new()) })
}

/// Field case 116: two rebuild an index of one name; the second is told, and one entry is there.
#[tokio::test]
async fn case_116_of_two_that_rebuild_one_index_the_second_is_told() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    committed(&table.commit_prepared(replaced(2, entry(1, "on_id", 2), Vec::new()), &once()).await.unwrap());
    let mut other = opened(&store).await;
    let rebuilt = |id| replaced(3, entry(id, "on_id", 3), vec![entry(1, "on_id", 2)]);
    committed(&table.commit_prepared(rebuilt(2), &once()).await.unwrap());
    let report = other.commit_prepared(rebuilt(3), &once()).await.unwrap();
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("{report:?}") };
    assert_eq!(conflict.why.verdict, Verdict::Retryable);
    let indices = opened(&store).await.snapshot().indices();
    assert_eq!(
        indices.iter().map(|one| one.uuid.as_str()).collect::<Vec<_>>(),
        ["02020202-0202-0202-0202-020202020202"]
    );
}

/// Field case 51: a version is looked for under both names before it is called missing, and then both are named.
#[tokio::test]
async fn case_51_a_version_is_looked_for_under_both_names() {
    let (store, table) = three_rows(TableFormat::Lance).await;
    let (new, old) = (format!("_versions/{:020}.manifest", u64::MAX - 1), "_versions/1.manifest");
    store.copy(&new, old).await.unwrap();
    store.delete(&new).await.unwrap();
    assert_eq!(table.at(VersionSpec::Number(1)).await.unwrap().version().get(), 1);
    store.delete(old).await.unwrap();
    let error = table.at(VersionSpec::Number(1)).await.unwrap_err().to_string();
    assert!(error.contains(&new) && error.contains(old), "{error}");
}

/// Rows of appends that follow others get ids that nobody has (stable row ids).
#[tokio::test]
async fn row_ids_are_given_anew_when_an_append_follows_another() {
    let (store, _) = three_rows(TableFormat::Lance).await;
    // The table says that rows keep their ids.
    let name = format!("_versions/{:020}.manifest", u64::MAX - 2);
    let mut file = lakebed_lance::manifest::decode("2", &store.get(&name).await.unwrap().unwrap()).unwrap();
    (file.manifest.reader_feature_flags, file.manifest.writer_feature_flags) = (2, 2);
    let ids = lakebed_lance::row_ids::consecutive(0, 3).unwrap();
    use lakebed_lance::proto::table::data_fragment::RowIdSequence::InlineRowIds;
    file.manifest.fragments[0].row_id_sequence = Some(InlineRowIds(ids));
    file.manifest.next_row_id = 3;
    store.put(&name, lakebed_lance::manifest::encode(&mut file).unwrap()).await.unwrap();
    let (mut first, mut second) = (opened(&store).await, opened(&store).await);
    let late = prepared_add(&second, unique_id(), 4).await;
    committed(&add(&mut first, &[4, 5]).await);
    committed(&second.commit_prepared(late, &once()).await.unwrap());
    let Snapshot::Lance(held) = opened(&store).await.snapshot().clone() else { panic!("a Lance table") };
    let given: Vec<Vec<u64>> = held
        .snapshot
        .fragments()
        .iter()
        .map(|fragment| {
            let Some(InlineRowIds(bytes)) = &fragment.row_id_sequence else { panic!("row ids") };
            lakebed_lance::row_ids::RowIds::decode(bytes).unwrap().iter().collect()
        })
        .collect();
    assert_eq!(given, [vec![0, 1, 2], vec![3, 4], vec![5, 6, 7, 8]]);
    assert_eq!(held.snapshot.next_row_id(), 9);
    let created = held.snapshot.fragments()[2].created_at_version_sequence.clone();
    let one = lakebed_lance::row_ids::one_version(4, 4);
    use lakebed_lance::proto::table::data_fragment::CreatedAtVersionSequence::InlineCreatedAtVersions;
    assert_eq!(created, Some(InlineCreatedAtVersions(one)));
}
