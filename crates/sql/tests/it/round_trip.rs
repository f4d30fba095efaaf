//! Printed trees read back to themselves.

use lakebed_sql::{parse_expression, print};
use lakebed_transaction::{BinaryOp, CaseArm, ColumnType, Expr, Function, Scalar, UnaryOp};
use proptest::prelude::*;
use std::sync::Arc;

fn name() -> impl Strategy<Value = String> {
    let words = vec![
        "id",
        "name",
        "value",
        "key",
        "type",
        "year",
        "month",
        "day",
        "hour",
        "part",
        "version",
        "data",
        "status",
        "date",
        "timestamp",
        "case",
        "when",
        "then",
        "else",
        "end",
        "and",
        "or",
        "not",
        "in",
        "is",
        "null",
        "true",
        "false",
        "like",
        "between",
        "cast",
        "select",
        "interval",
        "struct",
        "array",
        "map",
        "if",
        "exists",
        "user",
        "current_date",
        "left",
        "position",
        "floor",
        "trim",
        "any",
        "all",
        "escape",
        "collate",
        "at",
        "row",
        "values",
        "from",
        "double",
        "x",
        "e",
        "b",
        "n",
        "u",
        "r",
        "q",
        "abs",
        "upper",
    ];
    prop_oneof![
        4 => "[a-z_][a-z0-9_]{0,5}",
        4 => prop::sample::select(words).prop_map(str::to_owned),
        1 => "[A-Z]{1,3}",
        1 => "[ -~é]{1,6}",
    ]
}

fn scalar() -> impl Strategy<Value = Scalar> {
    let digits = 10_i128.pow(38) - 1;
    prop_oneof![
        Just(Scalar::Null),
        any::<bool>().prop_map(Scalar::Boolean),
        any::<i64>().prop_map(Scalar::Int),
        (-9_i64..9).prop_map(Scalar::Int),
        prop_oneof![
            proptest::num::f64::NORMAL,
            Just(0.0),
            Just(-0.0),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(5e-324)
        ]
        .prop_map(Scalar::Float),
        (-digits..=digits, 0_u8..=38).prop_map(|(unscaled, scale)| Scalar::Decimal { unscaled, scale }),
        (-99_i128..99, 0_u8..=4).prop_map(|(unscaled, scale)| Scalar::Decimal { unscaled, scale }),
        any::<i32>().prop_map(Scalar::Date),
        any::<i64>().prop_map(Scalar::Timestamp),
        any::<i64>().prop_map(Scalar::TimestampNtz),
        prop_oneof![any::<String>(), r#"[a'"\\%_nu0]{0,8}"#, Just("NaN".to_owned())]
            .prop_map(|text| Scalar::string(&text)),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(|bytes| Scalar::Binary(bytes.into())),
    ]
}

fn simple_type() -> impl Strategy<Value = ColumnType> {
    prop::sample::select(vec![
        ColumnType::Boolean,
        ColumnType::Byte,
        ColumnType::Short,
        ColumnType::Integer,
        ColumnType::Long,
        ColumnType::Float,
        ColumnType::Double,
        ColumnType::Decimal { precision: 12, scale: 3 },
        ColumnType::Date,
        ColumnType::Timestamp,
        ColumnType::TimestampNtz,
        ColumnType::String,
        ColumnType::Binary,
        ColumnType::Array(Box::new(lakebed_transaction::Column::new("element", ColumnType::Long, true))),
    ])
}

fn call() -> impl Strategy<Value = (Function, usize)> {
    prop::sample::select(vec![
        (Function::Coalesce, 3),
        (Function::Upper, 1),
        (Function::Lower, 1),
        (Function::Length, 1),
        (Function::StartsWith, 2),
        (Function::Abs, 1),
        (Function::If, 3),
        (Function::Year, 1),
        (Function::Month, 1),
        (Function::Day, 1),
        (Function::IsNan, 1),
    ])
}

fn operator() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::{
        Add, And, Divide, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Modulo, Multiply, NotEqual, NullSafeEqual,
        Or, Subtract,
    };
    prop::sample::select(vec![
        Add,
        Subtract,
        Multiply,
        Divide,
        Modulo,
        Equal,
        NotEqual,
        Less,
        LessOrEqual,
        Greater,
        GreaterOrEqual,
        NullSafeEqual,
        And,
        And,
        Or,
        Or,
    ])
}

fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

