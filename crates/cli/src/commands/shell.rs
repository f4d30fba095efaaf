//! `lakebed completions` and `lakebed man`.

use crate::args::Cli;
use crate::args_health::{CompletionsArgs, ManArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use clap::CommandFactory;
use clap_mangen::Man;

/// Prints what a shell sources to complete commands and options.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lakebed", &mut script);
    output::text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Prints a manual page in roff.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, CliError> {
    let mut program = Cli::command();
    program.build();
    let page = match &args.command {
        None => Man::new(program),
        Some(name) => {
            let Some(command) = program.find_subcommand(name) else {
                let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
                return Err(CliError::usage(
                    format!("there is no command {name}"),
                    format!("the commands are {}", names.join(", ")),
                ));
            };
            Man::new(command.clone()).title(format!("lakebed-{name}"))
        }
    };
    let mut roff = Vec::new();
    page.render(&mut roff).map_err(CliError::Output)?;
    output::text(&String::from_utf8_lossy(&roff))?;
    Ok(Exit::Done)
}
