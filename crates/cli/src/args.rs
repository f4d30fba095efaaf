//! The command line.

use crate::args_columns::ColumnsArgs;
use crate::args_health::{CompletionsArgs, DiffArgs, ManArgs, StatsArgs, VerifyArgs};
use crate::args_merge::MergeArgs;
use crate::args_refs::{BranchArgs, MigrateNamingArgs, TagArgs};
use crate::args_upkeep::{CheckpointArgs, CleanLogArgs, CompactArgs, CompactLogArgs, RestoreArgs, VacuumArgs};
use crate::error::CliError;
use clap::{Args, Parser, Subcommand, ValueEnum};
use lakebed_conflict::maxcompute::Compaction;
use lakebed_storage::{Durability, StoreOptions};
use lakebed_table::{CommitOptions, LanceFiles, OpenOptions, TableFormat};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Transactions on Lance and Delta tables.
///
/// TABLE is a local path or a URL (file:, memory:, s3:, gs:, az:, abfss:). Exit status: 0 done, 1 error, 2 usage, 3 retryable conflict,
/// 4 incompatible conflict, 5 outcome unknown, 6 retries exhausted.
#[derive(Debug, Parser)]
#[command(name = "lakebed", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Print one JSON document on standard output and nothing else there.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Tell on standard error what was done, as it ends: commits, their attempts and requests, what was judged and loaded.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// An option of the store, by object_store's name for it; stronger than the environment.
    #[arg(long = "storage-option", value_name = "KEY=VALUE", global = true)]
    storage_options: Vec<String>,
    /// What an answered write to a local disk survives: full a power cut, none only a crash of the program.
    #[arg(long, value_enum, default_value_t = DurabilityArg::Full, global = true)]
    pub(crate) durability: DurabilityArg,
    /// Do not try out, before the first write, whether a store with an endpoint of its own (MinIO, R2, Ceph, …) creates objects
    /// atomically. The stores of Amazon, Google and Microsoft and local disks are never tried out; reading tries nothing.
    #[arg(long, global = true)]
    no_probe: bool,
    /// An external commit index, for stores that cannot create atomically: sqlite:PATH, postgres://…, redis://… or
    /// dynamodb:TABLE. Everybody who writes to the table has to name the same one.
    #[arg(long, value_name = "URL", env = "LAKEBED_INDEX", hide_env_values = true, global = true)]
    index: Option<String>,
}

impl Global {
    /// How to open a store.
    pub(crate) fn store_options(&self) -> StoreOptions {
        let options = StoreOptions::new().durability(self.durability.into());
        let options = if self.no_probe { options.without_probe() } else { options };
        let pairs = self.storage_options.iter().filter_map(|text| text.split_once('='));
        pairs.fold(options, |options, (key, value)| options.option(key, value))
    }

    /// Refuses options of the store that are no pairs. Not left to the parser of the command line, which would repeat the text,
    /// and the text may be a secret.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        match self.storage_options.iter().position(|text| pair(text).is_err()) {
            None => Ok(()),
            Some(at) => Err(CliError::usage(
                format!("--storage-option number {} is no pair (it is not shown, for it may hold a secret)", at + 1),
                "write key=value",
            )),
        }
    }

    /// How to open a table of our own on a local disk, which needs no index.
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions { store: self.store_options(), lance_files: lance_files(), ..OpenOptions::default() }
    }

    /// Where the table of this name is, and how to open it: pylance's form of a URL names the index too.
    pub(crate) fn locate(&self, table: &str) -> Result<(String, OpenOptions), CliError> {
        let (url, named) = match lakebed_index::table_url(table)? {
            Some(parts) => (parts.table, Some(parts.index)),
            None => (table.to_owned(), None),
        };
        let given = self.index.as_deref().filter(|index| !index.is_empty());
        let index = named.as_deref().or(given).map(lakebed_index::open).transpose()?;
        let mut options = OpenOptions { index, ..self.open_options() };
        if options.index.is_some() {
            // The index decides, and the store need not.
            options.store = options.store.without_probe();
        }
        Ok((url, options))
    }
}

