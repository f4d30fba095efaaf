//! Fits an expression to the columns of a table.

use crate::convert::DEPTH_MAX;
use crate::error::SqlError;
use crate::parse::Assignment;
use crate::unify::{Class, Typed, assign, class_of, unify};
use jiff::tz::TimeZone;
use lakebed_transaction::{BinaryOp, CaseArm, Column, ColumnType, Expr, Function, Scalar, UnaryOp};
use std::sync::Arc;

/// Fits an expression to a table's columns; wall-clock times count as UTC.
///
/// Columns get the name that is stored. Where values of different types meet (comparisons, IN, BETWEEN, CASE, arithmetic,
/// COALESCE, IF), a string literal is read as the other side's date, timestamp, number, boolean or bytes, and other strings
/// and dates are cast, as Spark does.
///
/// ```
/// use lakebed_sql::{bind, parse_columns, parse_predicate, print};
///
/// let columns = parse_columns("id long not null, day date").unwrap();
/// let bound = bind(&parse_predicate("DAY >= '2024-01-02'").unwrap(), &columns).unwrap();
/// assert_eq!(print(&bound), "day >= DATE '2024-01-02'");
/// assert!(bind(&parse_predicate("nope = 1").unwrap(), &columns).unwrap_err().to_string().contains("id, day"));
/// ```
///
/// # Errors
///
/// [`SqlError::UnknownColumn`] and [`SqlError::AmbiguousColumn`] for names, [`SqlError::Literal`] for a string that is not
/// of the type that it meets, [`SqlError::TooDeep`] for trees deeper than any that is parsed.
pub fn bind(expr: &Expr, columns: &[Column]) -> Result<Expr, SqlError> {
    bind_in(expr, columns, &TimeZone::UTC)
}

/// As [`bind`], with the zone that strings, dates and wall-clock times are taken in where they meet an instant.
///
/// # Errors
///
/// As [`bind`].
pub fn bind_in(expr: &Expr, columns: &[Column], zone: &TimeZone) -> Result<Expr, SqlError> {
    Binder { columns, zone, depth: 0 }.expr(expr).map(|typed| typed.expr)
}

/// Fits an assignment to a table's columns: the target as stored, a string literal read as the target's type.
///
/// # Errors
///
/// As [`bind`].
pub fn bind_assignment(assignment: &Assignment, columns: &[Column], zone: &TimeZone) -> Result<Assignment, SqlError> {
    let (column, target) = resolve(&assignment.column, columns)?;
    let value = Binder { columns, zone, depth: 0 }.expr(&assignment.value)?;
    Ok(Assignment { column, value: assign(value.expr, &target, zone)? })
}

struct Binder<'a> {
    columns: &'a [Column],
    zone: &'a TimeZone,
    depth: usize,
}

