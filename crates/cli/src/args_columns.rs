//! The command line of changes to columns.

use crate::args::Committing;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct ColumnsArgs {
    pub(crate) table: String,
    #[command(subcommand)]
    pub(crate) change: ColumnsCommand,
}

/// Nested fields are named by paths such as `address.city`; elements of lists, keys and values of maps are called element, key
/// and value.
#[derive(Debug, Subcommand)]
pub(crate) enum ColumnsCommand {
    /// Add columns at the end; rows that are there have NULL in them.
    Add {
        /// The columns, as in `price double, tags array<string>`.
        columns: String,
        /// The struct to add them to.
        #[arg(long = "in", value_name = "PATH")]
        within: Option<String>,
        #[command(flatten)]
        committing: Committing,
    },
    /// Drop columns; their values stay in old versions.
    Drop {
        /// The columns.
        #[arg(required = true, value_name = "PATH")]
        columns: Vec<String>,
        #[command(flatten)]
        upgrading: Upgrading,
        #[command(flatten)]
        committing: Committing,
    },
    /// Give a column another name.
    Rename {
        /// The column.
        #[arg(value_name = "PATH")]
        column: String,
        /// Its new name.
        name: String,
        #[command(flatten)]
        upgrading: Upgrading,
        #[command(flatten)]
        committing: Committing,
    },
    /// Give a column a wider type.
    Widen {
        /// The column.
        #[arg(value_name = "PATH")]
        column: String,
        /// Its new type, such as `long` or `decimal(20,2)`.
        #[arg(value_name = "TYPE")]
        to: String,
        #[command(flatten)]
        upgrading: Upgrading,
        #[command(flatten)]
        committing: Committing,
    },
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Upgrading {
    /// Turn on what the change needs of the table (column mapping to drop and rename, type widening to widen). Readers that do
    /// not know these cannot open it from then on.
    #[arg(long)]
    pub(crate) upgrade: bool,
}
