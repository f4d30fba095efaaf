//! Three-valued truth over possible values.

use super::possible::Orders;
use super::{Knowledge, Possible};
use crate::eval::{Rest, Value, evaluate, like, prefix};
use lakebed_transaction::{BinaryOp, Expr, Function, Scalar, UnaryOp};
use std::sync::Arc;

/// How deep an expression may nest before it counts as unknown.
const DEPTH_MAX: usize = 200;

/// The truth values that a predicate may have over some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truth {
    pub(super) may_be_true: bool,
    pub(super) may_be_false: bool,
    pub(super) may_be_null: bool,
}

impl Truth {
    pub(super) const TRUE: Self = Self { may_be_true: true, may_be_false: false, may_be_null: false };
    const FALSE: Self = Self { may_be_true: false, may_be_false: true, may_be_null: false };
    const NULL: Self = Self { may_be_true: false, may_be_false: false, may_be_null: true };
    const UNKNOWN: Self = Self { may_be_true: true, may_be_false: true, may_be_null: true };

    pub(super) const fn and(self, other: Self) -> Self {
        let null =
            (self.may_be_null && (other.may_be_null || other.may_be_true)) || (other.may_be_null && self.may_be_true);
        Self {
            may_be_true: self.may_be_true && other.may_be_true,
            may_be_false: self.may_be_false || other.may_be_false,
            may_be_null: null,
        }
    }

    const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    const fn not(self) -> Self {
        Self { may_be_true: self.may_be_false, may_be_false: self.may_be_true, may_be_null: self.may_be_null }
    }

    const fn not_if(self, negated: bool) -> Self {
        if negated { self.not() } else { self }
    }
}

/// The truth values that the predicate may have.
pub(super) fn of<K: Knowledge + ?Sized>(expr: &Expr, rows: &K) -> Truth {
    at_depth(expr, rows, 0)
}

fn at_depth<K: Knowledge + ?Sized>(expr: &Expr, rows: &K, depth: usize) -> Truth {
    if depth >= DEPTH_MAX {
        return Truth::UNKNOWN;
    }
    let truth = |x: &Expr| at_depth(x, rows, depth + 1);
    match expr {
        Expr::Unary(UnaryOp::Not, x) => truth(x).not(),
        Expr::Binary(BinaryOp::And, a, b) => {
            chain(BinaryOp::And, a, b).into_iter().map(truth).fold(Truth::TRUE, Truth::and)
        }
        Expr::Binary(BinaryOp::Or, a, b) => {
            chain(BinaryOp::Or, a, b).into_iter().map(truth).fold(Truth::FALSE, Truth::or)
        }
        Expr::Binary(op, a, b) => comparison(*op, a, b, rows),
        Expr::IsNull { operand, negated } => {
            let value = possible(operand, rows);
            Truth { may_be_true: value.null, may_be_false: value.value, may_be_null: false }.not_if(*negated)
        }
        Expr::In { operand, list, negated } => {
            let found = list.iter().map(|x| equality(operand, x, rows));
            found.fold(Truth::FALSE, Truth::or).not_if(*negated)
        }
        Expr::Between { operand, low, high, negated } => {
            let above = comparison(BinaryOp::GreaterOrEqual, operand, low, rows);
            above.and(comparison(BinaryOp::LessOrEqual, operand, high, rows)).not_if(*negated)
        }
        Expr::Like { operand, pattern, escape, negated } => {
            matching(&possible(operand, rows), &possible(pattern, rows), escape.unwrap_or('\\')).not_if(*negated)
        }
        Expr::Call(Function::StartsWith, arguments) => match arguments.as_slice() {
            [text, start] => starting(&possible(text, rows), &possible(start, rows)),
            _ => Truth::UNKNOWN,
        },
        Expr::Column(_)
        | Expr::Literal(_)
        | Expr::Unary(UnaryOp::Negate, _)
        | Expr::Cast(_, _)
        | Expr::Case { .. }
        | Expr::Call(_, _)
        | Expr::Unknown { .. }
        | Expr::Row(_) => boolean(&possible(expr, rows)),
    }
}

/// The operands of a chain of one junction, which parsers nest to the left as deep as it is long.
fn chain<'a>(op: BinaryOp, a: &'a Expr, b: &'a Expr) -> Vec<&'a Expr> {
    let mut terms = vec![b];
    let mut first = a;
    while let Expr::Binary(inner, left, right) = first
        && *inner == op
    {
        terms.push(right);
        first = left;
    }
    terms.push(first);
    terms
}

