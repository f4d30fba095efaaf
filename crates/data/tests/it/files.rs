//! Local files with rows to write.

use lakebed_data::{DataError, Output, OutputKind, TextTypes, json_row, open_source, source_columns};
use lakebed_transaction::{Column, ColumnType};
use std::path::PathBuf;

fn columns() -> Vec<Column> {
    vec![
        Column::new("id", ColumnType::Long, false),
        Column::new("day", ColumnType::Date, true),
        Column::new("price", ColumnType::Decimal { precision: 6, scale: 2 }, true),
        Column::new("at", ColumnType::Timestamp, true),
        Column::new("s", ColumnType::String, true),
        Column::new("f", ColumnType::Double, true),
        Column::new("raw", ColumnType::Binary, true),
    ]
}

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn rows(path: &std::path::Path) -> Result<Vec<String>, DataError> {
    let mut found = Vec::new();
    for batch in open_source(path.to_str().unwrap(), &columns())? {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            found.push(json_row(&batch, row)?);
        }
    }
    Ok(found)
}

const FULL: &str = r#"{"id":1,"day":"2024-02-29","price":"1.50","at":"2024-01-01T00:00:00.000000Z","s":"a,\"b\"","f":"NaN","raw":"/w=="}"#;
const BARE: &str = r#"{"id":2,"day":null,"price":null,"at":null,"s":null,"f":null,"raw":null}"#;

#[test]
fn csv_has_the_types_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "ID,s,price,day,at,f,raw\n1,\"a,\"\"b\"\"\",1.5,2024-02-29,2024-01-01T01:00:00+01:00,NaN,/w==\n2,,,,,,\n";
    assert_eq!(rows(&file(&folder, "a.csv", text)).unwrap(), [FULL, BARE]);
    let extra = rows(&file(&folder, "b.csv", "id,nope\n1,2\n")).unwrap_err().to_string();
    assert!(extra.contains("b.csv") && extra.contains("column nope") && extra.contains("id, day, price"), "{extra}");
    let bad = rows(&file(&folder, "c.csv", "id,day\n1,2023-02-30\n")).unwrap_err().to_string();
    assert!(bad.contains("c.csv") && bad.contains("day") && bad.contains("2023-02-30"), "{bad}");
    let null = rows(&file(&folder, "d.csv", "id,s\n,x\n")).unwrap_err().to_string();
    assert!(null.contains("column id may not be NULL"), "{null}");
}

#[test]
fn json_lines_have_the_types_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{}\n\n{BARE}\n", FULL.replace("\"id\"", "\"ID\"").replace("\"1.50\"", "1.5"));
    let text = text.replace("{\"id\":2", "{\"ID\":2");
    assert_eq!(rows(&file(&folder, "a.jsonl", &text)).unwrap(), [FULL, BARE]);
    let big = "{\"id\":9007199254740993}\n{\"id\":\"9007199254740995\"}\n";
    let big = rows(&file(&folder, "b.jsonl", big)).unwrap();
    assert!(
        big[0].starts_with(r#"{"id":"9007199254740993""#) && big[1].starts_with(r#"{"id":"9007199254740995""#),
        "{big:?}"
    );
    for (name, text) in [("c.jsonl", "{\"id\":1,\"nope\":2}\n"), ("d.jsonl", "{\"id\":1}\n{\"id\":1,\"nope\":2}\n")] {
        let error = rows(&file(&folder, name, text)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("nope") && error.contains("id, day, price"), "{error}");
    }
    assert!(rows(&file(&folder, "e.jsonl", "[1]\n")).unwrap_err().to_string().contains("e.jsonl"));
    assert!(rows(&file(&folder, "f.jsonl", "")).unwrap().is_empty());
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(&folder, "a.jsonl", &format!("{FULL}\n{BARE}\n"));
    let batch = open_source(source.to_str().unwrap(), &columns()).unwrap().next().unwrap().unwrap();
    for name in ["b.csv", "b.jsonl", "b.parquet"] {
        let path = folder.path().join(name);
        let kind = OutputKind::of_path(name).unwrap();
        let mut output = Output::new(kind, name, std::fs::File::create(&path).unwrap(), &columns()).unwrap();
        output.write(&batch).unwrap();
        output.finish().unwrap();
        assert_eq!(rows(&path).unwrap(), [FULL, BARE], "{name}");
    }
    let found = source_columns(folder.path().join("b.parquet").to_str().unwrap(), TextTypes::Guessed).unwrap();
    assert_eq!(found, columns());
    let names: Vec<String> = source_columns(folder.path().join("b.csv").to_str().unwrap(), TextTypes::Guessed)
        .unwrap()
        .into_iter()
        .map(|c| c.name)
        .collect();
    assert_eq!(names, ["id", "day", "price", "at", "s", "f", "raw"]);
}

#[test]
fn other_files_are_refused() {
    assert!(matches!(open_source("rows.xml", &columns()), Err(DataError::UnknownKind { .. })));
    assert!(matches!(open_source("/nowhere/rows.csv", &columns()), Err(DataError::Io { .. })));
    assert!(matches!(OutputKind::of_path("rows"), Err(DataError::UnknownKind { .. })));
}
