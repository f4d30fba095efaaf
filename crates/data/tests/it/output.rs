//! Rows as JSON and CSV.

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use lakebed_data::{Output, OutputKind, columns_of, json_row};
use std::sync::Arc;

fn batch() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from(vec![1 << 53, -(1 << 53) - 1, 0, 0]))),
        ("d", Arc::new(Float64Array::from(vec![Some(1e300), Some(f64::NEG_INFINITY), Some(f64::NAN), None]))),
        ("f", Arc::new(Float32Array::from(vec![0.1, f32::INFINITY, -0.0, 1e-45]))),
        ("s", Arc::new(StringArray::from(vec![Some(""), Some("a\nb"), Some("\"q\""), None]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

#[test]
fn json_keeps_every_digit() {
    let rows: Vec<String> = (0..4).map(|row| json_row(&batch(), row).unwrap()).collect();
    assert_eq!(
        rows,
        [
            r#"{"i":9007199254740992,"d":1e+300,"f":0.1,"s":""}"#,
            r#"{"i":"-9007199254740993","d":"-Infinity","f":"Infinity","s":"a\nb"}"#,
            r#"{"i":0,"d":"NaN","f":-0.0,"s":"\"q\""}"#,
            r#"{"i":0,"d":null,"f":1e-45,"s":null}"#,
        ]
    );
}

#[test]
fn csv_quotes_what_needs_it() {
    let columns = columns_of(&batch().schema()).unwrap();
    let mut output = Output::new(OutputKind::Csv, "rows.csv", Vec::new(), &columns).unwrap();
    output.write(&batch()).unwrap();
    let text = String::from_utf8(output.finish().unwrap()).unwrap();
    let expected = "i,d,f,s\n9007199254740992,1e+300,0.1,\"\"\n-9007199254740993,-Infinity,Infinity,\"a\nb\"\n0,NaN,-0.0,\"\"\"q\"\"\"\n0,,1e-45,\n";
    assert_eq!(text, expected);
}
