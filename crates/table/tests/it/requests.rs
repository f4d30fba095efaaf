//! Requests are the currency: what each call asks of the store, counted.

use crate::support::{
    BOTH, add, batch, columns, committed, created, ids, isolated, opened, place, prepared_add, set, sound, source,
    three_rows, unique_id,
};
use arrow_array::RecordBatch;
use lakebed_naming::Version;
use lakebed_storage::testing::{Counting, Operation, Request, Requests};
use lakebed_storage::{PROBE_FOLDER, Probed, Store};
use lakebed_table::{CommitOptions, MergeSpec, NewTable, OpenOptions, ScanRequest, Table, TableFormat, VersionSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use Operation::{Create, Get, List, Put};

fn counting(store: &Arc<dyn Store>) -> (Arc<Counting>, Arc<dyn Store>) {
    let counting = Arc::new(Counting::new(Arc::clone(store)));
    (Arc::clone(&counting), counting)
}

async fn open_as(store: &Arc<dyn Store>, format: Option<TableFormat>) -> Table {
    let options = OpenOptions { format, ..isolated() };
    Table::open_store(Arc::clone(store), &options).await.unwrap()
}

/// Of each operation how many.
fn tally(requests: &Requests) -> Vec<(Operation, usize)> {
    let mut tally = BTreeMap::new();
    for request in requests.all() {
        *tally.entry(request.operation).or_insert(0) += 1;
    }
    tally.into_iter().collect()
}

fn reads_only(requests: &Requests) {
    let writes: Vec<&Request> = requests
        .all()
        .iter()
        .filter(|request| match request.operation {
            Operation::Get | Operation::GetRange | Operation::Head | Operation::List => false,
            Operation::Put | Operation::Create | Operation::Copy | Operation::Delete | Operation::DeleteAll => true,
        })
        .collect();
    assert!(writes.is_empty(), "reading wrote: {writes:?}");
}

/// An uncontended commit right after an open or another commit lists nothing and reads nothing.
#[tokio::test]
async fn a_warm_commit_is_one_create_and_lance_adds_its_side_file() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let (counted, store) = counting(&store);
        let mut table = opened(&store).await;
        let expected = match format {
            TableFormat::Delta => vec![(Create, 1)],
            TableFormat::Lance => vec![(Put, 1), (Create, 1)],
        };
        for _ in 0..2 {
            let prepared = prepared_add(&table, unique_id(), 3).await;
            counted.reset();
            let version = table.version().get();
            let report = table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap();
            assert_eq!(committed(&report), version + 1);
            assert_eq!(tally(&counted.take()), expected, "{format}: append");
        }
        let version = table.version().get();
        let report = set(&mut table, "owner", "us", &CommitOptions::default()).await;
        assert_eq!(committed(&report), version + 1);
        assert_eq!(tally(&counted.take()), expected, "{format}: property");
    }
}

/// A snapshot that is no longer trusted costs one listing more.
#[tokio::test]
async fn a_stale_handle_lists_before_it_publishes() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let (counted, store) = counting(&store);
        let mut table = opened(&store).await;
        let prepared = prepared_add(&table, unique_id(), 3).await;
        counted.reset();
        let wary = CommitOptions { trust: Duration::from_millis(1), ..CommitOptions::default() };
        tokio::time::sleep(Duration::from_millis(5)).await;
        // The listing itself is then trusted for no longer either; in memory it is answered within that time.
        let report = table.commit_prepared(prepared, &wary).await.unwrap();
        committed(&report);
        let requests = counted.take();
        assert!(requests.count(List) >= 1, "{format}: {requests:?}");
        assert_eq!(requests.all().first().map(|request| request.operation), Some(List), "{format}");
        assert_eq!(requests.count(Create), 1, "{format}");
    }
}

/// One rival between us and the newest version: the create that fails, the read that says whose it is, one listing, the
/// create that succeeds. Lance writes its side file once: the message does not change, and so its name does not.
#[tokio::test]
async fn a_lost_race_costs_one_read_one_listing_and_one_create_more() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let (counted, ours) = counting(&store);
        let mut table = opened(&ours).await;
        let prepared = prepared_add(&table, unique_id(), 3).await;
        committed(&add(&mut opened(&store).await, &[4]).await);
        counted.reset();
        let report = table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap();
        assert_eq!(committed(&report), sound(&store, format).await.newest());
        let expected = match format {
            TableFormat::Delta => vec![(Get, 1), (List, 1), (Create, 2)],
            TableFormat::Lance => vec![(Get, 1), (List, 1), (Put, 1), (Create, 2)],
        };
        assert_eq!(tally(&counted.take()), expected, "{format}");
    }
}

