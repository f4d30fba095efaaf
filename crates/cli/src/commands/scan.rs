//! `lakebed scan`: rows of one version.

use crate::args::{Global, ScanArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::rows::{self, JsonArray};
use crate::{commands, output, predicate};
use lakebed_data::{Output, OutputKind};
use lakebed_table::{ROW_VERSION, ScanRequest, Scanned};
use lakebed_transaction::{Column, ColumnType};
use serde_json::json;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

pub(crate) async fn run(args: ScanArgs, global: &Global) -> Result<Exit, CliError> {
    predicate::check(args.predicate.as_deref())?;
    let output = args.output.as_deref().map(output_kind).transpose()?;
    let table = commands::open(&args.table, global).await?;
    let snapshot = commands::at(&table, &args.version).await?;
    let mut columns = selected(table.row_columns(&snapshot)?, args.select.as_deref())?;
    let request =
        ScanRequest { predicate: args.predicate, columns: args.select, limit: args.limit, ..ScanRequest::default() };
    let scanned = if args.with_version {
        if columns.iter().any(|column| column.name.eq_ignore_ascii_case(ROW_VERSION)) {
            return Err(CliError::usage(
                format!("the table has a column {ROW_VERSION} of its own"),
                "leave out --with-version, or select other columns",
            ));
        }
        columns.push(Column::new(ROW_VERSION, ColumnType::Long, true));
        table.scan_with_versions(&snapshot, &request).await?
    } else {
        table.scan(&snapshot, &request)?
    };
    match output {
        Some(target) => to_file(scanned, target, &columns, global).await?,
        None if global.json => to_json(scanned).await?,
        None => to_table(scanned, &columns).await?,
    }
    Ok(Exit::Done)
}

/// The file to write, and its form by its ending.
fn output_kind(path: &Path) -> Result<(&Path, OutputKind), CliError> {
    let name = path.display().to_string();
    let kind = OutputKind::of_path(&name).map_err(|_| {
        CliError::usage(format!("{name} has no ending by which to write it"), "name a .csv, .jsonl or .parquet file")
    })?;
    Ok((path, kind))
}

/// The columns that are read, in order.
fn selected(columns: Vec<Column>, select: Option<&[String]>) -> Result<Vec<Column>, CliError> {
    let Some(select) = select else { return Ok(columns) };
    let find = |name: &String| {
        columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)).cloned().ok_or_else(|| {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            CliError::usage(format!("there is no column `{name}`"), format!("the columns are: {}", names.join(", ")))
        })
    };
    select.iter().map(find).collect()
}

async fn to_json(mut scanned: Scanned) -> Result<(), CliError> {
    let mut array = JsonArray::new();
    while let Some(batch) = scanned.next().await? {
        array.push(&batch)?;
    }
    array.finish()
}

async fn to_table(scanned: Scanned, columns: &[Column]) -> Result<(), CliError> {
    let batches = scanned.all().await?;
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let rows: usize = batches.iter().map(arrow_array::RecordBatch::num_rows).sum();
    output::text(&rows::table(&names, &batches)?)?;
    output::line(output::count(rows as u64, "row"))
}

/// Writes beside the file and puts it in its place when it is whole.
async fn to_file(
    scanned: Scanned,
    (path, kind): (&Path, OutputKind),
    columns: &[Column],
    global: &Global,
) -> Result<(), CliError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = Path::new(&unfinished);
    let written = write(scanned, (path, kind), unfinished, columns).await;
    if written.is_err() {
        let _ = std::fs::remove_file(unfinished);
    }
    let rows = written?;
    let name = path.display();
    if global.json {
        output::document(&json!({"output": name.to_string(), "rows": rows}))
    } else {
        output::line(format!("{} in {name}", output::count(rows, "row")))
    }
}

async fn write(
    mut scanned: Scanned,
    (path, kind): (&Path, OutputKind),
    unfinished: &Path,
    columns: &[Column],
) -> Result<u64, CliError> {
    let name = path.display().to_string();
    let file = File::create(unfinished).map_err(|source| CliError::file(unfinished, source))?;
    let mut out = Output::new(kind, &name, BufWriter::new(file), columns)?;
    let mut rows = 0;
    while let Some(batch) = scanned.next().await? {
        rows += batch.num_rows() as u64;
        out.write(&batch)?;
    }
    drop(out.finish()?);
    std::fs::rename(unfinished, path).map_err(|source| CliError::file(path, source))?;
    Ok(rows)
}
