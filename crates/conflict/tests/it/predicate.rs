//! The predicate engine against hand-derived answers, and against evaluation over rows that agree with what it is told.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

mod sound;

use lakebed_conflict::eval::{Value, evaluate};
use lakebed_conflict::predicate::{ColumnTypes, Knowledge, Possible, Selects, overlap, selects, selects_in_unit};
use lakebed_sql::parse_expression;
use lakebed_transaction::{ColumnBounds, ColumnType, Evidence, Expr, Held, ReadPredicate, Scalar, Unit, UnitId};
use std::collections::BTreeMap;
use std::sync::Arc;

const PREDICATES: &str = include_str!("../testdata/predicates.txt");
const OVERLAPS: &str = include_str!("../testdata/overlaps.txt");

/// The constant that the text of a literal spells; a date without its keyword.
fn scalar(text: &str) -> Scalar {
    let date = text.len() == 10 && text.matches('-').count() == 2;
    let text = if date { format!("DATE '{text}'") } else { text.to_owned() };
    let expr = parse_expression(&text).unwrap();
    let value = evaluate(&expr, &|_: &[Arc<str>]| Value::Unbounded);
    let Value::Known(scalar) = value else { panic!("{text}: {value:?}") };
    scalar
}

struct Known(BTreeMap<String, Possible>);

impl Knowledge for Known {
    fn column(&self, path: &[Arc<str>]) -> Possible {
        let [name] = path else { return Possible::unknown() };
        self.0.get(&**name).cloned().unwrap_or_else(Possible::unknown)
    }
}

fn known(text: &str) -> Known {
    let one = |item: &str| {
        if let Some(name) = item.strip_suffix(" is null") {
            return (name.to_owned(), Possible::constant(Scalar::Null));
        }
        if let Some((name, value)) = item.split_once('=') {
            return (name.to_owned(), Possible::constant(scalar(value)));
        }
        let (name, range) = item.split_once(':').unwrap();
        let (nulls, range) = range.strip_suffix('?').map_or((Some(0), range), |range| (None, range));
        let (low, high) = range.split_once("..").unwrap();
        let bounds = ColumnBounds { min: Some(scalar(low)), max: Some(scalar(high)), null_count: nulls };
        (name.to_owned(), Possible::from_bounds(&bounds, Some(100)))
    };
    Known(text.split(',').map(one).collect())
}

fn word(selects: Selects) -> &'static str {
    match selects {
        Selects::Never => "never",
        Selects::Possibly => "possibly",
        Selects::Always => "always",
    }
}

/// Lines of `left ; right => answer`.
fn lines(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let (question, answer) = line.rsplit_once(" => ").unwrap();
        let (left, right) = question.split_once(" ; ").unwrap();
        (left, right, answer)
    })
}

