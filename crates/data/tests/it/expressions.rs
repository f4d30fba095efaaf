//! Operators and functions, with values derived by hand from SQL's rules.

use arrow_array::cast::AsArray;
use arrow_array::record_batch;
use lakebed_data::{DataError, EvalFailure, evaluate, evaluate_as, evaluate_scalar, filter_mask};
use lakebed_transaction::{BinaryOp, CaseArm, Column, ColumnType, Expr, Function, Scalar, UnaryOp};

pub(crate) fn int(value: i64) -> Expr {
    Expr::Literal(Scalar::Int(value))
}

pub(crate) fn text(value: &str) -> Expr {
    Expr::Literal(Scalar::string(value))
}

pub(crate) fn null() -> Expr {
    Expr::Literal(Scalar::Null)
}

pub(crate) fn call(function: Function, arguments: Vec<Expr>) -> Expr {
    Expr::Call(function, arguments)
}

fn float(value: f64) -> Expr {
    Expr::Literal(Scalar::Float(value))
}

fn bool(value: bool) -> Expr {
    Expr::Literal(Scalar::Boolean(value))
}

fn decimal(unscaled: i128, scale: u8) -> Expr {
    Expr::Literal(Scalar::Decimal { unscaled, scale })
}

fn date(days: i32) -> Expr {
    Expr::Literal(Scalar::Date(days))
}

fn cast(x: Expr, to: ColumnType) -> Expr {
    Expr::Cast(Box::new(x), to)
}

fn not(x: Expr) -> Expr {
    Expr::Unary(UnaryOp::Not, Box::new(x))
}

fn is_in(x: Expr, list: Vec<Expr>, negated: bool) -> Expr {
    Expr::In { operand: Box::new(x), list, negated }
}

fn between(x: Expr, low: Expr, high: Expr, negated: bool) -> Expr {
    Expr::Between { operand: Box::new(x), low: Box::new(low), high: Box::new(high), negated }
}

fn like(x: Expr, pattern: &str, escape: Option<char>) -> Expr {
    Expr::Like { operand: Box::new(x), pattern: Box::new(text(pattern)), escape, negated: false }
}

fn check(expr: &Expr, expected: &Scalar) {
    let found = evaluate_scalar(expr, &[]).unwrap_or_else(|error| panic!("{expr:?}: {error}"));
    assert_eq!(&found, expected, "{expr:?}");
}

fn check_all(cases: Vec<(Expr, Scalar)>) {
    for (expr, expected) in cases {
        check(&expr, &expected);
    }
}

fn failure(expr: &Expr) -> EvalFailure {
    match evaluate_scalar(expr, &[]) {
        Err(DataError::Evaluate { failure, .. }) => failure,
        other => panic!("{expr:?} gives {other:?}"),
    }
}

/// AND, OR, NOT over TRUE, FALSE, NULL: the nine rows of SQL's truth table.
#[test]
fn logic_has_three_values() {
    let values = [Some(true), Some(false), None];
    let expr = |value: Option<bool>| value.map_or_else(null, bool);
    let scalar = |value: Option<bool>| value.map_or(Scalar::Null, Scalar::Boolean);
    for a in values {
        for b in values {
            let and = if a == Some(false) || b == Some(false) { Some(false) } else { a.and(b) };
            let or = if a == Some(true) || b == Some(true) {
                Some(true)
            } else if a.is_none() {
                a
            } else {
                b
            };
            check(&expr(a).binary(BinaryOp::And, expr(b)), &scalar(and));
            check(&expr(a).binary(BinaryOp::Or, expr(b)), &scalar(or));
        }
        check(&not(expr(a)), &scalar(a.map(|value| !value)));
    }
}

