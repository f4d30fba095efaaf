//! The values that comparisons with constants leave to one column.

use super::possible::{Orders, orders};
use crate::eval::{Value, cast};
use lakebed_transaction::{ColumnType, Held, Scalar};
use std::cmp::Ordering;
use std::collections::HashSet;

/// More pairs of candidates than this are not compared one by one.
const PAIRS_MAX: usize = 1_000_000;

/// Values between two ends, among the candidates if there are any, but for those excluded.
#[derive(Clone, Debug, Default)]
pub(super) struct Domain {
    low: Option<End>,
    high: Option<End>,
    candidates: Option<Vec<Scalar>>,
    excluded: Vec<Scalar>,
}

#[derive(Clone, Debug)]
struct End {
    value: Scalar,
    included: bool,
}

/// A comparison with constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    AtLeast,
    Above,
    AtMost,
    Below,
    NotEqual,
}

impl Domain {
    /// Leaves what also meets the comparison; a comparison that cannot be told apart from the ones before leaves all.
    pub(super) fn limit(&mut self, limit: Limit, value: Scalar) {
        let end = |included| End { value: value.clone(), included };
        match limit {
            Limit::AtLeast => raise(&mut self.low, end(true), Ordering::Greater),
            Limit::Above => raise(&mut self.low, end(false), Ordering::Greater),
            Limit::AtMost => raise(&mut self.high, end(true), Ordering::Less),
            Limit::Below => raise(&mut self.high, end(false), Ordering::Less),
            Limit::NotEqual => self.excluded.push(value),
        }
    }

    /// Leaves what may equal one of the values.
    pub(super) fn among(&mut self, values: Vec<Scalar>) {
        match &mut self.candidates {
            Some(known) if alike(known, &values) => {
                let others: HashSet<Exact<'_>> = values.iter().filter_map(exact).collect();
                known.retain(|one| exact(one).is_some_and(|one| others.contains(&one)));
            }
            Some(known) if known.len().saturating_mul(values.len()) <= PAIRS_MAX => {
                known.retain(|one| values.iter().any(|other| orders(one, other).equal));
            }
            // The shorter list alone still bounds the column.
            Some(known) if known.len() <= values.len() => {}
            Some(_) | None => self.candidates = Some(values),
        }
    }

    /// Whether no value is left.
    pub(super) fn is_empty(&self) -> bool {
        if let Some(candidates) = &self.candidates {
            return !candidates.iter().any(|one| self.admits(one));
        }
        let (Some(low), Some(high)) = (&self.low, &self.high) else { return false };
        match orders(&low.value, &high.value) {
            between if between == Orders::only(Ordering::Greater) => true,
            between if between == Orders::only(Ordering::Equal) => {
                let single = low.included && high.included;
                !single || self.excluded.iter().any(|out| surely_equal(out, &low.value))
            }
            _ => false,
        }
    }

    fn admits(&self, one: &Scalar) -> bool {
        let within = |end: &Option<End>, beyond: fn(Orders) -> bool| {
            end.as_ref().is_none_or(|end| {
                let to_end = orders(one, &end.value);
                beyond(to_end) || (end.included && to_end.equal)
            })
        };
        within(&self.low, |to| to.greater)
            && within(&self.high, |to| to.less)
            && !self.excluded.iter().any(|out| surely_equal(out, one))
    }

    /// What is left, in words of a message.
    pub(super) fn held(&self) -> Held {
        if let Some([one]) = self.candidates.as_deref() {
            return Held::Value(one.clone());
        }
        let value = |end: &Option<End>| end.as_ref().map(|end| end.value.clone());
        match (value(&self.low), value(&self.high)) {
            (None, None) => Held::Unknown,
            (low, high) => Held::Between(low, high),
        }
    }
}

/// A value of a type in which two values are equal exactly if they are the same.
#[derive(PartialEq, Eq, Hash)]
enum Exact<'a> {
    Number(i64),
    Bytes(&'a [u8]),
}