/// Who reads and writes the rows of Lance tables, in a build that has somebody.
fn lance_files() -> Option<Arc<dyn LanceFiles>> {
    #[cfg(feature = "lance-data")]
    let files: Option<Arc<dyn LanceFiles>> = Some(Arc::new(lakebed_lance_data::LanceDataFiles));
    #[cfg(not(feature = "lance-data"))]
    let files = None;
    files
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DurabilityArg {
    Full,
    None,
}

impl DurabilityArg {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::None => "none",
        }
    }
}

impl From<DurabilityArg> for Durability {
    fn from(arg: DurabilityArg) -> Self {
        match arg {
            DurabilityArg::Full => Self::Full,
            DurabilityArg::None => Self::None,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatArg {
    Delta,
    Lance,
}

impl From<FormatArg> for TableFormat {
    fn from(arg: FormatArg) -> Self {
        match arg {
            FormatArg::Delta => Self::Delta,
            FormatArg::Lance => Self::Lance,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CompactionArg {
    Minor,
    Major,
}

impl From<CompactionArg> for Compaction {
    fn from(arg: CompactionArg) -> Self {
        match arg {
            CompactionArg::Minor => Self::Minor,
            CompactionArg::Major => Self::Major,
        }
    }
}

/// What every committing command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Committing {
    /// The conflict policy by name; `lakebed rules` lists them [default: the table's own].
    #[arg(long)]
    policy: Option<String>,
    /// How often to rebase, and to plan a statement that lost again [default: 1000 rebases, 10 plannings].
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Time from start to answer, such as 90s or 5m [default: 5m].
    #[arg(long, value_parser = duration)]
    timeout: Option<Duration>,
}

impl Committing {
    /// How to commit.
    pub(crate) fn options(&self) -> Result<CommitOptions, CliError> {
        let defaults = CommitOptions::default();
        Ok(CommitOptions {
            policy: self.policy.clone(),
            rebases_max: self.retries.unwrap_or(defaults.rebases_max),
            plannings_max: self.retries.unwrap_or(defaults.plannings_max),
            timeout: self.timeout.unwrap_or(defaults.timeout),
            ..defaults
        })
    }
}

/// Which version to read; the newest when nothing is said.
#[derive(Clone, Debug, Args)]
pub(crate) struct VersionArgs {
    /// The version with this number.
    #[arg(long, value_name = "N", conflicts_with = "timestamp")]
    pub(crate) version: Option<u64>,
    /// The version that stood at this time: RFC 3339, a local time, -10m, -2h, -7d from now, or milliseconds since 1970.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) timestamp: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a table.
    Create(CreateArgs),
    /// Add rows.
    Append(AppendArgs),
    /// Replace all rows, or those that a predicate selects.
    Overwrite(OverwriteArgs),
    /// Delete the rows that a predicate selects.
    Delete(DeleteArgs),
    /// Set columns of the rows that a predicate selects.
    Update(UpdateArgs),
    /// Bring rows in by key: update or delete those that are there, add those that are not.
    Merge(MergeArgs),
    /// Delete all rows.
    Truncate(TruncateArgs),
    /// Join small files, drop deleted rows, or put rows in order; no reader sees a difference.
    Compact(CompactArgs),
    /// Set table properties.
    Set(SetArgs),
    /// Remove table properties.
    Unset(UnsetArgs),
    /// Add, drop, rename or widen columns.
    Columns(ColumnsArgs),
    /// Commit a prepared transaction: a Lance .txn, or Delta actions in a .json.
    Commit(CommitArgs),
    /// Tell what became of a transaction after an unknown answer.
    Outcome(OutcomeArgs),
    /// Commit a new version that equals an old one.
    Restore(RestoreArgs),
    /// Name versions of a Lance table.
    Tag(TagArgs),
    /// Further lines of versions of a Lance table.
    Branch(BranchArgs),
    /// Describe one version.
    Show(ShowArgs),
    /// Read rows.
    Scan(ScanArgs),
    /// List the versions, newest first.
    History(HistoryArgs),
    /// Read the rows that came and went between two versions.
    Changes(ChangesArgs),
    /// Print the rule table of a policy, or list the policies.
    Rules(RulesArgs),
    /// Judge one transaction against landed ones, without touching a table.
    Explain(ExplainArgs),
    /// Write the newest version's state as one object, so that opening needs no older entry (Delta).
    Checkpoint(CheckpointArgs),
    /// Write one object that stands for the log entries above the newest checkpoint (Delta).
    CompactLog(CompactLogArgs),
    /// Remove files that no version within the retention needs; of a Lance table the old versions too.
    Vacuum(VacuumArgs),
    /// Remove log entries and checkpoints that are older than the table keeps them (Delta).
    CleanLog(CleanLogArgs),
    /// Give the manifests of a Lance table names that sort newest first; other writers must rest meanwhile.
    MigrateNaming(MigrateNamingArgs),
    /// Check that a table is what its log says: files, checkpoints, checksums, ids, times; what is wrong and what it would take.
    Verify(VerifyArgs),
    /// Tell how a table fares: commits, races, files, and what to do about it.
    Stats(StatsArgs),
    /// Tell what differs between two versions.
    Diff(DiffArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, of the program or of one command.
    Man(ManArgs),
    /// Try out whether a store keeps the promise that commits stand on, and how long its requests take.
    Probe(ProbeArgs),
    /// Measure the commit rate of several writers on a new table.
    Bench(BenchArgs),
    /// Race writers on one table of each format on local disk, explain the conflicts, and audit the result.
    Demo(DemoArgs),
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("columns").required(true).args(["schema", "like"]))]
pub(crate) struct CreateArgs {
    pub(crate) table: String,
    /// The table format.
    #[arg(long, value_enum)]
    pub(crate) format: FormatArg,
    /// Columns, as in `id long not null, day date, tags array<string>`.
    #[arg(long)]
    pub(crate) schema: Option<String>,
    /// A .parquet, .csv or .jsonl file whose columns to take. Types of a .csv are guessed from its first ten thousand rows.
    #[arg(long, value_name = "FILE")]
    pub(crate) like: Option<String>,
    /// Take every column of a .csv as text.
    #[arg(long, conflicts_with = "schema")]
    pub(crate) all_text: bool,
    /// A partition column; may be given several times, or several separated by commas.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) partition_by: Vec<String>,
    /// A table property.
    #[arg(long = "property", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) properties: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct AppendArgs {
    pub(crate) table: String,
    /// .parquet, .csv (with a header), .jsonl, or - for JSON lines on standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Add the columns that the files have and the table has not.
    #[arg(long)]
    pub(crate) merge_schema: bool,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct OverwriteArgs {
    pub(crate) table: String,
    /// .parquet, .csv (with a header), .jsonl, or - for JSON lines on standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Replace only the rows that this selects.
    #[arg(long = "where", value_name = "PREDICATE", allow_hyphen_values = true)]
    pub(crate) predicate: Option<String>,
    /// Replace only the partitions that the new rows belong to.
    #[arg(long, conflicts_with = "predicate")]
    pub(crate) by_partition: bool,
    /// Give the table the columns of the files.
    #[arg(long, conflicts_with_all = ["predicate", "by_partition"])]
    pub(crate) replace_schema: bool,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    pub(crate) table: String,
    /// The rows to delete.
    #[arg(long = "where", value_name = "PREDICATE", allow_hyphen_values = true)]
    pub(crate) predicate: String,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    pub(crate) table: String,
    /// A column and its new value, computed from the old row, as in `price=price * 2`; may be given several times.
    #[arg(long, value_name = "COLUMN=EXPRESSION", required = true, allow_hyphen_values = true)]
    pub(crate) set: Vec<String>,
    /// Only the rows that this selects.
    #[arg(long = "where", value_name = "PREDICATE", allow_hyphen_values = true)]
    pub(crate) predicate: Option<String>,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct TruncateArgs {
    pub(crate) table: String,
    /// Only the rows that this selects.
    #[arg(long = "where", value_name = "PREDICATE", allow_hyphen_values = true)]
    pub(crate) predicate: Option<String>,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    pub(crate) table: String,
    #[arg(required = true, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) properties: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct UnsetArgs {
    pub(crate) table: String,
    #[arg(required = true, value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    pub(crate) table: String,
    /// A Lance transaction message (.txn), or the actions of a Delta commit (.json).
    pub(crate) file: PathBuf,
    /// Look first whether every data file that a Delta commit adds is there, and as large as it says: one request for each.
    #[arg(long)]
    pub(crate) check_files: bool,
    #[command(flatten)]
    pub(crate) committing: Committing,
}

#[derive(Debug, Args)]
pub(crate) struct OutcomeArgs {
    pub(crate) table: String,
    pub(crate) transaction_id: String,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) version: VersionArgs,
    /// The version that a tag names (Lance).
    #[arg(long, value_name = "NAME", conflicts_with_all = ["version", "timestamp"])]
    pub(crate) tag: Option<String>,
    /// List the files, or fragments and indices, too.
    #[arg(long)]
    pub(crate) files: bool,
    /// List the files that were taken out and are kept for old versions, too (Delta).
    #[arg(long)]
    pub(crate) tombstones: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) version: VersionArgs,
    /// Only the rows that this selects.
    #[arg(long = "where", value_name = "PREDICATE", allow_hyphen_values = true)]
    pub(crate) predicate: Option<String>,
    /// Only these columns, in this order.
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    pub(crate) select: Option<Vec<String>>,
    /// At most so many rows.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Write the rows to a .csv, .jsonl or .parquet file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Add a column _version: the version that wrote each row.
    #[arg(long)]
    pub(crate) with_version: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChangesArgs {
    pub(crate) table: String,
    /// Where to begin, as a version or a time; its own changes are left out.
    #[arg(long, value_name = "VERSION|TIME", allow_hyphen_values = true)]
    pub(crate) from: String,
    /// Where to end, as a version or a time; its own changes are part of it. By default the newest version.
    #[arg(long, value_name = "VERSION|TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    pub(crate) table: String,
    /// At most so many versions.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Only versions that change what a scan returns.
    #[arg(long)]
    pub(crate) data_changes_only: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    /// The policy; without it the policies are listed.
    pub(crate) policy: Option<String>,
    /// Print Markdown.
    #[arg(long, requires = "policy")]
    pub(crate) markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The policy that judges.
    #[arg(long, required_unless_present = "batch")]
    pub(crate) policy: Option<String>,
    /// Ours: a Lance transaction (.txn) or a Delta commit (.json).
    #[arg(long, value_name = "FILE", required_unless_present = "batch")]
    pub(crate) ours: Option<PathBuf>,
    /// What landed before ours; several are judged in order.
    #[arg(long, value_name = "FILE")]
    pub(crate) landed: Vec<PathBuf>,
    /// What ours read: a Lance manifest, or the folder of a Delta table.
    #[arg(long, value_name = "PATH")]
    pub(crate) base: Option<PathBuf>,
    /// Which version of the base ours read, where it is a Delta table [default: its newest].
    #[arg(long, value_name = "VERSION", requires = "base")]
    pub(crate) at: Option<u64>,
    /// Which compaction a compaction is, ours or landed, for the policy maxcompute: minor keeps deleted rows readable, major
    /// drops them. No log entry says it, and without it a compaction is outside that matrix.
    #[arg(long, value_enum)]
    pub(crate) compaction: Option<CompactionArg>,
    /// Add the actions of ours as they would be written next, commitInfo first (Delta; needs --base).
    #[arg(long)]
    pub(crate) rebased: bool,
    /// JSON lines of {"id","policy","ours","landed":[…],"base","at","compaction"}; one JSON line is printed for each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "ours", "landed", "base", "at", "compaction"])]
    pub(crate) batch: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// A folder of the store: a few objects are written below it, and removed.
    pub(crate) url: String,
    /// Clients that race for one object in each round.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..=256))]
    pub(crate) clients: u32,
    /// Rounds.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rounds: u32,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// An empty place.
    pub(crate) url: String,
    /// The table format.
    #[arg(long, value_enum)]
    pub(crate) format: FormatArg,
    /// Writers at once, in this process.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) writers: u32,
    /// Commits of each writer.
    #[arg(long, value_name = "M", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) commits: u32,
    /// Leave the table there.
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where to put the two tables and leave them; a temporary folder that is removed otherwise.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Writers on each table.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) writers: u32,
    /// Commits of each writer on each table.
    #[arg(long, value_name = "M", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) commits: u32,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err("write key=value".to_owned()),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    lakebed_sql::parse_duration(text).map_err(|error| error.to_string())
}