/// Handles that share what they know take turns, and none of them meets the others' entries in the store.
#[tokio::test]
async fn neighbours_in_one_process_spare_each_other_the_lost_race() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let (counted, store) = counting(&store);
        let options = OpenOptions::default();
        let mut first = Table::open_store(Arc::clone(&store), &options).await.unwrap();
        let mut second = Table::open_store(Arc::clone(&store), &options).await.unwrap();
        let prepared = prepared_add(&second, unique_id(), 3).await;
        committed(&add(&mut first, &[4]).await);
        counted.reset();
        let report = second.commit_prepared(prepared, &CommitOptions::default()).await.unwrap();
        assert_eq!(committed(&report), sound(&store, format).await.newest());
        let requests = counted.take();
        assert_eq!(requests.count(Create), 1, "{format}: {requests:?}");
        let before_create = requests.all().iter().take_while(|request| request.operation != Create);
        assert_eq!(before_create.filter(|request| request.operation != Put).count(), 0, "{format}");
    }
}

#[tokio::test]
async fn opening_a_lance_table_is_one_listing_and_one_read() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    for id in 0..100 {
        committed(&add(&mut table, &[id]).await);
    }
    let (counted, store) = counting(&store);
    for format in [None, Some(TableFormat::Lance)] {
        let opened = open_as(&store, format).await;
        assert_eq!(opened.version(), table.version());
        assert_eq!(tally(&counted.take()), vec![(Get, 1), (List, 1)], "{format:?}");
    }
}

/// The name of the folder only decides which format is looked for first.
#[tokio::test]
async fn a_lance_table_under_another_name_is_found_after_the_look_for_delta() {
    let store = place(TableFormat::Delta);
    created(&store, &NewTable::new(TableFormat::Lance, columns())).await;
    let (counted, store) = counting(&store);
    assert_eq!(open_as(&store, Some(TableFormat::Lance)).await.format(), TableFormat::Lance);
    assert_eq!(tally(&counted.take()), vec![(Get, 1), (List, 1)]);
    assert_eq!(open_as(&store, None).await.format(), TableFormat::Lance);
    assert_eq!(tally(&counted.take()), vec![(Get, 2), (List, 2)]);
}

/// The hint, the listing, each needed object once; the format need not be said.
#[tokio::test]
async fn opening_a_delta_table_reads_the_hint_the_listing_and_each_needed_object_once() {
    let (store, mut table) = three_rows(TableFormat::Delta).await;
    for id in 4..10 {
        committed(&add(&mut table, &[id]).await);
    }
    let (counted, counted_store) = counting(&store);
    for format in [None, Some(TableFormat::Delta)] {
        let opened = open_as(&counted_store, format).await;
        assert_eq!(opened.version(), Version::new(7));
        let requests = counted.take();
        assert_eq!(requests.count(List), 1, "{requests:?}");
        let mut expected = vec!["_delta_log/_last_checkpoint".to_owned()];
        expected.extend((0..=7).map(|version| format!("_delta_log/{version:020}.json")));
        expected.sort();
        assert_eq!(sorted(&requests), expected);
    }
    // Versions 8 to 13: a checkpoint is written at 10.
    for id in 10..16 {
        committed(&add(&mut table, &[id]).await);
    }
    assert_eq!(table.settle().await, Vec::<String>::new());
    for format in [None, Some(TableFormat::Delta)] {
        let opened = open_as(&counted_store, format).await;
        assert_eq!(opened.version(), Version::new(13));
        let requests = counted.take();
        assert_eq!(requests.count(List), 1, "{requests:?}");
        let mut expected = vec!["_delta_log/_last_checkpoint".to_owned()];
        expected.push(format!("_delta_log/{:020}.checkpoint.parquet", 10));
        expected.extend((11..=13).map(|version| format!("_delta_log/{version:020}.json")));
        expected.sort();
        assert_eq!(sorted(&requests), expected);
        assert_eq!(requests.total(), 1 + expected.len());
    }
}

