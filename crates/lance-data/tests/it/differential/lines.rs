//! Tags and branches that must be there.

use super::state::State;
use std::collections::BTreeMap;

/// A branch: the version that it was made of, and what its newest version holds.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) from: u64,
    pub(crate) state: State,
}

/// Tags and branches by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    pub(crate) tags: BTreeMap<String, u64>,
    pub(crate) branches: BTreeMap<String, Line>,
}

impl Lines {
    /// What the newest version of a branch holds.
    pub(crate) fn branch(&mut self, name: &str) -> &mut State {
        &mut self.branches.get_mut(name).unwrap().state
    }
}