/// The values that an expression may have: known for columns, and for what is computed from constants only.
pub(super) fn possible<K: Knowledge + ?Sized>(expr: &Expr, rows: &K) -> Possible {
    match expr {
        Expr::Column(path) => rows.column(path),
        Expr::Literal(scalar) => Possible::constant(scalar.clone()),
        Expr::Unary(_, _)
        | Expr::Binary(_, _, _)
        | Expr::IsNull { .. }
        | Expr::In { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::Cast(_, _)
        | Expr::Case { .. }
        | Expr::Call(_, _)
        | Expr::Unknown { .. }
        | Expr::Row(_) => {
            let constants = |path: &[Arc<str>]| rows.column(path).single().map_or(Value::Unbounded, Value::Known);
            match evaluate(expr, &constants) {
                Value::Known(scalar) => Possible::constant(scalar),
                Value::Unbounded | Value::Failed(_) => Possible::unknown(),
            }
        }
    }
}

fn boolean(value: &Possible) -> Truth {
    let null = Truth { may_be_null: value.null, ..Truth::NULL };
    let of_type = |end: &Option<Scalar>| end.as_ref().is_none_or(|end| matches!(end, Scalar::Boolean(_)));
    match (&value.low, &value.high) {
        _ if !value.value => Truth::NULL,
        (low, high) if of_type(low) && of_type(high) => Truth {
            may_be_true: *high != Some(Scalar::Boolean(false)),
            may_be_false: *low != Some(Scalar::Boolean(true)),
            ..null
        },
        _ => Truth::UNKNOWN,
    }
}

fn comparison<K: Knowledge + ?Sized>(op: BinaryOp, a: &Expr, b: &Expr, rows: &K) -> Truth {
    let by = |test: fn(Orders) -> (bool, bool)| compared(&possible(a, rows), &possible(b, rows), test);
    match op {
        BinaryOp::Equal => equality(a, b, rows),
        BinaryOp::NotEqual => equality(a, b, rows).not(),
        BinaryOp::Less => by(|orders| (orders.less, orders.equal || orders.greater)),
        BinaryOp::LessOrEqual => by(|orders| (orders.less || orders.equal, orders.greater)),
        BinaryOp::Greater => by(|orders| (orders.greater, orders.equal || orders.less)),
        BinaryOp::GreaterOrEqual => by(|orders| (orders.greater || orders.equal, orders.less)),
        BinaryOp::NullSafeEqual => null_safe(&possible(a, rows), &possible(b, rows)),
        BinaryOp::And | BinaryOp::Or => Truth::UNKNOWN,
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => Truth::UNKNOWN,
    }
}

/// Equality, of row values component by component.
fn equality<K: Knowledge + ?Sized>(a: &Expr, b: &Expr, rows: &K) -> Truth {
    match (a, b) {
        (Expr::Row(left), Expr::Row(right)) if left.len() == right.len() => {
            let pairs = left.iter().zip(right);
            pairs.map(|(a, b)| equality(a, b, rows)).fold(Truth::TRUE, Truth::and)
        }
        (Expr::Row(_), _) | (_, Expr::Row(_)) => Truth::UNKNOWN,
        _ => compared(&possible(a, rows), &possible(b, rows), equal),
    }
}

const fn equal(orders: Orders) -> (bool, bool) {
    (orders.equal, orders.less || orders.greater)
}

/// `test` says whether TRUE and whether FALSE is possible.
fn compared(a: &Possible, b: &Possible, test: fn(Orders) -> (bool, bool)) -> Truth {
    let null = Truth { may_be_null: a.null || b.null, ..Truth::NULL };
    if !a.value || !b.value {
        return null;
    }
    a.orders_to(b).map_or(Truth::UNKNOWN, |orders| {
        let (may_be_true, may_be_false) = test(orders);
        Truth { may_be_true, may_be_false, ..null }
    })
}

fn null_safe(a: &Possible, b: &Possible) -> Truth {
    let values = if a.value && b.value {
        a.orders_to(b).map_or(Truth::UNKNOWN, |orders| {
            let (may_be_true, may_be_false) = equal(orders);
            Truth { may_be_true, may_be_false, may_be_null: false }
        })
    } else {
        Truth { may_be_true: false, may_be_false: false, may_be_null: false }
    };
    Truth {
        may_be_true: values.may_be_true || (a.null && b.null),
        may_be_false: values.may_be_false || (a.null && b.value) || (a.value && b.null),
        ..values
    }
}

fn matching(text: &Possible, pattern: &Possible, escape: char) -> Truth {
    match pattern.single() {
        Some(Scalar::Null) => Truth::NULL,
        Some(Scalar::String(pattern)) => {
            if let Some(single) = text.single().filter(|single| !single.is_null()) {
                let matched = like(&single, &Scalar::String(pattern), escape);
                return boolean(&if let Value::Known(known) = matched {
                    Possible::constant(known)
                } else {
                    Possible::unknown()
                });
            }
            let wanted = prefix(&pattern, escape);
            beginning(text, &wanted.text, wanted.rest)
        }
        Some(_) | None => Truth::UNKNOWN,
    }
}

fn starting(text: &Possible, start: &Possible) -> Truth {
    match start.single() {
        Some(Scalar::Null) => Truth::NULL,
        Some(Scalar::String(start)) => beginning(text, &start, Rest::Anything),
        Some(_) | None => Truth::UNKNOWN,
    }
}

/// Whether texts between two ends begin with a prefix, and what follows is `rest`.
fn beginning(text: &Possible, prefix: &str, rest: Rest) -> Truth {
    let null = Truth { may_be_null: text.null, ..Truth::NULL };
    if !text.value {
        return Truth::NULL;
    }
    let ends = (&text.low, &text.high);
    let (low, high) = match ends {
        (None | Some(Scalar::String(_)), None | Some(Scalar::String(_))) => (as_text(ends.0), as_text(ends.1)),
        _ => return Truth::UNKNOWN,
    };
    if low.is_none() && high.is_none() {
        return Truth::UNKNOWN;
    }
    let begins = |end: Option<&str>| end.is_some_and(|end| end.starts_with(prefix));
    // Whatever begins with the prefix is not smaller than it, and smaller than every greater text without it.
    let below = high.is_some_and(|high| high < prefix);
    let above = low.is_some_and(|low| low > prefix && (rest == Rest::Nothing || !low.starts_with(prefix)));
    Truth {
        may_be_true: !below && !above,
        may_be_false: !(rest == Rest::Anything && begins(low) && begins(high)),
        ..null
    }
}

fn as_text(end: &Option<Scalar>) -> Option<&str> {
    if let Some(Scalar::String(text)) = end { Some(text) } else { None }
}