#[test]
fn comparisons() {
    use BinaryOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual, NullSafeEqual};
    let (yes, no, unknown) = (Scalar::Boolean(true), Scalar::Boolean(false), Scalar::Null);
    check_all(vec![
        (int(1).binary(Less, int(2)), yes.clone()),
        (int(2).binary(LessOrEqual, int(2)), yes.clone()),
        (int(2).binary(Greater, decimal(15, 1)), yes.clone()),
        (int(2).binary(GreaterOrEqual, float(2.5)), no.clone()),
        (int(1).binary(NotEqual, null()), unknown.clone()),
        (int(1).binary(Equal, null()), unknown),
        (int(1).binary(NullSafeEqual, null()), no.clone()),
        (null().binary(NullSafeEqual, null()), yes.clone()),
        (int(1).binary(NullSafeEqual, decimal(10, 1)), yes.clone()),
        // NaN equals itself and is greater than everything; the zeros are one.
        (float(f64::NAN).binary(Equal, float(-f64::NAN)), yes.clone()),
        (float(f64::NAN).binary(Greater, float(f64::INFINITY)), yes.clone()),
        (float(-0.0).binary(Equal, float(0.0)), yes.clone()),
        (float(-0.0).binary(Less, float(0.0)), no.clone()),
        // An integer beyond 2^53 is not its neighbour.
        (int(9_007_199_254_740_993).binary(Equal, float(9_007_199_254_740_992.0)), no.clone()),
        (decimal(1, 1).binary(Equal, float(0.1)), yes.clone()),
        (decimal(10_i128.pow(37), 0).binary(Less, decimal(10_i128.pow(37), 37)), no.clone()),
        // A text is read as what it meets.
        (text(" 01 ").binary(Equal, int(1)), yes.clone()),
        (text("1.50").binary(Equal, decimal(15, 1)), yes.clone()),
        (date(1).binary(Equal, text("1970-01-02")), yes.clone()),
        (date(1).binary(Less, Expr::Literal(Scalar::TimestampNtz(86_400_000_001))), yes.clone()),
        (Expr::Literal(Scalar::Timestamp(0)).binary(Equal, text("1970-01-01T01:00:00+01:00")), yes.clone()),
        (bool(true).binary(Equal, text("yes")), yes.clone()),
        (text("é").binary(Greater, text("z")), yes),
        (text("a").binary(Greater, text("b")), no),
    ]);
    let single = || Expr::Cast(Box::new(float(0.1)), ColumnType::Float);
    check_all(vec![
        (single().binary(Equal, text("0.1")), Scalar::Boolean(true)),
        (single().binary(Greater, text("0.1")), Scalar::Boolean(false)),
        (single().binary(Equal, float(0.1)), Scalar::Boolean(false)),
    ]);
    assert!(matches!(failure(&text("x").binary(Equal, int(1))), EvalFailure::Cast { .. }));
    assert!(matches!(failure(&bool(true).binary(Equal, date(1))), EvalFailure::Types { .. }));
}

#[test]
fn sets_ranges_and_patterns() {
    let (yes, no, unknown) = (Scalar::Boolean(true), Scalar::Boolean(false), Scalar::Null);
    let row = |a, b| Expr::Row(vec![a, b]);
    check_all(vec![
        (is_in(int(1), vec![int(2), int(1)], false), yes.clone()),
        (is_in(int(1), vec![int(2), null()], false), unknown.clone()),
        (is_in(int(1), vec![int(1), null()], true), no.clone()),
        (is_in(int(1), vec![int(2), null()], true), unknown.clone()),
        (is_in(null(), vec![int(2)], false), unknown.clone()),
        (is_in(row(int(1), text("a")), vec![row(int(1), text("b")), row(int(1), text("a"))], false), yes.clone()),
        (is_in(row(int(1), null()), vec![row(int(1), text("b"))], false), unknown.clone()),
        (is_in(row(int(1), null()), vec![row(int(2), text("b"))], false), no.clone()),
        (between(int(2), int(1), int(2), false), yes.clone()),
        (between(int(3), int(1), null(), false), unknown.clone()),
        (between(int(0), int(1), null(), false), no.clone()),
        (between(int(0), int(1), null(), true), yes.clone()),
        (like(text("abc"), "a%", None), yes.clone()),
        (like(text("abc"), "_b_", None), yes.clone()),
        (like(text("abc"), "b", None), no.clone()),
        (like(text("a%c"), "a\\%c", None), yes.clone()),
        (like(text("abc"), "a\\%c", None), no.clone()),
        (like(text("a_c"), "a!_c", Some('!')), yes.clone()),
        (like(text("日本"), "_本", None), yes.clone()),
        (like(text("aXbXc"), "%X%c", None), yes.clone()),
        (like(null(), "%", None), unknown),
        (Expr::IsNull { operand: Box::new(null()), negated: false }, yes.clone()),
        (Expr::IsNull { operand: Box::new(int(1)), negated: true }, yes),
        (Expr::IsNull { operand: Box::new(int(1)), negated: false }, no),
    ]);
}