impl Binder<'_> {
    fn expr(&mut self, expr: &Expr) -> Result<Typed, SqlError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(SqlError::TooDeep { limit: DEPTH_MAX });
        }
        let typed = self.node(expr)?;
        self.depth -= 1;
        Ok(typed)
    }

    fn plain(&mut self, expr: &Expr) -> Result<Box<Expr>, SqlError> {
        self.expr(expr).map(|typed| Box::new(typed.expr))
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Vec<Typed>, SqlError> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn node(&mut self, expr: &Expr) -> Result<Typed, SqlError> {
        match expr {
            Expr::Column(path) => {
                let (path, column_type) = resolve(path, self.columns)?;
                Ok(Typed::new(Expr::Column(path), Some(column_type)))
            }
            Expr::Literal(value) => Ok(Typed::literal(value.clone())),
            Expr::Unary(UnaryOp::Not, operand) => Ok(Typed::boolean(Expr::Unary(UnaryOp::Not, self.plain(operand)?))),
            Expr::Unary(UnaryOp::Negate, operand) => {
                let operand = self.expr(operand)?;
                Ok(Typed::new(Expr::Unary(UnaryOp::Negate, Box::new(operand.expr)), operand.column_type))
            }
            Expr::Binary(op, left, right) => self.binary(*op, left, right),
            Expr::IsNull { operand, negated } => {
                Ok(Typed::boolean(Expr::IsNull { operand: self.plain(operand)?, negated: *negated }))
            }
            Expr::In { operand, list, negated } => self.is_in(operand, list, *negated),
            Expr::Between { operand, low, high, negated } => {
                let parts = [self.expr(operand)?, self.expr(low)?, self.expr(high)?];
                let [operand, low, high] = unify(parts, self.zone)?.map(|typed| Box::new(typed.expr));
                Ok(Typed::boolean(Expr::Between { operand, low, high, negated: *negated }))
            }
            Expr::Like { operand, pattern, escape, negated } => {
                let (operand, pattern) = (self.plain(operand)?, self.plain(pattern)?);
                Ok(Typed::boolean(Expr::Like { operand, pattern, escape: *escape, negated: *negated }))
            }
            Expr::Cast(operand, column_type) => {
                Ok(Typed::new(Expr::Cast(self.plain(operand)?, column_type.clone()), Some(column_type.clone())))
            }
            Expr::Case { operand, arms, otherwise } => self.case(operand.as_deref(), arms, otherwise.as_deref()),
            Expr::Call(function, arguments) => self.call(*function, arguments),
            Expr::Unknown { name, arguments } => {
                let arguments = self.all(arguments)?.into_iter().map(|typed| typed.expr).collect();
                Ok(Typed::new(Expr::Unknown { name: name.clone(), arguments }, None))
            }
            Expr::Row(values) => {
                Ok(Typed::new(Expr::Row(self.all(values)?.into_iter().map(|typed| typed.expr).collect()), None))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Result<Typed, SqlError> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        match op {
            BinaryOp::And | BinaryOp::Or => Ok(Typed::boolean(left.expr.binary(op, right.expr))),
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
            | BinaryOp::NullSafeEqual => self.comparison(op, left, right),
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => {
                let dates = [&left, &right].iter().any(|side| {
                    matches!(
                        class_of(side.column_type.as_ref()),
                        Some(Class::Date | Class::Timestamp | Class::TimestampNtz)
                    )
                });
                // A text in arithmetic is a double, whatever float it meets.
                let [left, right] = [left, right].map(|side| match side.column_type {
                    Some(ColumnType::Float) => Typed::new(side.expr, Some(ColumnType::Double)),
                    _ => side,
                });
                let [left, right] = if dates { [left, right] } else { unify([left, right], self.zone)? };
                let column_type = arithmetic_type(left.column_type.as_ref(), right.column_type.as_ref());
                Ok(Typed::new(left.expr.binary(op, right.expr), column_type))
            }
        }
    }

    fn comparison(&self, op: BinaryOp, left: Typed, right: Typed) -> Result<Typed, SqlError> {
        let [left, right] = unify([left, right], self.zone)?;
        Ok(Typed::boolean(left.expr.binary(op, right.expr)))
    }

    fn is_in(&mut self, operand: &Expr, list: &[Expr], negated: bool) -> Result<Typed, SqlError> {
        if let Expr::Row(values) = operand {
            return self.row_in(values, list, negated);
        }
        let mut parts = vec![self.expr(operand)?];
        parts.extend(self.all(list)?);
        let mut parts = unify(parts, self.zone)?.into_iter().map(|typed| typed.expr);
        let operand = Box::new(parts.next().unwrap_or(Expr::Literal(Scalar::Null)));
        Ok(Typed::boolean(Expr::In { operand, list: parts.collect(), negated }))
    }

    /// Column by column: the operand's value at a place meets every row's value at that place.
    fn row_in(&mut self, values: &[Expr], list: &[Expr], negated: bool) -> Result<Typed, SqlError> {
        let mut rows: Vec<Vec<Expr>> = vec![Vec::new(); list.len()];
        let mut operand = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let mut parts = vec![self.expr(value)?];
            for row in list {
                let Expr::Row(row) = row else {
                    return Err(crate::error::unsupported("a row compared with a single value"));
                };
                let found = row.get(index).filter(|_| row.len() == values.len());
                parts.push(self.expr(
                    found.ok_or_else(|| crate::error::unsupported("a comparison of rows of different lengths"))?,
                )?);
            }
            let mut parts = unify(parts, self.zone)?.into_iter().map(|typed| typed.expr);
            operand.extend(parts.next());
            rows.iter_mut().zip(parts).for_each(|(row, part)| row.push(part));
        }
        let list = rows.into_iter().map(Expr::Row).collect();
        Ok(Typed::boolean(Expr::In { operand: Box::new(Expr::Row(operand)), list, negated }))
    }

    fn case(&mut self, operand: Option<&Expr>, arms: &[CaseArm], otherwise: Option<&Expr>) -> Result<Typed, SqlError> {
        let mut whens: Vec<Typed> = arms.iter().map(|arm| self.expr(&arm.when)).collect::<Result<_, _>>()?;
        let mut bound = None;
        if let Some(operand) = operand {
            whens.push(self.expr(operand)?);
            whens = unify(whens, self.zone)?;
            bound = whens.pop().map(|typed| Box::new(typed.expr));
        }
        let mut thens: Vec<Typed> = arms.iter().map(|arm| self.expr(&arm.then)).collect::<Result<_, _>>()?;
        thens.extend(otherwise.map(|expr| self.expr(expr)).transpose()?);
        let mut thens = unify(thens, self.zone)?;
        let column_type = thens.iter().find_map(|typed| typed.column_type.clone());
        let last = if otherwise.is_some() { thens.pop().map(|typed| Box::new(typed.expr)) } else { None };
        let arms =
            whens.into_iter().zip(thens).map(|(when, then)| CaseArm { when: when.expr, then: then.expr }).collect();
        Ok(Typed::new(Expr::Case { operand: bound, arms, otherwise: last }, column_type))
    }

    fn call(&mut self, function: Function, arguments: &[Expr]) -> Result<Typed, SqlError> {
        let mut arguments = self.all(arguments)?;
        let column_type = match function {
            Function::Upper | Function::Lower => Some(ColumnType::String),
            Function::Length => Some(ColumnType::Integer),
            Function::StartsWith | Function::IsNan => Some(ColumnType::Boolean),
            Function::Year | Function::Month | Function::Day => {
                arguments = arguments.into_iter().map(|typed| self.date_argument(typed)).collect::<Result<_, _>>()?;
                Some(ColumnType::Integer)
            }
            Function::Abs => arguments.first().and_then(|typed| typed.column_type.clone()),
            Function::Coalesce => {
                arguments = unify(arguments, self.zone)?;
                arguments.iter().find_map(|typed| typed.column_type.clone())
            }
            Function::If => {
                let branches = unify(arguments.split_off(arguments.len().min(1)), self.zone)?;
                let column_type = branches.iter().find_map(|typed| typed.column_type.clone());
                arguments.extend(branches);
                column_type
            }
        };
        let arguments = arguments.into_iter().map(|typed| typed.expr).collect();
        Ok(Typed::new(Expr::Call(function, arguments), column_type))
    }

    fn date_argument(&self, typed: Typed) -> Result<Typed, SqlError> {
        if matches!(typed.expr, Expr::Literal(Scalar::String(_))) {
            return Ok(Typed::new(assign(typed.expr, &ColumnType::Date, self.zone)?, Some(ColumnType::Date)));
        }
        Ok(typed)
    }
}

/// Only whether the result is exact matters to what it meets.
fn arithmetic_type(left: Option<&ColumnType>, right: Option<&ColumnType>) -> Option<ColumnType> {
    let sides = [left, right];
    let float = |side: &Option<&ColumnType>| matches!(side, Some(ColumnType::Float | ColumnType::Double));
    if sides.iter().any(float) {
        return Some(ColumnType::Double);
    }
    let decimal = |side: &&Option<&ColumnType>| matches!(side, Some(ColumnType::Decimal { .. }));
    sides.iter().find(decimal).or_else(|| sides.first()).copied().flatten().cloned()
}

/// The stored path and type of a column. An exact match wins over one that differs by case.
fn resolve(path: &[Arc<str>], columns: &[Column]) -> Result<(Vec<Arc<str>>, ColumnType), SqlError> {
    let mut stored: Vec<Arc<str>> = Vec::with_capacity(path.len());
    let mut fields = columns;
    let mut found: Option<&Column> = None;
    for part in path {
        if let Some(parent) = found {
            let ColumnType::Struct(inner) = &parent.column_type else { return Err(unknown(path, &stored, &[])) };
            fields = inner;
        }
        let lower = part.to_lowercase();
        let mut alike = fields.iter().filter(|field| field.name.to_lowercase() == lower);
        let field = match fields.iter().find(|field| field.name == **part) {
            Some(field) => field,
            None => match (alike.next(), alike.next()) {
                (Some(field), None) => field,
                (Some(one), Some(two)) => {
                    return Err(SqlError::AmbiguousColumn {
                        name: path.join("."),
                        columns: format!("{}, {}", one.name, two.name),
                    });
                }
                (None, _) => return Err(unknown(path, &stored, fields)),
            },
        };
        stored.push(Arc::from(field.name.as_str()));
        found = Some(field);
    }
    found.map(|field| (stored, field.column_type.clone())).ok_or_else(|| unknown(path, &[], columns))
}

fn unknown(path: &[Arc<str>], parent: &[Arc<str>], fields: &[Column]) -> SqlError {
    const LISTED_MAX: usize = 50;
    let prefix = if parent.is_empty() { String::new() } else { format!("{}.", parent.join(".")) };
    let mut names: Vec<String> =
        fields.iter().take(LISTED_MAX).map(|field| format!("{prefix}{}", field.name)).collect();
    if fields.len() > LISTED_MAX {
        names.push(format!("and {} more", fields.len() - LISTED_MAX));
    }
    let columns = if names.is_empty() { format!("none within `{}`", parent.join(".")) } else { names.join(", ") };
    SqlError::UnknownColumn { name: path.join("."), columns }
}
