//! Days and microseconds to text and back, in the proleptic Gregorian calendar, over the whole range of their integers.

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Year, month and day of a day counted from 1970-01-01.
///
/// The 400-year cycle has 146,097 days; years start in March here, so that the leap day comes last.
pub(crate) fn civil(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, u32::try_from(month).unwrap_or(1), u32::try_from(day).unwrap_or(1))
}

/// Days from 1970-01-01; `None` where the calendar has no such day.
pub(crate) fn days_of(year: i64, month: u32, day: u32) -> Option<i64> {
    if !(-10_000_000..=10_000_000).contains(&year) || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let from_march = if month > 2 { year } else { year - 1 };
    let era = from_march.div_euclid(400);
    let year_of_era = from_march.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    (civil(days) == (year, month, day)).then_some(days)
}

/// `2024-01-15`; years of more than four digits carry a sign.
pub(crate) fn date_text(days: i32) -> String {
    let (year, month, day) = civil(i64::from(days));
    format!("{}-{month:02}-{day:02}", year_text(year))
}

fn year_text(year: i64) -> String {
    match year {
        0..=9999 => format!("{year:04}"),
        10_000.. => format!("+{year}"),
        _ => format!("-{:04}", year.unsigned_abs()),
    }
}

/// Date, `separator`, time of day to whole seconds; and the microseconds beyond them.
fn seconds_text(micros: i64, separator: char) -> (String, i64) {
    let (year, month, day) = civil(micros.div_euclid(MICROS_PER_DAY));
    let in_day = micros.rem_euclid(MICROS_PER_DAY);
    let seconds = in_day / MICROS_PER_SECOND;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let text = format!("{}-{month:02}-{day:02}{separator}{hour:02}:{minute:02}:{second:02}", year_text(year));
    (text, in_day % MICROS_PER_SECOND)
}

/// RFC 3339 with six digits, without a zone.
pub(crate) fn micros_text(micros: i64) -> String {
    let (text, rest) = seconds_text(micros, 'T');
    format!("{text}.{rest:06}")
}

/// RFC 3339 cut (not rounded) to milliseconds, without a zone: the form of Delta's statistics.
pub(crate) fn millis_text(micros: i64) -> String {
    let (text, rest) = seconds_text(micros, 'T');
    format!("{text}.{:03}", rest / 1_000)
}

/// `2024-01-15 10:30:00.5`, as SQL's cast to a string writes it: no zeros at the end of the fraction.
pub(crate) fn sql_text(micros: i64) -> String {
    let (text, rest) = seconds_text(micros, ' ');
    if rest == 0 { text } else { format!("{text}.{}", format!("{rest:06}").trim_end_matches('0')) }
}

/// A wall-clock time as read from text, and its distance from UTC where the text says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WallClock {
    pub(crate) micros: i64,
    pub(crate) offset_seconds: Option<i64>,
}

impl WallClock {
    /// The instant; a text without a zone is taken as UTC.
    pub(crate) fn instant(self) -> Option<i64> {
        self.micros.checked_sub(self.offset_seconds.unwrap_or(0) * MICROS_PER_SECOND)
    }
}

/// Reads `2024-01-15`, also `2024-1-5`, `2024-01`, `2024`, and a date with a time of day, which is dropped.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let (days, rest) = read_date(text.trim())?;
    if !rest.is_empty() {
        read_time(rest.strip_prefix(['T', ' '])?)?;
    }
    i32::try_from(days).ok()
}

/// Reads a date with or without a time of day and a zone (`Z`, `UTC`, `+01:00`).
pub(crate) fn parse_wall_clock(text: &str) -> Option<WallClock> {
    let (days, rest) = read_date(text.trim())?;
    let midnight = days.checked_mul(MICROS_PER_DAY)?;
    if rest.is_empty() {
        return Some(WallClock { micros: midnight, offset_seconds: None });
    }
    let (in_day, offset_seconds) = read_time(rest.strip_prefix(['T', 't', ' '])?)?;
    Some(WallClock { micros: midnight.checked_add(in_day)?, offset_seconds })
}

fn read_date(text: &str) -> Option<(i64, &str)> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (year, rest) = number(digits, 4, 7)?;
    let year = if negative { -year } else { year };
    let Some(rest) = rest.strip_prefix('-') else { return Some((days_of(year, 1, 1)?, rest)) };
    let (month, rest) = number(rest, 1, 2)?;
    let month = u32::try_from(month).ok()?;
    let Some(rest) = rest.strip_prefix('-') else { return Some((days_of(year, month, 1)?, rest)) };
    let (day, rest) = number(rest, 1, 2)?;
    Some((days_of(year, month, u32::try_from(day).ok()?)?, rest))
}

/// Microseconds of the day and the zone.
fn read_time(text: &str) -> Option<(i64, Option<i64>)> {
    let (hour, rest) = number(text, 1, 2)?;
    let (minute, rest) = number(rest.strip_prefix(':')?, 1, 2)?;
    let (second, rest) = match rest.strip_prefix(':') {
        Some(rest) => number(rest, 1, 2)?,
        None => (0, rest),
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (micros, rest) = match rest.strip_prefix('.') {
        Some(rest) => fraction(rest),
        None => (0, rest),
    };
    Some((((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + micros, read_zone(rest.trim_start())?))
}

/// Digits beyond microseconds are dropped.
fn fraction(text: &str) -> (i64, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let six: String = digits.chars().chain("000000".chars()).take(6).collect();
    (six.parse().unwrap_or(0), rest)
}

fn read_zone(text: &str) -> Option<Option<i64>> {
    let sign = match text {
        "" => return Some(None),
        "Z" | "z" | "UTC" | "GMT" => return Some(Some(0)),
        _ if text.starts_with('+') => 1,
        _ if text.starts_with('-') => -1,
        _ => return None,
    };
    let (hours, rest) = number(text.get(1..)?, 1, 2)?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let (minutes, rest) = if rest.is_empty() { (0, rest) } else { number(rest, 2, 2)? };
    (rest.is_empty() && hours <= 18 && minutes <= 59).then_some(Some(sign * (hours * 60 + minutes) * 60))
}

fn number(text: &str, digits_min: usize, digits_max: usize) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if !(digits_min..=digits_max).contains(&end) {
        return None;
    }
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}
