//! Which crate may depend on which.
//!
//! The table is the workspace's architecture; `ARCHITECTURE.md` gives the reasons. Development dependencies are free.

use serde_json::Value;

use super::Finding;
use crate::error::Error;

/// What a crate may depend on, by the names of crates without their prefix.
enum May {
    /// These and no others.
    Only(&'static [&'static str]),
    /// Anything in the workspace.
    Any,
}

/// One crate of the workspace.
struct Rule {
    name: &'static str,
    may: May,
    /// Whether it must build without an async runtime or an object store anywhere below.
    pure: bool,
}

const PREFIX: &str = "lakebed-";

const RULES: &[Rule] = &[
    Rule { name: "naming", may: May::Only(&[]), pure: true },
    Rule { name: "transaction", may: May::Only(&["naming"]), pure: true },
    Rule { name: "conflict", may: May::Only(&["transaction"]), pure: true },
    Rule { name: "commit", may: May::Only(&["transaction", "conflict", "naming"]), pure: true },
    Rule { name: "lance", may: May::Only(&["commit", "conflict", "transaction", "naming"]), pure: true },
    Rule { name: "delta", may: May::Only(&["commit", "conflict", "transaction", "naming"]), pure: true },
    Rule { name: "sql", may: May::Only(&["transaction"]), pure: true },
    Rule { name: "storage", may: May::Only(&[]), pure: false },
    Rule { name: "index", may: May::Only(&["storage", "naming"]), pure: false },
    Rule { name: "data", may: May::Only(&["transaction", "storage"]), pure: false },
    Rule { name: "lance-data", may: May::Only(&["data", "lance", "ops", "storage"]), pure: false },
    Rule {
        name: "ops",
        may: May::Only(&["data", "transaction", "conflict", "lance", "delta", "sql", "storage", "naming"]),
        pure: false,
    },
    Rule {
        name: "table",
        may: May::Only(&[
            "naming",
            "transaction",
            "conflict",
            "commit",
            "lance",
            "delta",
            "sql",
            "storage",
            "index",
            "data",
            "ops",
        ]),
        pure: false,
    },
    Rule { name: "cli", may: May::Any, pure: false },
    Rule { name: "proof", may: May::Only(&["transaction", "conflict"]), pure: true },
    Rule { name: "sim", may: May::Any, pure: false },
    Rule { name: "trials", may: May::Any, pure: false },
    Rule { name: "benches", may: May::Any, pure: false },
    Rule { name: "interop", may: May::Any, pure: false },
];

/// Crates that may not stand anywhere below a pure one.
const NOT_BELOW_PURE: &[&str] = &["tokio", "object_store", "async-trait"];

/// A package of the workspace and the packages of the workspace that it depends on, development aside.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    name: String,
    depends_on: Vec<String>,
}

/// Reads the edges out of `cargo metadata --no-deps`.
pub(super) fn declared(metadata: &str) -> Result<Vec<Package>, Error> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| Error::Metadata(error.to_string()))?;
    let packages = list(&metadata, "packages")?;
    let names = packages.iter().map(name_of).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    for package in packages {
        let mut depends_on = Vec::new();
        for dependency in list(package, "dependencies")? {
            let name = name_of(dependency)?;
            if dependency["kind"].as_str() != Some("dev") && names.contains(&name) && !depends_on.contains(&name) {
                depends_on.push(name);
            }
        }
        found.push(Package { name: name_of(package)?, depends_on });
    }
    Ok(found)
}

/// Crates that a plain build leaves out.
const LEFT_OUT: &[&str] = &["lakebed-lance-data", "lakebed-benches"];

/// Names every crate that a plain build would leave out without having to, and every one that it would not though it should.
pub(super) fn check_defaults(metadata: &str) -> Result<Vec<Finding>, Error> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| Error::Metadata(error.to_string()))?;
    let defaults = list(&metadata, "workspace_default_members")?;
    let mut findings = Vec::new();
    for package in list(&metadata, "packages")? {
        let name = name_of(package)?;
        let built = defaults.contains(&package["id"]);
        if built == LEFT_OUT.contains(&name.as_str()) {
            let what = if built { "must not be" } else { "is missing" };
            findings.push(Finding::new(&name, format!("{what} among the workspace's default members")));
        }
    }
    Ok(findings)
}

/// Names every edge that the table does not allow, and every crate that the table does not know.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some(short) = package.name.strip_prefix(PREFIX) else {
            // A chore or an example; it may not draw the product in, or every chore would compile all of it.
            findings.extend(package.depends_on.iter().map(|on| edge(&package.name, on)));
            continue;
        };
        let Some(rule) = RULES.iter().find(|rule| rule.name == short) else {
            let problem = "the crate is not in the table of allowed edges; add it to `xtask/src/tidy/edges.rs`";
            findings.push(Finding::new(&package.name, problem));
            continue;
        };
        for on in &package.depends_on {
            let allowed = match rule.may {
                May::Any => true,
                May::Only(allowed) => on.strip_prefix(PREFIX).is_some_and(|on| allowed.contains(&on)),
            };
            if !allowed {
                findings.push(edge(&package.name, on));
            }
        }
    }
    findings
}

/// The pure packages among those given.
pub(super) fn pure(packages: &[Package]) -> impl Iterator<Item = &str> {
    packages.iter().map(|package| package.name.as_str()).filter(|name| {
        RULES.iter().any(|rule| rule.pure && name.strip_prefix(PREFIX).is_some_and(|short| short == rule.name))
    })
}

/// Names what a pure package must not have below it, with the way that leads there.
///
/// `tree` is what `cargo tree --prefix depth` prints: on each line the depth, and joined to it the name.
pub(super) fn check_below(package: &str, tree: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut way: Vec<&str> = Vec::new();
    for line in tree.lines() {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (depth, rest) = line.split_at(digits);
        let (Ok(depth), Some(name)) = (depth.parse::<usize>(), rest.split_whitespace().next()) else { continue };
        way.truncate(depth);
        way.push(name);
        if NOT_BELOW_PURE.contains(&name) {
            let problem = format!("a pure crate must not have `{name}` below it: {}", way.join(" → "));
            findings.push(Finding::new(package, problem));
        }
    }
    findings.dedup();
    findings
}

fn edge(from: &str, to: &str) -> Finding {
    Finding::new(from, format!("must not depend on `{to}`; see the table of crates in ARCHITECTURE.md"))
}

fn name_of(value: &Value) -> Result<String, Error> {
    value["name"].as_str().map(str::to_owned).ok_or_else(|| Error::Metadata("a package without a name".to_owned()))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], Error> {
    value[key].as_array().map(Vec::as_slice).ok_or_else(|| Error::Metadata(format!("`{key}` is not a list")))
}
