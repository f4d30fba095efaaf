//! Errors of the facade.

use lakebed_commit::{CommitError, FormatError};
use lakebed_data::DataError;
use lakebed_delta::DeltaError;
use lakebed_ops::OpsError;
use lakebed_sql::SqlError;
use lakebed_storage::StoreError;

/// A table could not be opened, read or committed to. A conflict is no error: it is an outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The store could not be asked, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no table.
    #[error("{root}: there is no {looked_for} here{found}; create one, or check the path")]
    NotATable {
        /// The root.
        root: String,
        /// What was looked for.
        looked_for: String,
        /// What is there instead, in brackets, where that can be told.
        found: String,
    },
    /// A table is there already.
    #[error("{root}: a {format} table is there already; open it, or choose an empty place")]
    Exists {
        /// The root.
        root: String,
        /// Its format.
        format: &'static str,
    },
    /// The Delta log could not be read or written to.
    #[error("{root}: {source}")]
    Delta {
        /// The root.
        root: String,
        /// What is wrong.
        source: DeltaError,
    },
    /// A Lance object could not be read or written.
    #[error("{root}: {source}")]
    Format {
        /// The root.
        root: String,
        /// What is wrong.
        source: FormatError,
    },
    /// The commit could not be carried through; nothing was committed.
    #[error("{root}: {source}")]
    Commit {
        /// The root.
        root: String,
        /// What is wrong.
        source: CommitError,
    },
    /// Rows could not be read, computed or written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A statement could not be planned.
    #[error(transparent)]
    Ops(#[from] OpsError),
    /// An expression does not fit the table.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// A version, a time or an object is not there.
    #[error("{root}: {problem}; {advice}")]
    Unavailable {
        /// The root.
        root: String,
        /// What is not there.
        problem: String,
        /// What to do.
        advice: String,
    },
    /// The statement reads or writes rows of a Lance table, and nobody was given who does.
    #[error(
        "{statement} on a lance table needs the rows of Lance data files, and this build has no Lance rows (it was built without \
         lance-data); build the whole program with `cargo xtask install`, or use a Lance client for this"
    )]
    NoLanceRows {
        /// The statement.
        statement: String,
    },
    /// The call does not fit the table.
    #[error("{problem}; {advice}")]
    Invalid {
        /// What does not fit.
        problem: String,
        /// What to do.
        advice: String,
    },
}