fn tree() -> impl Strategy<Value = Expr> {
    let column =
        prop::collection::vec(name(), 1..3).prop_map(|path| Expr::Column(path.into_iter().map(Arc::from).collect()));
    let leaf = prop_oneof![2 => column, 3 => scalar().prop_map(Expr::Literal)];
    leaf.prop_recursive(6, 48, 4, |inner| {
        let one = || inner.clone();
        let some = |least| prop::collection::vec(inner.clone(), least..4);
        prop_oneof![
            2 => (prop::bool::ANY, one()).prop_map(|(not, x)| Expr::Unary(if not { UnaryOp::Not } else { UnaryOp::Negate }, boxed(x))),
            6 => (operator(), one(), one()).prop_map(|(op, a, b)| a.binary(op, b)),
            1 => (one(), any::<bool>()).prop_map(|(x, negated)| Expr::IsNull { operand: boxed(x), negated }),
            1 => (one(), some(1), any::<bool>()).prop_map(|(x, list, negated)| Expr::In { operand: boxed(x), list, negated }),
            1 => (one(), one(), one(), any::<bool>()).prop_map(|(x, low, high, negated)| {
                Expr::Between { operand: boxed(x), low: boxed(low), high: boxed(high), negated }
            }),
            1 => (one(), one(), prop::option::of(prop::sample::select(vec!['#', '\\', '\'', '%', 'é'])), any::<bool>())
                .prop_map(|(x, pattern, escape, negated)| Expr::Like { operand: boxed(x), pattern: boxed(pattern), escape, negated }),
            1 => (one(), simple_type()).prop_map(|(x, to)| Expr::Cast(boxed(x), to)),
            1 => (prop::option::of(one()), prop::collection::vec((one(), one()), 1..3), prop::option::of(one())).prop_map(
                |(operand, arms, otherwise)| Expr::Case {
                    operand: operand.map(boxed),
                    arms: arms.into_iter().map(|(when, then)| CaseArm { when, then }).collect(),
                    otherwise: otherwise.map(boxed),
                }
            ),
            1 => (call(), prop::collection::vec(one(), 3)).prop_map(|((function, count), mut arguments)| {
                arguments.truncate(count);
                Expr::Call(function, arguments)
            }),
            1 => (prop::sample::select(vec!["rand", "isodd", "current_date", "floor", "a b", "db.f", "struct"]), some(0))
                .prop_map(|(name, arguments)| Expr::Unknown { name: name.to_owned(), arguments }),
            1 => some(2).prop_map(Expr::Row),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn printed_trees_read_back(expr in tree()) {
        let printed = print(&expr);
        prop_assert_eq!(parse_expression(&printed), Ok(expr), "{}", printed);
    }
}

#[test]
fn chains_of_any_length_and_lean_read_back() {
    for count in [2, 31, 32, 33, 63, 64, 65, 100] {
        let item =
            |n: usize| Expr::column("p").binary(BinaryOp::Equal, Expr::Literal(Scalar::Int(i64::try_from(n).unwrap())));
        let left = (0..count).map(item).reduce(|a, b| a.binary(BinaryOp::Or, b)).unwrap();
        assert_eq!(parse_expression(&print(&left)), Ok(left), "{count}");
        let right = (0..count).map(item).reduce(|a, b| b.binary(BinaryOp::And, a)).unwrap();
        assert_eq!(parse_expression(&print(&right)), Ok(right), "{count}");
    }
}

#[test]
fn brackets_only_where_needed() {
    for text in [
        "p = 1 AND id < 5",
        "(p = 1 OR q = 2) AND NOT r",
        "a + b * c - (d - e)",
        "s LIKE 'a%' ESCAPE '#'",
        "(a, b) IN ((1, 1), (2, 2))",
        "CASE WHEN p = 1 THEN TRUE ELSE FALSE END",
        "`order`.`a b` <=> NULL",
        "x NOT BETWEEN -1 AND 2.50",
        "-(1)",
        "rand() > 5E-1",
    ] {
        assert_eq!(print(&parse_expression(text).unwrap()), text);
    }
}

#[test]
fn nan_reads_back() {
    let printed = print(&Expr::Literal(Scalar::Float(f64::NAN)));
    assert!(
        matches!(parse_expression(&printed), Ok(Expr::Literal(Scalar::Float(value))) if value.is_nan()),
        "{printed}"
    );
}
