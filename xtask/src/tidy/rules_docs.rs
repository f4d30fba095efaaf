//! The printed rule tables under `docs/rules/` must be what the program prints today.

use super::Finding;
use crate::error::Error;
use crate::workspace::{self, Workspace};

/// The policy whose table a file holds, when it holds one.
pub(super) fn policy_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix("docs/rules/")?.strip_suffix(".md")?;
    (!name.contains('/') && name != "README").then_some(name)
}

/// Prints each policy anew and compares; does nothing, and builds nothing, when there are no tables.
pub(super) fn check<'a>(
    workspace: &Workspace,
    tables: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for (policy, checked_in) in tables {
        let mut print = workspace.cargo();
        print.args(["run", "--quiet", "--package", "lakebed-cli", "--", "rules", policy, "--markdown"]);
        findings.extend(compare(policy, checked_in, &workspace::output(&mut print, None)?));
    }
    Ok(findings)
}

/// The finding, when what is checked in is not what is printed.
pub(super) fn compare(policy: &str, checked_in: &str, printed: &str) -> Option<Finding> {
    let place = format!("docs/rules/{policy}.md");
    let problem = format!("is stale; run `cargo run -p lakebed-cli -- rules {policy} --markdown > {place}`");
    (checked_in != printed).then(|| Finding::new(place, problem))
}
