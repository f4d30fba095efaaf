//! `lakebed create`.

use crate::args::{CreateArgs, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::report;
use lakebed_data::{TextTypes, source_columns};
use lakebed_sql::parse_columns;
use lakebed_table::{NewTable, Table};

pub(crate) async fn run(args: CreateArgs, global: &Global) -> Result<Exit, CliError> {
    let columns = match (&args.schema, &args.like) {
        (Some(text), _) => parse_columns(text)?,
        (None, Some(file)) => source_columns(file, if args.all_text { TextTypes::Text } else { TextTypes::Guessed })?,
        (None, None) => return Err(CliError::usage("the columns are missing", "give --schema or --like")),
    };
    for name in &args.partition_by {
        if !columns.iter().any(|column| column.name == *name) {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            return Err(CliError::usage(
                format!("there is no column `{name}` to partition by"),
                format!("the columns are: {}", names.join(", ")),
            ));
        }
    }
    let new = NewTable::new(args.format.into(), columns)
        .with_partition_columns(args.partition_by)
        .with_properties(args.properties.into_iter().collect());
    let options = args.committing.options()?;
    let (url, open) = global.locate(&args.table)?;
    let created = Table::create(&url, &open, &new, &options).await;
    let (_, report) = created.map_err(CliError::typed)?;
    report::print(&format!("created {}", args.table), &report, global.json)
}
