//! Numbers as text: exact where SQL is exact.

use crate::error::{SqlError, literal};
use lakebed_transaction::Scalar;

/// The most digits that a decimal may have.
const DECIMAL_DIGITS_MAX: usize = 38;

/// A numeric literal as SQL spells it, sign apart, with Spark's suffixes: `L`, `S`, `Y` integers, `D`, `F` floats, `BD`
/// decimals. Without a suffix an integer beyond 64 bits and a number with a point are exact decimals, a number with an
/// exponent is a float.
pub(crate) fn literal_number(text: &str, negative: bool) -> Result<Scalar, SqlError> {
    let split = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |at| at + 1);
    let (body, suffix) = text.split_at_checked(split).unwrap_or((text, ""));
    let signed = if negative { format!("-{body}") } else { body.to_owned() };
    let found = match suffix.to_ascii_uppercase().as_str() {
        "" if body.contains(['e', 'E']) => float(&signed),
        "" => integer(&signed).or_else(|| decimal(&signed)),
        "L" => integer(&signed),
        "S" => integer(&signed).filter(|value| matches!(value, Scalar::Int(x) if i16::try_from(*x).is_ok())),
        "Y" => integer(&signed).filter(|value| matches!(value, Scalar::Int(x) if i8::try_from(*x).is_ok())),
        "D" => float(&signed),
        "F" => signed.parse::<f32>().ok().filter(|x| x.is_finite()).map(|x| Scalar::Float(f64::from(x))),
        "BD" => decimal(&signed),
        _ => None,
    };
    found.ok_or_else(|| literal(text, "number"))
}

/// A number in a string: integer, else exact decimal, else float.
pub(crate) fn any_number(text: &str) -> Option<Scalar> {
    let text = text.trim();
    integer(text).or_else(|| decimal(text)).or_else(|| any_float(text))
}

/// A float in a string, the special values included.
pub(crate) fn any_float(text: &str) -> Option<Scalar> {
    let text = text.trim();
    special_float(text).map(Scalar::Float).or_else(|| float(text))
}

/// The names of floats that no digits spell.
pub(crate) fn special_float(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "infinity" | "+infinity" | "inf" | "+inf" => Some(f64::INFINITY),
        "-infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn integer(text: &str) -> Option<Scalar> {
    text.parse().ok().map(Scalar::Int)
}

fn float(text: &str) -> Option<Scalar> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    text.parse::<f64>().ok().filter(|value| plain && value.is_finite()).map(Scalar::Float)
}

fn decimal(text: &str) -> Option<Scalar> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if significant.len() > DECIMAL_DIGITS_MAX || fraction.len() > DECIMAL_DIGITS_MAX {
        return None;
    }
    let magnitude = if significant.is_empty() { 0 } else { significant.parse::<i128>().ok()? };
    let scale = u8::try_from(fraction.len()).ok()?;
    Some(Scalar::Decimal { unscaled: if negative { -magnitude } else { magnitude }, scale })
}
