//! Arithmetic on decimals with Spark's result types: as many digits as the exact result can have, and beyond 38 fewer
//! after the point, but six of them at least where there were six.

use crate::number::fits;
use arrow_buffer::i256;
use lakebed_transaction::BinaryOp;

/// Precision and scale of a decimal type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) precision: i32,
    pub(super) scale: i32,
}

impl Shape {
    /// The type of the result; `None` where the operator is no arithmetic.
    pub(super) fn of(op: BinaryOp, a: Self, b: Self) -> Option<Self> {
        let whole = |shape: Self| shape.precision - shape.scale;
        let scale = a.scale.max(b.scale);
        let exact = match op {
            BinaryOp::Add | BinaryOp::Subtract => Self { precision: whole(a).max(whole(b)) + scale + 1, scale },
            BinaryOp::Multiply => Self { precision: a.precision + b.precision + 1, scale: a.scale + b.scale },
            BinaryOp::Divide => {
                let scale = (a.scale + b.precision + 1).max(6);
                Self { precision: whole(a) + b.scale + scale, scale }
            }
            BinaryOp::Modulo => Self { precision: whole(a).min(whole(b)) + scale, scale },
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
            | BinaryOp::NullSafeEqual
            | BinaryOp::And
            | BinaryOp::Or => return None,
        };
        Some(exact.adjusted())
    }

    fn adjusted(self) -> Self {
        if self.precision <= 38 {
            return Self { precision: self.precision.max(1), ..self };
        }
        let whole = self.precision - self.scale;
        Self { precision: 38, scale: (38 - whole).max(self.scale.min(6)) }
    }
}

/// `a op b` as digits of the result's type; `None` where it does not fit. The divisor is not zero.
pub(super) fn compute(op: BinaryOp, (a, from_a): (i128, i32), (b, from_b): (i128, i32), to: Shape) -> Option<i128> {
    let (x, y) = (i256::from_i128(a), i256::from_i128(b));
    let scale = from_a.max(from_b);
    let lifted = || Some((lift(x, scale - from_a)?, lift(y, scale - from_b)?));
    let result = match op {
        BinaryOp::Add => lifted().and_then(|(x, y)| round(x.checked_add(y)?, scale - to.scale)),
        BinaryOp::Subtract => lifted().and_then(|(x, y)| round(x.checked_sub(y)?, scale - to.scale)),
        BinaryOp::Modulo => lifted().and_then(|(x, y)| round(x.checked_rem(y)?, scale - to.scale)),
        BinaryOp::Multiply => round(x.checked_mul(y)?, from_a + from_b - to.scale),
        BinaryOp::Divide => {
            let power = to.scale - from_a + from_b;
            divide(lift(x, power.max(0))?, lift(y, (-power).max(0))?)
        }
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessOrEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterOrEqual
        | BinaryOp::NullSafeEqual
        | BinaryOp::And
        | BinaryOp::Or => None,
    };
    let digits = result?.to_i128()?;
    fits(digits, u8::try_from(to.precision).ok()?).then_some(digits)
}

fn ten_to(power: i32) -> Option<i256> {
    i256::from_i128(10).checked_pow(u32::try_from(power).ok()?)
}

fn lift(value: i256, power: i32) -> Option<i256> {
    if power == 0 { Some(value) } else { value.checked_mul(ten_to(power)?) }
}

/// Drops `digits` digits, half away from zero.
fn round(value: i256, digits: i32) -> Option<i256> {
    if digits <= 0 { lift(value, -digits) } else { divide(value, ten_to(digits)?) }
}

/// The quotient, half away from zero.
fn divide(value: i256, by: i256) -> Option<i256> {
    let (whole, rest) = (value.checked_div(by)?, value.checked_rem(by)?);
    let twice = rest.checked_abs()?.checked_mul(i256::from_i128(2))?;
    if twice < by.checked_abs()? {
        return Some(whole);
    }
    let positive = value.is_negative() == by.is_negative();
    if positive { whole.checked_add(i256::ONE) } else { whole.checked_sub(i256::ONE) }
}