#[test]
fn arithmetic() {
    use BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};
    let d = |unscaled, scale| Scalar::Decimal { unscaled, scale };
    check_all(vec![
        (int(1).binary(Add, int(2)), Scalar::Int(3)),
        (int(7).binary(Divide, int(2)), Scalar::Float(3.5)),
        (int(-7).binary(Modulo, int(2)), Scalar::Int(-1)),
        (int(i64::MIN).binary(Modulo, int(-1)), Scalar::Int(0)),
        (int(1).binary(Add, null()), Scalar::Null),
        (int(1).binary(Subtract, float(0.5)), Scalar::Float(0.5)),
        (decimal(15, 1).binary(Add, decimal(25, 2)), d(175, 2)),
        (decimal(15, 1).binary(Multiply, decimal(25, 2)), d(375, 3)),
        // decimal(2,1) / decimal(2,2): scale max(6, 1 + 2 + 1) = 6.
        (decimal(15, 1).binary(Divide, decimal(25, 2)), d(6_000_000, 6)),
        (decimal(1, 0).binary(Divide, decimal(3, 0)), d(333_333, 6)),
        (decimal(2, 0).binary(Divide, decimal(3, 0)), d(666_667, 6)),
        (decimal(75, 1).binary(Modulo, int(2)), d(15, 1)),
        (text("2").binary(Multiply, int(3)), Scalar::Int(6)),
        (date(10).binary(Add, int(5)), Scalar::Date(15)),
        (date(10).binary(Subtract, int(5)), Scalar::Date(5)),
        (Expr::Unary(UnaryOp::Negate, Box::new(decimal(15, 1))), d(-15, 1)),
        (Expr::Unary(UnaryOp::Negate, Box::new(null())), Scalar::Null),
    ]);
    assert!(matches!(failure(&int(i64::MAX).binary(Add, int(1))), EvalFailure::Overflow { .. }));
    assert!(matches!(failure(&Expr::Unary(UnaryOp::Negate, Box::new(int(i64::MIN)))), EvalFailure::Overflow { .. }));
    for zero in [int(0), float(0.0), decimal(0, 2)] {
        assert_eq!(failure(&int(1).binary(Divide, zero.clone())), EvalFailure::DivideByZero);
        assert_eq!(failure(&decimal(1, 1).binary(Modulo, zero)), EvalFailure::DivideByZero);
    }
    let error = evaluate_scalar(&int(1).binary(Divide, int(0)), &[]).unwrap_err().to_string();
    assert!(error.contains("(1 / 0)"), "{error}");
}

#[test]
fn functions() {
    use Function::{Abs, Coalesce, Day, If, IsNan, Length, Lower, Month, StartsWith, Upper, Year};
    let leap_day = date(19_782); // 2024-02-29
    check_all(vec![
        (call(Coalesce, vec![null(), int(2), int(3)]), Scalar::Int(2)),
        (call(Coalesce, vec![null(), null()]), Scalar::Null),
        (call(Upper, vec![text("aß")]), Scalar::string("ASS")),
        (call(Lower, vec![text("ÀB")]), Scalar::string("àb")),
        (call(Upper, vec![null()]), Scalar::Null),
        (call(Length, vec![text("日本😀")]), Scalar::Int(3)),
        (call(StartsWith, vec![text("abc"), text("ab")]), Scalar::Boolean(true)),
        (call(StartsWith, vec![text("abc"), null()]), Scalar::Null),
        (call(Abs, vec![int(-3)]), Scalar::Int(3)),
        (call(Abs, vec![float(-0.5)]), Scalar::Float(0.5)),
        (call(If, vec![null(), int(1), int(2)]), Scalar::Int(2)),
        (call(If, vec![bool(true), int(1), null()]), Scalar::Int(1)),
        (call(Year, vec![leap_day.clone()]), Scalar::Int(2024)),
        (call(Month, vec![leap_day.clone()]), Scalar::Int(2)),
        (call(Day, vec![leap_day]), Scalar::Int(29)),
        (call(Year, vec![Expr::Literal(Scalar::Timestamp(-1))]), Scalar::Int(1969)),
        (call(IsNan, vec![float(f64::NAN)]), Scalar::Boolean(true)),
        (call(IsNan, vec![null()]), Scalar::Boolean(false)),
    ]);
    assert!(matches!(failure(&call(If, vec![int(1)])), EvalFailure::Arguments { .. }));
    let unknown = Expr::Unknown { name: "rand".into(), arguments: Vec::new() };
    assert!(matches!(evaluate_scalar(&unknown, &[]), Err(DataError::UnknownFunction { name }) if name == "rand"));
}

