//! `lakebed restore`.

use crate::args::Global;
use crate::args_upkeep::RestoreArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::{clock, commands, output};
use lakebed_table::VersionSpec;

pub(crate) async fn run(args: RestoreArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let spec = commands::spec(&args.version)?;
    let Some(spec) = spec else {
        return Err(CliError::usage("which version to restore is not said", "give --version or --timestamp"));
    };
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    // A time after the newest version means the newest, as in Spark's RESTORE.
    let spec = match spec {
        VersionSpec::AtMs(ms) => VersionSpec::UpToMs(ms),
        other @ (VersionSpec::Newest | VersionSpec::Number(_) | VersionSpec::UpToMs(_)) => other,
    };
    if let VersionSpec::UpToMs(ms) = spec {
        output::note(&format!("restoring what stood at {}", clock::utc(ms)));
    }
    let report = table.restore(spec, &options).await?;
    commands::finish(&table, "restored", &report, global).await
}
