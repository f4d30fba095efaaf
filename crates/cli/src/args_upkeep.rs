//! The command line of upkeep: checkpoints, compacted logs, cleanups, restore.

use crate::args::{Committing, VersionArgs, duration};
use clap::Args;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    pub(crate) table: String,
}

#[derive(Debug, Args)]
pub(crate) struct CompactLogArgs {
    pub(crate) table: String,
}

#[derive(Debug, Args)]
pub(crate) struct CleanLogArgs {
    pub(crate) table: String,
    /// Only say what would go.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VacuumArgs {
    pub(crate) table: String,
    /// Keep files that were needed this long ago, such as 7d or 12h [default: the table's delta.deletedFileRetentionDuration, a week for a Lance table].
    #[arg(long, value_parser = duration)]
    pub(crate) retain: Option<Duration>,
    /// Take a --retain that is shorter than the table's own. It takes files from writers that are still at work, and from
    /// readers of old versions.
    #[arg(long, requires = "retain")]
    pub(crate) allow_shorter: bool,
    /// Only say what would go.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Tell of it in the history of a Delta table, by the commits VACUUM START and VACUUM END, as Spark does.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) note: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["version", "timestamp"]))]
pub(crate) struct RestoreArgs {
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) version: VersionArgs,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    pub(crate) table: String,
    /// Join small files and keep every physical row in its order; deletion vectors are carried over.
    #[arg(long, conflicts_with = "major")]
    pub(crate) minor: bool,
    /// Drop deleted rows, too (the default).
    #[arg(long)]
    pub(crate) major: bool,
    /// Only the partitions that this selects.
    #[arg(long = "where", value_name = "PREDICATE", allow_hyphen_values = true)]
    pub(crate) predicate: Option<String>,
    /// Join files to about this size [default: the table's delta.targetFileSize, else 128 MiB].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) target_size_bytes: Option<u64>,
    /// Put rows in the order of this column, or, given several, along a Z-order curve over them.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', conflicts_with = "minor")]
    pub(crate) cluster_by: Vec<String>,
    #[command(flatten)]
    pub(crate) committing: Committing,
}