#[test]
fn answers_from_what_is_known_of_columns() {
    let mut wrong = Vec::new();
    for (rows, predicate, expected) in lines(PREDICATES) {
        let answer = word(selects(&parse_expression(predicate).unwrap(), &known(rows)).selects);
        if answer != expected {
            wrong.push(format!("{rows} ; {predicate} => {answer}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn types(path: &[Arc<str>]) -> Option<ColumnType> {
    let [name] = path else { return None };
    Some(match name.to_lowercase().as_str() {
        "i" | "j" => ColumnType::Long,
        "s" => ColumnType::String,
        "d" => ColumnType::Date,
        "x" => ColumnType::Double,
        "m" => ColumnType::Decimal { precision: 10, scale: 2 },
        "b" => ColumnType::Boolean,
        "t" => ColumnType::Timestamp,
        _ => return None,
    })
}

#[test]
fn answers_for_two_predicates_both_ways() {
    let mut wrong = Vec::new();
    for (a, b, expected) in lines(OVERLAPS) {
        let (left, right) = (parse_expression(a).unwrap(), parse_expression(b).unwrap());
        for (one, other) in [(&left, &right), (&right, &left)] {
            let answer = word(overlap(one, other, &types).selects);
            if answer != expected {
                wrong.push(format!("{a} ; {b} => {answer}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn unit() -> Unit {
    let bounds = |min, max, null_count| ColumnBounds { min, max, null_count };
    Unit {
        row_count: Some(10),
        partition: vec![(Arc::from("p"), Scalar::Int(7))],
        bounds: vec![
            (Arc::from("i"), bounds(Some(Scalar::Int(1)), Some(Scalar::Int(9)), Some(2))),
            (Arc::from("n"), bounds(None, None, Some(10))),
            (Arc::from("x"), bounds(Some(Scalar::Float(1.0)), Some(Scalar::Float(2.0)), Some(0))),
            (Arc::from("nan"), bounds(Some(Scalar::Float(f64::NAN)), Some(Scalar::Float(f64::NAN)), Some(0))),
            (Arc::from("odd"), bounds(Some(Scalar::Int(9)), Some(Scalar::Int(1)), Some(0))),
            (Arc::from("only"), bounds(None, Some(Scalar::Int(9)), None)),
            (Arc::from("a.b"), bounds(Some(Scalar::Int(1)), Some(Scalar::Int(9)), Some(0))),
        ],
        ..Unit::named(UnitId::file("part-1"))
    }
}

fn in_unit(unit: &Unit, predicate: &str) -> lakebed_conflict::predicate::Finding {
    let read = ReadPredicate { partition: Vec::new(), data: vec![parse_expression(predicate).unwrap()] };
    selects_in_unit(&read, unit)
}

#[test]
fn answers_from_a_units_statistics() {
    let answer = |predicate| word(in_unit(&unit(), predicate).selects);
    for (predicate, expected) in [
        ("p = 8", "never"),
        ("P = 7", "always"),
        ("I = 10", "never"),
        ("i = 5", "possibly"),
        ("i IS NULL", "possibly"),
        ("n IS NULL", "always"),
        ("n = 1", "never"),
        ("x < 1", "never"),
        // NaN is greater than every number and may be missing in the maximum.
        ("x > 100", "possibly"),
        ("nan = 1", "possibly"),
        ("odd = 100", "possibly"),
        ("only > 9", "never"),
        ("only < -5", "possibly"),
        // A nested field is not the column whose name has a dot.
        ("a.b = 100", "possibly"),
        ("missing = 1", "possibly"),
    ] {
        assert_eq!(answer(predicate), expected, "{predicate}");
    }
    let everything = selects_in_unit(&ReadPredicate::default(), &unit());
    assert_eq!(everything.selects, Selects::Always);
    let empty = Unit { row_count: Some(0), ..unit() };
    assert_eq!(in_unit(&empty, "p = 7").selects, Selects::Never);
    let nothing_known = Unit::named(UnitId::file("part-1"));
    assert_eq!(in_unit(&nothing_known, "p = 8 AND i = 100").selects, Selects::Possibly);
}

#[test]
fn evidence_names_column_unit_and_value() {
    let evidence = |predicate| in_unit(&unit(), predicate).evidence.unwrap();
    let place = Some(UnitId::file("part-1"));
    assert_eq!(
        evidence("f(i) AND p = 8"),
        Evidence::Column { unit: place.clone(), column: Arc::from("p"), held: Held::Value(Scalar::Int(7)) }
    );
    assert_eq!(
        evidence("missing = 1 AND i = 5"),
        Evidence::Column {
            unit: place,
            column: Arc::from("i"),
            held: Held::Between(Some(Scalar::Int(1)), Some(Scalar::Int(9)))
        }
    );
    assert_eq!(evidence("i = 5").to_string(), "i between 1 and 9 in part-1");
    assert_eq!(evidence("missing = 5").to_string(), "missing not known in part-1");
    let met = |a, b| overlap(&parse_expression(a).unwrap(), &parse_expression(b).unwrap(), &types).evidence.unwrap();
    assert_eq!(met("i > 3 AND s = 'a'", "i <= 7").to_string(), "i between 4 and 7");
    assert_eq!(met("i = 3", "i = 4").to_string(), "i not known");
}

#[test]
fn long_lists_and_deep_trees_are_answered() {
    let list = |from: i64| (from..from + 5_000).map(|x| Expr::Literal(Scalar::Int(x))).collect();
    let among = |from| Expr::In { operand: Box::new(Expr::column("i")), list: list(from), negated: false };
    assert_eq!(overlap(&among(0), &among(100_000), &types).selects, Selects::Never);
    let mut deep = Expr::column("b");
    for _ in 0..5_000 {
        deep = Expr::Unary(lakebed_transaction::UnaryOp::Not, Box::new(deep));
    }
    assert_eq!(selects(&deep, &known("b=true")).selects, Selects::Possibly);
    assert_eq!(overlap(&deep, &deep, &types).selects, Selects::Possibly);
    let column_type = ColumnTypes::column_type(&types, &[Arc::from("i")]);
    assert_eq!(column_type, Some(ColumnType::Long));
    let either = |from: i64| {
        let one = |x| {
            let low = Expr::column("i").binary(lakebed_transaction::BinaryOp::Equal, Expr::Literal(Scalar::Int(x)));
            low.and(Expr::column("j").binary(lakebed_transaction::BinaryOp::Less, Expr::Literal(Scalar::Int(x))))
        };
        (from..from + 300).map(one).reduce(|a, b| a.binary(lakebed_transaction::BinaryOp::Or, b)).unwrap()
    };
    // More pairs than are looked at: possible, not wrong.
    assert_eq!(overlap(&either(0), &either(1_000), &types).selects, Selects::Possibly);
    assert_eq!(overlap(&either(0), &parse_expression("i = 1000").unwrap(), &types).selects, Selects::Never);
}
