//! A column at once or a row at a time: the same values.
//!
//! A NULL alone has no type, so that `COALESCE(f, 2.8)` is a decimal there and a double in a column of doubles; the decimals
//! here are exact as doubles too, and the values agree all the same.

use crate::expressions::{call, int, null, text};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, RecordBatch, StringArray,
};
use lakebed_data::{evaluate, evaluate_scalar, scalar_at};
use lakebed_transaction::{BinaryOp, CaseArm, ColumnType, Expr, Function, Scalar, UnaryOp};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

fn op(choices: &'static [BinaryOp]) -> impl Strategy<Value = BinaryOp> {
    prop::sample::select(choices)
}

const COMPARISONS: &[BinaryOp] = &[
    BinaryOp::Equal,
    BinaryOp::NotEqual,
    BinaryOp::Less,
    BinaryOp::LessOrEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterOrEqual,
    BinaryOp::NullSafeEqual,
];

fn numbers() -> BoxedStrategy<Expr> {
    let leaf = prop_oneof![
        Just(Expr::column("n")),
        Just(Expr::column("f")),
        Just(Expr::column("d")),
        (-3_i64..4).prop_map(int),
        (-6_i128..7).prop_map(|halves| Expr::Literal(Scalar::Decimal { unscaled: 5 * halves, scale: 1 })),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (op(&[BinaryOp::Add, BinaryOp::Subtract]), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| a.binary(op, b)),
            inner.clone().prop_map(|x| Expr::Unary(UnaryOp::Negate, Box::new(x))),
            inner.clone().prop_map(|x| call(Function::Abs, vec![x])),
            inner.clone().prop_map(|x| int(7).binary(BinaryOp::Divide, Expr::Cast(Box::new(x), ColumnType::Double))),
            (inner.clone(), inner).prop_map(|(a, b)| call(Function::Coalesce, vec![a, b])),
        ]
    })
    .boxed()
}

fn texts() -> BoxedStrategy<Expr> {
    let leaf = prop_oneof![Just(Expr::column("s")), "[ab%_]{0,3}".prop_map(|s| text(&s))];
    leaf.prop_recursive(2, 4, 1, |inner| {
        prop_oneof![
            inner.clone().prop_map(|x| call(Function::Upper, vec![x])),
            inner.prop_map(|x| call(Function::Lower, vec![x])),
        ]
    })
    .boxed()
}

fn truths() -> BoxedStrategy<Expr> {
    let leaf =
        prop_oneof![
            Just(Expr::column("b")),
            Just(null()),
            (op(COMPARISONS), numbers(), numbers()).prop_map(|(op, a, b)| a.binary(op, b)),
            (op(COMPARISONS), texts(), texts()).prop_map(|(op, a, b)| a.binary(op, b)),
            (op(COMPARISONS), -2_i32..3)
                .prop_map(|(op, days)| Expr::column("t").binary(op, Expr::Literal(Scalar::Date(days)))),
            (numbers(), prop::collection::vec(numbers(), 1..3), any::<bool>())
                .prop_map(|(x, list, negated)| Expr::In { operand: Box::new(x), list, negated }),
            (numbers(), numbers(), numbers(), any::<bool>()).prop_map(|(x, low, high, negated)| Expr::Between {
                operand: Box::new(x),
                low: Box::new(low),
                high: Box::new(high),
                negated
            }),
            (texts(), texts()).prop_map(|(x, pattern)| Expr::Like {
                operand: Box::new(x),
                pattern: Box::new(pattern),
                escape: Some('!'),
                negated: false
            }),
            (numbers(), any::<bool>()).prop_map(|(x, negated)| Expr::IsNull { operand: Box::new(x), negated }),
            numbers().prop_map(|x| call(Function::IsNan, vec![x])),
        ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (op(&[BinaryOp::And, BinaryOp::Or]), inner.clone(), inner.clone()).prop_map(|(op, a, b)| a.binary(op, b)),
            inner.clone().prop_map(|x| Expr::Unary(UnaryOp::Not, Box::new(x))),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| call(Function::If, vec![a, b, c])),
            (inner.clone(), inner.clone()).prop_map(|(when, then)| Expr::Case {
                operand: None,
                arms: vec![CaseArm { when, then }],
                otherwise: None
            }),
        ]
    })
    .boxed()
}

type Row = (Option<i32>, Option<f64>, Option<i128>, Option<String>, Option<bool>, Option<i32>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let float = prop_oneof![
        Just(f64::NAN),
        Just(-0.0),
        Just(0.0),
        Just(f64::INFINITY),
        (-3_i32..4).prop_map(|n| f64::from(n) / 2.0)
    ];
    let row = (
        prop::option::of(-3_i32..4),
        prop::option::of(float),
        prop::option::of((-12_i128..13).prop_map(|quarters| 25 * quarters)),
        prop::option::of("[abAB%]{0,3}"),
        prop::option::of(any::<bool>()),
        prop::option::of(-2_i32..3),
    );
    prop::collection::vec(row, 1..6)
}

fn batch(rows: &[Row]) -> RecordBatch {
    let decimals: Decimal128Array = rows.iter().map(|row| row.2).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(rows.iter().map(|row| row.0).collect::<Int32Array>())),
        ("f", Arc::new(rows.iter().map(|row| row.1).collect::<Float64Array>())),
        ("d", Arc::new(decimals.with_precision_and_scale(10, 2).unwrap())),
        ("s", Arc::new(rows.iter().map(|row| row.3.clone()).collect::<StringArray>())),
        ("b", Arc::new(rows.iter().map(|row| row.4).collect::<BooleanArray>())),
        ("t", Arc::new(rows.iter().map(|row| row.5).collect::<Date32Array>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn same(a: &Scalar, b: &Scalar) -> bool {
    (a.is_null() && b.is_null()) || a.compare(b) == Some(Ordering::Equal)
}

fn agree(expr: &Expr, rows: &[Row]) -> Result<(), TestCaseError> {
    let batch = batch(rows);
    let whole = evaluate(expr, &batch);
    let mut failed = false;
    for row in 0..batch.num_rows() {
        let fields = batch.schema_ref().fields().iter().zip(batch.columns());
        let cells: Vec<(&str, Scalar)> =
            fields.map(|(field, array)| (field.name().as_str(), scalar_at(array, row).unwrap())).collect();
        match (&whole, evaluate_scalar(expr, &cells)) {
            (Ok(whole), Ok(one)) => {
                let all = scalar_at(&**whole, row).unwrap();
                prop_assert!(same(&all, &one), "row {row} {cells:?}: {all:?} at once, {one:?} alone");
            }
            (Ok(_), Err(error)) => prop_assert!(false, "row {row} fails alone: {error}"),
            (Err(_), Ok(_)) => {}
            (Err(_), Err(_)) => failed = true,
        }
    }
    prop_assert!(whole.is_ok() || failed, "all rows succeed alone, but {:?}", whole.err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn predicates_agree(expr in truths(), rows in rows()) {
        agree(&expr, &rows)?;
    }

    #[test]
    fn numbers_agree(expr in numbers(), rows in rows()) {
        agree(&expr, &rows)?;
    }
}
