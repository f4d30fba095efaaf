//! Numbers to text and back, where the text is part of a format.

/// A double as Java and Spark print it: plain from 10^-3 up to 10^7, else `d.dddE±n`; at least one digit after the point.
///
/// The digits are the shortest that read back as the same number; where one digit would do, the nearest of two digits.
pub(crate) fn java_double(value: f64) -> String {
    special(value).unwrap_or_else(|| {
        let shortest = format!("{value:e}");
        java_digits(if one_digit(&shortest) { format!("{value:.1e}") } else { shortest })
    })
}

/// A 32-bit float, likewise.
pub(crate) fn java_float(value: f32) -> String {
    special(f64::from(value)).unwrap_or_else(|| {
        let shortest = format!("{value:e}");
        java_digits(if one_digit(&shortest) { format!("{value:.1e}") } else { shortest })
    })
}

fn special(value: f64) -> Option<String> {
    let text = if value.is_nan() {
        "NaN"
    } else if value == f64::INFINITY {
        "Infinity"
    } else if value == f64::NEG_INFINITY {
        "-Infinity"
    } else if value == 0.0 {
        if value.is_sign_negative() { "-0.0" } else { "0.0" }
    } else {
        return None;
    };
    Some(text.to_owned())
}

fn one_digit(scientific: &str) -> bool {
    scientific.split_once('e').is_some_and(|(mantissa, _)| !mantissa.contains('.'))
}

/// From `-1.25e-7` to `-1.25E-7` or plain digits.
fn java_digits(scientific: String) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let mantissa = if mantissa.contains('.') { mantissa.to_owned() } else { format!("{mantissa}.0") };
    if !(-3..7).contains(&exponent) {
        return format!("{sign}{mantissa}E{exponent}");
    }
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let trimmed = digits.trim_end_matches('0');
    let digits = if trimmed.is_empty() { "0" } else { trimmed };
    let shift = usize::try_from(exponent.unsigned_abs()).unwrap_or(0);
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(shift - 1));
    }
    let padded = format!("{digits:0<width$}", width = shift + 2);
    let (whole, fraction) = padded.split_at(shift + 1);
    format!("{sign}{whole}.{fraction}")
}

/// A decimal in plain digits, all of its scale.
pub(crate) fn plain_decimal(unscaled: i128, scale: u8) -> String {
    let digits = unscaled.unsigned_abs().to_string();
    let sign = if unscaled < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// A decimal as Java's `BigDecimal.toString` writes it: with an exponent below 10^-6, such as `1E-10`.
pub(crate) fn java_decimal(unscaled: i128, scale: u8) -> String {
    let digits = unscaled.unsigned_abs().to_string();
    let places = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let exponent = places - 1 - i32::from(scale);
    if exponent >= -6 {
        return plain_decimal(unscaled, scale);
    }
    let sign = if unscaled < 0 { "-" } else { "" };
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}E{exponent}")
}

/// Reads `[+-]digits[.digits][e[+-]digits]` as digits and scale; the scale may be negative.
pub(crate) fn parse_decimal(text: &str) -> Option<(i128, i32)> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.as_bytes().first()? {
        b'-' => (true, mantissa.get(1..)?),
        b'+' => (false, mantissa.get(1..)?),
        _ => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: i128 = digits.parse().ok()?;
    Some((if negative { -value } else { value }, i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?))
}

/// Ten to a power; `None` beyond 128 bits.
pub(crate) fn ten_to(power: u32) -> Option<i128> {
    10_i128.checked_pow(power)
}

/// Brings digits from one scale to another, rounding half away from zero, and checks the precision.
pub(crate) fn rescale(unscaled: i128, from: i32, precision: u8, scale: u8) -> Option<i128> {
    let power = i32::from(scale).checked_sub(from)?;
    let moved = if unscaled == 0 {
        0
    } else if power >= 0 {
        ten_to(power.unsigned_abs())?.checked_mul(unscaled)?
    } else {
        // A divisor beyond 128 bits leaves nothing of the digits.
        ten_to(power.unsigned_abs()).map_or(0, |divisor| divide_half_up(unscaled, divisor))
    };
    fits(moved, precision).then_some(moved)
}

fn divide_half_up(value: i128, divisor: i128) -> i128 {
    let (whole, rest) = (value / divisor, value % divisor);
    if rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2) { whole + value.signum() } else { whole }
}

/// Whether the digits are at most `precision` many.
pub(crate) fn fits(unscaled: i128, precision: u8) -> bool {
    ten_to(u32::from(precision)).is_none_or(|limit| unscaled.unsigned_abs() < limit.unsigned_abs())
}
