//! The next manifest: one function for each operation, on what all of them share.

mod bases;
mod config;
mod draft;
mod fragments;
mod indices;
mod lineage;
mod replace;
mod replacement;
mod restore;
mod rewrite;
mod rows;
mod schema;

use crate::manifest::ManifestFile;
use crate::pending::Creation;
use crate::proto::table::Transaction;
use crate::proto::table::transaction::Operation;
use crate::{LanceError, Snapshot};
use draft::Draft;
use lakebed_naming::Version;

/// The library and version that stand in a manifest as its writer.
///
/// Readers decide by them which repairs an old table needs, and know no other library; so a manifest names the release of
/// the reference client whose layout it follows.
pub const WRITER: (&str, &str) = ("lance", "14.0.2");

/// What the next manifest is made of.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The version before; `None` for a new table.
    pub base: Option<&'a Snapshot>,
    /// What a new table is to be; not looked at when there is a version before.
    pub creation: &'a Creation,
    /// The version that a Restore makes current.
    pub restored: Option<&'a Snapshot>,
    /// What is to be done.
    pub transaction: &'a Transaction,
    /// The name of the transaction's file.
    pub transaction_file: &'a str,
    /// The number of the next version.
    pub at: Version,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
}

/// The next manifest, without an inline transaction.
///
/// # Errors
/// The table needs a writer that has more features, the operation does not fit the version before, or a counter is used up.
pub fn next(inputs: &Inputs<'_>) -> Result<ManifestFile, LanceError> {
    let mut draft = Draft::after(inputs)?;
    let Some(operation) = &inputs.transaction.operation else {
        return Err(unsupported("a transaction without an operation that is known"));
    };
    if inputs.base.is_none() && !matches!(operation, Operation::Overwrite(_)) {
        return Err(LanceError::Invalid {
            problem: "there is no table yet, and the operation does not create one".to_owned(),
            advice: "create the table with an Overwrite".to_owned(),
        });
    }
    match operation {
        Operation::Append(append) => rows::append(&mut draft, append)?,
        Operation::Delete(delete) => rows::delete(&mut draft, delete)?,
        Operation::Update(update) => rows::update(&mut draft, update)?,
        Operation::Overwrite(overwrite) => replace::overwrite(&mut draft, overwrite)?,
        Operation::Merge(merge) => replace::merge(&mut draft, merge)?,
        Operation::Project(project) => schema::project(&mut draft, project)?,
        Operation::UpdateConfig(update) => config::update(&mut draft, update)?,
        Operation::CreateIndex(create) => indices::create(&mut draft, create),
        Operation::Rewrite(rewrite) => rewrite::rewrite(&mut draft, rewrite)?,
        Operation::ReserveFragments(reserve) => fragments::reserve(&mut draft, reserve)?,
        Operation::Restore(_) => restore::restore(&mut draft, inputs)?,
        Operation::UpdateBases(update) => bases::update(&mut draft, update)?,
        Operation::DataReplacement(replacement) => replacement::replace(&mut draft, replacement)?,
        Operation::DataOverlay(_) => return Err(unsupported("DataOverlay")),
        Operation::UpdateMemWalState(_) => return Err(unsupported("UpdateMemWalState")),
        Operation::Clone(_) => return Err(unsupported("Clone")),
    }
    draft.finish(inputs)
}

fn unsupported(feature: &str) -> LanceError {
    LanceError::Unsupported {
        object: "the next version".to_owned(),
        feature: format!("committing {feature}"),
        advice: "commit it with a client that has it".to_owned(),
    }
}
