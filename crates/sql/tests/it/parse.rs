//! Text to tree, case by case.

use jiff::tz::{Offset, TimeZone};
use lakebed_sql::{SqlError, parse_assignment, parse_expression, parse_expression_in, parse_predicate};
use lakebed_transaction::{BinaryOp, CaseArm, ColumnType, Expr, Function, Scalar, UnaryOp};
use std::sync::Arc;

fn col(name: &str) -> Expr {
    Expr::Column(name.split('.').map(Arc::from).collect())
}

fn int(value: i64) -> Expr {
    Expr::Literal(Scalar::Int(value))
}

fn text(value: &str) -> Expr {
    Expr::Literal(Scalar::string(value))
}

fn dec(unscaled: i128, scale: u8) -> Expr {
    Expr::Literal(Scalar::Decimal { unscaled, scale })
}

fn float(value: f64) -> Expr {
    Expr::Literal(Scalar::Float(value))
}

fn bin(left: Expr, op: BinaryOp, right: Expr) -> Expr {
    left.binary(op, right)
}

fn eq(left: Expr, right: Expr) -> Expr {
    bin(left, BinaryOp::Equal, right)
}

fn not(expr: Expr) -> Expr {
    Expr::Unary(UnaryOp::Not, Box::new(expr))
}

fn unknown(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Unknown { name: name.to_owned(), arguments }
}

fn is_null(operand: Expr, negated: bool) -> Expr {
    Expr::IsNull { operand: Box::new(operand), negated }
}

fn is_in(operand: Expr, list: Vec<Expr>, negated: bool) -> Expr {
    Expr::In { operand: Box::new(operand), list, negated }
}

fn between(operand: Expr, low: Expr, high: Expr, negated: bool) -> Expr {
    Expr::Between { operand: Box::new(operand), low: Box::new(low), high: Box::new(high), negated }
}

fn like(operand: Expr, pattern: &str, escape: Option<char>, negated: bool) -> Expr {
    Expr::Like { operand: Box::new(operand), pattern: Box::new(text(pattern)), escape, negated }
}

fn cast(operand: Expr, to: ColumnType) -> Expr {
    Expr::Cast(Box::new(operand), to)
}

