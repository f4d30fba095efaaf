//! The evaluator against values that SQL text spells out, and against arbitrary expressions.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test by panicking")]

use lakebed_conflict::eval::{Failure, Holds, Value, Widened, cast, evaluate};
use lakebed_sql::parse_expression;
use lakebed_transaction::{BinaryOp, ColumnType, Expr, Scalar, UnaryOp};
use proptest::prelude::*;
use std::sync::Arc;

/// i = 3, z = 0, f = 0.5, nan, s = 'abc', d = 2024-02-29, n = NULL, t = TRUE, m = 1.50; anything else is not known.
fn row(path: &[Arc<str>]) -> Value {
    let [name] = path else { return Value::Unbounded };
    Value::Known(match &**name {
        "i" => Scalar::Int(3),
        "z" => Scalar::Int(0),
        "f" => Scalar::Float(0.5),
        "nan" => Scalar::Float(f64::NAN),
        "s" => Scalar::string("abc"),
        "d" => Scalar::Date(19_782),
        "n" => Scalar::Null,
        "t" => Scalar::Boolean(true),
        "m" => Scalar::Decimal { unscaled: 150, scale: 2 },
        _ => return Value::Unbounded,
    })
}

fn spelled(text: &str) -> &'static str {
    match evaluate(&parse_expression(text).unwrap(), &row) {
        Value::Known(Scalar::Boolean(true)) => "true",
        Value::Known(Scalar::Boolean(false)) => "false",
        Value::Known(Scalar::Null) => "null",
        Value::Known(_) => "value",
        Value::Unbounded => "unbounded",
        Value::Failed(_) => "fails",
    }
}

/// SQL text over the row above, and its truth value.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("i = 3", "true"),
    ("i <> 3", "false"),
    ("i >= 3 AND i < 4", "true"),
    ("i = '03'", "true"),
    ("i = 'x'", "fails"),
    ("i = 3.0 AND m = 1.5", "true"),
    ("n = 1", "null"),
    ("n <=> NULL", "true"),
    ("n <=> 1", "false"),
    ("n IS NULL AND i IS NOT NULL", "true"),
    ("n = 1 AND false", "false"),
    ("n = 1 OR true", "true"),
    ("NOT (n = 1)", "null"),
    ("false AND i = 'x'", "false"),
    ("n = 1 AND i = 'x'", "fails"),
    ("true OR i = 'x'", "true"),
    ("u = 1", "unbounded"),
    ("u = 1 AND false", "false"),
    ("u = 1 OR true", "true"),
    ("NOT (u = 1)", "unbounded"),
    ("u = 1 AND n = 1", "unbounded"),
    ("i IN (1, 2, 3)", "true"),
    ("i IN (1, NULL)", "null"),
    ("i NOT IN (1, NULL)", "null"),
    ("i NOT IN (3, NULL)", "false"),
    ("(i, s) IN ((3, 'x'), (3, 'abc'))", "true"),
    ("(i, n) IN ((3, 1))", "null"),
    ("(i, n) IN ((4, 1))", "false"),
    ("i BETWEEN 3 AND 4", "true"),
    ("i BETWEEN NULL AND 2", "false"),
    ("i NOT BETWEEN NULL AND 2", "true"),
    ("i BETWEEN NULL AND 3", "null"),
    ("s LIKE 'a%'", "true"),
    ("s LIKE '_b_'", "true"),
    ("s LIKE '%b'", "false"),
    ("s NOT LIKE 'x%'", "true"),
    ("s LIKE 'a!%' ESCAPE '!'", "false"),
    ("n LIKE 'a'", "null"),
    ("i + 1 = 4 AND i - 1 = 2 AND i * 2 = 6 AND i / 2 = 1.5 AND i % 2 = 1", "true"),
    ("-i = -3", "true"),
    ("i / z = 1", "fails"),
    ("i % z = 1", "fails"),
    ("9223372036854775807 + i = 1", "fails"),
    ("m + 1 = 2.5 AND m * m = 2.25", "true"),
    ("d = '2024-02-29' AND d >= DATE '2024-2-1'", "true"),
    ("d + 1 = DATE '2024-03-01'", "true"),
    ("d < TIMESTAMP '2024-02-29 00:00:01'", "true"),
    ("d = '2024-02-30'", "fails"),
    ("year(d) = 2024 AND month(d) = 2 AND day(d) = 29", "true"),
    ("coalesce(n, i) = 3", "true"),
    ("upper(s) = 'ABC' AND lower('ABC') = s AND length(s) = 3 AND startswith(s, 'ab')", "true"),
    ("abs(-i) = 3", "true"),
    ("isnan(nan) AND NOT isnan(f) AND NOT isnan(n)", "true"),
    ("nan > 1e308 AND nan = nan", "true"),
    ("if(n IS NULL, t, false)", "true"),
    ("CASE WHEN n = 1 THEN false WHEN t THEN true END", "true"),
    ("CASE i WHEN 1 THEN false ELSE NULL END", "null"),
    ("CASE WHEN u = 1 THEN true ELSE true END", "unbounded"),
    ("CAST(i AS string) = '3' AND CAST('3' AS int) = i", "true"),
    ("CAST('1.5' AS int) = 1", "fails"),
    ("CAST(f AS string) = '0.5'", "unbounded"),
    ("CAST(d AS string) = '2024-02-29'", "true"),
    ("boolean(i)", "true"),
    ("double(i) = 3", "true"),
    ("rand() > 2", "unbounded"),
    ("s > 1", "fails"),
    ("t > d", "unbounded"),
];

