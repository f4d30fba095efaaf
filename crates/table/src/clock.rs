//! Time, as the pure crates are told it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 that never run backwards, whatever is done to the machine's clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    newest_ms: Arc<AtomicU64>,
}

/// A moment to measure from.
#[expect(clippy::disallowed_methods, reason = "the facade is where time enters")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the facade is where time enters")]
    pub(crate) fn now_ms(&self) -> u64 {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let wall = u64::try_from(wall).unwrap_or(u64::MAX);
        self.newest_ms.fetch_max(wall, Ordering::Relaxed).max(wall)
    }
}
