//! Errors: we could not ask, and nothing was committed.

use crate::FormatError;
use lakebed_naming::Version;

/// The commit could not be carried through, and certainly nothing was committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The format cannot go on.
    #[error("nothing was committed: {0}")]
    Format(#[from] FormatError),
    /// Log entries that should be judged are gone.
    #[error(
        "nothing was committed: version {missing} is missing although version {newest} is there, so what it did cannot be \
         judged (a cleanup removed it, or the log is damaged); open the newest version and plan again"
    )]
    Gap {
        /// The first version that is not there.
        missing: Version,
        /// The newest version that is.
        newest: Version,
    },
    /// The store refuses to create or write the object.
    #[error("nothing was committed: the store refused {object}: {detail}; check permissions and free space")]
    Refused {
        /// The object.
        object: String,
        /// The store's words.
        detail: String,
    },
    /// The log could not be read.
    #[error("nothing was committed: {object} could not be read: {detail}; try again when the store answers")]
    Unreadable {
        /// The object or folder.
        object: String,
        /// The store's words.
        detail: String,
    },
    /// No version number is left.
    #[error("nothing was committed: there is no version after {0}")]
    NoNextVersion(Version),
}
