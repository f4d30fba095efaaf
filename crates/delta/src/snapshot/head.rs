//! A version without its files: all that an append needs to know.

use super::state::{Core, Snapshot};
use crate::DeltaError;
use crate::action::FileUse;
use lakebed_naming::Version;
use std::sync::Arc;

/// One version of a table without its files. It is as small for a table of millions of files as for one of none.
#[derive(Clone, Debug)]
pub struct Head(
    /// Without files, which is why nobody else gets to see it.
    Snapshot,
);

impl Head {
    pub(super) const fn of(without_files: Snapshot) -> Self {
        Self(without_files)
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.version()
    }

    /// Everything about the version but its files.
    #[must_use]
    pub const fn core(&self) -> &Arc<Core> {
        self.0.core()
    }

    /// The next version: this one with the commit in `bytes` applied, as far as it is not about files.
    ///
    /// # Errors
    /// As [`Snapshot::advance`].
    pub fn advance(&self, version: Version, bytes: &[u8]) -> Result<Self, DeltaError> {
        self.0.advance_with(version, bytes, FileUse::Skip).map(Self)
    }
}
