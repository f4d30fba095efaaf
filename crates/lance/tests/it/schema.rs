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
