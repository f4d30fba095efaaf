//! What `merge` takes.

use crate::args::Committing;
use clap::{Args, ValueEnum};
use lakebed_table::{Matched, NotMatched};

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    pub(crate) table: String,
    /// .parquet, .csv (with a header), .jsonl, or - for JSON lines on standard input.
    pub(crate) file: String,
    /// A column of the key; may be given several times, or several separated by commas.
    #[arg(long, value_name = "COLUMN", required = true, value_delimiter = ',')]
    pub(crate) on: Vec<String>,
    /// What becomes of rows whose key the file has.
    #[arg(long, value_enum, default_value_t = MatchedArg::Update)]
    pub(crate) matched: MatchedArg,
    /// What becomes of rows of the file whose key the table does not have.
    #[arg(long, value_enum, default_value_t = NotMatchedArg::Insert)]
    pub(crate) not_matched: NotMatchedArg,
    /// What becomes of rows of the table whose key the file does not have.
    #[arg(long, value_enum, default_value_t = NotMatchedBySourceArg::Ignore)]
    pub(crate) not_matched_by_source: NotMatchedBySourceArg,
    /// Of those, only the rows that this selects.
    #[arg(long, value_name = "PREDICATE", allow_hyphen_values = true)]
    pub(crate) by_source_where: Option<String>,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MatchedArg {
    Update,
    Delete,
    Ignore,
}

impl From<MatchedArg> for Matched {
    fn from(arg: MatchedArg) -> Self {
        match arg {
            MatchedArg::Update => Self::Update,
            MatchedArg::Delete => Self::Delete,
            MatchedArg::Ignore => Self::Ignore,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NotMatchedArg {
    Insert,
    Ignore,
}

impl From<NotMatchedArg> for NotMatched {
    fn from(arg: NotMatchedArg) -> Self {
        match arg {
            NotMatchedArg::Insert => Self::Insert,
            NotMatchedArg::Ignore => Self::Ignore,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NotMatchedBySourceArg {
    Delete,
    Ignore,
}
