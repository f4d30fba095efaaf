//! Evaluation of expressions over one row of scalars.
//!
//! The semantics are SQL's, three-valued, with the casts of Spark's ANSI mode (the mode in which Spark checks conflicts).
//! What cannot be computed here (an unknown function, a type that scalars do not have) is [`Value::Unbounded`]: whoever
//! decides by it must take the case that refuses.

mod arithmetic;
mod calendar;
mod cast;
mod function;
mod pattern;

pub use cast::cast;
pub(crate) use cast::meeting;
pub(crate) use pattern::{Rest, like, prefix};

use arithmetic::Operator;
use lakebed_transaction::{BinaryOp, CaseArm, Expr, Scalar, UnaryOp};
use std::cmp::Ordering;
use std::sync::Arc;

/// How deep an expression may nest before it counts as unbounded.
const DEPTH_MAX: usize = 200;

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A scalar, NULL included.
    Known(Scalar),
    /// Not to be computed here; any value of its type is possible.
    Unbounded,
    /// SQL says that evaluation fails.
    Failed(Failure),
}

/// Why evaluation fails, in the classes of Spark's ANSI mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A text that is not a value of the type.
    #[error("the text '{text}' is not a value of type {to}")]
    Cast {
        /// The text.
        text: String,
        /// The type, in SQL's words.
        to: &'static str,
    },
    /// A number outside its type's range.
    #[error("a number is outside the range of its type")]
    Overflow,
    /// Division by zero.
    #[error("division by zero")]
    DivideByZero,
}

impl Value {
    /// The boolean `value`.
    #[must_use]
    pub const fn boolean(value: bool) -> Self {
        Self::Known(Scalar::Boolean(value))
    }

    /// NULL.
    pub const NULL: Self = Self::Known(Scalar::Null);
}

/// Where an expression's columns get their values.
pub trait Columns {
    /// The value of the column of this path. A column that is not known is [`Value::Unbounded`].
    fn value(&self, path: &[Arc<str>]) -> Value;
}

impl<F: Fn(&[Arc<str>]) -> Value> Columns for F {
    fn value(&self, path: &[Arc<str>]) -> Value {
        self(path)
    }
}

/// The value of an expression over one row.
///
/// ```
/// use lakebed_conflict::eval::{Value, evaluate};
/// use lakebed_transaction::{BinaryOp, Expr, Scalar};
///
/// let text_meets_number = Expr::column("p").binary(BinaryOp::Equal, Expr::Literal(Scalar::string("01")));
/// let row = |_: &[std::sync::Arc<str>]| Value::Known(Scalar::Int(1));
/// assert_eq!(evaluate(&text_meets_number, &row), Value::boolean(true));
/// ```
pub fn evaluate<C: Columns + ?Sized>(expr: &Expr, row: &C) -> Value {
    at_depth(expr, row, 0)
}

fn at_depth<C: Columns + ?Sized>(expr: &Expr, row: &C, depth: usize) -> Value {
    if depth >= DEPTH_MAX {
        return Value::Unbounded;
    }
    let of = |x: &Expr| at_depth(x, row, depth + 1);
    match expr {
        Expr::Column(path) => row.value(path),
        Expr::Literal(scalar) => Value::Known(scalar.clone()),
        Expr::Unary(UnaryOp::Not, x) => not(of(x)),
        Expr::Unary(UnaryOp::Negate, x) => map(of(x), |value| arithmetic::negate(&value)),
        Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => chain(*op, a, b, &of),
        Expr::Binary(op, a, b) => binary(*op, a, b, &of),
        Expr::IsNull { operand, negated } => map(of(operand), |value| Value::boolean(value.is_null() != *negated)),
        Expr::In { operand, list, negated } => {
            let found = list.iter().fold(Value::boolean(false), |so_far, x| or(so_far, || equal(operand, x, &of)));
            if *negated { not(found) } else { found }
        }
        Expr::Between { operand, low, high, negated } => {
            let value = of(operand);
            let above = compare(&value, &of(low), Ordering::is_ge);
            let inside = and(above, || compare(&value, &of(high), Ordering::is_le));
            if *negated { not(inside) } else { inside }
        }
        Expr::Like { operand, pattern, escape, negated } => {
            let matched =
                both(of(operand), of(pattern), |text, pattern| pattern::like(text, pattern, escape.unwrap_or('\\')));
            if *negated { not(matched) } else { matched }
        }
        Expr::Cast(x, to) => map(of(x), |value| cast(&value, to)),
        Expr::Case { operand, arms, otherwise } => case(operand.as_deref(), arms, otherwise.as_deref(), &of),
        Expr::Call(function, arguments) => function::call(*function, arguments, &of),
        Expr::Unknown { .. } | Expr::Row(_) => Value::Unbounded,
    }
}

