//! Rows of a Lance table: created, appended, updated, read at an old version.
//!
//! `cargo xtask full run -p lakebed-lance-data --example rows`

use arrow_array::record_batch;
use lakebed_lance_data::LanceDataFiles;
use lakebed_table::{CommitOptions, NewTable, OpenOptions, ScanRequest, Table, TableFormat, VersionSpec, rows};
use lakebed_transaction::{Column, ColumnType};
use std::error::Error;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let open = OpenOptions { lance_files: Some(Arc::new(LanceDataFiles)), ..OpenOptions::default() };
    let columns = vec![Column::new("id", ColumnType::Long, true), Column::new("city", ColumnType::String, true)];
    let definition = NewTable::new(TableFormat::Lance, columns);
    let (table, _) = Table::create("memory://rows/trips.lance", &open, &definition, &CommitOptions::default()).await?;
    let mut table = table.ok_or("the table is there already")?;
    let batch = record_batch!(("id", Int64, [1, 2, 3]), ("city", Utf8, ["Lyon", "Oslo", "Lyon"]))?;
    let _ = table.builder().append(rows([batch])).run().await?;
    let before = table.version();
    let _ = table.builder().update("city = 'Bergen'").only("city = 'Oslo'").run().await?;
    for version in [before, table.version()] {
        let snapshot = table.at(VersionSpec::Number(version.get())).await?;
        for batch in table.scan(&snapshot, &ScanRequest::default())?.all().await? {
            for row in 0..batch.num_rows() {
                println!("version {version}: {}", lakebed_data::json_row(&batch, row)?);
            }
        }
    }
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(|error| error.to_string()), Ok(()));
}