#[test]
fn casts() {
    use ColumnType::{Boolean, Byte, Date, Double, Integer, Long, String, Timestamp, TimestampNtz};
    let two = ColumnType::Decimal { precision: 5, scale: 2 };
    let d = |unscaled| Scalar::Decimal { unscaled, scale: 2 };
    check_all(vec![
        (cast(text(" 12 "), Integer), Scalar::Int(12)),
        (cast(float(-2.9), Long), Scalar::Int(-2)),
        (cast(decimal(29, 1), Integer), Scalar::Int(2)),
        (cast(decimal(1_255, 3), two.clone()), d(126)),
        (cast(decimal(-1_255, 3), two.clone()), d(-126)),
        (cast(float(1.005), two.clone()), d(101)),
        (cast(text("1e2"), two.clone()), d(10_000)),
        (cast(text("-Infinity"), Double), Scalar::Float(f64::NEG_INFINITY)),
        (cast(int(0), Boolean), Scalar::Boolean(false)),
        (cast(text("2024-02-29 23:00:00"), Date), Scalar::Date(19_782)),
        (cast(date(1), Timestamp), Scalar::Timestamp(86_400_000_000)),
        (cast(Expr::Literal(Scalar::Timestamp(-1)), Date), Scalar::Date(-1)),
        (cast(Expr::Literal(Scalar::Timestamp(1_500_000)), Long), Scalar::Int(1)),
        (cast(text("1970-01-01 00:00:01.5"), TimestampNtz), Scalar::TimestampNtz(1_500_000)),
        (cast(float(1e7), String), Scalar::string("1.0E7")),
        (cast(float(1234567.0), String), Scalar::string("1234567.0")),
        (cast(float(0.001), String), Scalar::string("0.001")),
        (cast(decimal(-5, 2), String), Scalar::string("-0.05")),
        (cast(date(-719_162), String), Scalar::string("0001-01-01")),
        (cast(null(), Integer), Scalar::Null),
    ]);
    assert!(matches!(evaluate_scalar(&cast(text("NaN"), Double), &[]), Ok(Scalar::Float(value)) if value.is_nan()));
    assert!(matches!(failure(&cast(int(200), Byte)), EvalFailure::Cast { .. }));
    assert!(matches!(failure(&cast(float(f64::NAN), Long)), EvalFailure::Cast { .. }));
    assert!(matches!(failure(&cast(decimal(100_000, 2), two)), EvalFailure::Cast { .. }));
    assert!(matches!(failure(&cast(text("2023-02-29"), Date)), EvalFailure::Cast { .. }));
}

/// What SQL does not look at does not fail.
#[test]
fn branches_that_are_not_taken_do_not_fail() {
    use BinaryOp::{And, Divide, Equal, Greater, NotEqual, Or};
    let rows = record_batch!(("n", Int32, [Some(0), Some(2), None])).unwrap();
    let n = || Expr::column("N");
    let inverse = || int(1).binary(Divide, n());
    let longs = |expr: &Expr| evaluate(expr, &rows).unwrap();
    let guarded = call(Function::If, vec![n().binary(NotEqual, int(0)), inverse(), float(-1.0)]);
    let found = longs(&guarded);
    let found: Vec<_> = found.as_primitive::<arrow_array::types::Float64Type>().iter().collect();
    assert_eq!(found, [Some(-1.0), Some(0.5), Some(-1.0)]);
    let both = n().binary(NotEqual, int(0)).binary(And, inverse().binary(Greater, float(0.1)));
    assert_eq!(longs(&both).as_boolean().iter().collect::<Vec<_>>(), [Some(false), Some(true), None]);
    let either = n().binary(Equal, int(0)).binary(Or, inverse().binary(Greater, float(0.9)));
    assert_eq!(longs(&either).as_boolean().iter().collect::<Vec<_>>(), [Some(true), Some(false), None]);
    let mask = filter_mask(&either, &rows).unwrap();
    assert_eq!(mask.iter().collect::<Vec<_>>(), [Some(true), Some(false), Some(false)]);
    let arm = CaseArm { when: int(0), then: text("none") };
    let case = Expr::Case { operand: Some(Box::new(n())), arms: vec![arm], otherwise: None };
    assert_eq!(longs(&case).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("none"), None, None]);
    assert!(evaluate(&inverse(), &rows).is_err());
}

