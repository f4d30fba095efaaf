//! Answers against evaluation over arbitrary rows.

use super::types;
use lakebed_conflict::eval::{Value, evaluate};
use lakebed_conflict::predicate::{Selects, overlap, selects_in_unit};
use lakebed_transaction::{BinaryOp, ColumnBounds, Expr, ReadPredicate, Scalar, UnaryOp, Unit, UnitId};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

/// i, j integers, s text, x float, d date.
const COLUMNS: [&str; 5] = ["i", "j", "s", "x", "d"];

type Row = [Scalar; 5];

fn int() -> impl Strategy<Value = Scalar> {
    (-4_i64..5).prop_map(Scalar::Int)
}

fn text() -> impl Strategy<Value = Scalar> {
    prop::sample::select(vec!["", "a", "ab", "abc", "b", "1", "01", "2", "-1"]).prop_map(Scalar::string)
}

fn float() -> impl Strategy<Value = Scalar> {
    prop::sample::select(vec![-1.5, -0.0, 0.0, 0.5, 1.0, 3.0, f64::NAN, f64::INFINITY]).prop_map(Scalar::Float)
}

fn date() -> impl Strategy<Value = Scalar> {
    (0_i32..4).prop_map(Scalar::Date)
}

fn or_null<S: Strategy<Value = Scalar> + 'static>(value: S) -> impl Strategy<Value = Scalar> {
    prop_oneof![5 => value, 1 => Just(Scalar::Null)]
}

fn row() -> impl Strategy<Value = Row> {
    (or_null(int()), or_null(int()), or_null(text()), or_null(float()), or_null(date()))
        .prop_map(|(i, j, s, x, d)| [i, j, s, x, d])
}

fn literal() -> impl Strategy<Value = Expr> {
    let decimal = (-30_i128..30).prop_map(|unscaled| Scalar::Decimal { unscaled, scale: 1 });
    prop_oneof![int(), text(), float(), date(), decimal, Just(Scalar::Null)].prop_map(Expr::Literal)
}

fn comparison() -> impl Strategy<Value = Expr> {
    let op = prop::sample::select(vec![
        BinaryOp::Equal,
        BinaryOp::NotEqual,
        BinaryOp::Less,
        BinaryOp::LessOrEqual,
        BinaryOp::Greater,
        BinaryOp::GreaterOrEqual,
        BinaryOp::NullSafeEqual,
    ]);
    let column = || prop::sample::select(COLUMNS.to_vec()).prop_map(Expr::column);
    let pattern = prop::sample::select(vec!["a%", "%", "ab", "a_c", "b%b", "%a", "1%"]);
    prop_oneof![
        4 => (column(), op.clone(), literal()).prop_map(|(a, op, b)| a.binary(op, b)),
        1 => (literal(), op.clone(), column()).prop_map(|(a, op, b)| a.binary(op, b)),
        1 => (column(), op, column()).prop_map(|(a, op, b)| a.binary(op, b)),
        1 => (column(), any::<bool>()).prop_map(|(x, negated)| Expr::IsNull { operand: Box::new(x), negated }),
        1 => (column(), prop::collection::vec(literal(), 0..4), any::<bool>())
            .prop_map(|(x, list, negated)| Expr::In { operand: Box::new(x), list, negated }),
        1 => (column(), literal(), literal(), any::<bool>()).prop_map(|(x, low, high, negated)| Expr::Between {
            operand: Box::new(x),
            low: Box::new(low),
            high: Box::new(high),
            negated
        }),
        1 => (pattern, any::<bool>()).prop_map(|(pattern, negated)| Expr::Like {
            operand: Box::new(Expr::column("s")),
            pattern: Box::new(Expr::Literal(Scalar::string(pattern))),
            escape: None,
            negated
        }),
        1 => Just(Expr::Unknown { name: "f".to_owned(), arguments: vec![Expr::column("i")] }),
    ]
}

fn predicate() -> impl Strategy<Value = Expr> {
    comparison().prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.binary(BinaryOp::Or, b)),
            inner.prop_map(|x| Expr::Unary(UnaryOp::Not, Box::new(x))),
        ]
    })
}

/// The value over one row; a failure or something unknown counts as no answer.
fn holds(predicate: &Expr, row: &Row) -> Option<bool> {
    let value = |path: &[Arc<str>]| {
        let at = COLUMNS.iter().position(|column| path.len() == 1 && **column == *path[0]);
        at.map_or(Value::Unbounded, |at| Value::Known(row[at].clone()))
    };
    match evaluate(predicate, &value) {
        Value::Known(Scalar::Boolean(truth)) => Some(truth),
        Value::Known(_) => Some(false),
        Value::Unbounded | Value::Failed(_) => None,
    }
}