/// Whether an expression holds for a row, as far as can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It may: it is TRUE, or cannot be bounded.
    Possibly,
    /// It does not: FALSE or NULL.
    No,
    /// Evaluation fails.
    Failed(Failure),
}

/// A conjunction of filters, widened as Delta's added-files check widens: every conjunct that holds anything that cannot
/// be bounded counts as TRUE as a whole, so that an unknown function inside OR or NOT takes all of that OR or NOT with it.
#[derive(Clone, Debug)]
pub struct Widened<'a>(Vec<&'a Expr>);

impl<'a> Widened<'a> {
    /// The conjuncts that can be evaluated.
    #[must_use]
    pub fn of(filters: &'a [Expr]) -> Self {
        Self(filters.iter().flat_map(Expr::conjuncts).filter(|conjunct| !holds_unknown(conjunct)).collect())
    }

    /// Whether a row may meet all of them.
    pub fn holds<C: Columns + ?Sized>(&self, row: &C) -> Holds {
        let mut answer = Holds::Possibly;
        for conjunct in &self.0 {
            match evaluate(conjunct, row) {
                Value::Known(Scalar::Boolean(true)) | Value::Unbounded => {}
                Value::Known(Scalar::Null) => answer = Holds::No,
                Value::Known(Scalar::Boolean(false)) => return Holds::No,
                // A filter that is no boolean cannot be told to exclude anything.
                Value::Known(_) => {}
                Value::Failed(failure) => return Holds::Failed(failure),
            }
        }
        answer
    }
}

fn holds_unknown(expr: &Expr) -> bool {
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        if matches!(expr, Expr::Unknown { .. }) {
            return true;
        }
        stack.extend(expr.children());
    }
    false
}

/// A value computed from one that is known.
fn map(value: Value, f: impl FnOnce(Scalar) -> Value) -> Value {
    match value {
        Value::Known(scalar) => f(scalar),
        Value::Unbounded | Value::Failed(_) => value,
    }
}

/// A value computed from two that are known and not NULL.
fn both(a: Value, b: Value, f: impl FnOnce(&Scalar, &Scalar) -> Value) -> Value {
    match (a, b) {
        (Value::Failed(failure), _) | (_, Value::Failed(failure)) => Value::Failed(failure),
        (Value::Known(Scalar::Null), _) | (_, Value::Known(Scalar::Null)) => Value::NULL,
        (Value::Unbounded, _) | (_, Value::Unbounded) => Value::Unbounded,
        (Value::Known(a), Value::Known(b)) => f(&a, &b),
    }
}

/// A truth value; what is no boolean cannot be bounded.
fn truth(value: Value) -> Value {
    match value {
        Value::Known(Scalar::Boolean(_) | Scalar::Null) | Value::Unbounded | Value::Failed(_) => value,
        Value::Known(Scalar::String(text)) => cast::text_to_boolean(&text),
        Value::Known(_) => Value::Unbounded,
    }
}

fn not(value: Value) -> Value {
    map(truth(value), |scalar| if let Scalar::Boolean(value) = scalar { Value::boolean(!value) } else { Value::NULL })
}

fn and(a: Value, b: impl FnOnce() -> Value) -> Value {
    junction(truth(a), || truth(b()), false)
}

fn or(a: Value, b: impl FnOnce() -> Value) -> Value {
    junction(truth(a), || truth(b()), true)
}

