//! `codegen`: the schemas of `protos/` as Rust, checked in so that a build needs no tool but cargo.
//!
//! protox reads the schemas and prost-build writes the Rust, so protoc is not wanted. Maps become ordered maps: the
//! same message always encodes to the same bytes, which is how a writer recognises its own log entry.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Error;
use crate::workspace::{self, Workspace};

/// One set of schemas and the modules that are made of it.
struct Target {
    /// The folder with the schemas.
    schemas: &'static str,
    /// The schemas, those that others import included.
    files: &'static [&'static str],
    /// The folder for the Rust.
    output: &'static str,
    /// Each protobuf package: its name, its module, and one sentence about it.
    packages: &'static [(&'static str, &'static str, &'static str)],
    /// What the module above them says.
    about: &'static str,
}

const TARGETS: &[Target] = &[Target {
    schemas: "protos/lance",
    files: &[
        "clustering.proto",
        "file.proto",
        "fragment_metadata.proto",
        "rowids.proto",
        "table.proto",
        "transaction.proto",
    ],
    output: "crates/lance/src/proto",
    packages: &[
        ("lance.file", "file", "Schema messages, protobuf package `lance.file`."),
        ("lance.table", "table", "Manifest, transaction, index and row id messages, protobuf package `lance.table`."),
    ],
    about: "Lance's protobuf messages, generated from the schemas in `protos/lance`.\n\
            \n\
            They mirror the wire form and check nothing; fields that they do not list are dropped when they are decoded.",
}];

/// Writes every generated file that changed.
pub(crate) fn write(workspace: &Workspace) -> Result<(), Error> {
    for (path, text) in generate(workspace)? {
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
        }
        std::fs::write(&path, text).map_err(Error::file("write", &path))?;
        println!("wrote {}", path.strip_prefix(workspace.root()).unwrap_or(&path).display());
    }
    Ok(())
}

/// Fails when a generated file is missing, differs, or has a neighbour that nothing generates.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    let fresh = generate(workspace)?;
    let mut stale: Vec<PathBuf> = fresh
        .iter()
        .filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(text))
        .map(|(path, _)| path.clone())
        .collect();
    for target in TARGETS {
        let folder = workspace.path(target.output);
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.map_err(Error::file("list", &folder))?.path();
            if !fresh.contains_key(&path) {
                stale.push(path);
            }
        }
    }
    if stale.is_empty() {
        println!("codegen: {} files are fresh", fresh.len());
        return Ok(());
    }
    let names = stale.iter().map(|path| path.strip_prefix(workspace.root()).unwrap_or(path).display().to_string());
    Err(Error::Stale(names.collect::<Vec<_>>().join(", ")))
}

/// Every generated file, formatted.
fn generate(workspace: &Workspace) -> Result<BTreeMap<PathBuf, String>, Error> {
    let mut files = BTreeMap::new();
    for target in TARGETS {
        let folder = workspace.path(target.output);
        for (module, text) in modules(workspace, target)? {
            let text = format(workspace, &text)?;
            files.insert(folder.join(module).with_extension("rs"), text);
        }
    }
    Ok(files)
}

/// The modules of one target by name, not yet formatted.
fn modules(workspace: &Workspace, target: &Target) -> Result<BTreeMap<String, String>, Error> {
    let schemas = workspace.path(target.schemas);
    let set = protox::compile(target.files, [&schemas]).map_err(|error| Error::Schema(format!("{error:?}")))?;
    let mut config = prost_build::Config::new();
    config.btree_map(["."]).bytes(["."]);
    // Google's own files have to be known to the generator; what it makes of them is not taken.
    let requests = set
        .file
        .into_iter()
        .map(|file| (prost_build::Module::from_protobuf_package_name(file.package()), file))
        .collect();
    let generated =
        config.generate(requests).map_err(|source| Error::File { doing: "generate from", path: schemas, source })?;

    let mut modules = BTreeMap::new();
    let mut index = header(target.schemas, target.about);
    for (package, module, about) in target.packages {
        let key = prost_build::Module::from_protobuf_package_name(package);
        let body = generated.get(&key).ok_or_else(|| Error::Schema(format!("no schema has the package {package}")))?;
        let body = body.trim_start_matches("// This file is @generated by prost-build.\n");
        modules.insert((*module).to_owned(), header(target.schemas, about) + body);
        index.push_str(&format!("pub mod {module};\n"));
    }
    modules.insert("mod".to_owned(), index);
    Ok(modules)
}

/// The lines that open a generated file.
fn header(schemas: &str, about: &str) -> String {
    let about: String = about.lines().map(|line| format!("//! {line}").trim_end().to_owned() + "\n").collect();
    format!("// @generated from `{schemas}` by `cargo xtask codegen`; edit the schemas instead.\n{about}\n")
}

/// The text as rustfmt lays it out under the workspace's own settings.
fn format(workspace: &Workspace, text: &str) -> Result<String, Error> {
    let mut rustfmt = workspace.command("rustfmt");
    rustfmt.args(["--edition", "2024", "--config-path"]).arg(workspace.root());
    workspace::output(&mut rustfmt, Some(text))
}

#[cfg(test)]
mod tests {
    use super::{TARGETS, check, header};
    use crate::workspace::Workspace;

    #[test]
    fn what_is_checked_in_is_fresh() {
        check(&Workspace::find().unwrap()).unwrap();
    }

    #[test]
    fn every_schema_in_the_folder_is_generated_from() {
        let workspace = Workspace::find().unwrap();
        for target in TARGETS {
            let mut found: Vec<String> = std::fs::read_dir(workspace.path(target.schemas))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            found.sort();
            assert_eq!(found, target.files, "{}", target.schemas);
        }
    }

    #[test]
    fn a_generated_file_says_so_first_and_then_what_it_is() {
        let text = header("protos/x", "One.\n\nTwo.");
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("// @generated from `protos/x`"));
        assert_eq!(lines[1..], ["//! One.", "//!", "//! Two.", ""]);
    }
}