/// A unit that holds the rows: true bounds, with a float's maximum that leaves NaN out, and the first column as a
/// partition value where all rows agree on it.
fn unit_of(rows: &[Row]) -> Unit {
    let mut unit = Unit { row_count: Some(rows.len() as u64), ..Unit::named(UnitId::file("u")) };
    for (at, column) in COLUMNS.iter().enumerate() {
        let values: Vec<&Scalar> = rows.iter().map(|row| &row[at]).collect();
        if at == 0 && values.windows(2).all(|pair| pair[0] == pair[1]) {
            unit.partition.push((Arc::from(*column), values[0].clone()));
            continue;
        }
        let held: Vec<&Scalar> = values
            .iter()
            .filter(|value| !value.is_null() && !matches!(value, Scalar::Float(float) if float.is_nan()))
            .copied()
            .collect();
        let order = |a: &&&Scalar, b: &&&Scalar| a.compare(b).unwrap_or(Ordering::Equal);
        let nan_only = held.is_empty() && values.iter().any(|value| !value.is_null());
        let bounds = ColumnBounds {
            min: held.iter().min_by(order).map(|value| Scalar::clone(value)),
            max: held.iter().max_by(order).map(|value| Scalar::clone(value)),
            null_count: (!nan_only).then(|| values.iter().filter(|value| value.is_null()).count() as u64),
        };
        unit.bounds.push((Arc::from(*column), bounds));
    }
    unit
}

/// The unit with less known of it.
fn forget(mut unit: Unit, keep: [bool; 4]) -> Unit {
    if !keep[0] {
        unit.partition.clear();
    }
    for (_, bounds) in &mut unit.bounds {
        bounds.min = bounds.min.take().filter(|_| keep[1]);
        bounds.max = bounds.max.take().filter(|_| keep[2]);
        bounds.null_count = bounds.null_count.filter(|_| keep[3]);
    }
    unit
}

fn read(predicate: &Expr) -> ReadPredicate {
    ReadPredicate { partition: Vec::new(), data: vec![predicate.clone()] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// *Never* and *always* are true of every row that the unit holds.
    #[test]
    fn units_are_judged_soundly(
        predicate in predicate(), rows in prop::collection::vec(row(), 1..5), keep in any::<[bool; 4]>(),
    ) {
        let unit = forget(unit_of(&rows), keep);
        let answer = selects_in_unit(&read(&predicate), &unit).selects;
        for row in &rows {
            let truth = holds(&predicate, row);
            prop_assert!(answer != Selects::Never || truth != Some(true), "{row:?} in {unit:?}");
            prop_assert!(answer != Selects::Always || truth != Some(false), "{row:?} in {unit:?}");
        }
    }

    /// Two predicates that hold for one row are never said not to overlap.
    #[test]
    fn overlaps_are_found(a in predicate(), b in predicate(), rows in prop::collection::vec(row(), 20)) {
        let answer = overlap(&a, &b, &types).selects;
        let blind = overlap(&a, &b, &|_: &[Arc<str>]| None).selects;
        prop_assert!(blind == Selects::Possibly || answer == Selects::Never, "types only add to what is known");
        prop_assert_eq!(answer, overlap(&b, &a, &types).selects);
        for row in rows.iter().filter(|row| holds(&a, row) == Some(true) && holds(&b, row) == Some(true)) {
            prop_assert_eq!(answer, Selects::Possibly, "{:?}", row);
        }
    }

    /// Statistics that are dropped never rule out what they did not rule out before.
    #[test]
    fn forgetting_refuses_more(
        predicate in predicate(), rows in prop::collection::vec(row(), 1..5), keep in any::<[bool; 4]>(),
    ) {
        let known = unit_of(&rows);
        let with = selects_in_unit(&read(&predicate), &known).is_possible();
        let without = selects_in_unit(&read(&predicate), &forget(known, keep)).is_possible();
        prop_assert!(without || !with);
    }

    /// A predicate that is widened, by OR or by losing a conjunct, never rules out what it did not rule out before.
    #[test]
    fn widening_refuses_more(
        a in predicate(), b in predicate(), rows in prop::collection::vec(row(), 1..5),
    ) {
        let unit = unit_of(&rows);
        let possible = |predicate: &Expr| selects_in_unit(&read(predicate), &unit).is_possible();
        prop_assert!(possible(&a.clone().binary(BinaryOp::Or, b.clone())) || !possible(&a));
        prop_assert!(possible(&a) || !possible(&a.clone().and(b.clone())));
        let meets = |one: &Expr| overlap(one, &b, &types).is_possible();
        let zero = Expr::column("i").binary(BinaryOp::Equal, Expr::Literal(Scalar::Int(0)));
        prop_assert!(meets(&a.clone().binary(BinaryOp::Or, zero)) || !meets(&a));
    }
}
