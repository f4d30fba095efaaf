//! What goes wrong, and when.

use crate::rng::mix;
use std::collections::BTreeSet;

/// One way in which the world misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Fault {
    /// The create takes effect, and its answer is lost.
    LostAnswer,
    /// The create is answered *unknown* and takes effect later.
    LateLanding,
    /// The create is answered *unknown* and never takes effect.
    Vanished,
    /// The create is answered *exists* and has no effect.
    SpuriousExists,
    /// The create arrives twice; the answer is the second one's.
    DeliveredTwice,
    /// The create is refused for good, without effect.
    Refused,
    /// The store turns the request away.
    NotNow,
    /// A read fails.
    ReadFails,
    /// A put or delete fails, having taken effect or not.
    WriteFails,
    /// The process sleeps between its decision and its request, longer than any freshness bound.
    Pause,
    /// The process sleeps between the answer and its next step.
    Doze,
    /// The process dies with its requests on the way, and starts anew.
    Crash,
    /// The future is dropped; the process keeps its snapshot and goes on with something else.
    Dropped,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 13] = [
        Self::LostAnswer,
        Self::LateLanding,
        Self::Vanished,
        Self::SpuriousExists,
        Self::DeliveredTwice,
        Self::Refused,
        Self::NotNow,
        Self::ReadFails,
        Self::WriteFails,
        Self::Pause,
        Self::Doze,
        Self::Crash,
        Self::Dropped,
    ];
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
}

/// After so many decisions everything works: a log that is read in pages of one may otherwise never be opened.
const DECISIONS_MAX: u64 = 20_000;

/// Decides each time that something could go wrong.
///
/// Each decision has a number, and the seed and the number alone decide it. So single faults can be taken out of a run to find
/// those that matter.
#[derive(Clone, Debug)]
pub(crate) struct Chaos {
    seed: u64,
    rates: [u16; Fault::COUNT],
    asked: u64,
    /// Only these decisions may strike; `None` for all.
    only: Option<BTreeSet<u64>>,
    /// The decisions that struck.
    pub(crate) fired: Vec<(u64, Fault)>,
}

impl Chaos {
    pub(crate) const fn new(seed: u64, rates: [u16; Fault::COUNT], only: Option<BTreeSet<u64>>) -> Self {
        Self { seed: mix(seed ^ 0xc4a0_5c4a_05c4_a05c), rates, asked: 0, only, fired: Vec::new() }
    }

    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        self.asked += 1;
        let draw = mix(self.seed ^ self.asked.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % 1_000;
        let rate = self.rates.get(fault as usize).copied().unwrap_or(0);
        let strikes = self.asked <= DECISIONS_MAX
            && draw < u64::from(rate)
            && self.only.as_ref().is_none_or(|only| only.contains(&self.asked));
        if strikes {
            self.fired.push((self.asked, fault));
        }
        strikes
    }
}
