//! Expressions over rows, with SQL's three-valued logic and the errors of Spark's ANSI mode.
//!
//! Whole columns are computed at once with Arrow's kernels. Where SQL looks at a sub-expression only for some rows (the
//! right side of AND and OR, the branches of CASE, IF and COALESCE), it is first computed for all rows; only if that fails
//! is the expression computed again with each part looked at only for the rows that count, so that `IF(x <> 0, 1 / x, 0)` does not fail on zeros.

mod arithmetic;
mod cast;
mod choose;
mod compare;
mod decimal;
mod describe;
mod function;
mod pattern;
mod value;

pub(crate) use cast::from_text;

use crate::schema::{Extra, align_array, columns_of, listed, literal, position, same_name, scalar_at};
use crate::{DataError, EvalFailure};
use arrow_arith::boolean;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use describe::describe;
use lakebed_transaction::{BinaryOp, Column, ColumnType, Expr, Function, Scalar, UnaryOp};
use std::sync::Arc;
use value::{Value, booleans, types};

/// How deep an expression may nest; chains of AND and of OR do not count.
const DEPTH_MAX: usize = 100;

/// The value of an expression for each row. Integers come as 64-bit, floats of arithmetic as doubles; use
/// [`evaluate_as`] to store them.
///
/// ```
/// use arrow_array::{cast::AsArray, record_batch, types::Int64Type};
/// use lakebed_transaction::{BinaryOp, Expr, Scalar};
///
/// let rows = record_batch!(("n", Int32, [Some(1), None])).unwrap();
/// let next = Expr::column("n").binary(BinaryOp::Add, Expr::Literal(Scalar::Int(1)));
/// let values = lakebed_data::evaluate(&next, &rows)?;
/// assert_eq!(values.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(2), None]);
/// # Ok::<(), lakebed_data::DataError>(())
/// ```
///
/// # Errors
/// The expression names a column that is not there, holds a function that we do not know, or fails as SQL says
/// (overflow, division by zero, a text that is no value of the type); the message names the sub-expression.
pub fn evaluate(expr: &Expr, batch: &RecordBatch) -> Result<ArrayRef, DataError> {
    whole(expr, batch)?.into_rows(batch.num_rows()).map_err(failed(expr))
}

/// The value of an expression for each row, cast to a column's type as an assignment: what does not fit is an error.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_as(expr: &Expr, batch: &RecordBatch, column: &Column) -> Result<ArrayRef, DataError> {
    let value = whole(expr, batch)?;
    let typed = assigned(&value, column).map_err(failed(expr))?;
    typed.into_rows(batch.num_rows()).map_err(failed(expr))
}

fn assigned(value: &Value, column: &Column) -> Result<Value, EvalFailure> {
    if let ColumnType::Array(_) | ColumnType::Map(_, _) | ColumnType::Struct(_) = &column.column_type {
        // NOT NULL is judged when the rows are written, where all rows are known.
        let nullable = Column::new(&column.name, column.column_type.clone(), true);
        let array = align_array(&value.array, &nullable, &column.name, Extra::Refuse);
        return array.map(|array| value.with(array)).map_err(|error| EvalFailure::Types { types: error.to_string() });
    }
    cast::cast(value, &column.column_type)
}

/// The rows for which a predicate is TRUE; NULL counts as FALSE, so the mask has no NULL.
///
/// # Errors
/// As [`evaluate`]; also when the expression is no predicate.
pub fn filter_mask(expr: &Expr, batch: &RecordBatch) -> Result<BooleanArray, DataError> {
    let mask = truth(&whole(expr, batch)?).map_err(failed(expr))?;
    let mask = mask.into_rows(batch.num_rows()).map_err(failed(expr))?;
    let mask = mask.as_boolean();
    Ok(value::definite(mask))
}