fn sorted(requests: &Requests) -> Vec<String> {
    let mut names: Vec<_> = requests.names(Get).into_iter().map(str::to_owned).collect();
    names.sort();
    names
}

/// A log of more names than a page: ⌈names / 1,000⌉ listings.
#[tokio::test]
async fn a_long_delta_log_is_listed_page_by_page() {
    let (store, mut table) = three_rows(TableFormat::Delta).await;
    committed(&set(&mut table, "delta.checkpointInterval", "100000", &CommitOptions::default()).await);
    let entry = r#"{"commitInfo":{"operation":"WRITE","txnId":"x"}}"#;
    for version in 3..2_100_u64 {
        store.put(&format!("_delta_log/{version:020}.json"), entry.into()).await.unwrap();
    }
    let (counted, store) = counting(&store);
    let table = open_as(&store, None).await;
    assert_eq!(table.version(), Version::new(2_099));
    let requests = counted.take();
    assert_eq!((requests.count(List), requests.count(Get)), (3, 1 + 2_100));
}

#[tokio::test]
async fn refreshing_an_unchanged_table_is_one_request() {
    for format in BOTH {
        let (store, mut writer) = three_rows(format).await;
        let (counted, store) = counting(&store);
        let mut table = opened(&store).await;
        counted.reset();
        assert!(!table.refresh().await.unwrap());
        assert_eq!(tally(&counted.take()), vec![(List, 1)], "{format}");
        committed(&add(&mut writer, &[4]).await);
        assert!(table.refresh().await.unwrap());
        assert_eq!(tally(&counted.take()), vec![(Get, 1), (List, 1)], "{format}: one new version");
        assert_eq!(table.version(), writer.version());
    }
}

/// Reading works with credentials that may not write.
#[tokio::test]
async fn reading_writes_nothing() {
    for format in BOTH {
        let (store, mut writer) = three_rows(format).await;
        for id in 4..16 {
            committed(&add(&mut writer, &[id]).await);
        }
        let (counted, store) = counting(&store);
        let mut table = opened(&store).await;
        let now_ms = table.snapshot().summary().unwrap().timestamp_ms.unwrap();
        table.refresh().await.unwrap();
        for spec in [VersionSpec::Newest, VersionSpec::Number(2), VersionSpec::UpToMs(now_ms + 60_000)] {
            table.at(spec).await.unwrap();
        }
        assert_eq!(table.history(None).await.unwrap().len(), 14);
        table.outcome_of(&lakebed_transaction::TransactionId::new("nobody")).await.unwrap();
        if format == TableFormat::Delta {
            let scan = table.scan(table.snapshot(), &ScanRequest::default()).unwrap();
            assert_eq!(scan.all().await.unwrap().iter().map(|batch| batch.num_rows()).sum::<usize>(), 15);
        }
        assert!(table.settle().await.is_empty());
        let requests = counted.take();
        assert!(requests.total() > 10);
        reads_only(&requests);
    }
}

/// Row statements write data files before the entry; the entry is still one create.
#[tokio::test]
async fn an_append_of_rows_is_one_put_and_one_create() {
    let (store, _) = three_rows(TableFormat::Delta).await;
    let (counted, store) = counting(&store);
    let mut table = opened(&store).await;
    counted.reset();
    let report = table.append(source(crate::support::batch(&[4, 5])), &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), 2);
    assert_eq!(tally(&counted.take()), vec![(Put, 1), (Create, 1)]);
}

/// Case 126: a handle looks for newer versions when it is told to, once each time; reads of what it holds never do, however many.
#[tokio::test]
async fn case_126_reads_look_for_no_version() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let (counted, store) = counting(&store);
        let mut table = opened(&store).await;
        counted.reset();
        for _ in 0..3 {
            assert!(!table.refresh().await.unwrap());
            assert_eq!(counted.take().total(), 1, "{format}: one look for each refresh");
            for _ in 0..100 {
                assert_eq!(table.snapshot().summary().unwrap().num_rows, Some(3));
                let held = table.at(VersionSpec::Number(table.version().get())).await.unwrap();
                assert_eq!(held.version(), table.version());
                if format == TableFormat::Delta {
                    let rows = table.scan(&held, &ScanRequest::default()).unwrap().all().await.unwrap();
                    assert_eq!(rows.iter().map(|rows| rows.num_rows()).sum::<usize>(), 3);
                }
            }
            let asked = counted.take();
            let of_log =
                asked.all().iter().filter(|request| request.operation == List || request.name.starts_with('_'));
            assert_eq!(of_log.count(), 0, "{format}: {asked:?}");
        }
    }
}

