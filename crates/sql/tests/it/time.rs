//! Points and lengths of time.

use jiff::tz::{Offset, TimeZone};
use lakebed_sql::{parse_date, parse_duration, parse_time, parse_timestamp, print_date, print_timestamp};
use proptest::prelude::*;
use std::time::Duration;

const NOW: i64 = 1_705_314_600_000_000;

#[test]
fn points() {
    let east = TimeZone::fixed(Offset::constant(1));
    for (text, wanted) in [
        ("2024-01-15T10:30:00Z", NOW),
        ("2024-01-15T10:30:00.000001Z", NOW + 1),
        ("2024-01-15T12:30:00+02:00", NOW),
        ("2024-01-15T03:00:00-07:30", NOW),
        ("2024-01-15 11:30:00", NOW),
        ("2024-01-15 11:30", NOW),
        ("2024-01-15", NOW - (11 * 60 + 30) * 60_000_000),
        ("-10m", NOW - 600_000_000),
        ("-2h", NOW - 7_200_000_000),
        ("-7d", NOW - 7 * 86_400_000_000),
    ] {
        assert_eq!(parse_time(text, NOW, &east), Ok(wanted), "{text}");
    }
    for text in [
        "",
        "now",
        "7d",
        "+7d",
        "-7",
        "-d",
        "2024-13-01",
        "2024-01-32",
        "2024-01-15T25:00:00Z",
        "2024-01-15 10:60",
        "-9223372036854775807w",
        "2024-01-15T10:30:00+19:00",
    ] {
        let message = parse_time(text, NOW, &east).unwrap_err().to_string();
        assert!(message.contains("is not a time"), "{text}: {message}");
    }
    assert_eq!(print_timestamp(NOW), "2024-01-15T10:30:00Z");
}

/// As `history` shows them; the times are those that `date -u -d @…` prints.
#[test]
fn milliseconds_since_1970() {
    for (text, time) in [
        ("1705314600000", "2024-01-15T10:30:00Z"),
        ("1705314600123", "2024-01-15T10:30:00.123Z"),
        ("100000000000", "1973-03-03T09:46:40Z"),
        ("99999999999999", "5138-11-16T09:46:39.999Z"),
    ] {
        assert_eq!(parse_time(text, NOW, &TimeZone::UTC), parse_time(time, NOW, &TimeZone::UTC), "{text}");
        assert!(parse_time(text, NOW, &TimeZone::UTC).is_ok(), "{text}");
    }
    for text in ["17053146000", "170531460000000", "1705314600000.5", "+1705314600000"] {
        assert!(parse_time(text, NOW, &TimeZone::UTC).is_err(), "{text}");
    }
}

#[test]
fn lengths() {
    for (text, seconds) in [
        ("90s", 90),
        ("10m", 600),
        ("2h", 7_200),
        ("7d", 604_800),
        ("1w", 604_800),
        ("0s", 0),
        ("1h30m", 5_400),
        ("5min", 300),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
    }
    assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
    for text in ["", "7", "d", "-7d", "7x", "1.5h", "7d ", "99999999999999999999d", "7 d", "0s0"] {
        assert_eq!(parse_duration(text).is_ok(), text == "7d ", "{text}");
    }
}

proptest! {
    /// The calendar of an independent library, over its whole range.
    #[test]
    fn the_calendar_is_right(micros in -377_705_000_000_000_000_i64..253_402_207_200_000_000) {
        let instant = jiff::Timestamp::from_microsecond(micros).unwrap();
        let zoned = TimeZone::UTC.to_datetime(instant);
        let printed = print_timestamp(micros);
        prop_assert_eq!(parse_timestamp(&printed, &TimeZone::UTC), Some(micros));
        if zoned.year() >= 0 {
            prop_assert_eq!(printed.parse::<jiff::Timestamp>().unwrap(), instant);
            let day = print_date(i32::try_from(micros.div_euclid(86_400_000_000)).unwrap());
            prop_assert_eq!(day, zoned.date().to_string());
        }
    }

    #[test]
    fn every_day_and_instant_reads_back(days in any::<i32>(), micros in any::<i64>()) {
        prop_assert_eq!(parse_date(&print_date(days)), Some(days));
        prop_assert_eq!(parse_timestamp(&print_timestamp(micros), &TimeZone::UTC), Some(micros));
    }
}
