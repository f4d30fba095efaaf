//! The values that an expression may have.

use crate::eval::{Value, cast, meeting};
use lakebed_transaction::{ColumnBounds, ColumnType, Held, Scalar};
use std::cmp::Ordering;

/// How far apart two zones of the world may put one wall-clock time: 18 hours to either side of UTC.
const ZONE_MICROS_MAX: i64 = 18 * 3_600 * 1_000_000;

/// The values that an expression may have over some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Possible {
    /// No value is smaller.
    pub(super) low: Option<Scalar>,
    /// No value is greater.
    pub(super) high: Option<Scalar>,
    /// Whether it may be NULL.
    pub(super) null: bool,
    /// Whether it may be anything else.
    pub(super) value: bool,
}

impl Possible {
    /// Anything, NULL included.
    #[must_use]
    pub const fn unknown() -> Self {
        Self { low: None, high: None, null: true, value: true }
    }

    /// This value in every row.
    #[must_use]
    pub fn constant(value: Scalar) -> Self {
        if value.is_null() {
            return Self { low: None, high: None, null: true, value: false };
        }
        Self { low: Some(value.clone()), high: Some(value), null: false, value: true }
    }

    /// Values between two ends, both included, and no NULL. What contradicts itself is not known.
    #[must_use]
    pub fn between(low: Option<Scalar>, high: Option<Scalar>) -> Self {
        let bounds = ColumnBounds { min: low, max: high, null_count: Some(0) };
        Self::from_bounds(&bounds, None)
    }

    /// What statistics say of a column of a unit with this many rows.
    ///
    /// A float's maximum is not relied on, because it may leave NaN out; a NaN minimum says nothing. Bounds that contradict each
    /// other are not used. A count of NULLs says something only where it is none or all of the rows.
    #[must_use]
    pub fn from_bounds(bounds: &ColumnBounds, row_count: Option<u64>) -> Self {
        let usable = |bound: &&Scalar| match bound {
            Scalar::Null => false,
            Scalar::Float(float) => !float.is_nan(),
            Scalar::Boolean(_)
            | Scalar::Int(_)
            | Scalar::Decimal { .. }
            | Scalar::Date(_)
            | Scalar::Timestamp(_)
            | Scalar::TimestampNtz(_)
            | Scalar::String(_)
            | Scalar::Binary(_) => true,
        };
        let mut low = bounds.min.as_ref().filter(usable).cloned();
        let mut high = bounds.max.as_ref().filter(|bound| usable(bound) && !matches!(bound, Scalar::Float(_))).cloned();
        if let (Some(a), Some(b)) = (&low, &high)
            && orders(a, b) == Orders::only(Ordering::Greater)
        {
            (low, high) = (None, None);
        }
        let all_null = bounds.null_count.is_some()
            && bounds.null_count == row_count
            && bounds.min.is_none()
            && bounds.max.is_none();
        Self { low, high, null: bounds.null_count != Some(0), value: !all_null }
    }

    /// The one value that it has in every row, NULL included.
    pub(super) fn single(&self) -> Option<Scalar> {
        match (&self.low, &self.high) {
            _ if !self.value => Some(Scalar::Null),
            (Some(low), Some(high)) if !self.null && low == high => Some(low.clone()),
            _ => None,
        }
    }

    /// The same in words of a message.
    pub(super) fn held(&self) -> Held {
        match self.single() {
            Some(value) => Held::Value(value),
            None if self.low.is_none() && self.high.is_none() => Held::Unknown,
            None => Held::Between(self.low.clone(), self.high.clone()),
        }
    }

