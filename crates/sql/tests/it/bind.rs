//! Expressions against columns.

use jiff::tz::{Offset, TimeZone};
use lakebed_sql::{SqlError, bind, bind_assignment, bind_in, parse_assignment, parse_columns, parse_predicate, print};
use lakebed_transaction::Column;

fn columns() -> Vec<Column> {
    parse_columns(
        "id long not null, p int, s string, d date, ts timestamp, ntz timestamp_ntz, f double, f32 float, m decimal(10,2), b binary, \
         ok boolean, Rec struct<Sub: struct<x: int, y: string>>",
    )
    .unwrap()
}

fn bound(text: &str) -> Result<String, SqlError> {
    bind(&parse_predicate(text).unwrap(), &columns()).map(|expr| print(&expr))
}

#[track_caller]
fn check(text: &str, wanted: &str) {
    assert_eq!(bound(text).as_deref(), Ok(wanted), "{text}");
}

#[test]
fn names_without_regard_to_case() {
    check("P = 1", "p = 1");
    check("REC.sub.X = 1", "Rec.Sub.x = 1");
    let twins = parse_columns("a int, b int").unwrap().into_iter().chain([Column::new(
        "A",
        lakebed_transaction::ColumnType::Long,
        true,
    )]);
    let twins: Vec<Column> = twins.collect();
    assert_eq!(bind(&parse_predicate("A = 1").unwrap(), &twins).map(|e| print(&e)).as_deref(), Ok("A = 1"));
    let three: Vec<Column> =
        ["aB", "Ab"].into_iter().map(|name| Column::new(name, lakebed_transaction::ColumnType::Long, true)).collect();
    assert!(matches!(bind(&parse_predicate("ab = 1").unwrap(), &three), Err(SqlError::AmbiguousColumn { .. })));
}

#[test]
fn unknown_columns_are_named() {
    let message = bound("nope = 1").unwrap_err().to_string();
    assert!(message.contains("`nope`") && message.contains("id, p, s, d, ts"), "{message}");
    let message = bound("rec.nope = 1").unwrap_err().to_string();
    assert!(message.contains("Rec.Sub"), "{message}");
    assert!(matches!(bound("p.x = 1"), Err(SqlError::UnknownColumn { .. })));
    assert!(matches!(bound("rand(nope) = 1"), Err(SqlError::UnknownColumn { .. })));
}

#[test]
fn strings_meet_typed_values() {
    check("p = '1'", "p = 1");
    check("p IN ('1','2')", "p IN (1, 2)");
    check("'01' = p", "1 = p");
    check("p BETWEEN ' 1' AND '2.5'", "p BETWEEN 1 AND 2.5");
    check("f = '5E-1'", "f = 5E-1");
    check("f = 'NaN'", "f = CAST('NaN' AS double)");
    // The 32-bit float nearest to 0.1 is 13421773 / 2^27, which is this double.
    check("f32 = '0.1'", "f32 = 1.0000000149011612E-1");
    check("f32 IN ('0.1', 'NaN')", "f32 IN (1.0000000149011612E-1, CAST('NaN' AS double))");
    check("f32 = '0.5'", "f32 = 5E-1");
    check("f32 BETWEEN '0.1' AND f", "f32 BETWEEN 1E-1 AND f");
    check("f32 + '0.1' > 1", "f32 + 1E-1 > 1");
    check("m = '1.50'", "m = 1.50");
    check("d >= '2024-01-02'", "d >= DATE '2024-01-02'");
    check("d = '2024-1-1'", "d = DATE '2024-01-01'");
    check("d = '2024-01-01 00:00:00'", "d = DATE '2024-01-01'");
    check("ts < '2024-01-02 03:04:05.5'", "ts < TIMESTAMP '2024-01-02T03:04:05.500000Z'");
    check("ts < '2024-01-02T03:04:05+01:00'", "ts < TIMESTAMP '2024-01-02T02:04:05Z'");
    check("ntz <=> '2024-01-02'", "ntz <=> TIMESTAMP_NTZ '2024-01-02 00:00:00'");
    check("ok = 'true'", "ok = TRUE");
    check("b = 'A'", "b = X'41'");
    check("s = '1'", "s = '1'");
    check("p + 1 = '3'", "p + 1 = 3");
    check("p = '1' + 1", "p = 1 + 1");
    check("(p, d) IN (('1', '2024-01-01'))", "(p, d) IN ((1, DATE '2024-01-01'))");
    check(
        "CASE d WHEN '2024-01-01' THEN 'a' ELSE s END = 'a'",
        "CASE d WHEN DATE '2024-01-01' THEN 'a' ELSE s END = 'a'",
    );
    check("coalesce(p, '1') = 1", "COALESCE(p, 1) = 1");
    check("if(ok, d, '2024-01-01') = d", "IF(ok, d, DATE '2024-01-01') = d");
    check("year('2024-01-01') = 2024", "YEAR(DATE '2024-01-01') = 2024");
    check("rec.sub.x = '7'", "Rec.Sub.x = 7");
    for bad in ["p = 'x'", "d = 'x'", "ts > ''", "p IN (1, 'x')", "ok = 'maybe'"] {
        assert!(matches!(bound(bad), Err(SqlError::Literal { .. })), "{bad}: {:?}", bound(bad));
    }
}

#[test]
fn dates_and_times_meet() {
    check("ts >= DATE '2024-01-02'", "ts >= TIMESTAMP '2024-01-02T00:00:00Z'");
    check("d = TIMESTAMP '2024-01-02 00:00:00'", "d = DATE '2024-01-02'");
    check("d < TIMESTAMP '2024-01-02 01:00:00'", "CAST(d AS timestamp) < TIMESTAMP '2024-01-02T01:00:00Z'");
    check("ntz = TIMESTAMP '2024-01-02 01:00:00'", "ntz = TIMESTAMP_NTZ '2024-01-02 01:00:00'");
    check("s = 1", "CAST(s AS long) = 1");
    check("s = d", "CAST(s AS date) = d");
    check("d = ts", "CAST(d AS timestamp) = ts");
    let east = TimeZone::fixed(Offset::constant(2));
    let found = bind_in(&parse_predicate("ts >= '2024-01-02 02:00:00'").unwrap(), &columns(), &east).unwrap();
    assert_eq!(print(&found), "ts >= TIMESTAMP '2024-01-02T00:00:00Z'");
}

#[test]
fn what_needs_nothing_stays() {
    for text in [
        "p = NULL",
        "p = 1.0",
        "p = 99999999999",
        "p IS NULL",
        "rand() > 0.5",
        "d IS NULL",
        "p = id",
        "NOT ok",
        "s LIKE 'a%'",
        "rand() = '1'",
    ] {
        check(text, text);
    }
}

#[test]
fn assignments_take_the_type_of_their_target() {
    let bound = |text: &str| bind_assignment(&parse_assignment(text).unwrap(), &columns(), &TimeZone::UTC);
    let day = bound("D = '2024-01-02'").unwrap();
    assert_eq!((&*day.column[0], print(&day.value).as_str()), ("d", "DATE '2024-01-02'"));
    assert_eq!(print(&bound("p = p + 1").unwrap().value), "p + 1");
    assert_eq!(print(&bound("s = '1'").unwrap().value), "'1'");
    assert!(matches!(bound("x = 1"), Err(SqlError::UnknownColumn { .. })));
    assert!(matches!(bound("d = 'x'"), Err(SqlError::Literal { .. })));
}
