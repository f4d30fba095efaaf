//! `lakebed columns`.

use crate::args::Global;
use crate::args_columns::{ColumnsArgs, ColumnsCommand};
use crate::commands;
use crate::error::CliError;
use crate::exit::Exit;
use lakebed_sql::{parse_columns, parse_expression, parse_type};
use lakebed_table::ColumnChange;
use lakebed_transaction::Expr;

pub(crate) async fn run(args: ColumnsArgs, global: &Global) -> Result<Exit, CliError> {
    let (change, upgrade, committing, what) = match args.change {
        ColumnsCommand::Add { columns, within, committing } => {
            let within = within.as_deref().map_or(Ok(Vec::new()), path)?;
            let change = ColumnChange::Add { within, columns: parse_columns(&columns)? };
            (change, false, committing, "columns added")
        }
        ColumnsCommand::Drop { columns, upgrading, committing } => {
            let paths = columns.iter().map(|text| path(text)).collect::<Result<_, _>>()?;
            (ColumnChange::Drop(paths), upgrading.upgrade, committing, "columns dropped")
        }
        ColumnsCommand::Rename { column, name, upgrading, committing } => {
            let change = ColumnChange::Rename { path: path(&column)?, name };
            (change, upgrading.upgrade, committing, "column renamed")
        }
        ColumnsCommand::Widen { column, to, upgrading, committing } => {
            let change = ColumnChange::Widen { path: path(&column)?, to: parse_type(&to)? };
            (change, upgrading.upgrade, committing, "column widened")
        }
    };
    let options = committing.options()?;
    let mut table = commands::open_to_commit(&args.table, global, &options).await?;
    let report = table.change_columns(&change, upgrade, &options).await.map_err(CliError::typed)?;
    commands::finish(&table, what, &report, global).await
}

/// A path as SQL spells it: names between dots, in backticks where they hold other signs.
fn path(text: &str) -> Result<Vec<String>, CliError> {
    match parse_expression(text)? {
        Expr::Column(parts) => Ok(parts.iter().map(ToString::to_string).collect()),
        Expr::Literal(_)
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::IsNull { .. }
        | Expr::In { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::Cast(..)
        | Expr::Case { .. }
        | Expr::Call(..)
        | Expr::Unknown { .. }
        | Expr::Row(_) => {
            Err(CliError::usage(format!("`{text}` names no column"), "write a path such as address.city"))
        }
    }
}
