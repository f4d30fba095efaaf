//! Columns and fields.

use crate::common::{conformance, folders, manifests, read};
use lakebed_lance::Snapshot;
use lakebed_lance::schema::{columns, new_fields};
use lakebed_transaction::{Column, ColumnType};

fn column(name: &str, column_type: ColumnType) -> Column {
    Column::new(name, column_type, true)
}

#[test]
fn the_fields_of_flat_tables_are_those_that_pylance_writes() {
    let Some(lance) = conformance("lance") else { return };
    for set in folders(&lance) {
        let (_, (_, path)) = manifests(&set.join("table.lance")).pop_first().unwrap();
        let snapshot = Snapshot::open("test", &read(&path)).unwrap();
        let columns = snapshot.columns().unwrap();
        assert!(columns.iter().all(|column| !matches!(column.column_type, ColumnType::Other(_))));
        assert_eq!(new_fields(&columns).unwrap(), snapshot.fields(), "{}", set.display());
    }
}

#[test]
fn nested_columns_come_back() {
    let pair = vec![column("a", ColumnType::Integer), column("b", ColumnType::Decimal { precision: 20, scale: 4 })];
    let map = ColumnType::Map(
        Box::new(Column::new("key", ColumnType::String, false)),
        Box::new(column("value", ColumnType::Array(Box::new(column("item", ColumnType::Double))))),
    );
    let all = vec![
        column("id", ColumnType::Long),
        column("s", ColumnType::Struct(pair.clone())),
        column("l", ColumnType::Array(Box::new(column("item", ColumnType::Struct(pair))))),
        column("m", map),
        column("t", ColumnType::Timestamp),
        column("n", ColumnType::TimestampNtz),
        column("d", ColumnType::Date),
        column("v", ColumnType::Other("fixed_size_list:float:4".to_owned())),
    ];
    let fields = new_fields(&all).unwrap();
    assert_eq!(columns("test", &fields).unwrap(), all);
    let ids: Vec<i32> = fields.iter().map(|field| field.id).collect();
    assert!(ids.iter().copied().eq(0..i32::try_from(ids.len()).unwrap()), "ids count depth first from 0");
    assert_eq!(fields.iter().filter(|field| field.parent_id == -1).count(), all.len());
    let text = |name: &str| fields.iter().find(|field| field.name == name).unwrap().logical_type.as_str();
    assert_eq!(text("l"), "list.struct");
    assert_eq!(text("t"), "timestamp:us:UTC");
    assert_eq!(text("n"), "timestamp:us:-");
    assert_eq!(text("b"), "decimal:128:20:4");
}

#[test]
fn schemas_that_are_no_tree_are_refused() {
    let good = new_fields(&[column("s", ColumnType::Struct(vec![column("a", ColumnType::Integer)]))]).unwrap();
    let mut itself = good.clone();
    itself[1].parent_id = 1;
    assert!(columns("test", &itself).is_err(), "a field that is its own parent");
    let mut twice = good.clone();
    twice[1].id = 0;
    assert!(columns("test", &twice).is_err(), "two fields of one id");
    let reversed: Vec<_> = good.into_iter().rev().collect();
    assert!(columns("test", &reversed).is_err(), "a child before its parent");
    let mut deep = column("x", ColumnType::Integer);
    for _ in 0..100 {
        deep = column("x", ColumnType::Struct(vec![deep]));
    }
    assert!(new_fields(&[deep]).is_err());
    assert!(new_fields(&[column("a", ColumnType::Long), column("a", ColumnType::Long)]).is_err());
}

/// Id, parent, name, type, nullability and encoding of every field, as pylance 14.0.2 writes them for the same Arrow schema.
const PYLANCE: &[(i32, i32, &str, &str, bool, i32)] = &[
    (0, -1, "i8", "int8", true, 1),
    (1, -1, "i16", "int16", true, 1),
    (2, -1, "i32", "int32", true, 1),
    (3, -1, "i64", "int64", true, 1),
    (4, -1, "f", "float", true, 1),
    (5, -1, "d", "double", true, 1),
    (6, -1, "b", "bool", true, 1),
    (7, -1, "dt", "date32:day", true, 1),
    (8, -1, "ts", "timestamp:us:UTC", true, 1),
    (9, -1, "tn", "timestamp:us:-", true, 1),
    (10, -1, "s", "string", true, 2),
    (11, -1, "bin", "binary", true, 2),
    (12, -1, "nn", "int64", false, 1),
    (13, -1, "st", "struct", true, 0),
    (14, 13, "a", "int32", true, 1),
    (15, 13, "b", "decimal:128:20:4", true, 1),
    (16, -1, "l", "list", true, 1),
    (17, 16, "item", "int64", true, 1),
    (18, -1, "ls", "list.struct", true, 1),
    (19, 18, "item", "struct", true, 0),
    (20, 19, "a", "int32", true, 1),
    (21, 19, "b", "decimal:128:20:4", true, 1),
    (22, -1, "m", "map", true, 1),
    (23, 22, "entries", "struct", false, 0),
    (24, 23, "key", "string", false, 2),
    (25, 23, "value", "int64", true, 1),
    (26, -1, "v", "fixed_size_list:float:4", true, 1),
];

#[test]
fn new_fields_are_those_of_pylance() {
    let pair = vec![column("a", ColumnType::Integer), column("b", ColumnType::Decimal { precision: 20, scale: 4 })];
    let all = [
        column("i8", ColumnType::Byte),
        column("i16", ColumnType::Short),
        column("i32", ColumnType::Integer),
        column("i64", ColumnType::Long),
        column("f", ColumnType::Float),
        column("d", ColumnType::Double),
        column("b", ColumnType::Boolean),
        column("dt", ColumnType::Date),
        column("ts", ColumnType::Timestamp),
        column("tn", ColumnType::TimestampNtz),
        column("s", ColumnType::String),
        column("bin", ColumnType::Binary),
        Column::new("nn", ColumnType::Long, false),
        column("st", ColumnType::Struct(pair.clone())),
        column("l", ColumnType::Array(Box::new(column("item", ColumnType::Long)))),
        column("ls", ColumnType::Array(Box::new(column("item", ColumnType::Struct(pair))))),
        column(
            "m",
            ColumnType::Map(
                Box::new(Column::new("key", ColumnType::String, false)),
                Box::new(column("value", ColumnType::Long)),
            ),
        ),
        column("v", ColumnType::Other("fixed_size_list:float:4".to_owned())),
    ];
    let fields = new_fields(&all).unwrap();
    let found: Vec<_> = fields
        .iter()
        .map(|field| {
            let (name, logical_type) = (field.name.as_str(), field.logical_type.as_str());
            (field.id, field.parent_id, name, logical_type, field.nullable, field.encoding)
        })
        .collect();
    assert_eq!(found, PYLANCE);
    assert!(fields.iter().all(|field| field.r#type == 0 && field.metadata.is_empty()));
}
