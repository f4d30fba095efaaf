//! What goes wrong when.

use super::locked;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;

/// One create, as a script sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Which create through this wrapper it is, from 1.
    pub nth: u64,
    /// The object's name.
    pub name: &'a str,
}

type Decide<F> = Box<dyn FnMut(Call<'_>) -> Option<F> + Send>;

/// Decides for each create what goes wrong with it, if anything.
pub struct Script<F> {
    state: Mutex<(u64, Decide<F>)>,
}

impl<F: Clone + Send + 'static> Script<F> {
    /// Asks `decide` at every create.
    pub fn each(decide: impl FnMut(Call<'_>) -> Option<F> + Send + 'static) -> Self {
        Self { state: Mutex::new((0, Box::new(decide))) }
    }

    /// Nothing goes wrong.
    #[must_use]
    pub fn quiet() -> Self {
        Self::each(|_| None)
    }

    /// `fault` at the `nth` create, counted from 1.
    #[must_use]
    pub fn nth(nth: u64, fault: F) -> Self {
        Self::each(move |call| (call.nth == nth).then(|| fault.clone()))
    }

    /// `fault` at every create.
    #[must_use]
    pub fn always(fault: F) -> Self {
        Self::each(move |_| Some(fault.clone()))
    }

    /// One entry for each create in turn; nothing after the last.
    pub fn queue(faults: impl IntoIterator<Item = Option<F>>) -> Self {
        let mut faults: VecDeque<Option<F>> = faults.into_iter().collect();
        Self::each(move |_| faults.pop_front().flatten())
    }

    /// `fault` at the first create of a name that `matches`.
    pub fn first_of(matches: impl Fn(&str) -> bool + Send + 'static, fault: F) -> Self {
        let mut left = Some(fault);
        Self::each(move |call| if matches(call.name) { left.take() } else { None })
    }

    /// Asks the script about the next create.
    pub(super) fn next(&self, name: &str) -> Option<F> {
        let mut state = locked(&self.state);
        state.0 += 1;
        let nth = state.0;
        (state.1)(Call { nth, name })
    }
}

impl<F> fmt::Debug for Script<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}
