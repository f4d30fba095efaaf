//! Why a trial could not be held, or what did not hold in it.

use lakebed_storage::StoreError;
use lakebed_table::TableError;
use std::path::PathBuf;

/// Why a trial could not be held, or what did not hold in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// A statement or a scan failed.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Rows could not be written.
    #[error(transparent)]
    Data(#[from] lakebed_data::DataError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A folder, a log or a process of the trial failed.
    #[error("{}: {source}", path.display())]
    File {
        /// What.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A log of the trial cannot be read.
    #[error("a log of the trial cannot be read: {0}")]
    Log(#[from] serde_json::Error),
    /// The trial cannot be held here.
    #[error("{problem}; {advice}")]
    Unfit {
        /// What is in the way.
        problem: String,
        /// What to do.
        advice: &'static str,
    },
    /// What was promised does not hold.
    #[error("version {version}: {problem}")]
    Broken {
        /// The first version, counted from the one that the trial began with, of which it does not hold.
        version: usize,
        /// What does not hold.
        problem: String,
    },
}

impl TrialError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
