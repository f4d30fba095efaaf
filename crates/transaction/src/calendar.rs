//! Dates and times of the proleptic Gregorian calendar, for messages.

use std::fmt;

/// Microseconds of one day.
const DAY_MICROS: i64 = 86_400_000_000;

/// Year, month (1 to 12) and day of the month of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
///
/// ```
/// assert_eq!(lakebed_transaction::civil_date(-1), (1969, 12, 31));
/// ```
#[must_use]
pub fn civil_date(days: i64) -> (i64, u32, u32) {
    // Years are counted from March, so that the leap day is the last of its year; eras are 400 years of 146,097 days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, u32::try_from(month).unwrap_or(1), u32::try_from(day).unwrap_or(1))
}

/// `2026-01-31`; years beyond four digits as they are.
pub(crate) fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = civil_date(days);
    let sign = if year < 0 { "-" } else { "" };
    write!(f, "{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// `2026-01-31T23:59:59.5`: as many digits of the fraction as are needed.
pub(crate) fn write_time(f: &mut fmt::Formatter<'_>, micros: i64) -> fmt::Result {
    write_date(f, micros.div_euclid(DAY_MICROS))?;
    let of_day = micros.rem_euclid(DAY_MICROS);
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    write!(f, "T{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)?;
    if fraction == 0 {
        return Ok(());
    }
    write!(f, ".{}", format!("{fraction:06}").trim_end_matches('0'))
}
