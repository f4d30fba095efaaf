//! Errors of planning a statement.

use lakebed_data::DataError;
use lakebed_delta::DeltaError;
use lakebed_lance::LanceError;
use lakebed_storage::StoreError;

/// A statement could not be planned. Nothing was committed; data files that were written for it are named by nobody and a
/// vacuum removes them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpsError {
    /// The store could not be asked, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Rows could not be read, computed or written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The table's log holds something that does not fit.
    #[error(transparent)]
    Delta(#[from] DeltaError),
    /// The table's manifest holds something that does not fit.
    #[error(transparent)]
    Lance(#[from] LanceError),
    /// A deletion vector that the table names is gone.
    #[error("the deletion vector file {object} is not there; read an earlier version, or restore the file")]
    MissingVector {
        /// Its object, relative to the table.
        object: String,
    },
    /// A batch of rows could not be taken apart.
    #[error("rows of {what} could not be taken apart: {source}; report this as a defect")]
    Rows {
        /// Where the rows come from.
        what: String,
        /// The cause.
        source: arrow_schema::ArrowError,
    },
    /// The table needs a feature that row statements do not have.
    #[error("the table needs {feature}, which {statement} does not support here; {advice}")]
    Unsupported {
        /// The feature, by the format's name.
        feature: String,
        /// The statement.
        statement: &'static str,
        /// What to do.
        advice: String,
    },
    /// The statement does not fit the table.
    #[error("{problem}; {advice}")]
    Invalid {
        /// What does not fit.
        problem: String,
        /// What to do.
        advice: String,
    },
}

impl OpsError {
    /// For rows of `what` that could not be taken apart.
    pub(crate) fn rows(what: &str) -> impl FnOnce(arrow_schema::ArrowError) -> Self {
        move |source| Self::Rows { what: what.to_owned(), source }
    }
}
