//! Dates and timestamps as text, without a calendar crate: the log needs three fixed forms only.

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;
/// Microseconds in a day.
const DAY: i64 = 86_400 * SECOND;

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar; `None` for a day that is not.
fn days_of(year: i64, month: u32, day: u32) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return None,
    };
    if day == 0 || day > length || year.abs() > 1_000_000 {
        return None;
    }
    // Years start in March here, so that the leap day is the last day of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    i32::try_from(era * 146_097 + day_of_era - 719_468).ok()
}

/// Year, month and day of a number of days since 1970-01-01.
fn civil_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Reads `yyyy-MM-dd`; one-digit months and days and a sign before the year are tolerated.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let text = text.trim();
    let (negative, rest) =
        text.strip_prefix('-').map_or((false, text.strip_prefix('+').unwrap_or(text)), |t| (true, t));
    let mut parts = rest.splitn(3, '-');
    let year: i64 = digits(parts.next()?)?;
    let month = digits(parts.next()?)?;
    let day = digits(parts.next()?)?;
    days_of(if negative { -year } else { year }, month, day)
}

/// Writes `yyyy-MM-dd`.
pub(crate) fn format_date(days: i32) -> String {
    let (year, month, day) = civil_of(i64::from(days));
    if year < 0 { format!("-{:04}-{month:02}-{day:02}", -year) } else { format!("{year:04}-{month:02}-{day:02}") }
}

/// Reads a timestamp in microseconds: date, then `T` or a blank, time with up to nine decimals, then `Z`, an offset or
/// nothing (which means UTC). A date alone is its midnight.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let text = text.trim();
    let Some((date, rest)) = text.split_once(['T', ' ']) else {
        return i64::from(parse_date(text)?).checked_mul(DAY);
    };
    let (clock, offset) = split_offset(rest)?;
    let mut parts = clock.splitn(3, ':');
    let hour: i64 = digits(parts.next()?)?;
    let minute: i64 = digits(parts.next()?)?;
    let (second, fraction) = match parts.next() {
        Some(seconds) => seconds.split_once('.').unwrap_or((seconds, "")),
        None => ("0", ""),
    };
    let second: i64 = digits(second)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let time = ((hour * 60 + minute) * 60 + second) * SECOND + micros_of(fraction)?;
    i64::from(parse_date(date)?).checked_mul(DAY)?.checked_add(time)?.checked_sub(offset)
}

fn micros_of(fraction: &str) -> Option<i64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let kept = fraction.get(..fraction.len().min(6))?;
    let value: i64 = digits(kept)?;
    let missing = 6 - u32::try_from(kept.len()).ok()?;
    digits::<u64>(fraction.get(..fraction.len().min(18))?)?;
    Some(value * 10_i64.pow(missing))
}

/// The clock and the offset east of UTC in microseconds.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    let text = text.trim();
    if let Some(clock) = text.strip_suffix('Z').or_else(|| text.strip_suffix("UTC")) {
        return Some((clock.trim_end(), 0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (clock, offset) = text.split_at_checked(at)?;
    let (sign, offset) = (if offset.starts_with('-') { -1 } else { 1 }, offset.get(1..)?);
    let (hours, minutes) =
        offset.split_once(':').unwrap_or_else(|| offset.split_at_checked(2).unwrap_or((offset, "0")));
    let minutes = if minutes.is_empty() { "0" } else { minutes };
    let (hours, minutes): (i64, i64) = (digits(hours)?, digits(minutes)?);
    (hours <= 18 && minutes <= 59).then_some((clock, sign * (hours * 60 + minutes) * 60 * SECOND))
}

/// Writes a timestamp: date, `separator`, time with `decimals` decimals (0, 3 or 6).
pub(crate) fn format_timestamp(micros: i64, separator: char, decimals: u32) -> String {
    let (year, month, day) = civil_of(micros.div_euclid(DAY));
    let in_day = micros.rem_euclid(DAY);
    let (seconds, fraction) = (in_day / SECOND, in_day % SECOND);
    let sign = if year < 0 { "-" } else { "" };
    let clock = format!(
        "{sign}{:04}-{month:02}-{day:02}{separator}{:02}:{:02}:{:02}",
        year.abs(),
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    match decimals {
        0 => clock,
        3 => format!("{clock}.{:03}", fraction / 1000),
        _ => format!("{clock}.{fraction:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_text_agree_with_the_calendar() {
        // Known days: the epoch, a leap day, the day after it, the first and last of the four-digit years.
        for (text, days) in [
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
            ("2000-03-01", 11_017),
            ("0001-01-01", -719_162),
            ("9999-12-31", 2_932_896),
        ] {
            assert_eq!(parse_date(text), Some(days), "{text}");
            assert_eq!(format_date(days), text);
        }
        assert_eq!(parse_date("2023-02-29"), None);
        assert_eq!(parse_date("2024-1-1"), Some(19_723));
    }

    #[test]
    fn timestamps_are_read_in_every_form_that_writers_use() {
        let expected = 1_704_112_496_123_456;
        for text in [
            "2024-01-01T12:34:56.123456Z",
            "2024-01-01 12:34:56.123456",
            "2024-01-01T04:34:56.123456-08:00",
            "2024-01-01T14:04:56.123456+01:30",
        ] {
            assert_eq!(parse_timestamp(text), Some(expected), "{text}");
        }
        assert_eq!(parse_timestamp("1969-12-31 23:59:59.999"), Some(-1000));
        assert_eq!(parse_timestamp("2024-01-01 25:00:00"), None);
        assert_eq!(format_timestamp(expected, 'T', 6), "2024-01-01T12:34:56.123456");
        assert_eq!(format_timestamp(-1000, ' ', 3), "1969-12-31 23:59:59.999");
    }
}
