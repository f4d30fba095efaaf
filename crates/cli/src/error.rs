//! Errors of the program, and the exit status that each gives.

use crate::exit::Exit;
use lakebed_commit::FormatError;
use lakebed_data::DataError;
use lakebed_delta::DeltaError;
use lakebed_naming::Version;
use lakebed_ops::OpsError;
use lakebed_sql::SqlError;
use lakebed_storage::StoreError;
use lakebed_table::TableError;
use std::io;
use std::path::Path;

/// A command that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command line does not fit.
    #[error("{problem}; {advice}")]
    Usage { problem: String, advice: String },
    /// Something else is in the way.
    #[error("{problem}; {advice}")]
    Failed { problem: String, advice: String },
    /// A local file could not be read or written.
    #[error("{path}: {source}; check the path and its permissions")]
    File { path: String, source: io::Error },
    /// Standard output does not take what is written.
    #[error("standard output: {0}")]
    Output(io::Error),
    /// Committed, and nobody was told.
    #[error(
        "committed at version {version}, but the answer could not be written: {source}; do not run it again, the change is in the table"
    )]
    Unanswered { version: Version, source: io::Error },
    #[error(transparent)]
    Table(#[from] TableError),
    /// What was typed does not fit the table, or no table.
    #[error(transparent)]
    Typed(TableError),
    #[error(transparent)]
    Sql(#[from] SqlError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error(transparent)]
    Delta(#[from] DeltaError),
}

impl CliError {
    pub(crate) fn usage(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Usage { problem: problem.into(), advice: advice.into() }
    }

    pub(crate) fn failed(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Failed { problem: problem.into(), advice: advice.into() }
    }

    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }

    /// Whether the reader of standard output went away, which is no fault.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// For commands of which the command line says everything that can be invalid.
    pub(crate) fn typed(error: TableError) -> Self {
        if matches!(error, TableError::Invalid { .. } | TableError::Ops(OpsError::Invalid { .. })) {
            Self::Typed(error)
        } else {
            Self::Table(error)
        }
    }

    /// The exit status.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. } | Self::Sql(_) | Self::Typed(_) | Self::Table(TableError::Sql(_)) => Exit::Usage,
            Self::Data(error) | Self::Table(TableError::Data(error) | TableError::Ops(OpsError::Data(error)))
                if matches!(error, DataError::UnknownKind { .. } | DataError::UnknownFunction { .. }) =>
            {
                Exit::Usage
            }
            // The reader of the answer went away, and all is done.
            Self::Unanswered { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Failed { .. }
            | Self::Unanswered { .. }
            | Self::File { .. }
            | Self::Output(_)
            | Self::Table(_)
            | Self::Data(_)
            | Self::Store(_)
            | Self::Format(_)
            | Self::Delta(_) => Exit::Error,
        }
    }
}
