//! The parser's tree to ours.

mod call;
mod value;

use crate::error::{SqlError, excerpt, unsupported};
use crate::types::parse_type;
use jiff::tz::TimeZone;
use lakebed_transaction::{BinaryOp, CaseArm, ColumnType, Expr, Scalar, UnaryOp};
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, DateTimeField, Expr as Ast, Ident, InTarget, UnaryOperator, Value,
};
use std::sync::Arc;

/// The deepest tree that is built, so that whoever walks it can recurse.
pub(crate) const DEPTH_MAX: usize = 160;

/// AND and OR chains of more operands than this become balanced trees, whose depth stays small.
pub(crate) const CHAIN_LINEAR_MAX: usize = 32;

/// What bare words mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Columns.
    Sql,
    /// String literals, as Spark prints them; columns are quoted.
    Printed,
}

pub(crate) struct Converter<'z> {
    zone: &'z TimeZone,
    mode: Mode,
    depth: usize,
}

/// All of them hold; none: TRUE.
pub(crate) fn conjunction(parts: Vec<Expr>) -> Expr {
    fold_chain(parts, BinaryOp::And).unwrap_or_else(Expr::always)
}

fn fold_chain(parts: Vec<Expr>, op: BinaryOp) -> Option<Expr> {
    if parts.len() <= CHAIN_LINEAR_MAX {
        return parts.into_iter().reduce(|left, right| left.binary(op, right));
    }
    let mut level = parts;
    while level.len() > 1 {
        let mut next = Vec::with_capacity(level.len().div_ceil(2));
        let mut rest = level.into_iter();
        while let Some(left) = rest.next() {
            next.push(match rest.next() {
                Some(right) => left.binary(op, right),
                None => left,
            });
        }
        level = next;
    }
    level.pop()
}

/// How many levels [`fold_chain`] puts between its top and its deepest operand.
fn chain_depth(operands: usize) -> usize {
    if operands <= CHAIN_LINEAR_MAX { operands.saturating_sub(2) } else { operands.ilog2() as usize }
}

impl<'z> Converter<'z> {
    pub(crate) const fn new(zone: &'z TimeZone, mode: Mode) -> Self {
        Self { zone, mode, depth: 0 }
    }

    /// What stands alone or in brackets. Brackets make no level of the tree.
    pub(crate) fn top(&mut self, ast: &Ast) -> Result<Expr, SqlError> {
        let mut ast = ast;
        while let Ast::Nested(inner) = ast {
            ast = inner;
        }
        if let Ast::BinaryOp { left, op, right } = ast { self.binary(left, op, right) } else { self.node(ast) }
    }

    fn boxed(&mut self, ast: &Ast) -> Result<Box<Expr>, SqlError> {
        self.expr(ast).map(Box::new)
    }

    fn list(&mut self, asts: &[Ast]) -> Result<Vec<Expr>, SqlError> {
        asts.iter().map(|ast| self.expr(ast)).collect()
    }

    fn deeper<T>(&mut self, by: usize, inner: impl FnOnce(&mut Self) -> Result<T, SqlError>) -> Result<T, SqlError> {
        self.depth += by;
        if self.depth > DEPTH_MAX {
            return Err(SqlError::TooDeep { limit: DEPTH_MAX });
        }
        let found = inner(self);
        self.depth -= by;
        found
    }

