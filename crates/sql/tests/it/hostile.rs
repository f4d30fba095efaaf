//! No text panics, hangs or exhausts the stack.

use jiff::tz::TimeZone;
use lakebed_sql::{
    SqlError, bind, parse_assignment, parse_columns, parse_duration, parse_expression, parse_predicate, parse_time,
    parse_type, print, print_timestamp, print_type,
};
use lakebed_transaction::{Column, ColumnType, Expr, UnaryOp};
use proptest::prelude::*;

/// Everything that reads text; what parses must print to something that parses.
fn read_all(text: &str) {
    if let Ok(expr) = parse_expression(text) {
        let printed = print(&expr);
        let again = parse_expression(&printed).map(|expr| print(&expr));
        assert_eq!(again.as_ref(), Ok(&printed), "{text}");
        // Without columns, an expression that names one does not bind.
        assert!(bind(&expr, &[]).is_err() || expr.columns().is_empty(), "{text}");
    }
    if let Ok(expr) = parse_predicate(text) {
        assert!(!print(&expr).is_empty());
    }
    if let Ok(column_type) = parse_type(text) {
        assert_eq!(parse_type(&print_type(&column_type)), Ok(column_type));
    }
    if let Ok(assignment) = parse_assignment(text) {
        assert!(!assignment.column.is_empty());
    }
    if let Ok(columns) = parse_columns(text) {
        assert!(columns.iter().all(|column| !column.name.is_empty()));
    }
    if let Ok(micros) = parse_time(text, 0, &TimeZone::UTC) {
        assert_eq!(parse_time(&print_timestamp(micros), 0, &TimeZone::UTC), Ok(micros));
    }
    if let Ok(length) = parse_duration(text) {
        assert_eq!(parse_duration(&format!("{}ms", length.as_millis())), Ok(length));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text(text in any::<String>()) {
        read_all(&text);
    }

    #[test]
    fn text_of_sql_pieces(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..16)) {
        read_all(&pieces.join(" "));
        read_all(&pieces.concat());
    }

    #[test]
    fn text_of_sql_characters(text in r#"[ab1'"`\\#()<>=!,.:\[\]{}%*+\-/|&^~@$?;éL ]{0,24}"#) {
        read_all(&text);
    }
}

const PIECES: &[&str] = &[
    "a",
    "b.c",
    "1",
    "2.5",
    "1e5",
    "3L",
    "'x'",
    "\"y\"",
    "`z`",
    "NULL",
    "TRUE",
    "(",
    ")",
    ",",
    "=",
    "<=>",
    "<",
    ">",
    "+",
    "-",
    "*",
    "/",
    "%",
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS",
    "BETWEEN",
    "LIKE",
    "ESCAPE",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "AS",
    "DATE",
    "TIMESTAMP",
    "INTERVAL",
    "DAY",
    "DOUBLE",
    "array<",
    "map<",
    "struct<",
    "int",
    "not null",
    ":",
    "::",
    "[",
    "]",
    "{",
    "}",
    "->",
    "#1L",
    "'p",
    "if(",
    "floor(",
    "extract(",
    "year(",
    "trim(",
    "position(",
    "substring(",
    "FROM",
    "SELECT",
    "EXISTS",
    "X'0f'",
    "X'0'",
    "--",
    "/*",
    "*/",
    "||",
    "AT TIME ZONE",
    "COLLATE",
    "ANY",
    "ALL",
    "ROW",
    "decimal(10,2)",
    ";",
    "?",
    "$1",
    "@",
    "2024-01-15",
    "T10:00:00Z",
];

#[test]
fn nesting_is_bounded() {
    let opens = [
        "(",
        "NOT ",
        "- ",
        "+ ",
        "cast(",
        "case when ",
        "case ",
        "if(",
        "f(",
        "a in (",
        "a[",
        "[",
        "{",
        "struct(",
        "floor(",
        "date(",
        "interval ",
        "array[",
        "map{",
        "extract(",
        "trim(",
        "a between ",
        "position(",
        "cast(a as array<",
        "array<",
        "map<",
        "struct<a ",
        "a = (",
        "1+(",
        "'",
        "`",
        "/*",
        "((a,",
        "a -> ",
        "timestamp ",
        "try_cast(",
        "a like any (",
        "x::int[",
        "exists(",
        "a is not distinct from ",
        "a.",
        "a:b.",
        "!",
        "~",
        "a and (",
        "a or not ",
        "overlay(",
        "ceil(",
        "substring(",
        "convert(",
    ];
    for open in opens {
        for count in [10, 120, 1_500] {
            read_all(&open.repeat(count));
            read_all(&format!("{}a", open.repeat(count)));
            read_all(&format!("{}a{}", open.repeat(count), ")".repeat(count)));
        }
    }
}

#[test]
fn chains_are_bounded() {
    for link in [
        " + 1",
        " AND a",
        " OR a = 1",
        " IS NULL",
        "::int",
        "[1]",
        ".b",
        " = 1",
        " || a",
        " IN (1)",
        " COLLATE x",
        " NOT IN (a)",
        ",1",
    ] {
        for count in [10, 170, 1_900, 4_100] {
            read_all(&format!("a{}", link.repeat(count)));
        }
    }
    let long = format!("a{}", " + 1".repeat(50_000));
    assert!(matches!(parse_expression(&long), Err(SqlError::TooDeep { .. })));
    let list = format!("a IN (0{})", ", 1".repeat(50_000));
    assert!(matches!(parse_expression(&list), Ok(Expr::In { list, .. }) if list.len() == 50_001));
    let huge = " ".repeat(5 << 20);
    assert!(matches!(parse_expression(&huge), Err(SqlError::TooLong { .. })));
}

#[test]
fn trees_built_by_hand_print_at_any_depth() {
    let mut expr = Expr::column("a");
    let mut column_type = ColumnType::Long;
    for _ in 0..3_000 {
        expr = Expr::Unary(UnaryOp::Not, Box::new(expr));
        column_type = ColumnType::Array(Box::new(Column::new("element", column_type, true)));
    }
    assert_eq!(print(&expr).len(), 3_000 * 4 + 1);
    assert_eq!(print_type(&column_type).len(), 3_000 * 7 + 4);
    assert!(matches!(bind(&expr, &[Column::new("a", ColumnType::Boolean, true)]), Err(SqlError::TooDeep { .. })));
}
