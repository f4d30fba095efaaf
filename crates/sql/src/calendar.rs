//! Dates and timestamps as text, over the whole range that days in 32 bits and microseconds in 64 bits can hold.
//!
//! The calendar is the proleptic Gregorian one. Years of more than four digits carry a sign, as in Spark.

use jiff::tz::TimeZone;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Reads a date: `2024-01-15`, also `2024-1-5`, `2024-01`, `2024`, and a date followed by a time of day, which is dropped
/// as Spark's cast does. Answers days since 1970-01-01.
///
/// ```
/// assert_eq!(lakebed_sql::parse_date("1970-01-02"), Some(1));
/// assert_eq!(lakebed_sql::parse_date("1970-13-02"), None);
/// ```
#[must_use]
pub fn parse_date(text: &str) -> Option<i32> {
    let (days, rest) = read_date(text.trim())?;
    if !rest.is_empty() {
        read_time_of_day(rest.strip_prefix(['T', ' '])?)?;
    }
    i32::try_from(days).ok()
}

/// Reads an instant: RFC 3339, or a wall-clock time (also a bare date) in `zone`. Answers microseconds since 1970-01-01 UTC;
/// digits beyond microseconds are dropped.
///
/// ```
/// use jiff::tz::TimeZone;
///
/// assert_eq!(lakebed_sql::parse_timestamp("1970-01-01T01:00:00+01:00", &TimeZone::UTC), Some(0));
/// assert_eq!(lakebed_sql::parse_timestamp("1970-01-01 00:00:00.5", &TimeZone::UTC), Some(500_000));
/// ```
#[must_use]
pub fn parse_timestamp(text: &str, zone: &TimeZone) -> Option<i64> {
    let (wall, offset_seconds) = read_wall_clock(text)?;
    match offset_seconds {
        Some(seconds) => wall.checked_sub(seconds.checked_mul(MICROS_PER_SECOND)?),
        None => wall_to_instant(wall, zone),
    }
}

/// Reads a wall-clock time without a zone (also a bare date); a text with a zone is refused. Answers microseconds since
/// 1970-01-01T00:00:00.
#[must_use]
pub fn parse_timestamp_ntz(text: &str) -> Option<i64> {
    read_wall_clock(text).and_then(|(wall, offset)| if offset.is_none() { Some(wall) } else { None })
}