#[test]
fn expressions() {
    let wrong: Vec<String> = EXPRESSIONS
        .iter()
        .map(|(text, expected)| (text, *expected, spelled(text)))
        .filter(|(_, expected, answer)| expected != answer)
        .map(|(text, expected, answer)| format!("{text}: {answer}, not {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn texts_as_values() {
    let decimal = ColumnType::Decimal { precision: 5, scale: 2 };
    let known = [
        (" 01 ", ColumnType::Integer, Scalar::Int(1)),
        ("-128", ColumnType::Byte, Scalar::Int(-128)),
        ("+7", ColumnType::Long, Scalar::Int(7)),
        ("5E-1", ColumnType::Double, Scalar::Float(0.5)),
        ("1.5d", ColumnType::Double, Scalar::Float(1.5)),
        ("-Infinity", ColumnType::Double, Scalar::Float(f64::NEG_INFINITY)),
        ("0.1", ColumnType::Float, Scalar::Float(f64::from(0.1_f32))),
        ("1.005", decimal.clone(), Scalar::Decimal { unscaled: 101, scale: 2 }),
        ("-1.005", decimal.clone(), Scalar::Decimal { unscaled: -101, scale: 2 }),
        ("1e2", decimal.clone(), Scalar::Decimal { unscaled: 10_000, scale: 2 }),
        ("1e-40", decimal.clone(), Scalar::Decimal { unscaled: 0, scale: 2 }),
        ("YES", ColumnType::Boolean, Scalar::Boolean(true)),
        ("0", ColumnType::Boolean, Scalar::Boolean(false)),
        ("2024-1-1", ColumnType::Date, Scalar::Date(19_723)),
        ("2024-01-01 00:00:00", ColumnType::Date, Scalar::Date(19_723)),
        ("1969-12-31", ColumnType::Date, Scalar::Date(-1)),
        ("0001-01-01", ColumnType::Date, Scalar::Date(-719_162)),
        ("2024", ColumnType::Date, Scalar::Date(19_723)),
        ("1970-01-01T00:00:01.5Z", ColumnType::Timestamp, Scalar::Timestamp(1_500_000)),
        ("1970-01-01 00:00:01.5", ColumnType::Timestamp, Scalar::Timestamp(1_500_000)),
        ("1970-01-01 02:00:00+02:00", ColumnType::Timestamp, Scalar::Timestamp(0)),
        ("1970-01-01 0:0:0.1234567", ColumnType::TimestampNtz, Scalar::TimestampNtz(123_456)),
        ("", ColumnType::String, Scalar::string("")),
        ("ab", ColumnType::Binary, Scalar::Binary(Arc::from(&b"ab"[..]))),
    ];
    for (text, to, value) in known {
        assert_eq!(cast(&Scalar::string(text), &to), Value::Known(value), "{text} as {to:?}");
    }
    assert!(matches!(cast(&Scalar::string("NaN"), &ColumnType::Double), Value::Known(Scalar::Float(x)) if x.is_nan()));
    for (text, to) in [
        ("", ColumnType::Integer),
        ("abc", ColumnType::Integer),
        ("1.5", ColumnType::Integer),
        ("128", ColumnType::Byte),
        ("99999999999", ColumnType::Integer),
        ("maybe", ColumnType::Boolean),
        ("2023-02-29", ColumnType::Date),
        ("2024-13-01", ColumnType::Date),
        ("24-01-01", ColumnType::Date),
        ("2024-01-01 24:00:00", ColumnType::Timestamp),
        ("1.-5", decimal.clone()),
    ] {
        let answer = cast(&Scalar::string(text), &to);
        assert!(
            matches!(&answer, Value::Failed(Failure::Cast { text: shown, .. }) if shown == text),
            "{text}: {answer:?}"
        );
    }
    assert_eq!(cast(&Scalar::string("1000"), &decimal), Value::Failed(Failure::Overflow));
    let zoned = Scalar::string("2024-01-01 00:00:00 Europe/Vienna");
    assert_eq!(cast(&zoned, &ColumnType::Timestamp), Value::Unbounded);
    assert_eq!(cast(&Scalar::Int(1), &ColumnType::Other("variant".to_owned())), Value::Unbounded);
}

#[test]
fn widening_is_by_conjunct() {
    let holds = |text: &str| Widened::of(&[parse_expression(text).unwrap()]).holds(&row);
    assert_eq!(holds("i = 1 AND rand() > 0.5"), Holds::No);
    assert_eq!(holds("i = 3 AND rand() > 0.5"), Holds::Possibly);
    // The whole of an OR or a NOT counts as TRUE, although logic alone could do better for the last one.
    assert_eq!(holds("i = 1 OR rand() > 2"), Holds::Possibly);
    assert_eq!(holds("NOT (isodd(i) AND i = 2)"), Holds::Possibly);
    assert_eq!(holds("(isodd(i) AND i = 2) OR i = 1"), Holds::Possibly);
    assert_eq!(holds("n = 1"), Holds::No);
    assert_eq!(holds("i = 'x'"), Holds::Failed(Failure::Cast { text: "x".to_owned(), to: "BIGINT" }));
    assert_eq!(Widened::of(&[]).holds(&row), Holds::Possibly, "no filter matches everything");
}

#[test]
fn deep_nesting_cannot_be_bounded() {
    let mut deep = Expr::column("t");
    for _ in 0..10_000 {
        deep = Expr::Unary(UnaryOp::Not, Box::new(deep));
    }
    assert_eq!(evaluate(&deep, &row), Value::Unbounded);
    // Taken apart by hand, since dropping it whole would recurse as deep.
    while let Expr::Unary(_, inner) = deep {
        deep = *inner;
    }
}

#[test]
fn long_chains_are_bounded_all_the_same() {
    let term = |at: i64| Expr::column("i").binary(BinaryOp::Equal, Expr::Literal(Scalar::Int(at)));
    let chain = (100..1_000).map(term).reduce(|a, b| a.binary(BinaryOp::Or, b)).unwrap();
    assert_eq!(evaluate(&chain, &row), Value::boolean(false));
    assert_eq!(evaluate(&chain.binary(BinaryOp::Or, term(3)), &row), Value::boolean(true));
}

proptest! {
    /// Every day has one date, and its text reads back.
    #[test]
    fn dates_round_trip(days in -719_162_i32..2_932_896) {
        let Value::Known(text) = cast(&Scalar::Date(days), &ColumnType::String) else { panic!("day {days} has no text") };
        prop_assert_eq!(cast(&text, &ColumnType::Date), Value::Known(Scalar::Date(days)));
    }

    /// No text makes a cast panic.
    #[test]
    fn any_text_is_cast(text in "\\PC{0,24}|[0-9eE+.:TZ -]{0,40}") {
        for to in [
            ColumnType::Boolean, ColumnType::Byte, ColumnType::Long, ColumnType::Float, ColumnType::Date,
            ColumnType::Timestamp, ColumnType::TimestampNtz, ColumnType::Decimal { precision: 38, scale: 38 },
        ] {
            let answer = cast(&Scalar::string(&text), &to);
            prop_assert_ne!(answer, Value::NULL);
        }
    }

    /// LIKE agrees with a matcher that tries everything.
    #[test]
    fn like_matches(text in "[ab]{0,8}", pattern in "[ab_%]{0,6}") {
        fn tries(text: &[u8], pattern: &[u8]) -> bool {
            match (pattern, text) {
                ([], _) => text.is_empty(),
                ([b'%', rest @ ..], _) => (0..=text.len()).any(|at| tries(&text[at..], rest)),
                ([b'_', rest @ ..], [_, more @ ..]) => tries(more, rest),
                ([c, rest @ ..], [x, more @ ..]) => c == x && tries(more, rest),
                (_, []) => false,
            }
        }
        let like = Expr::Like {
            operand: Box::new(Expr::Literal(Scalar::string(&text))),
            pattern: Box::new(Expr::Literal(Scalar::string(&pattern))),
            escape: None,
            negated: false,
        };
        prop_assert_eq!(evaluate(&like, &row), Value::boolean(tries(text.as_bytes(), pattern.as_bytes())));
    }
}
