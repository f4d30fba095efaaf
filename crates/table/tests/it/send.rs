//! An engine spawns what the facade gives on a runtime of several threads: every future, and all that it works on, may go from thread
//! to thread. The types are the same for both formats.

use crate::support::{batch, committed, ids, opened, source, three_rows};
use arrow_array::RecordBatch;
use lakebed_lance::proto::table::DataFragment;
use lakebed_storage::Store;
use lakebed_table::{
    Appender, Batches, ChangedRows, Changes, ColumnChange, CommitOptions, CompactRequest, MergeSpec, Metrics, NewTable,
    OpenOptions, Prepared, Report, ScanRequest, Scanned, Scope, Snapshot, Statistics, Table, TableError, TableFormat,
    Transaction, VersionSpec, rows,
};
use lakebed_transaction::{Column, TransactionId};
use std::collections::BTreeMap;
use std::sync::Arc;

fn assert_send<T: Send>(_: T) {}

fn assert_both<T: Send + Sync>() {}

fn no_rows() -> Result<Batches, TableError> {
    Ok(Box::new(std::iter::empty()))
}

/// Whatever is only compiled: what it asserts is a matter of types.
#[test]
fn everything_goes_from_thread_to_thread() {
    handles();
    let _: fn(&Arc<dyn Store>, &OpenOptions, &NewTable, &CommitOptions) = openings;
    let _: fn(&Table, &mut Scanned, &mut Changes) = reads;
    let _: fn(&mut Table, &CommitOptions, &[Column], &ColumnChange) = statements;
    let _: fn(&mut Table, ColumnChange) = builders;
    let _: fn(&mut Table, &mut Appender, &Prepared, &CommitOptions) = commits;
    let _: fn(&mut Table, &CommitOptions) = upkeep;
}

/// A scan, the changes and statements, each as a task of its own on several threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_on_several_threads_share_a_table() {
    let (store, table) = three_rows(TableFormat::Delta).await;
    let writers = (0..4_i64).map(|writer| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut table = opened(&store).await;
            let report = table.append(source(batch(&[10 + writer])), &CommitOptions::default()).await.unwrap();
            committed(&report);
            committed(&table.delete(&format!("id = {}", 10 + writer), &CommitOptions::default()).await.unwrap())
        })
    });
    let writers: Vec<_> = writers.collect();
    let held = table.clone();
    let scan = tokio::spawn(async move {
        let mut scanned = held.scan(held.snapshot(), &ScanRequest::default()).unwrap();
        let mut count = 0;
        while let Some(batch) = scanned.next().await.unwrap() {
            count += batch.num_rows();
        }
        count
    });
    assert_eq!(scan.await.unwrap(), 3);
    for writer in writers {
        assert!(writer.await.unwrap() > 1);
    }
    let changes = tokio::spawn(async move {
        let mut changes = table.changes(VersionSpec::Number(1), VersionSpec::Newest).await.unwrap();
        let mut count = 0;
        while let Some(changed) = changes.next().await.unwrap() {
            count += changed.batch.num_rows();
        }
        count
    });
    assert_eq!(changes.await.unwrap(), 8, "four rows came and went");
    assert_eq!(ids(&store).await, [1, 2, 3]);
}

fn handles() {
    assert_both::<Table>();
    assert_both::<Snapshot>();
    assert_both::<OpenOptions>();
    assert_both::<CommitOptions>();
    assert_both::<NewTable>();
    assert_both::<Prepared>();
    assert_both::<Transaction>();
    assert_both::<Report>();
    assert_both::<ScanRequest>();
    assert_both::<ChangedRows>();
    assert_both::<Statistics>();
    assert_both::<TableError>();
    assert_both::<Appender>();
    assert_both::<Arc<dyn Metrics>>();
    let stream: fn(Scanned, Changes, Batches) = |scanned, changes, batches| {
        assert_send(scanned);
        assert_send(changes);
        assert_send(batches);
    };
    let _ = stream;
}

