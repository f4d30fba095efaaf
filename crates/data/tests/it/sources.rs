//! Sources of rows: nothing is lost or altered on the way in.

use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, RecordBatch, StringArray, TimestampMicrosecondArray, cast::AsArray};
use lakebed_data::{DataError, Output, OutputKind, TextTypes, json_row, open_source, source_columns};
use lakebed_transaction::{Column, ColumnType};
use std::sync::Arc;

fn one(name: &str, column_type: ColumnType) -> Vec<Column> {
    vec![Column::new(name, column_type, true)]
}

const fn decimal(precision: u8, scale: u8) -> ColumnType {
    ColumnType::Decimal { precision, scale }
}

/// The rows of a file with this name and content, as JSON.
fn read(name: &str, content: impl AsRef<[u8]>, columns: &[Column]) -> Result<Vec<String>, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let mut found = Vec::new();
    for batch in open_source(path.to_str().unwrap(), columns)? {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            found.push(json_row(&batch, row)?);
        }
    }
    Ok(found)
}

fn refused(name: &str, content: impl AsRef<[u8]>, columns: &[Column]) -> String {
    read(name, content, columns).unwrap_err().to_string()
}

#[test]
fn escapes_of_every_plane_are_the_characters_they_mean() {
    for plane in 0_u32..=16 {
        for low in [0x0000_u32, 0x0bb7, 0xfffd] {
            let Some(character) = char::from_u32(plane * 0x10000 + low).filter(|c| *c > '\u{ff}') else { continue };
            let mut units = [0; 2];
            let escaped: String =
                character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let rows = read("a.jsonl", format!("{{\"s\":\"<{escaped}>\"}}\n"), &one("s", ColumnType::String)).unwrap();
            assert_eq!(rows, [format!("{{\"s\":\"<{character}>\"}}")], "{escaped}");
        }
    }
    let key = one("\u{20bb7}", ColumnType::Long);
    assert_eq!(read("a.jsonl", r#"{"\ud842\udfb7":1}"#, &key).unwrap(), ["{\"\u{20bb7}\":1}"]);
    let lone = refused("a.jsonl", "{\"s\":\"ok\"}\n{\"s\":\"\\ud842\"}\n", &one("s", ColumnType::String));
    assert!(lone.contains("column s, row 2"), "{lone}");
}

#[test]
fn a_value_that_would_change_is_refused_by_column_and_row() {
    for (column_type, text) in [
        (ColumnType::Byte, "1.9"),
        (ColumnType::Short, "-0.5"),
        (ColumnType::Integer, "1.0"),
        (ColumnType::Long, "1e2"),
        (ColumnType::Byte, "128"),
        (ColumnType::Long, "9223372036854775808"),
        (decimal(6, 2), "1.005"),
        (decimal(6, 2), "0.0000000000000000000000000000000000000000000000001"),
        (decimal(6, 2), "12345"),
        (ColumnType::Float, "1e39"),
        (ColumnType::Float, "-1e39"),
        (ColumnType::Double, "1e400"),
    ] {
        let columns = one("c", column_type.clone());
        for (name, content) in [
            ("a.jsonl", format!("{{}}\n\n{{\"c\":{text}}}\n")),
            ("b.jsonl", format!("{{}}\n{{\"c\":\"{text}\"}}\n")),
            ("c.csv", format!("c\n\n{text}\n")),
        ] {
            let told = refused(name, &content, &columns);
            assert!(told.contains(name) && told.contains("column c, row 2 ") && told.contains(text), "{told}");
        }
        let list = ColumnType::Array(Box::new(Column::new("element", column_type.clone(), true)));
        let told = refused("a.jsonl", format!("{{\"c\":[null,{text}]}}\n"), &one("c", list));
        assert!(told.contains("column c.element, row 1 "), "{told}");
        let within = ColumnType::Struct(one("x", column_type.clone()));
        let told = refused("a.jsonl", format!("{{\"c\":{{\"x\":{text}}}}}\n"), &one("c", within));
        assert!(told.contains("column c.x, row 1 "), "{told}");
        let map = ColumnType::Map(
            Box::new(Column::new("key", ColumnType::String, false)),
            Box::new(Column::new("value", column_type, true)),
        );
        let told = refused("a.jsonl", format!("{{\"c\":{{\"x\":{text}}}}}\n"), &one("c", map));
        assert!(told.contains("column c.value, row 1 "), "{told}");
    }
}

#[test]
fn a_time_that_would_change_is_refused() {
    for (column_type, text, expected) in [
        (ColumnType::Timestamp, "2024-01-01T00:00:00.1234567Z", None),
        (ColumnType::Timestamp, "2024-01-01T00:00:00.123456000Z", Some("2024-01-01T00:00:00.123456Z")),
        (ColumnType::Timestamp, "2024-01-01T01:00:00+01:00", Some("2024-01-01T00:00:00.000000Z")),
        (ColumnType::TimestampNtz, "2024-01-01T00:00:00.000000001", None),
        (ColumnType::TimestampNtz, "2024-01-01T00:00:00Z", None),
        (ColumnType::TimestampNtz, "2024-01-01T00:00:00+01:00", None),
        (ColumnType::TimestampNtz, "2024-01-01 00:00:00.5", Some("2024-01-01T00:00:00.500000")),
        (ColumnType::Date, "2024-01-01T10:00:00", None),
        (ColumnType::Date, "2024-01-01T00:00:00+01:00", None),
        (ColumnType::Date, "2024-01-01T00:00:00", Some("2024-01-01")),
    ] {
        let columns = one("c", column_type);
        for (name, content) in [("a.jsonl", format!("{{\"c\":\"{text}\"}}")), ("a.csv", format!("c\n{text}\n"))] {
            let found = read(name, content, &columns);
            match expected {
                Some(expected) => assert_eq!(found.unwrap(), [format!("{{\"c\":\"{expected}\"}}")], "{name} {text}"),
                None => assert!(found.unwrap_err().to_string().contains("column c, row 1 "), "{name} {text}"),
            }
        }
    }
    assert!(refused("a.jsonl", r#"{"c":2024}"#, &one("c", ColumnType::Date)).contains("column c, row 1 "));
    assert!(refused("a.jsonl", r#"{"c":1}"#, &one("c", ColumnType::Boolean)).contains("column c, row 1 "));
}

#[test]
fn what_loses_nothing_is_taken() {
    for (column_type, text, expected) in [
        (decimal(6, 2), "1.500", "\"1.50\""),
        (decimal(6, 2), "100e-2", "\"1.00\""),
        (decimal(6, 2), "0.0000", "\"0.00\""),
        (ColumnType::Double, "\"Infinity\"", "\"Infinity\""),
        (ColumnType::Float, "\"-Infinity\"", "\"-Infinity\""),
        (ColumnType::Float, "\"NaN\"", "\"NaN\""),
        (ColumnType::Float, "0.1", "0.1"),
        (ColumnType::String, "1.10", "\"1.10\""),
        (ColumnType::String, "true", "\"true\""),
        (ColumnType::Boolean, "true", "true"),
    ] {
        let columns = one("c", column_type);
        let expected = [format!("{{\"c\":{expected}}}")];
        assert_eq!(read("a.jsonl", format!("{{\"c\":{text}}}"), &columns).unwrap(), expected, "{text}");
        assert_eq!(read("a.csv", format!("c\n{}\n", text.trim_matches('"')), &columns).unwrap(), expected, "{text}");
    }
}

#[test]
fn names_that_stand_there_twice_are_refused() {
    let columns = one("s", ColumnType::String);
    for (name, content) in [
        ("a.csv", "s,s\n1,2\n"),
        ("a.csv", "s,S\n1,2\n"),
        ("a.jsonl", "{\"s\":\"1\",\"s\":\"2\"}\n"),
        ("a.jsonl", "{\"s\":\"1\",\"S\":\"2\"}\n"),
    ] {
        let told = refused(name, content, &columns);
        assert!(told.contains("twice") && told.contains("column s"), "{told}");
    }
    let folder = tempfile::tempdir().unwrap();
    let array = || Arc::new(StringArray::from(vec!["x"])) as Arc<dyn Array>;
    let batch = RecordBatch::try_from_iter([("s", array()), ("S", array())]).unwrap();
    let path = folder.path().join("a.parquet");
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let lines = folder.path().join("a.jsonl");
    std::fs::write(&lines, "{\"s\":1}\n{\"S\":2}\n").unwrap();
    assert!(matches!(
        source_columns(lines.to_str().unwrap(), TextTypes::Guessed).unwrap_err(),
        DataError::InFile { .. }
    ));
    let path = path.to_str().unwrap();
    assert!(matches!(open_source(path, &columns).unwrap_err().to_string(), told if told.contains("columns s and S")));
    assert!(
        matches!(source_columns(path, TextTypes::Guessed).unwrap_err().to_string(), told if told.contains("columns s and S"))
    );
}

#[test]
fn csv_tells_the_empty_text_from_null() {
    let columns = [Column::new("s", ColumnType::String, true), Column::new("n", ColumnType::Long, true)];
    let rows = read("a.csv", "\u{feff}\"s\",n\r\n\"\",1\r\n,2\r\n\r\n\"a\"\"b\r\nc\",\r\n", &columns).unwrap();
    assert_eq!(rows, [r#"{"s":"","n":1}"#, r#"{"s":null,"n":2}"#, r#"{"s":"a\"b\r\nc","n":null}"#]);
    let rows = read("a.csv", "n,s\r1,x\r2,y", &columns).unwrap();
    assert_eq!(rows, [r#"{"s":"x","n":1}"#, r#"{"s":"y","n":2}"#]);
    let rows = read("a.csv", "s\n\n\"\"\nx\n\n", &one("s", ColumnType::String)).unwrap();
    assert_eq!(rows, [r#"{"s":null}"#, r#"{"s":""}"#, r#"{"s":"x"}"#, r#"{"s":null}"#]);
}

#[test]
fn csv_that_is_not_whole_is_refused() {
    let columns = [Column::new("s", ColumnType::String, true), Column::new("n", ColumnType::Long, true)];
    for (content, expected) in [
        ("s,n\n\"a\",1\n\"b\nc,2\nd,3\n", "begins at line 3"),
        ("s,n\n\"a\"b,1\n", "line 2"),
        ("s,n\na\n", "row 1"),
        ("s,n\na,1,2\n", "row 1"),
        ("s,n\n\"\",\"\"\n", "column n, row 1"),
        ("s,\n", "without a name"),
        ("", "header"),
    ] {
        let told = refused("a.csv", content, &columns);
        assert!(told.contains("a.csv") && told.contains(expected), "{content:?}: {told}");
    }
    let bytes = refused("a.csv", b"s,n\nok,1\n\xff,2\n", &columns);
    assert!(bytes.contains("row 2"), "{bytes}");
}

#[test]
fn every_form_reads_what_it_wrote() {
    let text = ColumnType::String;
    let list = ColumnType::Array(Box::new(Column::new("element", ColumnType::Float, true)));
    let map = ColumnType::Map(
        Box::new(Column::new("key", ColumnType::Date, false)),
        Box::new(Column::new("value", ColumnType::Binary, true)),
    );
    let nested = ColumnType::Struct(vec![
        Column::new("d", decimal(38, 10), true),
        Column::new("at", ColumnType::TimestampNtz, true),
        Column::new("l", list, true),
    ]);
    let columns = [
        Column::new("s", text.clone(), true),
        Column::new("raw", ColumnType::Binary, true),
        Column::new("map", map, true),
        Column::new("nested", nested, true),
    ];
    let expected = [
        r#"{"s":"","raw":"","map":{"2024-02-29":"/w==","1970-01-01":null},"nested":{"d":"-1.5000000000","at":"2024-01-01T00:00:00.000001","l":[0.1,null,"NaN"]}}"#,
        r#"{"s":null,"raw":null,"map":null,"nested":null}"#,
        r#"{"s":" a,\n\"b\" ","raw":"/w==","map":{},"nested":{"d":null,"at":null,"l":[]}}"#,
    ];
    round_trip(&expected, &columns);
    let single = [r#"{"s":null}"#, r#"{"s":""}"#, r#"{"s":"null"}"#, r#"{"s":null}"#];
    round_trip(&single, &one("s", text));
    round_trip(&[r#"{"n":null}"#, r#"{"n":1}"#, r#"{"n":null}"#], &one("n", ColumnType::Long));
}

fn round_trip(expected: &[&str], columns: &[Column]) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.jsonl");
    std::fs::write(&source, expected.join("\n")).unwrap();
    for name in ["a.csv", "a.jsonl", "a.parquet"] {
        let mut output = Output::new(OutputKind::of_path(name).unwrap(), name, Vec::new(), columns).unwrap();
        for batch in open_source(source.to_str().unwrap(), columns).unwrap() {
            output.write(&batch.unwrap()).unwrap();
        }
        let written = output.finish().unwrap();
        assert_eq!(read(name, written, columns).unwrap(), expected, "{name}");
    }
}

#[test]
fn long_files_come_in_batches() {
    let rows = 20_000_u32;
    let jsonl: String = (0..rows).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let csv: String = std::iter::once("n\n".to_owned()).chain((0..rows).map(|n| format!("{n}\n"))).collect();
    let expected: Vec<String> = (0..rows).map(|n| format!("{{\"n\":{n}}}")).collect();
    for (name, content) in [("a.jsonl", jsonl), ("a.csv", csv)] {
        assert_eq!(read(name, content, &one("n", ColumnType::Long)).unwrap(), expected, "{name}");
    }
}

#[test]
fn wall_clock_times_are_instants_only_in_files_of_a_table() {
    let instant = one("at", ColumnType::Timestamp);
    let wall = RecordBatch::try_from_iter([(
        "at",
        Arc::new(TimestampMicrosecondArray::from(vec![Some(1_500_000), None])) as Arc<dyn Array>,
    )])
    .unwrap();
    let options = lakebed_data::WriteOptions::default();
    let file = lakebed_data::write_parquet(&[wall], &one("at", ColumnType::TimestampNtz), &options).unwrap();
    let told = refused("a.parquet", &file.bytes, &instant);
    assert!(told.contains("column at"), "{told}");
    let store: Arc<dyn lakebed_storage::Store> = Arc::new(lakebed_storage::MemoryStore::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        store.put("a.parquet", file.bytes).await.unwrap();
        let options = lakebed_data::ReadOptions::new(&instant);
        let rows = lakebed_data::read_parquet(&store, "a.parquet", options).await.unwrap().collect().await.unwrap();
        let found = rows[0].batch.column(0).as_primitive::<TimestampMicrosecondType>();
        assert_eq!(found.timezone(), Some("UTC"));
        assert_eq!(found.iter().collect::<Vec<_>>(), [Some(1_500_000), None]);
    });
}

#[tokio::test]
async fn tables_whose_files_leave_the_zone_out_are_read() {
    let Some(folder) = crate::conformance::set("delta/delta-rs") else { return };
    // The rows that the statistics of the tables' own writer count.
    for (name, expected) in [("http_requests", 1581), ("issue_1374", 20)] {
        let table = folder.join(name);
        let location = format!("file://{}", table.canonicalize().unwrap().display());
        let store = lakebed_storage::open(&location, &lakebed_storage::StoreOptions::default()).unwrap();
        let mut rows = 0;
        for add in crate::conformance::adds(&table) {
            let in_file = |column: &&Column| !add.partition_columns.contains(&column.name);
            let columns: Vec<Column> = add.columns.iter().filter(in_file).cloned().collect();
            assert!(columns.iter().any(|column| column.column_type == ColumnType::Timestamp));
            let options = lakebed_data::ReadOptions::new(&columns);
            let path = add.path.replace("%20", " ");
            for found in lakebed_data::read_parquet(&store, &path, options).await.unwrap().collect().await.unwrap() {
                rows += found.batch.num_rows();
            }
        }
        assert_eq!(rows, expected, "{name}");
    }
}
