//! Choices that follow from a seed.

/// A sequence of numbers that follows from its seed (SplitMix64, as its authors published it).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// One of the list.
    pub(crate) fn one<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let at = self.below(list.len() as u64);
        list.get(usize::try_from(at).unwrap()).unwrap()
    }

    /// Up to so many of the list, without repetition.
    pub(crate) fn some<T: Clone>(&mut self, list: &[T], count: usize) -> Vec<T> {
        let mut left = list.to_vec();
        let mut chosen = Vec::new();
        while chosen.len() < count && !left.is_empty() {
            let at = usize::try_from(self.below(left.len() as u64)).unwrap();
            chosen.push(left.swap_remove(at));
        }
        chosen
    }

    /// The list in another order.
    pub(crate) fn shuffled<T: Clone>(&mut self, list: &[T]) -> Vec<T> {
        self.some(list, list.len())
    }

    /// Sixteen bytes for an id.
    pub(crate) fn bytes(&mut self) -> [u8; 16] {
        (u128::from(self.next()) << 64 | u128::from(self.next())).to_le_bytes()
    }
}