#[test]
fn columns_are_found_without_regard_to_case_and_assigned_by_type() {
    let rows = record_batch!(("Name", Utf8, ["a"]), ("n", Int32, [i32::MAX])).unwrap();
    let error = evaluate(&Expr::column("nmae"), &rows).unwrap_err().to_string();
    assert_eq!(error, "no column nmae; there are Name, n");
    assert!(evaluate(&Expr::column("NAME"), &rows).is_ok());
    let next = Expr::column("n").binary(BinaryOp::Add, int(1));
    let column = Column::new("n", ColumnType::Integer, true);
    assert!(matches!(evaluate_as(&next, &rows, &column), Err(DataError::Evaluate { .. })));
    let same = evaluate_as(&Expr::column("n").binary(BinaryOp::Add, int(0)), &rows, &column).unwrap();
    assert_eq!(same.as_primitive::<arrow_array::types::Int32Type>().value(0), i32::MAX);
    let chain = (0..2_000)
        .fold(bool(false), |expr, at| expr.binary(BinaryOp::Or, Expr::column("n").binary(BinaryOp::Less, int(-at))));
    assert_eq!(filter_mask(&chain, &rows).unwrap().true_count(), 0);
}

/// However an expression is nested, it is refused before the stack ends.
#[test]
fn depth_is_bounded() {
    let rows = record_batch!(("n", Int32, [1])).unwrap();
    let case = |x: Expr| Expr::Case {
        operand: None,
        arms: vec![CaseArm { when: x.clone(), then: bool(true) }],
        otherwise: Some(Box::new(bool(false))),
    };
    let steps: [&dyn Fn(Expr) -> Expr; 7] = [
        &not,
        &case,
        &|x| call(Function::If, vec![bool(true), x, bool(true)]),
        &|x| call(Function::Coalesce, vec![x, bool(true)]),
        &|x| x.binary(BinaryOp::Equal, bool(true)),
        &|x| is_in(x, vec![bool(true)], false),
        &|x| bool(true).binary(BinaryOp::And, bool(false).binary(BinaryOp::Or, x)),
    ];
    for (at, step) in steps.iter().enumerate() {
        let deep = (0..300).fold(Expr::column("missing"), |expr, _| step(expr));
        let error = filter_mask(&deep, &rows).unwrap_err();
        assert!(matches!(error, DataError::Evaluate { failure: EvalFailure::TooDeep, .. }), "{at}: {error}");
    }
}

/// Sub-expressions are computed once, so that nesting adds work and does not multiply it.
#[test]
fn nested_choices_are_computed_once() {
    let rows = record_batch!(("n", Int32, [Some(1), None])).unwrap();
    let case = |x: Expr| {
        let arm = |when: i64| CaseArm { when: int(when), then: int(when + 1) };
        Expr::Case { operand: Some(Box::new(x)), arms: vec![arm(1), arm(2)], otherwise: Some(Box::new(int(1))) }
    };
    let nested = (0..60).fold(Expr::column("n"), |x, _| case(x));
    let found = evaluate(&nested, &rows).unwrap();
    // 1 → 2 → 3 → 1 → …, and NULL → 1 first.
    let found: Vec<_> = found.as_primitive::<arrow_array::types::Int64Type>().iter().collect();
    assert_eq!(found, [Some(1), Some(3)]);
    let nested = (0..60).fold(Expr::column("n"), |x, _| call(Function::Coalesce, vec![x, int(7)]));
    let found = evaluate(&nested, &rows).unwrap();
    let found: Vec<_> = found.as_primitive::<arrow_array::types::Int64Type>().iter().collect();
    assert_eq!(found, [Some(1), Some(7)]);
}
