//! What one seed stands for.

use crate::chaos::Fault;
use crate::mutation::Mutation;
use crate::rng::Rng;
use std::collections::BTreeSet;

/// Everything that is fixed before a run begins. Equal setups give equal runs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The seed.
    pub seed: u64,
    /// How many writers.
    pub writers: usize,
    /// How many versions must land before no new work begins.
    pub commits: u64,
    /// What is older than this many milliseconds, a cleanup may take away.
    pub retention_ms: u64,
    /// How long a look at the log is trusted, in milliseconds; well below `retention_ms`.
    pub fresh_ms: u64,
    /// How long after its arrival an unanswered create may still take effect, in milliseconds.
    pub float_ms: u64,
    /// The longest way of a request, in milliseconds.
    pub latency_ms: u64,
    /// Names in a page of a listing.
    pub page: usize,
    /// Whether the store hands out names in any order, so that its client has to sort them.
    pub shuffled: bool,
    /// Milliseconds that must lie between two creates of one name; 0 for no limit.
    pub key_spacing_ms: u64,
    /// How often each fault strikes, in thousandths, by [`Fault`].
    pub rates: [u16; Fault::COUNT],
    /// Whether a cleanup runs.
    pub cleans: bool,
    /// Whether checkpoints are written (Delta), without which no log can be cleaned.
    pub checkpoints: bool,
    /// A switch of the format: in-commit timestamps (Delta), whole fragments without a list of rows (Lance).
    pub variant: bool,
    /// The deliberate fault in the machine.
    pub mutation: Option<Mutation>,
    /// The decisions about faults that may strike; `None` for all.
    pub only: Option<BTreeSet<u64>>,
}

impl Setup {
    /// What a seed stands for.
    #[must_use]
    pub fn of(seed: u64, mutation: Option<Mutation>) -> Self {
        let mut rng = Rng::new(seed);
        let retention_ms = rng.between(400, 2_000);
        // Some seeds are calm, some have a few kinds of fault, some have all of them.
        let severity = *rng.pick(&[0, 20, 50, 100, 150, 250]).unwrap_or(&30);
        let density = rng.between(200, 1_000);
        let mut rates = [0_u16; Fault::COUNT];
        for (rate, fault) in rates.iter_mut().zip(Fault::ALL) {
            let cap = match fault {
                Fault::Crash | Fault::Dropped | Fault::Refused => severity / 6,
                Fault::Pause | Fault::Doze => severity / 3,
                Fault::LostAnswer
                | Fault::LateLanding
                | Fault::Vanished
                | Fault::SpuriousExists
                | Fault::DeliveredTwice
                | Fault::WriteFails => severity,
                // Opening a table takes many reads, each of which must succeed.
                Fault::NotNow | Fault::ReadFails => severity.min(60),
            };
            if rng.chance(density) {
                *rate = u16::try_from(rng.between(0, cap)).unwrap_or(0);
            }
        }
        Self {
            seed,
            writers: 3 + rng.place(3),
            commits: rng.between(10, 16),
            retention_ms,
            fresh_ms: retention_ms / 4,
            float_ms: retention_ms / 4,
            latency_ms: rng.between(1, 24),
            page: 1 + rng.place(6),
            shuffled: rng.chance(300),
            key_spacing_ms: if rng.chance(200) { rng.between(1, 40) } else { 0 },
            rates,
            cleans: rng.chance(800),
            // They cost more than all else together.
            checkpoints: rng.chance(250),
            variant: rng.chance(500),
            mutation,
            only: None,
        }
    }
}
