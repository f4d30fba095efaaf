//! The command line of looks at a table as a whole, and of help for shells.

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    pub(crate) table: String,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    pub(crate) table: String,
    /// Look at so many of the newest versions [default: all].
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    pub(crate) table: String,
    /// A version or a time.
    #[arg(value_name = "X", allow_hyphen_values = true)]
    pub(crate) from: String,
    /// A version or a time.
    #[arg(value_name = "Y", allow_hyphen_values = true)]
    pub(crate) to: String,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The page of this command instead of the program's.
    pub(crate) command: Option<String>,
}