/// `2024-01-15` from days since 1970-01-01.
#[must_use]
pub fn print_date(days: i32) -> String {
    let (year, month, day) = civil_from_days(i64::from(days));
    let sign = if year < 0 {
        "-"
    } else if year > 9999 {
        "+"
    } else {
        ""
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// RFC 3339 in UTC, from microseconds since 1970-01-01: `2024-01-15T10:30:00Z`, with six digits of fraction where there is
/// one.
#[must_use]
pub fn print_timestamp(micros: i64) -> String {
    format!("{}Z", print_wall_clock(micros, 'T'))
}

/// `2024-01-15 10:30:00`, with six digits of fraction where there is one.
#[must_use]
pub fn print_timestamp_ntz(micros: i64) -> String {
    print_wall_clock(micros, ' ')
}

/// The instant at which clocks in `zone` show `wall`; in a gap or fold the earlier offset counts, as in RFC 5545.
pub(crate) fn wall_to_instant(wall: i64, zone: &TimeZone) -> Option<i64> {
    if *zone == TimeZone::UTC {
        return Some(wall);
    }
    let shown = jiff::Timestamp::from_microsecond(wall).ok()?;
    let civil = TimeZone::UTC.to_datetime(shown);
    zone.to_timestamp(civil).ok().map(|instant| instant.as_microsecond())
}

/// What clocks in `zone` show at `instant`.
pub(crate) fn instant_to_wall(instant: i64, zone: &TimeZone) -> Option<i64> {
    if *zone == TimeZone::UTC {
        return Some(instant);
    }
    let offset = zone.to_offset(jiff::Timestamp::from_microsecond(instant).ok()?);
    instant.checked_add(i64::from(offset.seconds()).checked_mul(MICROS_PER_SECOND)?)
}

/// Midnight of a day, as a wall-clock time.
pub(crate) fn midnight(days: i32) -> Option<i64> {
    i64::from(days).checked_mul(MICROS_PER_DAY)
}

/// The day of a wall-clock time that is exactly a midnight.
pub(crate) fn day_of_midnight(wall: i64) -> Option<i32> {
    if wall.rem_euclid(MICROS_PER_DAY) == 0 { i32::try_from(wall.div_euclid(MICROS_PER_DAY)).ok() } else { None }
}

fn print_wall_clock(micros: i64, separator: char) -> String {
    let days = micros.div_euclid(MICROS_PER_DAY);
    let of_day = micros.rem_euclid(MICROS_PER_DAY);
    let (seconds, fraction) = (of_day / MICROS_PER_SECOND, of_day % MICROS_PER_SECOND);
    let date = i32::try_from(days).map_or_else(|_| String::new(), print_date);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{date}{separator}{hour:02}:{minute:02}:{second:02}");
    if fraction > 0 {
        text.push_str(&format!(".{fraction:06}"));
    }
    text
}

fn read_wall_clock(text: &str) -> Option<(i64, Option<i64>)> {
    let (days, rest) = read_date(text.trim())?;
    let start = i128::from(days) * i128::from(MICROS_PER_DAY);
    let (of_day, offset) =
        if rest.is_empty() { (0, None) } else { read_time_of_day(rest.strip_prefix(['T', 't', ' '])?)? };
    let wall = i64::try_from(start + i128::from(of_day)).ok()?;
    Some((wall, offset))
}

/// Days since 1970-01-01 and what follows the date.
fn read_date(text: &str) -> Option<(i64, &str)> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (year, rest) = digits(text, 4, 7)?;
    let year = if negative { -year } else { year };
    let Some(rest) = rest.strip_prefix('-') else {
        return if rest.is_empty() { Some((days_from_civil(year, 1, 1)?, rest)) } else { None };
    };
    let (month, rest) = digits(rest, 1, 2)?;
    let Some(rest) = rest.strip_prefix('-') else {
        return if rest.is_empty() { Some((days_from_civil(year, month, 1)?, rest)) } else { None };
    };
    let (day, rest) = digits(rest, 1, 2)?;
    Some((days_from_civil(year, month, day)?, rest))
}

/// Microseconds since midnight and the offset in seconds, from `HH:mm[:ss[.f…]][Z|±HH[:mm]]`.
fn read_time_of_day(text: &str) -> Option<(i64, Option<i64>)> {
    let (hour, rest) = digits(text, 1, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 1, 2)?;
    let (second, rest) = rest.strip_prefix(':').map_or(Some((0, rest)), |rest| digits(rest, 1, 2))?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (micros, rest) = rest.strip_prefix('.').map_or(Some((0, rest)), read_fraction)?;
    let offset = read_offset(rest.trim_start())?;
    Some(((hour * 3600 + minute * 60 + second) * MICROS_PER_SECOND + micros, offset))
}

fn read_fraction(text: &str) -> Option<(i64, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (fraction, rest) = text.split_at_checked(end)?;
    let kept = fraction.get(..end.min(6))?;
    if kept.is_empty() || end > 9 {
        return None;
    }
    format!("{kept:0<6}").parse().ok().map(|micros| (micros, rest))
}

fn read_offset(text: &str) -> Option<Option<i64>> {
    match text {
        "" => return Some(None),
        "Z" | "z" | "UTC" => return Some(Some(0)),
        _ => {}
    }
    let (sign, rest) =
        text.strip_prefix('+').map_or_else(|| text.strip_prefix('-').map(|rest| (-1, rest)), |rest| Some((1, rest)))?;
    let (hours, rest) = digits(rest, 1, 2)?;
    let (minutes, rest) =
        if rest.is_empty() { (0, rest) } else { digits(rest.strip_prefix(':').unwrap_or(rest), 2, 2)? };
    let seconds = hours * 3600 + minutes * 60;
    if rest.is_empty() && minutes < 60 && seconds <= 18 * 3600 { Some(Some(sign * seconds)) } else { None }
}

/// A run of `least` to `most` digits, and what follows it.
fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    if end < least || end > most {
        return None;
    }
    let (number, rest) = text.split_at_checked(end)?;
    number.parse().ok().map(|number| (number, rest))
}

/// Years are counted from March, so that the leap day is the last of its year; 400 years have 146,097 days.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

const fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
