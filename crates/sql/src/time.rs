//! Points and lengths of time, as users give them.

use crate::calendar::parse_timestamp;
use crate::error::{SqlError, excerpt};
use jiff::tz::TimeZone;
use std::time::Duration;

/// Reads a point in time: RFC 3339; `2024-01-15 10:30:00` (also a bare date), in `zone`; a duration with a minus sign,
/// which counts back from now; or milliseconds since 1970-01-01 UTC, of 12 to 14 digits. `now_micros` and the answer are microseconds since 1970-01-01 UTC.
///
/// ```
/// use jiff::tz::TimeZone;
///
/// assert_eq!(lakebed_sql::parse_time("-2s", 10_000_000, &TimeZone::UTC), Ok(8_000_000));
/// ```
///
/// # Errors
///
/// [`SqlError::Time`] for any other text and for points beyond 64 bits of microseconds.
pub fn parse_time(text: &str, now_micros: i64, zone: &TimeZone) -> Result<i64, SqlError> {
    let trimmed = text.trim();
    let relative = trimmed.strip_prefix('-').and_then(|length| parse_duration(length).ok());
    let found = match relative {
        Some(length) => i64::try_from(length.as_micros()).ok().and_then(|micros| now_micros.checked_sub(micros)),
        None => epoch_ms(trimmed).or_else(|| parse_timestamp(trimmed, zone)),
    };
    found.ok_or_else(|| SqlError::Time { text: excerpt(text) })
}

/// Milliseconds as programs show them, in microseconds. So many digits are no date.
fn epoch_ms(text: &str) -> Option<i64> {
    let is_number = (12..=14).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<i64>().ok().filter(|_| is_number)?.checked_mul(1_000)
}

/// Reads a length of time: a whole number and `ms`, `s`, `m`, `h`, `d` or `w`; several add up, as in `1h30m`. A day has 24
/// hours.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(lakebed_sql::parse_duration("7d"), Ok(Duration::from_secs(7 * 86_400)));
/// ```
///
/// # Errors
///
/// [`SqlError::Duration`] for any other text and for lengths beyond 64 bits of milliseconds.
pub fn parse_duration(text: &str) -> Result<Duration, SqlError> {
    read_duration(text.trim()).map(Duration::from_millis).ok_or_else(|| SqlError::Duration { text: excerpt(text) })
}

fn read_duration(text: &str) -> Option<u64> {
    let mut total = 0_u64;
    let mut rest = text;
    while total == 0 || !rest.is_empty() {
        let digits = rest.bytes().position(|byte| !byte.is_ascii_digit())?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let letters = tail.bytes().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(letters)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit_ms(unit)?)?)?;
        rest = tail;
        if rest.is_empty() {
            return Some(total);
        }
    }
    Some(total)
}

fn unit_ms(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        _ => return None,
    })
}
