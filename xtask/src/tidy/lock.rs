//! What the lock file may not hold: a second copy of a large dependency, or a package from an unusual place.

use super::Finding;

/// Crates whose types cross our interfaces, so that two versions would not fit together.
const ONCE: &[&str] = &["arrow-array", "arrow-buffer", "arrow-schema", "object_store", "parquet", "prost", "roaring"];

/// The one registry that a clone can count on.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks the text of `Cargo.lock`.
pub(super) fn check(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in ONCE {
        let line = format!("name = \"{name}\"");
        if text.lines().filter(|candidate| *candidate == line).count() > 1 {
            findings.push(Finding::new("Cargo.lock", format!("there are two versions of `{name}`; align them")));
        }
    }
    for source in text.lines().filter_map(|line| line.strip_prefix("source = ")) {
        if source.trim_matches('"') != REGISTRY {
            findings
                .push(Finding::new("Cargo.lock", format!("a package comes from {source}; use the public registry")));
        }
    }
    findings
}
