//! `packages`: every crate that is published, packed, and built from its package as a stranger would.

use serde_json::Value;

use crate::error::Error;
use crate::full;
use crate::suite;
use crate::workspace::{self, Workspace};

/// The conflict rules and what they stand on: what another engine may take alone.
const TAKEN_ALONE: &[&str] = &["lakebed-naming", "lakebed-transaction", "lakebed-conflict"];

/// Packs all published crates and builds each from its package; with `--no-verify` they are only packed.
pub(crate) fn run(workspace: &Workspace, more: &[&str]) -> Result<(), Error> {
    let metadata = workspace::output(workspace.cargo().args(["metadata", "--no-deps", "--format-version", "1"]), None)?;
    let names = published(&metadata)?;
    pack(workspace, names.iter().map(String::as_str), more)
}

/// What every run of the tests does: all are packed, which fails on a file or a version that is missing, and those that may be
/// taken alone are built.
pub(crate) fn quick(workspace: &Workspace) -> Result<(), Error> {
    run(workspace, &["--no-verify"])?;
    pack(workspace, TAKEN_ALONE.iter().copied(), &[])
}

fn pack<'a>(workspace: &Workspace, names: impl Iterator<Item = &'a str>, more: &[&str]) -> Result<(), Error> {
    // One of them wants a protoc.
    let mut package = full::cargo(workspace)?;
    // The tree of a developer holds changes; what is packed is what stands in the files.
    package.args(["package", "--allow-dirty"]).args(more);
    for name in names {
        package.args(["-p", name]);
    }
    suite::status(&mut package)
}

/// The packages that do not say `publish = false`.
fn published(metadata: &str) -> Result<Vec<String>, Error> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| Error::Metadata(error.to_string()))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let names: Vec<_> = packages
        .filter(|package| package["publish"].is_null())
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect();
    if names.is_empty() { Err(Error::Metadata("no package is published".to_owned())) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    use super::published;

    #[test]
    fn what_is_not_published_is_left_out() {
        let metadata = r#"{"packages":[{"name":"a","publish":null},{"name":"b","publish":[]},{"name":"c"}]}"#;
        assert_eq!(published(metadata).unwrap(), ["a", "c"]);
        assert!(published(r#"{"packages":[{"name":"b","publish":[]}]}"#).is_err());
        assert!(published("no JSON").is_err());
    }
}