fn openings(store: &Arc<dyn Store>, options: &OpenOptions, new: &NewTable, commit: &CommitOptions) {
    assert_send(Table::open("memory:", options));
    assert_send(Table::open_store(Arc::clone(store), options));
    assert_send(Table::create("memory:", options, new, commit));
    assert_send(Table::create_store(Arc::clone(store), options, new, commit));
    assert_send(Appender::open("memory:", options));
    assert_send(Appender::open_store(Arc::clone(store), options));
}

fn reads(table: &Table, scanned: &mut Scanned, changes: &mut Changes) {
    let (snapshot, request) = (table.snapshot(), ScanRequest::default());
    assert_send(table.at(VersionSpec::Newest));
    assert_send(table.scan(snapshot, &request).map(Scanned::all));
    assert_send(table.scan_with_versions(snapshot, &request));
    assert_send(scanned.next());
    assert_send(table.changes(VersionSpec::Newest, VersionSpec::Newest));
    assert_send(changes.next());
    assert_send(table.history(None));
    assert_send(table.statistics(None));
    assert_send(table.file_versions(snapshot));
    assert_send(table.verify(|_| ()));
    assert_send(table.outcome_of(&TransactionId::new("id".to_owned())));
    assert_send(table.tags());
    assert_send(table.tag("name"));
    assert_send(table.branches());
    assert_send(table.checkout("name"));
}

fn statements(table: &mut Table, commit: &CommitOptions, columns: &[Column], change: &ColumnChange) {
    assert_send(table.refresh());
    assert_send(table.append(no_rows, commit));
    assert_send(table.append_having_read(Box::new(std::iter::empty()), &[], commit));
    assert_send(table.append_merging(no_rows, columns, commit));
    assert_send(table.overwrite(no_rows, &Scope::Whole, commit));
    assert_send(table.overwrite_replacing(no_rows, columns, commit));
    assert_send(table.delete("TRUE", commit));
    assert_send(table.truncate(None, commit));
    assert_send(table.update(&[], None, commit));
    assert_send(table.merge(no_rows, &MergeSpec::default(), commit));
    assert_send(table.compact(&CompactRequest::default(), commit));
    assert_send(table.restore(VersionSpec::Newest, commit));
    assert_send(table.set_properties(BTreeMap::new(), Vec::new(), commit));
    assert_send(table.change_columns(change, false, commit));
    assert_send(table.append_fragments(Vec::<DataFragment>::new(), commit));
    assert_send(table.delete_rows(BTreeMap::new(), "TRUE", commit));
    assert_send(table.compact_fragments(None, commit));
    assert_send(table.migrate_naming());
}

fn builders(table: &mut Table, change: ColumnChange) {
    assert_send(table.builder().append(rows([] as [RecordBatch; 0])).run());
    assert_send(table.builder().overwrite(rows([] as [RecordBatch; 0])).run());
    assert_send(table.builder().delete("TRUE").run());
    assert_send(table.builder().truncate().run());
    assert_send(table.builder().update("id = 1").run());
    assert_send(table.builder().merge(rows([] as [RecordBatch; 0]), ["id"]).run());
    assert_send(table.builder().compact().run());
    assert_send(table.builder().restore(VersionSpec::Newest).run());
    assert_send(table.builder().set("key", "value").run());
    assert_send(table.builder().change_columns(change).run());
}

fn commits(table: &mut Table, appender: &mut Appender, prepared: &Prepared, commit: &CommitOptions) {
    assert_send(table.check_prepared_files(prepared));
    assert_send(table.commit_detached(prepared));
    assert_send(table.commit_prepared(prepared.clone(), commit));
    assert_send(appender.append(no_rows, commit));
    assert_send(appender.settle());
}

fn upkeep(table: &mut Table, commit: &CommitOptions) {
    assert_send(table.settle());
    assert_send(table.checkpoint());
    assert_send(table.compact_log());
    assert_send(table.clean_log(true));
    assert_send(table.vacuum(None, false, true));
    assert_send(table.vacuum_noted(None, false, commit));
    assert_send(table.create_branch("name", VersionSpec::Newest, commit));
    assert_send(table.create_tag("name", 1));
    assert_send(table.move_tag("name", 1));
    assert_send(table.remove_tag("name"));
    assert_send(table.remove_branch("name"));
}