    /// How values of this one may stand to values of the other; `None` where comparing may fail.
    pub(super) fn orders_to(&self, other: &Self) -> Option<Orders> {
        let (a, b) = (self.as_met_by(other)?, other.as_met_by(self)?);
        let both = |x: &Option<Scalar>, y: &Option<Scalar>| {
            x.as_ref().zip(y.as_ref()).map_or(Orders::ANY, |(x, y)| orders(x, y))
        };
        let (lowest, highest) = (both(&a.low, &b.high), both(&a.high, &b.low));
        Some(Orders {
            less: lowest.less,
            equal: (lowest.less || lowest.equal) && (highest.greater || highest.equal),
            greater: highest.greater,
        })
    }

    /// Itself as it is compared with the other: a text is read as what it meets. A range of texts does not keep its order
    /// when it is read as something else, so that nothing is known of it then.
    fn as_met_by(&self, other: &Self) -> Option<Self> {
        let is_text = |end: &Option<Scalar>| matches!(end, Some(Scalar::String(_)));
        let met = other.low.as_ref().or(other.high.as_ref());
        let Some(met) = met.filter(|met| !matches!(met, Scalar::String(_))) else { return Some(self.clone()) };
        if !is_text(&self.low) && !is_text(&self.high) {
            return Some(self.clone());
        }
        if self.low != self.high {
            return Some(Self::unknown());
        }
        let read = self.low.as_ref().and_then(|text| meeting(text, met).ok())?;
        Some(Self { low: Some(read.clone()), high: Some(read), ..self.clone() })
    }
}

/// Which orders between two values are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orders {
    pub(super) less: bool,
    pub(super) equal: bool,
    pub(super) greater: bool,
}

impl Orders {
    pub(super) const ANY: Self = Self { less: true, equal: true, greater: true };

    pub(super) const fn only(order: Ordering) -> Self {
        Self { less: order.is_lt(), equal: order.is_eq(), greater: order.is_gt() }
    }
}

/// The orders that engines may see between two values.
pub(super) fn orders(a: &Scalar, b: &Scalar) -> Orders {
    match (a, b) {
        (Scalar::Date(_), Scalar::TimestampNtz(_)) | (Scalar::TimestampNtz(_), Scalar::Date(_)) => {
            wall(a).zip(wall(b)).map_or(Orders::ANY, |(a, b)| Orders::only(a.cmp(&b)))
        }
        (Scalar::Date(_) | Scalar::TimestampNtz(_), Scalar::Timestamp(_))
        | (Scalar::Timestamp(_), Scalar::Date(_) | Scalar::TimestampNtz(_)) => {
            wall(a).zip(wall(b)).map_or(Orders::ANY, |(a, b)| in_some_zone(a, b))
        }
        _ => a.compare(b).map_or(Orders::ANY, |order| {
            let exact = Orders::only(order);
            Orders { equal: exact.equal || equal_when_rounded(a, b), ..exact }
        }),
    }
}

/// Microseconds of a time, a date at its start.
fn wall(value: &Scalar) -> Option<i64> {
    if let Scalar::Timestamp(micros) = value {
        return Some(*micros);
    }
    match cast(value, &ColumnType::TimestampNtz) {
        Value::Known(Scalar::TimestampNtz(micros)) => Some(micros),
        Value::Known(_) | Value::Unbounded | Value::Failed(_) => None,
    }
}

fn in_some_zone(a: i64, b: i64) -> Orders {
    let apart = i128::from(a) - i128::from(b);
    let slack = i128::from(ZONE_MICROS_MAX);
    Orders { less: apart < slack, equal: apart.abs() <= slack, greater: apart > -slack }
}

/// Whether a float on either side makes the two equal for an engine that compares floats of 32 bits.
fn equal_when_rounded(a: &Scalar, b: &Scalar) -> bool {
    if !matches!(a, Scalar::Float(_)) && !matches!(b, Scalar::Float(_)) {
        return false;
    }
    let rounded = |value: &Scalar| match cast(value, &ColumnType::Float) {
        Value::Known(Scalar::Float(float)) => Some(float),
        Value::Known(_) | Value::Unbounded | Value::Failed(_) => None,
    };
    rounded(a).zip(rounded(b)).is_some_and(|(a, b)| a == b)
}
