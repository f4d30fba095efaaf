//! Budgets, waiting and freshness, as data.

use lakebed_transaction::Exhaustion;

/// What one commit may spend. No loop of the machine outlives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Rebases over landed entries.
    pub rebases_max: u32,
    /// Milliseconds from start to answer.
    pub elapsed_ms_max: u64,
    /// Failures of reads and side puts in a row before they count as an error.
    pub failures_max: u32,
    /// Repetitions of one request that the store turned away or that stays in doubt.
    pub repeats_max: u32,
    /// How waits grow.
    pub backoff: Backoff,
}

impl Default for Budget {
    /// 1,000 rebases, 5 minutes.
    fn default() -> Self {
        Self {
            rebases_max: 1_000,
            elapsed_ms_max: 300_000,
            failures_max: 8,
            repeats_max: 1_000,
            backoff: Backoff::default(),
        }
    }
}

impl Budget {
    pub(crate) const fn spent(&self, rebases: u32, elapsed_ms: u64) -> Option<Exhaustion> {
        if rebases > self.rebases_max {
            Some(Exhaustion::Attempts)
        } else if elapsed_ms > self.elapsed_ms_max {
            Some(Exhaustion::Time)
        } else {
            None
        }
    }
}

/// How many tries of a rival a loser waits at most.
const TRIES_WAITED_MAX: u64 = 8;
/// From this on a try counts as slow.
const SLOW_TRY_MS: u64 = 250;
/// The same where tries are slow: one that is lost costs more than the log standing idle for a moment.
const SLOW_TRIES_WAITED_MAX: u64 = 16;

/// Waits with full jitter: the n-th lies between 0 and `first_ms · 2ⁿ`, at most `max_ms`. After a lost race both ends follow what
/// a look at the log takes, where that is long.
///
/// The jitter is drawn from the seed, so that the same data gives the same waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Upper end of the first wait, in milliseconds.
    pub first_ms: u64,
    /// Upper end of every wait for a store that failed or turned a request away, in milliseconds.
    pub max_ms: u64,
    /// State of the jitter; give every commit another one.
    pub seed: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first_ms: 4, max_ms: 1_000, seed: 0 }
    }
}

impl Backoff {
    /// The wait after `failures` failures in a row (0 for the first).
    pub(crate) fn draw(&mut self, failures: u32) -> u64 {
        let cap = self.first_ms.checked_shl(failures.min(20)).unwrap_or(self.max_ms).min(self.max_ms);
        self.next() % (cap + 1)
    }

    /// The wait after losing `losses` races in a row (0 for the first), where one look at the log and one try take about
    /// `try_ms`. It begins with one, so that slow writers do not come back all at once, grows to a few tries, however
    /// long they are, and no further, since waiting longer than the rivals need wins nothing.
    pub(crate) fn draw_after_loss(&mut self, losses: u32, try_ms: u64) -> u64 {
        let tries_max = if try_ms < SLOW_TRY_MS { TRIES_WAITED_MAX } else { SLOW_TRIES_WAITED_MAX };
        let cap = try_ms.max(self.first_ms).saturating_mul(tries_max);
        let first = self.first_ms.max(try_ms);
        let grown = first.checked_shl(losses.min(20)).unwrap_or(cap).min(cap);
        self.next() % (grown + 1)
    }

    /// One step of SplitMix64.
    const fn next(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// How long a snapshot may be taken for the newest without asking.
///
/// The bound must lie well below what any cleanup keeps: within it, the version after the snapshot cannot be one that
/// was taken, aged and freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// The snapshot was known to be the newest so recently that it may be trusted up to this time (milliseconds on the
    /// caller's clock).
    pub until_ms: u64,
    /// How long a new look at the log may be trusted, in milliseconds.
    pub for_ms: u64,
}