/// A store that is tried out costs its probe once, before the first write; reading asks for nothing more, and a warm commit costs what
/// it does elsewhere. No handle on the table tries again.
#[tokio::test]
async fn a_store_is_tried_out_before_the_first_write_only() {
    for format in BOTH {
        let (place, _) = three_rows(format).await;
        let (counted, inner) = counting(&place);
        let store: Arc<dyn Store> = Arc::new(Probed::new(inner));
        let mut table = opened(&store).await;
        table.refresh().await.unwrap();
        reads_only(&counted.take());
        for commit in 0..3 {
            let prepared = prepared_add(&table, unique_id(), 3).await;
            committed(&table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap());
            let requests = counted.take();
            let (probes, others): (Vec<_>, Vec<_>) =
                requests.all().iter().partition(|request| request.name.starts_with(PROBE_FOLDER));
            let expected: &[_] = if commit == 0 { &[Create; 10] } else { &[] };
            let creates: Vec<_> = probes.iter().map(|probe| probe.operation).filter(|one| *one == Create).collect();
            assert_eq!(creates, expected, "{format} {probes:?}");
            assert_eq!(probes.len(), if commit == 0 { 14 } else { 0 }, "{format} {probes:?}");
            let writes: Vec<_> = others.iter().map(|request| request.operation).collect();
            // The data file that `prepared_add` puts, and the commit.
            let warm = match format {
                TableFormat::Delta => vec![Put, Create],
                TableFormat::Lance => vec![Put, Put, Create],
            };
            assert_eq!(writes, warm, "{format} {others:?}");
            table = if commit == 0 { opened(&store).await } else { table };
            counted.reset();
        }
    }
}

/// Statements and scans open only the data files whose statistics leave room for a row that they look for.
#[tokio::test]
async fn statements_open_no_file_that_statistics_rule_out() {
    let (store, _) = three_rows(TableFormat::Delta).await;
    let (counted, store) = counting(&store);
    let mut table = opened(&store).await;
    for ids in [[10, 19], [20, 29], [30, 39]] {
        assert!(committed(&add(&mut table, &ids).await) > 0);
    }
    let opened_files = |counted: &Counting| {
        let requests = counted.take();
        let reads = requests.names(Operation::Get).into_iter().chain(requests.names(Operation::GetRange));
        reads.filter(|name| name.ends_with(".parquet")).map(str::to_owned).collect::<BTreeSet<_>>().len()
    };
    let options = CommitOptions::default();
    counted.reset();
    let request = |predicate: &str| ScanRequest { predicate: Some(predicate.to_owned()), ..ScanRequest::default() };
    let scan = table.scan(table.snapshot(), &request("id >= 19 AND id < 30 AND p IS NULL")).unwrap();
    assert_eq!(scan.all().await.unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    assert_eq!(opened_files(&counted), 2, "of a scan");
    committed(&table.update(&["p = 'seen'".to_owned()], Some("id = 29"), &options).await.unwrap());
    assert_eq!(opened_files(&counted), 1, "of an update");
    committed(&table.delete("id IN (1, 2, 12)", &options).await.unwrap());
    assert_eq!(opened_files(&counted), 2, "of a delete: 12 lies within the bounds of its file");
    // More keys than a merge names in what it read.
    let keys: Vec<i64> = (31..=300).collect();
    let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
    committed(&table.merge(source(batch(&keys)), &spec, &options).await.unwrap());
    assert_eq!(opened_files(&counted), 1, "of a merge");
    let mut expected: Vec<i64> = vec![3, 10, 19, 20, 29, 30];
    expected.extend(&keys);
    assert_eq!(ids(&store).await, expected);
}