/// AND and OR of truth values; `decides` is the operand that decides alone. The right side is not looked at where the
/// left decides, so that its failure does not count then.
fn junction(a: Value, b: impl FnOnce() -> Value, decides: bool) -> Value {
    if a == Value::boolean(decides) || matches!(a, Value::Failed(_)) {
        return a;
    }
    let b = b();
    if b == Value::boolean(decides) || matches!(b, Value::Failed(_)) {
        return b;
    }
    match (a, b) {
        (Value::Unbounded, _) | (_, Value::Unbounded) => Value::Unbounded,
        (Value::Known(Scalar::Null), _) | (_, Value::Known(Scalar::Null)) => Value::NULL,
        (a, _) => a,
    }
}

fn binary(op: BinaryOp, a: &Expr, b: &Expr, of: &dyn Fn(&Expr) -> Value) -> Value {
    let computed = |op: Operator| both(of(a), of(b), |a, b| arithmetic::compute(op, a, b));
    let ordered = |test: fn(Ordering) -> bool| compare(&of(a), &of(b), test);
    match op {
        BinaryOp::Add => computed(Operator::Add),
        BinaryOp::Subtract => computed(Operator::Subtract),
        BinaryOp::Multiply => computed(Operator::Multiply),
        BinaryOp::Divide => computed(Operator::Divide),
        BinaryOp::Modulo => computed(Operator::Modulo),
        BinaryOp::Equal => equal(a, b, of),
        BinaryOp::NotEqual => not(equal(a, b, of)),
        BinaryOp::Less => ordered(Ordering::is_lt),
        BinaryOp::LessOrEqual => ordered(Ordering::is_le),
        BinaryOp::Greater => ordered(Ordering::is_gt),
        BinaryOp::GreaterOrEqual => ordered(Ordering::is_ge),
        BinaryOp::NullSafeEqual => match (of(a), of(b)) {
            (Value::Known(a), Value::Known(b)) if a.is_null() || b.is_null() => {
                Value::boolean(a.is_null() && b.is_null())
            }
            (a, b) => compare(&a, &b, Ordering::is_eq),
        },
        BinaryOp::And | BinaryOp::Or => chain(op, a, b, of),
    }
}

/// A chain of one junction, which parsers nest to the left as deep as it is long: taken term by term.
fn chain(op: BinaryOp, a: &Expr, b: &Expr, of: &dyn Fn(&Expr) -> Value) -> Value {
    let mut terms = vec![b];
    let mut first = a;
    while let Expr::Binary(inner, left, right) = first
        && *inner == op
    {
        terms.push(right);
        first = left;
    }
    let decides = op == BinaryOp::Or;
    terms.into_iter().rev().fold(truth(of(first)), |so_far, term| junction(so_far, || truth(of(term)), decides))
}

/// Equality, of row values component by component.
fn equal(a: &Expr, b: &Expr, of: &dyn Fn(&Expr) -> Value) -> Value {
    match (a, b) {
        (Expr::Row(left), Expr::Row(right)) if left.len() == right.len() => {
            let pairs = left.iter().zip(right);
            pairs.fold(Value::boolean(true), |so_far, (a, b)| and(so_far, || compare(&of(a), &of(b), Ordering::is_eq)))
        }
        _ => compare(&of(a), &of(b), Ordering::is_eq),
    }
}

fn compare(a: &Value, b: &Value, test: fn(Ordering) -> bool) -> Value {
    both(a.clone(), b.clone(), |a, b| {
        let (a, b) = match cast::to_common_type(a, b) {
            Ok(pair) => pair,
            Err(failure) => return Value::Failed(failure),
        };
        a.compare(&b).map_or(Value::Unbounded, |order| Value::boolean(test(order)))
    })
}

fn case(operand: Option<&Expr>, arms: &[CaseArm], otherwise: Option<&Expr>, of: &dyn Fn(&Expr) -> Value) -> Value {
    for arm in arms {
        let taken = operand.map_or_else(|| truth(of(&arm.when)), |operand| equal(operand, &arm.when, of));
        match taken {
            Value::Known(Scalar::Boolean(true)) => return of(&arm.then),
            Value::Known(_) => {}
            Value::Unbounded | Value::Failed(_) => return taken,
        }
    }
    otherwise.map_or(Value::NULL, of)
}