    fn expr(&mut self, ast: &Ast) -> Result<Expr, SqlError> {
        self.deeper(1, |this| this.node(ast))
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's enum is not ours; what is not listed goes to the rarer forms"
    )]
    fn node(&mut self, ast: &Ast) -> Result<Expr, SqlError> {
        match ast {
            Ast::Nested(inner) => self.top(inner),
            Ast::BinaryOp { left, op, right } => {
                // Spark brackets every operator that it prints; one without is part of an unquoted literal.
                if self.mode == Mode::Printed {
                    return Err(unsupported("an operator without brackets in printed text"));
                }
                self.binary(left, op, right)
            }
            Ast::Identifier(name) => self.column(std::slice::from_ref(name)),
            Ast::CompoundIdentifier(path) => self.column(path),
            Ast::Value(value) => self.literal(&value.value),
            Ast::TypedString(typed) => self.typed_string(&typed.data_type, &typed.value.value),
            Ast::UnaryOp { op, expr } => self.unary(*op, expr),
            Ast::In { expr, target: InTarget::List(list), negated, global: false } => self.is_in(expr, list, *negated),
            Ast::Between { expr, negated, low, high } => self.between([expr, low, high], *negated),
            Ast::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *negated)
            }
            Ast::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, format: None } => {
                self.cast(expr, data_type)
            }
            Ast::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Ast::Tuple(items) => Ok(Expr::Row(self.list(items)?)),
            Ast::Function(function) => self.function(function),
            other => self.null_test(other),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's enum is not ours; what is not listed goes to the rarer forms"
    )]
    fn null_test(&mut self, ast: &Ast) -> Result<Expr, SqlError> {
        let (operand, negated) = match ast {
            Ast::IsNull(operand) | Ast::IsUnknown(operand) => (operand, false),
            Ast::IsNotNull(operand) | Ast::IsNotUnknown(operand) => (operand, true),
            Ast::IsTrue(operand) => return self.is_exactly(operand, true, false),
            Ast::IsNotTrue(operand) => return self.is_exactly(operand, true, true),
            Ast::IsFalse(operand) => return self.is_exactly(operand, false, false),
            Ast::IsNotFalse(operand) => return self.is_exactly(operand, false, true),
            Ast::IsNotDistinctFrom(left, right) => return self.binary(left, &BinaryOperator::Spaceship, right),
            Ast::IsDistinctFrom(left, right) => {
                let equal = self.binary(left, &BinaryOperator::Spaceship, right)?;
                return Ok(Expr::Unary(UnaryOp::Not, Box::new(equal)));
            }
            other => return self.special_call(other),
        };
        Ok(Expr::IsNull { operand: self.boxed(operand)?, negated })
    }

    /// `x IS TRUE` is never NULL, so it is a null-safe comparison.
    fn is_exactly(&mut self, operand: &Ast, value: bool, negated: bool) -> Result<Expr, SqlError> {
        let same = self.expr(operand)?.binary(BinaryOp::NullSafeEqual, Expr::Literal(Scalar::Boolean(value)));
        Ok(if negated { Expr::Unary(UnaryOp::Not, Box::new(same)) } else { same })
    }

    /// Functions that SQL spells in a way of their own.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum is not ours; what is not listed is refused")]
    fn special_call(&mut self, ast: &Ast) -> Result<Expr, SqlError> {
        let (name, arguments): (&str, Vec<&Ast>) = match ast {
            Ast::Extract { field: DateTimeField::Year, expr, .. } => ("year", vec![expr]),
            Ast::Extract { field: DateTimeField::Month, expr, .. } => ("month", vec![expr]),
            Ast::Extract { field: DateTimeField::Day, expr, .. } => ("day", vec![expr]),
            Ast::Extract { expr, .. } => ("extract", vec![expr]),
            Ast::Floor { expr, .. } => ("floor", vec![expr]),
            Ast::Ceil { expr, .. } => ("ceil", vec![expr]),
            Ast::Trim { expr, trim_what, .. } => {
                ("trim", std::iter::once(expr).chain(trim_what).map(|x| &**x).collect())
            }
            Ast::Position { expr, r#in } => ("position", vec![expr, r#in]),
            Ast::Substring { expr, substring_from, substring_for, .. } => {
                ("substring", std::iter::once(expr).chain(substring_from).chain(substring_for).map(|x| &**x).collect())
            }
            Ast::RLike { negated: false, expr, pattern, .. } => ("rlike", vec![expr, pattern]),
            Ast::ILike { negated: false, any: false, expr, pattern, escape_char: None } => {
                ("ilike", vec![expr, pattern])
            }
            Ast::Struct { values, fields } if fields.is_empty() => ("struct", values.iter().collect()),
            Ast::Cast { kind: CastKind::TryCast | CastKind::SafeCast, expr, .. } => ("try_cast", vec![expr]),
            other => return Err(unsupported(format!("`{}`", excerpt(&other.to_string())))),
        };
        let arguments = arguments.into_iter().map(|ast| self.expr(ast)).collect::<Result<Vec<_>, _>>()?;
        call::known_or_unknown(name, arguments)
    }

    fn column(&self, path: &[Ident]) -> Result<Expr, SqlError> {
        if let [name] = path
            && name.quote_style.is_none()
        {
            if self.mode == Mode::Printed {
                return Ok(Expr::Literal(Scalar::string(&name.value)));
            }
            if value::is_number_word(name) {
                return crate::number::literal_number(&name.value, false).map(Expr::Literal);
            }
        }
        if self.mode == Mode::Printed && path.iter().all(|part| part.quote_style.is_none()) {
            return Err(unsupported("a dotted word without quotes in printed text"));
        }
        let part = |part: &Ident| match part.quote_style {
            Some(_) => Arc::from(crate::tokens::unquote_identifier(&part.value)),
            None => Arc::from(part.value.as_str()),
        };
        Ok(Expr::Column(path.iter().map(part).collect()))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum is not ours; what is not listed is refused")]
    fn binary(&mut self, left: &Ast, op: &BinaryOperator, right: &Ast) -> Result<Expr, SqlError> {
        let op = match op {
            BinaryOperator::Plus => BinaryOp::Add,
            BinaryOperator::Minus => BinaryOp::Subtract,
            BinaryOperator::Multiply => BinaryOp::Multiply,
            BinaryOperator::Divide => BinaryOp::Divide,
            BinaryOperator::Modulo => BinaryOp::Modulo,
            BinaryOperator::Eq => BinaryOp::Equal,
            BinaryOperator::NotEq => BinaryOp::NotEqual,
            BinaryOperator::Lt => BinaryOp::Less,
            BinaryOperator::LtEq => BinaryOp::LessOrEqual,
            BinaryOperator::Gt => BinaryOp::Greater,
            BinaryOperator::GtEq => BinaryOp::GreaterOrEqual,
            BinaryOperator::Spaceship => BinaryOp::NullSafeEqual,
            BinaryOperator::And => return self.chain(left, &BinaryOperator::And, right, BinaryOp::And),
            BinaryOperator::Or => return self.chain(left, &BinaryOperator::Or, right, BinaryOp::Or),
            BinaryOperator::StringConcat => {
                return call::known_or_unknown("concat", vec![self.expr(left)?, self.expr(right)?]);
            }
            other => return Err(unsupported(format!("the operator `{other}`"))),
        };
        Ok(self.expr(left)?.binary(op, self.expr(right)?))
    }

    /// A chain of one associative operator, walked without recursion: it may be thousands long.
    fn chain(&mut self, left: &Ast, sql_op: &BinaryOperator, right: &Ast, op: BinaryOp) -> Result<Expr, SqlError> {
        let mut operands = vec![right];
        let mut rest = left;
        while let Ast::BinaryOp { left, op: found, right } = rest
            && found == sql_op
            && self.mode == Mode::Sql
        {
            operands.push(right);
            rest = left;
        }
        operands.push(rest);
        let parts = self.deeper(chain_depth(operands.len()), |this| {
            operands.into_iter().rev().map(|ast| this.expr(ast)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(fold_chain(parts, op).unwrap_or_else(Expr::always))
    }

    fn literal(&self, literal: &Value) -> Result<Expr, SqlError> {
        // Printed without quotes, the text `null` and the value NULL look the same, and so do text and bytes.
        if self.mode == Mode::Printed && matches!(literal, Value::Null | Value::HexStringLiteral(_)) {
            return Err(unsupported(format!("{literal} in printed text")));
        }
        value::literal_value(literal, false).map(Expr::Literal)
    }

    fn is_in(&mut self, operand: &Ast, list: &[Ast], negated: bool) -> Result<Expr, SqlError> {
        Ok(Expr::In { operand: self.boxed(operand)?, list: self.list(list)?, negated })
    }

    fn between(&mut self, [operand, low, high]: [&Ast; 3], negated: bool) -> Result<Expr, SqlError> {
        Ok(Expr::Between { operand: self.boxed(operand)?, low: self.boxed(low)?, high: self.boxed(high)?, negated })
    }

    fn like(&mut self, operand: &Ast, pattern: &Ast, escape: Option<&Ast>, negated: bool) -> Result<Expr, SqlError> {
        let escape = escape.map(value::escape_character).transpose()?;
        Ok(Expr::Like { operand: self.boxed(operand)?, pattern: self.boxed(pattern)?, escape, negated })
    }

    fn unary(&mut self, op: UnaryOperator, operand: &Ast) -> Result<Expr, SqlError> {
        match (op, operand) {
            (UnaryOperator::Minus, Ast::Value(value)) => value::literal_value(&value.value, true).map(Expr::Literal),
            (UnaryOperator::Minus, Ast::Identifier(name)) if value::is_number_word(name) && self.mode == Mode::Sql => {
                crate::number::literal_number(&name.value, true).map(Expr::Literal)
            }
            (UnaryOperator::Minus, _) => Ok(Expr::Unary(UnaryOp::Negate, self.boxed(operand)?)),
            (UnaryOperator::Not | UnaryOperator::BangNot, _) => Ok(Expr::Unary(UnaryOp::Not, self.boxed(operand)?)),
            (UnaryOperator::Plus, _) => self.expr(operand),
            (other, _) => Err(unsupported(format!("the operator `{other}`"))),
        }
    }

    fn case(&mut self, operand: Option<&Ast>, arms: &[CaseWhen], otherwise: Option<&Ast>) -> Result<Expr, SqlError> {
        let operand = operand.map(|ast| self.boxed(ast)).transpose()?;
        let arm = |this: &mut Self, arm: &CaseWhen| -> Result<CaseArm, SqlError> {
            Ok(CaseArm { when: this.expr(&arm.condition)?, then: this.expr(&arm.result)? })
        };
        let arms = arms.iter().map(|found| arm(self, found)).collect::<Result<Vec<_>, _>>()?;
        Ok(Expr::Case { operand, arms, otherwise: otherwise.map(|ast| self.boxed(ast)).transpose()? })
    }

    fn cast(&mut self, operand: &Ast, data_type: &DataType) -> Result<Expr, SqlError> {
        let column_type = column_type(data_type)?;
        if let Ast::Value(text) = operand
            && let Some(float) = value::special_float_cast(&text.value, &column_type)
        {
            return Ok(float);
        }
        Ok(Expr::Cast(self.boxed(operand)?, column_type))
    }

    fn typed_string(&self, data_type: &DataType, literal: &Value) -> Result<Expr, SqlError> {
        value::typed_literal(&column_type(data_type)?, literal, self.zone)
    }
}

/// The parser's types, by their text: the grammar of types is ours.
fn column_type(data_type: &DataType) -> Result<ColumnType, SqlError> {
    parse_type(&data_type.to_string())
}
