//! `lakebed-proof`: prints the figures of the proof.

use lakebed_proof::report::{Report, base, extended, mutations};
use std::process::ExitCode;

const USAGE: &str = "usage: lakebed-proof base | extended | mutations
  base       every pair over tables of up to 3 rows, every triple over up to 2
  extended   the same along every axis, pairs along every two
  mutations  rules broken on purpose, each of which must show";

fn main() -> ExitCode {
    let what = std::env::args().nth(1);
    let report: Report = match what.as_deref() {
        Some("base") => base(),
        Some("extended") => extended(),
        Some("mutations") => mutations(),
        Some(_) | None => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    print!("{}", report.text);
    for failure in &report.failures {
        eprintln!("does not hold: {failure}");
    }
    if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
