//! Chores of the workspace, run as `cargo xtask <chore>`.
//!
//! - `install` puts the whole program, Lance's rows included, where cargo puts programs; `build --full` only builds it;
//! - `full` runs any command of cargo on it, such as `full test -p lakebed-lance-data`;
//! - `codegen [--check]` turns `protos/` into checked-in Rust, or says whether what is checked in is stale;
//! - `tidy` holds the rules of the house that no compiler holds;
//! - `python` makes the Python environment of the tests and prints its interpreter;
//! - `interop spark` lets Spark and the program write the same Delta tables in turn and compares what they read;
//! - `interop spark-race` lets them write to one table on a plain local folder at once, and counts what gets lost;
//!   `interop spark-names` lets Spark's log store and a link create the same names;
//! - `kills` kills writer processes, ours and the real clients', and audits what they left;
//! - `packages [--no-verify]` packs every published crate and builds each from its package;
//! - `race` lets processes race on tables of both formats at every level and checks what the level promises; `compare` plays one
//!   schedule under every policy;
//! - `stores up|down` starts and stops the servers that the tests of stores and indexes need;
//! - `stores ceph` runs the tests of S3 on a Ceph RADOS gateway, or on the server that `$LAKEBED_TEST_S3` names;
//! - `test` runs every test, those against the real clients included.
//!
//! Nothing here depends on the product, so that a chore starts at once.

mod codegen;
mod error;
mod full;
mod kills;
mod packages;
mod protoc;
mod python;
mod spark;
mod stores;
mod suite;
mod tidy;
mod workspace;

use std::process::ExitCode;

use error::Error;
use workspace::Workspace;

const USAGE: &str = "usage: cargo xtask build --full | codegen [--check] | compare [OPTION…] | full CARGO-COMMAND… | install | \
                     interop spark [--all | --only TABLE] | interop spark-names [--seconds S] | interop spark-race [--sparks N] [--programs N] [--seconds S] | kills [--kills N] | packages [--no-verify] | \
                     python | race [OPTION…] | stores up|down|ceph | tidy | test";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<(), Error> {
    if protoc::is_asked(args) {
        return protoc::run(args);
    }
    let workspace = Workspace::find()?;
    match args {
        ["build", "--full", more @ ..] => full::build(&workspace, more),
        ["install", more @ ..] => full::install(&workspace, more),
        ["full", args @ ..] => full::run(&workspace, args),
        ["codegen"] => codegen::write(&workspace),
        ["codegen", "--check"] => codegen::check(&workspace),
        ["python"] => python::environment(&workspace).map(|python| println!("{}", python.display())),
        ["interop", "spark", more @ ..] => spark::run(&workspace, spark::HISTORIES, more),
        ["interop", "spark-names", more @ ..] => spark::run(&workspace, spark::NAMES, more),
        ["interop", "spark-race", more @ ..] => spark::run(&workspace, spark::RACE, more),
        ["kills", more @ ..] => kills::run(&workspace, more),
        ["packages", more @ ..] => packages::run(&workspace, more),
        ["race" | "compare", ..] => full::trials(&workspace, args),
        ["stores", "up"] => stores::up(&workspace),
        ["stores", "down"] => stores::stop(&workspace),
        ["stores", "ceph"] => stores::ceph::run(&workspace),
        ["tidy"] => tidy::run(&workspace),
        ["test"] => suite::run(&workspace),
        _ => Err(Error::Usage(USAGE)),
    }
}
