//! What can go wrong with a chore.

use std::path::{Path, PathBuf};

/// Why a chore failed, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line names no chore.
    #[error("{0}")]
    Usage(&'static str),
    /// A file or folder could not be read or written.
    #[error("cannot {doing} {path}: {source}")]
    File {
        /// The verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A program could not be started.
    #[error("cannot start `{program}`: {source}; is it installed and on PATH?")]
    Start {
        /// The program.
        program: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A program ended badly.
    #[error("`{program}` failed ({status}){detail}")]
    Program {
        /// The program, with its arguments.
        program: String,
        /// How it ended.
        status: String,
        /// What it printed, if that was captured.
        detail: String,
    },
    /// A schema under `protos/` is wrong.
    #[error("cannot compile the schemas of `protos/`: {0}")]
    Schema(String),
    /// We were asked for something that protoc does and we do not.
    #[error("this stand-in for protoc cannot do this: {0}; set PROTOC to a real one")]
    Protoc(String),
    /// Checked-in files are not what would be generated.
    #[error("stale generated files: {0}; run `cargo xtask codegen` and commit the result")]
    Stale(String),
    /// Cargo's own account of the workspace could not be read.
    #[error("cannot read what `cargo metadata` printed: {0}")]
    Metadata(String),
    /// Rules of the house are broken.
    #[error("{0} things are untidy; they are listed above")]
    Untidy(usize),
    /// A tool that the tests need is missing, where none may be.
    #[error("{0}; install it, or unset CI to skip the tests that need it")]
    Missing(String),
}

impl Error {
    /// For `map_err`: what was being done to which file.
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { doing, path, source }
    }
}
