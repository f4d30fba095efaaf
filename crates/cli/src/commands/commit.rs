//! `lakebed commit`: a transaction that was prepared elsewhere.

use crate::args::{CommitArgs, Global};
use crate::commands;
use crate::error::CliError;
use crate::exit::Exit;
use bytes::Bytes;
use lakebed_table::{Prepared, TableFormat};

pub(crate) async fn run(args: CommitArgs, global: &Global) -> Result<Exit, CliError> {
    let options = args.committing.options()?;
    let bytes = std::fs::read(&args.file).map(Bytes::from).map_err(|source| CliError::file(&args.file, source))?;
    let ending = args.file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let (prepared, format) = match ending {
        "txn" => (Prepared::LanceTransaction(bytes), TableFormat::Lance),
        "json" => (Prepared::DeltaActions(bytes), TableFormat::Delta),
        _ => {
            return Err(CliError::usage(
                format!("{} is no prepared transaction", args.file.display()),
                "give a Lance transaction (.txn) or the actions of a Delta commit (.json)",
            ));
        }
    };
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    if table.format() != format {
        return Err(CliError::usage(
            format!(
                "{} is a {} table, and {} is a {format} transaction",
                args.table,
                table.format(),
                args.file.display()
            ),
            "commit it to the table that it was prepared for",
        ));
    }
    if args.check_files {
        table.check_prepared_files(&prepared).await?;
    }
    let report = table.commit_prepared(prepared, &options).await?;
    commands::finish(&table, "committed", &report, global).await
}
