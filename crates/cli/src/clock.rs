//! Time and fresh ids, which enter here.

use std::time::{Duration, Instant};

/// A moment to measure from.
#[expect(clippy::disallowed_methods, reason = "the program is where time enters")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Microseconds since 1970.
pub(crate) fn now_micros() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

/// Milliseconds of a duration.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// A time in milliseconds since 1970 as RFC 3339 in UTC.
pub(crate) fn utc(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms since 1970"), |time| time.to_string())
}
