//! The command line of tags, branches and names.

use crate::args::Committing;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    pub(crate) table: String,
    #[command(subcommand)]
    pub(crate) action: TagAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TagAction {
    /// Name a version.
    Add {
        name: String,
        /// The version [default: the newest].
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        /// The branch of the version [default: the table's own line of versions].
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
    },
    /// Let a name stand for another version of its branch.
    Move {
        name: String,
        /// The version [default: the newest].
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Take a name away.
    Remove { name: String },
    /// List the names.
    List,
}

#[derive(Debug, Args)]
pub(crate) struct BranchArgs {
    pub(crate) table: String,
    #[command(subcommand)]
    pub(crate) action: BranchAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BranchAction {
    /// Begin a further line of versions; its table lies at TABLE/tree/NAME.
    Create {
        name: String,
        /// The version to begin with [default: the newest].
        #[arg(long, value_name = "N", conflicts_with = "tag")]
        version: Option<u64>,
        /// The tag to begin with.
        #[arg(long, value_name = "NAME")]
        tag: Option<String>,
        #[command(flatten)]
        committing: Committing,
    },
    /// Remove a branch with everything in it.
    Remove { name: String },
    /// List the branches.
    List,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateNamingArgs {
    pub(crate) table: String,
}
