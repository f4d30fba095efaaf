//! `tidy`: the rules of the house that no compiler and no lint holds.
//!
//! Each rule is a pure function from text to findings, so that its test needs no workspace; this module reads the
//! workspace and asks them all.

mod edges;
mod field_cases;
mod lock;
mod prose;
mod rules_docs;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::error::Error;
use crate::workspace::{self, Workspace};

/// One breach of one rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Where: a file with a line, or a crate.
    place: String,
    /// What is wrong and what to do.
    problem: String,
}

impl Finding {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// Applies every rule and fails when any is broken.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Error> {
    let mut findings = Vec::new();
    findings.extend(crate_findings(workspace)?);
    let files = text_files(workspace)?;
    for (path, text) in &files {
        findings.extend(source::check(path, text));
        findings.extend(prose::check(path, text));
        if path == "Cargo.lock" {
            findings.extend(lock::check(text));
        }
    }
    findings.extend(field_cases::check(workspace, &files));
    let printed = files.iter().filter_map(|(path, text)| Some((rules_docs::policy_of(path)?, text.as_str())));
    findings.extend(rules_docs::check(workspace, printed)?);

    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} text files and every crate edge are in order", files.len());
        return Ok(());
    }
    Err(Error::Untidy(findings.len()))
}

/// What is wrong with the dependencies of the crates.
fn crate_findings(workspace: &Workspace) -> Result<Vec<Finding>, Error> {
    let metadata = workspace::output(workspace.cargo().args(["metadata", "--format-version", "1", "--no-deps"]), None)?;
    let edges = edges::declared(&metadata)?;
    let mut findings = edges::check(&edges);
    findings.extend(edges::check_defaults(&metadata)?);
    for package in edges::pure(&edges) {
        // Features are resolved for the crate alone, as a stranger who takes only it would get it.
        let mut tree = workspace.cargo();
        tree.args(["tree", "--edges", "normal", "--all-features", "--prefix", "depth"]);
        let tree = workspace::output(tree.args(["--package", package]), None)?;
        findings.extend(edges::check_below(package, &tree));
    }
    Ok(findings)
}

/// Every text file that is tracked or could be added, by its path from the root; files that are not text are left out.
fn text_files(workspace: &Workspace) -> Result<Vec<(String, String)>, Error> {
    let mut list = workspace.command("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut files = Vec::new();
    for path in workspace::output(&mut list, None)?.split('\0').filter(|path| !path.is_empty()) {
        let full = workspace.path(path);
        // A file that was deleted but not yet committed is still listed, and a link may lead out of the workspace.
        if !full.symlink_metadata().is_ok_and(|data| data.is_file()) {
            continue;
        }
        let bytes = std::fs::read(&full).map_err(Error::file("read", &full))?;
        if !bytes.contains(&0)
            && let Ok(text) = String::from_utf8(bytes)
        {
            files.push((path.to_owned(), text));
        }
    }
    Ok(files)
}