/// The value of an expression over one row of scalars.
///
/// ```
/// use lakebed_transaction::{BinaryOp, Expr, Scalar};
///
/// let half = Expr::column("n").binary(BinaryOp::Divide, Expr::Literal(Scalar::Int(2)));
/// assert_eq!(lakebed_data::evaluate_scalar(&half, &[("n", Scalar::Int(3))])?, Scalar::Float(1.5));
/// # Ok::<(), lakebed_data::DataError>(())
/// ```
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_scalar(expr: &Expr, row: &[(&str, Scalar)]) -> Result<Scalar, DataError> {
    let mut fields = Vec::with_capacity(row.len());
    let mut arrays = Vec::with_capacity(row.len());
    for (name, scalar) in row {
        let unsupported = || DataError::UnsupportedType { column: (*name).to_owned(), type_name: scalar.to_string() };
        let array = literal(scalar).ok_or_else(unsupported)?;
        fields.push(Field::new(*name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
    let value = evaluate(expr, &batch.map_err(DataError::arrow("one row"))?)?;
    let none = || failed(expr)(EvalFailure::Types { types: format!("{} as its value", value.data_type()) });
    scalar_at(&value, 0).ok_or_else(none)
}

fn failed(expr: &Expr) -> impl Fn(EvalFailure) -> DataError + '_ {
    move |failure| DataError::Evaluate { expression: describe(expr), failure }
}

/// Where in an expression we are, and how it is computed.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
    /// Whether sub-expressions are computed only for the rows that SQL looks at them for.
    careful: bool,
}

impl Level {
    const fn deeper(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

/// At most twice the work, however deep failures lie.
fn whole(expr: &Expr, batch: &RecordBatch) -> Result<Value, DataError> {
    let quick = at_level(expr, batch, Level { depth: 0, careful: false });
    quick.or_else(|_| at_level(expr, batch, Level { depth: 0, careful: true }))
}

/// What each form needs stands in a function of its own, so that a level of nesting takes little of the stack.
fn at_level(expr: &Expr, batch: &RecordBatch, level: Level) -> Result<Value, DataError> {
    if level.depth >= DEPTH_MAX {
        return Err(failed(expr)(EvalFailure::TooDeep));
    }
    match expr {
        Expr::Column(path) => column(path, batch),
        Expr::Literal(scalar) => Value::of(scalar).map_err(failed(expr)),
        Expr::Unary(_, x) | Expr::IsNull { operand: x, .. } | Expr::Cast(x, _) => {
            one(expr, &at_level(x, batch, level.deeper())?).map_err(failed(expr))
        }
        Expr::Binary(op, a, b) => binary(expr, *op, (a, b), batch, level),
        Expr::In { operand, list, negated } => negated_if(*negated, is_in(expr, operand, list, batch, level)?, expr),
        Expr::Between { operand, low, high, negated } => {
            negated_if(*negated, between(expr, [operand, low, high], batch, level)?, expr)
        }
        Expr::Like { operand, pattern, escape, negated } => {
            negated_if(*negated, like(expr, [operand, pattern], *escape, batch, level)?, expr)
        }
        Expr::Case { operand, arms, otherwise } => {
            choose::case(expr, &choose::Choice::of_case(operand.as_deref(), arms, otherwise.as_deref()), batch, level)
        }
        Expr::Call(function, arguments) => call(expr, *function, arguments, batch, level),
        Expr::Unknown { name, .. } => Err(DataError::UnknownFunction { name: name.clone() }),
        Expr::Row(_) => {
            let expected = "a row value only on both sides of IN or =".to_owned();
            Err(failed(expr)(EvalFailure::Arguments { expected }))
        }
    }
}

/// The forms with one operand, whose value is given.
fn one(expr: &Expr, value: &Value) -> Result<Value, EvalFailure> {
    if let Expr::Unary(UnaryOp::Not, _) = expr {
        not(value)
    } else if let Expr::Unary(UnaryOp::Negate, _) = expr {
        arithmetic::negate(value)
    } else if let Expr::IsNull { negated, .. } = expr {
        is_null(value, *negated)
    } else if let Expr::Cast(_, to) = expr {
        cast::cast(value, to)
    } else {
        Err(EvalFailure::Arguments { expected: "another number of operands".to_owned() })
    }
}

fn negated_if(negated: bool, value: Value, expr: &Expr) -> Result<Value, DataError> {
    if negated { not(&value).map_err(failed(expr)) } else { Ok(value) }
}

fn is_in(expr: &Expr, operand: &Expr, list: &[Expr], batch: &RecordBatch, level: Level) -> Result<Value, DataError> {
    let of = |x: &Expr| at_level(x, batch, level.deeper());
    let mut found = booleans(BooleanArray::from(vec![false]), true);
    if let Expr::Row(_) = operand {
        for candidate in list {
            let same = equal(operand, candidate, &of).map_err(|e| e.at(expr))?;
            found = choose::or(&found, &same).map_err(failed(expr))?;
        }
        return Ok(found);
    }
    let value = of(operand)?;
    for candidate in list {
        let same = compare::compare(BinaryOp::Equal, &value, &of(candidate)?).map_err(failed(expr))?;
        found = choose::or(&found, &same).map_err(failed(expr))?;
    }
    Ok(found)
}

fn between(
    expr: &Expr,
    [operand, low, high]: [&Expr; 3],
    batch: &RecordBatch,
    level: Level,
) -> Result<Value, DataError> {
    let of = |x: &Expr| at_level(x, batch, level.deeper());
    let value = of(operand)?;
    let above = compare::compare(BinaryOp::GreaterOrEqual, &value, &of(low)?).map_err(failed(expr))?;
    let below = compare::compare(BinaryOp::LessOrEqual, &value, &of(high)?).map_err(failed(expr))?;
    choose::and(&above, &below).map_err(failed(expr))
}

fn like(
    expr: &Expr,
    [text, pattern]: [&Expr; 2],
    escape: Option<char>,
    batch: &RecordBatch,
    level: Level,
) -> Result<Value, DataError> {
    let (text, pattern) = (at_level(text, batch, level.deeper())?, at_level(pattern, batch, level.deeper())?);
    function::like(&text, &pattern, escape).map_err(failed(expr))
}

fn call(
    expr: &Expr,
    function: Function,
    arguments: &[Expr],
    batch: &RecordBatch,
    level: Level,
) -> Result<Value, DataError> {
    if let Function::Coalesce | Function::If = function {
        let expected =
            || EvalFailure::Arguments { expected: "three arguments, or for COALESCE at least one".to_owned() };
        let choice = choose::Choice::of_call(expr, arguments).ok_or_else(|| failed(expr)(expected()))?;
        return choose::case(expr, &choice, batch, level);
    }
    let values = arguments.iter().map(|x| at_level(x, batch, level.deeper())).collect::<Result<Vec<_>, _>>()?;
    function::call(function, &values).map_err(failed(expr))
}

fn binary(
    expr: &Expr,
    op: BinaryOp,
    (a, b): (&Expr, &Expr),
    batch: &RecordBatch,
    level: Level,
) -> Result<Value, DataError> {
    let of = |x: &Expr| at_level(x, batch, level.deeper());
    match op {
        BinaryOp::And | BinaryOp::Or => choose::junction(expr, op, batch, level),
        BinaryOp::Equal => equal(a, b, &of).map_err(|e| e.at(expr)),
        BinaryOp::NotEqual if matches!((a, b), (Expr::Row(_), Expr::Row(_))) => {
            not(&equal(a, b, &of).map_err(|e| e.at(expr))?).map_err(failed(expr))
        }
        BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessOrEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterOrEqual
        | BinaryOp::NullSafeEqual => compare::compare(op, &of(a)?, &of(b)?).map_err(failed(expr)),
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => {
            arithmetic::arithmetic(op, &of(a)?, &of(b)?).map_err(failed(expr))
        }
    }
}

/// An error that may not know its expression yet.
enum Trouble {
    Known(DataError),
    Here(EvalFailure),
}

impl Trouble {
    fn at(self, expr: &Expr) -> DataError {
        match self {
            Self::Known(error) => error,
            Self::Here(failure) => failed(expr)(failure),
        }
    }
}

/// Equality, of row values component by component.
fn equal(a: &Expr, b: &Expr, of: &dyn Fn(&Expr) -> Result<Value, DataError>) -> Result<Value, Trouble> {
    let (Expr::Row(left), Expr::Row(right)) = (a, b) else {
        let (a, b) = (of(a).map_err(Trouble::Known)?, of(b).map_err(Trouble::Known)?);
        return compare::compare(BinaryOp::Equal, &a, &b).map_err(Trouble::Here);
    };
    if left.len() != right.len() {
        return Err(Trouble::Here(EvalFailure::Arguments { expected: format!("row values of {} parts", left.len()) }));
    }
    let mut all = booleans(BooleanArray::from(vec![true]), true);
    for (a, b) in left.iter().zip(right) {
        all = choose::and(&all, &equal(a, b, of)?).map_err(Trouble::Here)?;
    }
    Ok(all)
}

fn not(value: &Value) -> Result<Value, EvalFailure> {
    let value = truth(value)?;
    Ok(booleans(boolean::not(value.as_bool()).map_err(value::arrow)?, value.constant))
}

fn is_null(value: &Value, negated: bool) -> Result<Value, EvalFailure> {
    let nulls = match value.is_null_type() {
        true => BooleanArray::from(vec![!negated; value.array.len()]),
        false if negated => boolean::is_not_null(&value.array).map_err(value::arrow)?,
        false => boolean::is_null(&value.array).map_err(value::arrow)?,
    };
    Ok(booleans(nulls, value.constant))
}

/// A value as a truth value; texts are read as booleans.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; other types are refused")]
fn truth(value: &Value) -> Result<Value, EvalFailure> {
    match value.data_type() {
        DataType::Boolean => Ok(value.clone()),
        DataType::Null | DataType::Utf8 => cast::cast(value, &ColumnType::Boolean),
        _ => Err(types(&[value])),
    }
}

/// A column or nested field, in the types of [`arrow_schema`](crate::arrow_schema).
fn column(path: &[Arc<str>], batch: &RecordBatch) -> Result<Value, DataError> {
    let unknown = |known: String| DataError::UnknownColumn { column: path.join("."), known };
    let schema = batch.schema_ref();
    let known = || listed(schema.fields().iter().map(|field| field.name().as_str()));
    let Some((first, rest)) = path.split_first() else { return Err(unknown(known())) };
    let at = position(schema, first).ok_or_else(|| unknown(known()))?;
    let mut array = Arc::clone(batch.column(at));
    for name in rest {
        let parent = array.as_struct_opt().ok_or_else(|| unknown(format!("no fields within {first}")))?;
        let fields = parent.fields();
        let at = fields.iter().position(|field| same_name(field.name(), name));
        let at = at.ok_or_else(|| unknown(listed(fields.iter().map(|field| field.name().as_str()))))?;
        let child = Arc::clone(parent.column(at));
        let nulls = NullBuffer::union(child.nulls(), parent.nulls());
        let data = child.to_data().into_builder().nulls(nulls).build().map_err(DataError::arrow("a nested column"))?;
        array = arrow_array::make_array(data);
    }
    plain(array, &path.join("."))
}

/// The column in the types that we compute in: no dictionaries, views, unsigned numbers or odd time units.
fn plain(array: ArrayRef, path: &str) -> Result<Value, DataError> {
    if *array.data_type() == DataType::Null {
        return Ok(Value::column(array));
    }
    let schema = Schema::new(vec![Field::new(path, array.data_type().clone(), true)]);
    let columns = columns_of(&schema)?;
    match columns.first() {
        Some(column) => align_array(&array, column, path, Extra::Drop).map(Value::column),
        None => Ok(Value::column(array)),
    }
}
