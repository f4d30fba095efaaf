//! Data files that are missing, cut short or scribbled over: a clear error each, never a panic and never other rows in silence.

use crate::support::{by_id, committed, open, options, plainly, source};
use lakebed_table::{NewTable, ScanRequest, Table, TableFormat};
use serde_json::json;
use std::path::{Path, PathBuf};

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_data_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let file = table_of_one_file(&path).await;
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let whole = std::fs::read(&file).unwrap();
    let mut cases: Vec<Vec<u8>> = vec![Vec::new(), b"LANC".to_vec(), vec![0; whole.len()], vec![0xff; whole.len()]];
    cases.extend([1, 8, 40, whole.len() / 2].map(|cut| whole[..whole.len() - cut].to_vec()));
    for bytes in cases {
        std::fs::write(&file, &bytes).unwrap();
        let table = open(&path).await;
        let error = match table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await {
            Ok(rows) => panic!("{} bytes were read as {rows:?}", bytes.len()),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(&name), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    let table = open(&path).await;
    let error = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap_err().to_string();
    assert!(error.contains(&name), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_scribble_makes_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let file = table_of_one_file(&path).await;
    let whole = std::fs::read(&file).unwrap();
    // Every eleventh byte, and all of the footer, which says where everything is.
    let footer = whole.len() - 40..whole.len();
    for at in (0..whole.len()).step_by(11).chain(footer) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        std::fs::write(&file, &bytes).unwrap();
        let table = open(&path).await;
        // Values have no checksum, so other rows may come; a panic, or a hang, may not.
        let _ = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_reader_everything_but_rows_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    table_of_one_file(&path).await;
    let lean = lakebed_table::OpenOptions { lance_files: None, ..options() };
    let table = Table::open(path.to_str().unwrap(), &lean).await.unwrap();
    assert_eq!(table.snapshot().summary().unwrap().num_rows, Some(50));
    let error = table.scan(table.snapshot(), &ScanRequest::default()).unwrap_err().to_string();
    assert!(error.contains("this build has no Lance rows") && error.contains("cargo xtask install"), "{error}");
}

/// A table with one data file, and where that is.
async fn table_of_one_file(path: &Path) -> PathBuf {
    let columns = lakebed_sql::parse_columns("id long not null, s string, l array<int>").unwrap();
    let new = NewTable::new(TableFormat::Lance, columns);
    let created = Table::create(path.to_str().unwrap(), &options(), &new, &plainly()).await.unwrap();
    let mut table = created.0.unwrap();
    let rows: Vec<_> = (0..50).map(|id| json!({"id": id, "s": format!("s{id}"), "l": [id, null]})).collect();
    committed(&table.append(source(&table, &rows), &plainly()).await.unwrap());
    assert_eq!(crate::support::rows(path).await, by_id(&rows));
    let mut files = std::fs::read_dir(path.join("data")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    file
}