fn exact(value: &Scalar) -> Option<Exact<'_>> {
    match value {
        Scalar::Int(value) | Scalar::Timestamp(value) | Scalar::TimestampNtz(value) => Some(Exact::Number(*value)),
        Scalar::Date(days) => Some(Exact::Number(i64::from(*days))),
        Scalar::String(text) => Some(Exact::Bytes(text.as_bytes())),
        Scalar::Binary(bytes) => Some(Exact::Bytes(bytes)),
        Scalar::Null | Scalar::Boolean(_) | Scalar::Float(_) | Scalar::Decimal { .. } => None,
    }
}

/// Whether all values are of one such type.
fn alike(a: &[Scalar], b: &[Scalar]) -> bool {
    let Some(first) = a.first().or(b.first()) else { return false };
    let kind = std::mem::discriminant(first);
    a.iter().chain(b).all(|value| std::mem::discriminant(value) == kind && exact(value).is_some())
}

fn surely_equal(a: &Scalar, b: &Scalar) -> bool {
    orders(a, b) == Orders::only(Ordering::Equal)
}

/// Puts the new end in place of the old one where it surely leaves less; `tighter` is how it then stands to the old one.
fn raise(end: &mut Option<End>, new: End, tighter: Ordering) {
    let replaces = end.as_ref().is_none_or(|old| match orders(&new.value, &old.value) {
        to_old if to_old == Orders::only(tighter) => true,
        to_old if to_old == Orders::only(Ordering::Equal) => !new.included,
        _ => false,
    });
    if replaces {
        *end = Some(new);
    }
}

/// Which constants can be put in order for one column.
///
/// A comparison brings column and constant to one type. Two constants bound the same thing only where that type is the same,
/// so constants are kept apart by it where the column's type is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// As values of the column's own type.
    Own,
    /// As booleans, and so on, whatever the column's type is.
    Boolean,
    Int,
    Float,
    Decimal,
    Binary,
}

/// The constant as it is compared with a column of this type; `None` where nothing can be said of that.
pub(super) fn placed(constant: &Scalar, column: Option<&ColumnType>) -> Option<(Class, Scalar)> {
    let own = |target: ColumnType| match cast(constant, &target) {
        Value::Known(value) if !value.is_null() => Some((Class::Own, value)),
        Value::Known(_) | Value::Unbounded | Value::Failed(_) => None,
    };
    let numeric = matches!(constant, Scalar::Int(_) | Scalar::Float(_) | Scalar::Decimal { .. });
    let text = matches!(constant, Scalar::String(_));
    match column {
        Some(ColumnType::Byte | ColumnType::Short | ColumnType::Integer | ColumnType::Long) if text => {
            own(ColumnType::Long)
        }
        Some(ColumnType::Float | ColumnType::Double | ColumnType::Decimal { .. }) if text => own(ColumnType::Double),
        Some(
            ColumnType::Byte
            | ColumnType::Short
            | ColumnType::Integer
            | ColumnType::Long
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Decimal { .. },
        ) if numeric => Some((Class::Own, constant.clone())),
        Some(ColumnType::Boolean) if text => own(ColumnType::Boolean),
        Some(ColumnType::Date) if text => own(ColumnType::Date),
        Some(ColumnType::Date) if matches!(constant, Scalar::Date(_)) => Some((Class::Own, constant.clone())),
        Some(ColumnType::TimestampNtz) if text || matches!(constant, Scalar::Date(_) | Scalar::TimestampNtz(_)) => {
            own(ColumnType::TimestampNtz)
        }
        Some(ColumnType::Timestamp) if text || matches!(constant, Scalar::Timestamp(_)) => own(ColumnType::Timestamp),
        Some(ColumnType::String) if text => Some((Class::Own, constant.clone())),
        Some(_) | None => by_itself(constant),
    }
}

/// Constants whose comparison does not depend on a zone or on how a text is read.
fn by_itself(constant: &Scalar) -> Option<(Class, Scalar)> {
    let class = match constant {
        Scalar::Boolean(_) => Class::Boolean,
        Scalar::Int(_) => Class::Int,
        Scalar::Float(_) => Class::Float,
        Scalar::Decimal { .. } => Class::Decimal,
        Scalar::Binary(_) => Class::Binary,
        Scalar::Null | Scalar::Date(_) | Scalar::Timestamp(_) | Scalar::TimestampNtz(_) | Scalar::String(_) => {
            return None;
        }
    };
    Some((class, constant.clone()))
}
