//! Partition values, bounds and path identity, by the texts that the reference measured.

use lakebed_delta::action::Add;
use lakebed_delta::partition::{format, parse};
use lakebed_delta::path::identity;
use lakebed_delta::schema::{ColumnMapping, StructType};
use lakebed_delta::stats::{bounds, num_records, tight_bounds};
use lakebed_transaction::{ColumnBounds, ColumnType, Scalar};

#[test]
fn partition_texts_are_read_by_type() {
    let decimal = ColumnType::Decimal { precision: 10, scale: 2 };
    let instant = Scalar::Timestamp(1_704_112_496_123_456);
    for (text, column_type, value) in [
        ("true", ColumnType::Boolean, Scalar::Boolean(true)),
        ("-128", ColumnType::Byte, Scalar::Int(-128)),
        ("01", ColumnType::Integer, Scalar::Int(1)),
        ("9223372036854775807", ColumnType::Long, Scalar::Int(i64::MAX)),
        ("1.0E300", ColumnType::Double, Scalar::Float(1e300)),
        ("-Infinity", ColumnType::Double, Scalar::Float(f64::NEG_INFINITY)),
        ("-0.01", decimal.clone(), Scalar::Decimal { unscaled: -1, scale: 2 }),
        ("5E-1", decimal.clone(), Scalar::Decimal { unscaled: 50, scale: 2 }),
        ("2024-1-1", ColumnType::Date, Scalar::Date(19_723)),
        ("2024-01-01 00:00:00", ColumnType::Date, Scalar::Date(19_723)),
        ("2024-01-01T12:34:56.123456Z", ColumnType::Timestamp, instant.clone()),
        ("2024-01-01 12:34:56.123456", ColumnType::Timestamp, instant),
        ("A", ColumnType::Binary, Scalar::Binary(b"A"[..].into())),
        ("é", ColumnType::Binary, Scalar::Binary([0xc3, 0xa9][..].into())),
        ("__HIVE_DEFAULT_PARTITION__", ColumnType::String, Scalar::string("__HIVE_DEFAULT_PARTITION__")),
        ("", ColumnType::String, Scalar::string("")),
        ("", ColumnType::Integer, Scalar::Null),
    ] {
        assert_eq!(parse(Some(text), &column_type).unwrap(), value, "{text} as {column_type:?}");
    }
    assert_eq!(parse(None, &ColumnType::String).unwrap(), Scalar::Null);
    for (text, column_type) in
        [("128", ColumnType::Byte), ("abc", ColumnType::Integer), ("0.-1", decimal), ("2024-13-01", ColumnType::Date)]
    {
        let error = parse(Some(text), &column_type).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn partition_values_are_written_as_spark_writes_them() {
    for (value, column_type, text) in [
        (Scalar::Null, ColumnType::String, None),
        (Scalar::string(""), ColumnType::String, None),
        (Scalar::Timestamp(1_704_112_496_123_456), ColumnType::Timestamp, Some("2024-01-01T12:34:56.123456Z")),
        (Scalar::TimestampNtz(1_704_112_496_000_000), ColumnType::TimestampNtz, Some("2024-01-01 12:34:56")),
        (Scalar::Float(1e300), ColumnType::Double, Some("1.0E300")),
        (Scalar::Float(0.1), ColumnType::Double, Some("0.1")),
        (Scalar::Float(12_345_678.0), ColumnType::Double, Some("1.2345678E7")),
        (Scalar::Float(f64::from(0.1_f32)), ColumnType::Float, Some("0.1")),
        (Scalar::Decimal { unscaled: -1, scale: 2 }, ColumnType::Decimal { precision: 10, scale: 2 }, Some("-0.01")),
        (Scalar::Date(-1), ColumnType::Date, Some("1969-12-31")),
    ] {
        assert_eq!(format(&value, &column_type).as_deref(), text, "{value} as {column_type:?}");
        if let Some(text) = text {
            assert_eq!(parse(Some(text), &column_type).unwrap(), value);
        }
    }
}

fn bounds_of(column_type: &str, stats: &str) -> Option<ColumnBounds> {
    let schema = format!(
        r#"{{"type":"struct","fields":[{{"name":"c","type":"{column_type}","nullable":true,"metadata":{{}}}}]}}"#
    );
    let found = bounds(stats, &StructType::parse(&schema).unwrap(), ColumnMapping::None);
    found.into_iter().next().map(|(_, bounds)| bounds)
}

#[test]
fn bounds_are_widened_to_what_they_promise() {
    let day = |text: &str| parse(Some(text), &ColumnType::Timestamp).unwrap();
    let stats = r#"{"numRecords":3,"minValues":{"c":"2024-01-01T00:00:59.999Z"},"maxValues":{"c":"2024-01-01T00:00:59.999Z"},"nullCount":{"c":0}}"#;
    let found = bounds_of("timestamp", stats).unwrap();
    assert_eq!(found.min, Some(day("2024-01-01 00:00:59.999")));
    assert_eq!(found.max, Some(day("2024-01-01 00:01:00")));
    assert_eq!(found.null_count, Some(0));

    // A decimal of twenty digits that went through a double: the true value must stay inside.
    let stats = r#"{"numRecords":1,"minValues":{"c":12345678901234567000.0},"maxValues":{"c":1.2345678901234567e+19}}"#;
    let found = bounds_of("decimal(20,0)", stats).unwrap();
    let truth = Scalar::Decimal { unscaled: 12_345_678_901_234_567_890, scale: 0 };
    assert!(found.min.unwrap().compare(&truth).unwrap().is_le());
    assert!(found.max.unwrap().compare(&truth).unwrap().is_ge());

    let stats = r#"{"numRecords":2,"minValues":{"c":0E-10},"maxValues":{"c":1E-10}}"#;
    let found = bounds_of("decimal(20,10)", stats).unwrap();
    assert_eq!(found.min, Some(Scalar::Decimal { unscaled: 0, scale: 10 }));
    assert_eq!(found.max, Some(Scalar::Decimal { unscaled: 1, scale: 10 }));

    // The greatest value of a float column is NaN, and only Spark counts it.
    let found = bounds_of("double", r#"{"minValues":{"c":-1.5},"maxValues":{"c":7.0}}"#).unwrap();
    assert_eq!((found.min, found.max), (Some(Scalar::Float(-1.5)), None));
    let found = bounds_of("double", r#"{"minValues":{"c":"-Infinity"},"maxValues":{"c":"NaN"}}"#).unwrap();
    assert_eq!(found.min, Some(Scalar::Float(f64::NEG_INFINITY)));
    assert!(matches!(found.max, Some(Scalar::Float(max)) if max.is_nan()));

    // Where a deletion vector may hide rows, a count of nulls says something only at its ends.
    let wide = |nulls: u32| format!(r#"{{"numRecords":5,"tightBounds":false,"nullCount":{{"c":{nulls}}}}}"#);
    assert_eq!(bounds_of("long", &wide(0)).unwrap().null_count, Some(0));
    assert_eq!(bounds_of("long", &wide(5)).unwrap().null_count, Some(5));
    assert_eq!(bounds_of("long", &wide(3)), None);
    assert!(!tight_bounds(&wide(3)) && tight_bounds("{}"));

    let exact = r#"{"minValues":{"c":9223372036854775806},"maxValues":{"c":9223372036854775807}}"#;
    assert_eq!(bounds_of("long", exact).unwrap().min, Some(Scalar::Int(i64::MAX - 1)));
    for junk in ["", "[]", "{", r#"{"minValues":3}"#, r#"{"numRecords":-1}"#, r#"{"numRecords":"x"}"#] {
        assert_eq!(bounds_of("long", junk), None);
        assert_eq!(num_records(junk), None);
    }
}

#[test]
fn two_spellings_of_a_path_are_one_file() {
    assert_eq!(identity("file:///some/with%20space/p@%23h"), identity("/some/with space/p@#h"));
    assert_eq!(identity("file:/x"), "/x");
    assert_eq!(identity("s3://bucket/a%20b"), "s3://bucket/a b");
    assert_eq!(identity("a%252Fb"), "a%2Fb");
    assert_eq!(identity("a%ffb"), "a%ffb");
    let add = |path: &str| Add::new(path, 1, 1).key();
    assert_eq!(add("p=%C3%A9/x"), add("p=é/x"));
    // Spark normalises a path as a URI before it compares.
    assert_eq!(add("dir/x"), add("./dir//x"));
    assert_eq!(identity("file:/t/./x"), "/t/x");
    assert_eq!(identity("s3://bucket//x"), "s3://bucket//x");
    assert_ne!(add("dir/x"), add("dir/.x"));
}

/// A type of so many structs within each other, as JSON.
fn deep(levels: usize, metadata: &str) -> String {
    let mut data_type = "\"long\"".to_owned();
    for _ in 0..levels {
        data_type = format!(
            r#"{{"type":"struct","fields":[{{"name":"n","type":{data_type},"nullable":true,"metadata":{{{metadata}}}}}]}}"#
        );
    }
    data_type
}

/// Spark's JSON reader takes a thousand levels, of which a struct within another is three.
#[test]
fn types_nest_deeper_than_a_json_reader_goes_at_once() {
    let schema = StructType::parse(&deep(100, r#""comment":"c""#)).unwrap();
    assert_eq!(schema.all_fields().len(), 100);
    assert_eq!(schema.primitive_types(), ["long"]);
    assert_eq!(StructType::parse(&schema.to_json()).unwrap(), schema);
    let error = StructType::parse(&deep(10_000, "")).unwrap_err().to_string();
    assert!(error.contains("deeper than 128 levels"), "{error}");
    let list = format!(
        r#"{{"type":"struct","fields":[{{"name":"a","type":{}"long"{}}}]}}"#,
        r#"{"type":"array","elementType":"#.repeat(120),
        "}".repeat(120)
    );
    assert_eq!(StructType::parse(&list).unwrap().primitive_types(), ["long"]);
}
