//! Column types and lists.

use lakebed_sql::{SqlError, parse_columns, parse_type, print_type};
use lakebed_transaction::{Column, ColumnType};
use proptest::prelude::*;

fn element(column_type: ColumnType, nullable: bool) -> ColumnType {
    ColumnType::Array(Box::new(Column::new("element", column_type, nullable)))
}

#[test]
fn aliases() {
    for (text, wanted) in [
        ("int", ColumnType::Integer),
        ("INTEGER", ColumnType::Integer),
        ("bigint", ColumnType::Long),
        ("long", ColumnType::Long),
        ("smallint", ColumnType::Short),
        ("short", ColumnType::Short),
        ("tinyint", ColumnType::Byte),
        ("byte", ColumnType::Byte),
        ("float", ColumnType::Float),
        ("real", ColumnType::Float),
        ("double", ColumnType::Double),
        ("double precision", ColumnType::Double),
        ("decimal", ColumnType::Decimal { precision: 10, scale: 0 }),
        ("decimal(5)", ColumnType::Decimal { precision: 5, scale: 0 }),
        ("numeric(38, 38)", ColumnType::Decimal { precision: 38, scale: 38 }),
        ("string", ColumnType::String),
        ("varchar", ColumnType::String),
        ("text", ColumnType::String),
        ("bool", ColumnType::Boolean),
        ("boolean", ColumnType::Boolean),
        ("binary", ColumnType::Binary),
        ("date", ColumnType::Date),
        ("timestamp", ColumnType::Timestamp),
        ("timestamp_ntz", ColumnType::TimestampNtz),
    ] {
        assert_eq!(parse_type(text).unwrap(), wanted, "{text}");
    }
}

#[test]
fn a_schema() {
    let columns = parse_columns("id long not null, day date, tags array<array<string>>, m map<string,int not null>, s struct<a: int, `b c`: string NOT NULL>").unwrap();
    let map = ColumnType::Map(
        Box::new(Column::new("key", ColumnType::String, false)),
        Box::new(Column::new("value", ColumnType::Integer, false)),
    );
    let fields = vec![Column::new("a", ColumnType::Integer, true), Column::new("b c", ColumnType::String, false)];
    let wanted = vec![
        Column::new("id", ColumnType::Long, false),
        Column::new("day", ColumnType::Date, true),
        Column::new("tags", element(element(ColumnType::String, true), true), true),
        Column::new("m", map, true),
        Column::new("s", ColumnType::Struct(fields), true),
    ];
    assert_eq!(columns, wanted);
}

#[test]
fn refusals_name_the_trouble() {
    assert!(parse_columns("id blob").unwrap_err().to_string().contains("`blob` is not a column type"));
    assert!(
        parse_columns("id varchar(10)")
            .unwrap_err()
            .to_string()
            .contains("`varchar(…)` is not a column type; use boolean")
    );
    assert!(parse_columns("id int, ID long").unwrap_err().to_string().contains("`ID`"));
    for text in [
        "",
        "id",
        "id int,",
        "id int not",
        "id int not null x",
        "a array<int",
        "a array",
        "a map<int>",
        "d decimal(39,1)",
        "d decimal(3,4)",
        "d decimal(0)",
        "d decimal(-1)",
        "v varchar(10)",
        "`` int",
    ] {
        assert!(parse_columns(text).is_err(), "{text}");
    }
    let deep = format!("{}int{}", "array<".repeat(65), ">".repeat(65));
    assert!(matches!(parse_type(&deep), Err(SqlError::TooDeep { .. })));
    let deepest = format!("{}int{}", "array<".repeat(63), ">".repeat(63));
    assert!(parse_type(&deepest).is_ok());
}

fn any_type() -> impl Strategy<Value = ColumnType> {
    let flat = prop_oneof![
        Just(ColumnType::Boolean),
        Just(ColumnType::Byte),
        Just(ColumnType::Short),
        Just(ColumnType::Integer),
        Just(ColumnType::Long),
        Just(ColumnType::Float),
        Just(ColumnType::Double),
        (1_u8..=38)
            .prop_flat_map(|p| (Just(p), 0..=p))
            .prop_map(|(precision, scale)| ColumnType::Decimal { precision, scale }),
        Just(ColumnType::Date),
        Just(ColumnType::Timestamp),
        Just(ColumnType::TimestampNtz),
        Just(ColumnType::String),
        Just(ColumnType::Binary),
    ];
    flat.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), any::<bool>()).prop_map(|(inner, nullable)| element(inner, nullable)),
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(key, value, nullable)| {
                ColumnType::Map(
                    Box::new(Column::new("key", key, false)),
                    Box::new(Column::new("value", value, nullable)),
                )
            }),
            prop::collection::vec((inner, any::<bool>(), "[a-z` .]{1,6}"), 0..4).prop_map(|fields| {
                let name = |(index, (column_type, nullable, name)): (usize, (ColumnType, bool, String))| {
                    Column::new(format!("{name}{index}"), column_type, nullable)
                };
                ColumnType::Struct(fields.into_iter().enumerate().map(name).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn types_read_back(column_type in any_type()) {
        prop_assert_eq!(parse_type(&print_type(&column_type)), Ok(column_type));
    }
}
