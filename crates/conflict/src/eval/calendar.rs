//! Dates and times of the proleptic Gregorian calendar, and the texts that Spark's casts take for them.

use lakebed_transaction::civil_date;

/// Microseconds of one day.
pub(super) const DAY_MICROS: i64 = 86_400_000_000;

/// The day of a date, counted from 1970-01-01; `None` where there is no such day.
pub(super) fn days_of(year: i64, month: u32, day: u32) -> Option<i64> {
    if !(1..=12).contains(&month) || !(-9_999_999..=9_999_999).contains(&year) {
        return None;
    }
    let from_march = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
    let march_month = i64::from((month + 9) % 12);
    let day_of_year = (153 * march_month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    (civil_date(days) == (year, month, day)).then_some(days)
}

/// A date text: `[+-]y…[-m[-d]]`, and after a whole date anything behind `T` or a blank.
pub(super) fn parse_date(text: &str) -> Option<i64> {
    date_part(text).map(|(days, _)| days)
}

/// A timestamp text in microseconds, and whether it names a zone; a time without one is taken as UTC.
pub(super) fn parse_timestamp(text: &str) -> Option<Parsed> {
    let (days, rest) = date_part(text)?;
    let start = days.checked_mul(DAY_MICROS)?;
    let Some(rest) = rest.filter(|rest| !rest.is_empty()) else { return Some(Parsed { wall: start, offset: Some(0) }) };
    let end_of_clock = rest.find(|c: char| !matches!(c, '0'..='9' | ':' | '.')).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end_of_clock);
    let wall = start.checked_add(parse_clock(clock)?)?;
    Some(Parsed { wall, offset: parse_zone(zone.trim()) })
}

/// A timestamp text.
pub(super) struct Parsed {
    /// The wall-clock time, in microseconds.
    pub(super) wall: i64,
    /// Seconds east of UTC; `None` for a zone that needs a zone database.
    pub(super) offset: Option<i64>,
}

fn date_part(text: &str) -> Option<(i64, Option<&str>)> {
    let (date, rest) = match text.find(['T', ' ']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)),
        None => (text, None),
    };
    let (negative, digits) = match date.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, date.strip_prefix('+').unwrap_or(date)),
    };
    let mut parts = digits.split('-');
    let year = number(parts.next()?, 4, 7)?;
    let month = parts.next().map_or(Some(1), |part| number(part, 1, 2))?;
    let day = parts.next();
    if parts.next().is_some() || (day.is_none() && rest.is_some()) {
        return None;
    }
    let day = day.map_or(Some(1), |part| number(part, 1, 2))?;
    let year = if negative { -year } else { year };
    Some((days_of(year, u32::try_from(month).ok()?, u32::try_from(day).ok()?)?, rest))
}

/// `h:m[:s[.fraction]]`; digits beyond microseconds are cut off.
fn parse_clock(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').map_or((text, ""), |(clock, fraction)| (clock, fraction));
    let mut parts = clock.split(':');
    let hour = number(parts.next()?, 1, 2)?;
    let minute = parts.next().map_or(Some(0), |part| number(part, 1, 2))?;
    let second = parts.next().map_or(Some(0), |part| number(part, 1, 2))?;
    if parts.next().is_some()
        || hour > 23
        || minute > 59
        || second > 59
        || !fraction.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let micros = format!("{fraction:0<6}").get(..6)?.parse::<i64>().ok()?;
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

fn parse_zone(text: &str) -> Option<i64> {
    let offset = text
        .strip_prefix("UTC")
        .or_else(|| text.strip_prefix("GMT"))
        .or_else(|| text.strip_prefix('Z'))
        .unwrap_or(text);
    if offset.is_empty() {
        return Some(0);
    }
    let (sign, digits) = match offset.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let mut parts = digits.split(':');
    let hours = number(parts.next()?, 1, 2)?;
    let minutes = parts.next().map_or(Some(0), |part| number(part, 1, 2))?;
    (parts.next().is_none() && hours <= 18 && minutes <= 59).then_some(sign * (hours * 60 + minutes) * 60)
}

fn number(text: &str, digits_min: usize, digits_max: usize) -> Option<i64> {
    let fits = (digits_min..=digits_max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}
