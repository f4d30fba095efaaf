//! The one place where the clock is read.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970: the same for all processes of a machine.
#[expect(clippy::disallowed_methods, reason = "a race is told by the times at which its processes began and ended")]
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// A point from which time is measured.
#[expect(clippy::disallowed_methods, reason = "throughput is measured in time")]
pub(crate) fn start() -> Instant {
    Instant::now()
}