#[track_caller]
fn check(sql: &str, wanted: &Expr) {
    match parse_predicate(sql) {
        Ok(found) => assert_eq!(found, *wanted, "{sql}"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

#[test]
fn operators_and_their_precedence() {
    use BinaryOp::{
        Add, And, Divide, Greater, GreaterOrEqual, Less, LessOrEqual, Modulo, Multiply, NotEqual, NullSafeEqual, Or,
        Subtract,
    };
    check("p = 1", &eq(col("p"), int(1)));
    check("p == 1", &eq(col("p"), int(1)));
    check("p <> 1", &bin(col("p"), NotEqual, int(1)));
    check("p != 1", &bin(col("p"), NotEqual, int(1)));
    check("p <=> NULL", &bin(col("p"), NullSafeEqual, Expr::Literal(Scalar::Null)));
    check("p >= 2 AND p <= 3", &bin(col("p"), GreaterOrEqual, int(2)).and(bin(col("p"), LessOrEqual, int(3))));
    check("p > -5", &bin(col("p"), Greater, int(-5)));
    check("p < 2", &bin(col("p"), Less, int(2)));
    check("p + 1 = 2", &eq(bin(col("p"), Add, int(1)), int(2)));
    check("p % 2 = 1", &eq(bin(col("p"), Modulo, int(2)), int(1)));
    let product = bin(bin(col("a"), Multiply, col("b")), Divide, col("c"));
    check("1 - a * b / c", &bin(int(1), Subtract, product));
    check("a - b - c", &bin(bin(col("a"), Subtract, col("b")), Subtract, col("c")));
    check("part=1 OR year>2019", &bin(eq(col("part"), int(1)), Or, bin(col("year"), Greater, int(2019))));
    let and = eq(col("b"), int(1)).and(eq(col("c"), int(1)));
    check("a = 1 OR b = 1 AND c = 1", &bin(eq(col("a"), int(1)), Or, and));
    check("NOT a = 1 AND b", &not(eq(col("a"), int(1))).and(col("b")));
    check("NOT (p IS NULL OR p = 2)", &not(bin(is_null(col("p"), false), Or, eq(col("p"), int(2)))));
    check("- a", &Expr::Unary(UnaryOp::Negate, Box::new(col("a"))));
    check("true AND p = 1", &bin(Expr::always(), And, eq(col("p"), int(1))));
}

#[test]
fn predicates() {
    check("p IN (1,NULL)", &is_in(col("p"), vec![int(1), Expr::Literal(Scalar::Null)], false));
    check("p NOT IN (1,3)", &is_in(col("p"), vec![int(1), int(3)], true));
    let row = |a, b| Expr::Row(vec![int(a), int(b)]);
    check("(a,b) IN ((1,1),(2,2))", &is_in(Expr::Row(vec![col("a"), col("b")]), vec![row(1, 1), row(2, 2)], false));
    check("(a,b) IN ((1,1))", &is_in(Expr::Row(vec![col("a"), col("b")]), vec![row(1, 1)], false));
    check("p BETWEEN 2 AND 3 AND q", &between(col("p"), int(2), int(3), false).and(col("q")));
    check("p NOT BETWEEN NULL AND 3", &between(col("p"), Expr::Literal(Scalar::Null), int(3), true));
    check("s LIKE 'a%'", &like(col("s"), "a%", None, false));
    check(r"s LIKE 'a\_%'", &like(col("s"), r"a\_%", None, false));
    check("s NOT LIKE 'a#_%' ESCAPE '#'", &like(col("s"), "a#_%", Some('#'), true));
    check("p IS NOT NULL", &is_null(col("p"), true));
    check("isnull(p) and isnotnull(q)", &is_null(col("p"), false).and(is_null(col("q"), true)));
    let exactly = |value| bin(col("a"), BinaryOp::NullSafeEqual, Expr::Literal(Scalar::Boolean(value)));
    check("a IS TRUE", &exactly(true));
    check("a IS NOT FALSE", &not(exactly(false)));
    check("a IS UNKNOWN", &is_null(col("a"), false));
    check("a IS DISTINCT FROM b", &not(bin(col("a"), BinaryOp::NullSafeEqual, col("b"))));
}

#[test]
fn names() {
    check("a.b = 1", &eq(col("a.b"), int(1)));
    let quoted = Expr::Column(vec![Arc::from("a.b c"), Arc::from("d`e")]);
    check("`a.b c`.`d``e` = 1", &eq(quoted, int(1)));
    for name in ["year", "date", "timestamp", "binary", "user_name", "order", "left", "status"] {
        check(&format!("{name} = 1"), &eq(col(name), int(1)));
    }
}

#[test]
fn literals() {
    check("1", &int(1));
    check("-9223372036854775808", &int(i64::MIN));
    check("9223372036854775808", &dec(9_223_372_036_854_775_808, 0));
    check("99999999999", &int(99_999_999_999));
    check("-99999999999999999999", &dec(-99_999_999_999_999_999_999, 0));
    check("0.50", &dec(50, 2));
    check("-.5", &dec(-5, 1));
    check("1.", &dec(1, 0));
    check("5E-1", &float(0.5));
    check("1e3", &float(1000.0));
    check("1L", &int(1));
    check("-128Y", &int(-128));
    check("3S", &int(3));
    check("2.5D", &float(2.5));
    check("1E5D", &float(1e5));
    check("-0.5F", &float(-0.5));
    check("7BD", &dec(7, 0));
    check("2.50bd", &dec(250, 2));
    check("true", &Expr::Literal(Scalar::Boolean(true)));
    check("NULL", &Expr::Literal(Scalar::Null));
    check("'it''s'", &text("it's"));
    check(r"'it\'s\n\\\u00e9'", &text("it's\n\\é"));
    check("\"a 'b'\"", &text("a 'b'"));
    check("X'0aFF'", &Expr::Literal(Scalar::Binary(vec![10, 255].into())));
    check("x''", &Expr::Literal(Scalar::Binary(Vec::new().into())));
    check("DATE '2024-02-29'", &Expr::Literal(Scalar::Date(19_782)));
    check("date'1969-12-31'", &Expr::Literal(Scalar::Date(-1)));
    let instant = |micros| Expr::Literal(Scalar::Timestamp(micros));
    check("TIMESTAMP '1970-01-01 00:00:01.5'", &instant(1_500_000));
    check("TIMESTAMP '1970-01-01T01:00:00+01:00'", &instant(0));
    check("TIMESTAMP '2024-01-15T10:30:00Z'", &instant(1_705_314_600_000_000));
    check("TIMESTAMP_NTZ '1970-01-02 00:00:00'", &Expr::Literal(Scalar::TimestampNtz(86_400_000_000)));
    let east = TimeZone::fixed(Offset::constant(2));
    assert_eq!(parse_expression_in("TIMESTAMP '1970-01-01 02:00:00'", &east).unwrap(), instant(0));
    assert!(matches!(parse_expression("CAST('NaN' AS DOUBLE)"), Ok(Expr::Literal(Scalar::Float(x))) if x.is_nan()));
    check("CAST('-Infinity' AS DOUBLE)", &float(f64::NEG_INFINITY));
}

#[test]
fn literals_that_are_refused() {
    for sql in [
        "128Y",
        "40000S",
        "1e400",
        "1_000",
        "DATE '2023-02-29'",
        "TIMESTAMP 'x'",
        "TIMESTAMP_NTZ '1970-01-01T00:00:00Z'",
        "9223372036854775808L",
    ] {
        assert!(matches!(parse_expression(sql), Err(SqlError::Literal { .. })), "{sql}: {:?}", parse_expression(sql));
    }
    let digits = "9".repeat(39);
    assert!(matches!(parse_expression(&digits), Err(SqlError::Literal { .. })));
}

#[test]
fn functions_and_casts() {
    check("boolean(p)", &cast(col("p"), ColumnType::Boolean));
    check("isnan(double(p))", &Expr::Call(Function::IsNan, vec![cast(col("p"), ColumnType::Double)]));
    check("cast(p AS string) = '1'", &eq(cast(col("p"), ColumnType::String), text("1")));
    check("cast(p as decimal(10, 2))", &cast(col("p"), ColumnType::Decimal { precision: 10, scale: 2 }));
    check("p::bigint", &cast(col("p"), ColumnType::Long));
    for (sql, function, count) in [
        ("coalesce(p, 1, q)", Function::Coalesce, 3),
        ("UPPER(s)", Function::Upper, 1),
        ("lower(s)", Function::Lower, 1),
        ("length(s)", Function::Length, 1),
        ("startswith(s,'a')", Function::StartsWith, 2),
        ("abs(p)", Function::Abs, 1),
        ("if(p IS NULL, true, p > 2)", Function::If, 3),
        ("year(d)", Function::Year, 1),
        ("month(d)", Function::Month, 1),
        ("DAY(d)", Function::Day, 1),
        ("extract(year from d)", Function::Year, 1),
    ] {
        let found = parse_expression(sql).unwrap();
        assert!(
            matches!(&found, Expr::Call(f, arguments) if *f == function && arguments.len() == count),
            "{sql}: {found:?}"
        );
    }
    let arity = parse_expression("year(a, b)").unwrap_err();
    assert_eq!(arity, SqlError::Arguments { function: "year".into(), wanted: "1".into(), given: 2 });
    let one = || eq(col("p"), int(1));
    check("p = 1 AND rand() > 0.5", &one().and(bin(unknown("rand", vec![]), BinaryOp::Greater, dec(5, 1))));
    check("p = 1 OR isodd(p)", &bin(one(), BinaryOp::Or, unknown("isodd", vec![col("p")])));
    check(
        "current_date() > date'1970-01-02'",
        &bin(unknown("current_date", vec![]), BinaryOp::Greater, Expr::Literal(Scalar::Date(1))),
    );
    check("current_date = d", &eq(unknown("current_date", vec![]), col("d")));
    check("floor(a) = 1", &eq(unknown("floor", vec![col("a")]), int(1)));
    check("a || 'b'", &unknown("concat", vec![col("a"), text("b")]));
}

#[test]
fn both_forms_of_case() {
    let arm = |when, then| CaseArm { when, then };
    let searched = Expr::Case {
        operand: None,
        arms: vec![arm(eq(col("p"), int(1)), Expr::always())],
        otherwise: Some(Box::new(Expr::Literal(Scalar::Boolean(false)))),
    };
    check("CASE WHEN p = 1 THEN true ELSE false END", &searched);
    let simple = Expr::Case {
        operand: Some(Box::new(col("p"))),
        arms: vec![arm(int(1), text("a")), arm(int(2), text("b"))],
        otherwise: None,
    };
    check("CASE p WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", &simple);
}

#[test]
fn assignments() {
    let found = parse_assignment("a.`b c` = x = 1").unwrap();
    assert_eq!(found.column, vec![Arc::from("a"), Arc::from("b c")]);
    assert_eq!(found.value, eq(col("x"), int(1)));
    for bad in ["a", "1 = 2", "= 2", "a =", "a + b = 2"] {
        assert!(parse_assignment(bad).is_err(), "{bad}");
    }
}

#[test]
fn outside_the_grammar() {
    for sql in [
        "a IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "a[0] = 1",
        "a & 1 = 1",
        "x -> x",
        "INTERVAL 1 DAY",
        "a LIKE ANY ('x')",
    ] {
        assert!(parse_expression(sql).is_err(), "{sql}: {:?}", parse_expression(sql));
    }
    for sql in ["", "a =", "a = 1 2", "(a", "a)", "a IN ()", "'open", "`open", "# = 1"] {
        assert!(matches!(parse_expression(sql), Err(SqlError::Syntax { .. })), "{sql}: {:?}", parse_expression(sql));
    }
}

#[test]
fn long_chains_become_shallow() {
    let sql = (0..1_500).map(|n| format!("id = {n}")).collect::<Vec<_>>().join(" OR ");
    let found = parse_predicate(&sql).unwrap();
    let (mut stack, mut deepest) = (vec![(&found, 1)], 0);
    while let Some((expr, depth)) = stack.pop() {
        deepest = deepest.max(depth);
        stack.extend(expr.children().into_iter().map(|child| (child, depth + 1)));
    }
    assert!(deepest <= 14, "{deepest}");
}
