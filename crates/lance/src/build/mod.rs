//! The next manifest: one function for each operation, on what all of them share.

mod bases;
mod clone;
mod config;
mod draft;
mod fragments;
mod indices;
mod lineage;
mod overlay;
mod replace;
mod replacement;
mod restore;
mod rewrite;
mod rows;
mod schema;
pub(crate) mod shards;

use crate::fragments::Fragments;
use crate::manifest::{Entry, ManifestFile, Parts, UnknownFields};
use crate::pending::Creation;
use crate::proto::table::transaction::Operation;
use crate::proto::table::{IndexMetadata, Manifest, Transaction};
use crate::reuse::MovedRows;
use crate::{LanceError, Snapshot, application};
use bytes::Bytes;
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
    /// The version of another table that a Clone makes the first of a new one.
    pub cloned: Option<&'a Snapshot>,
    /// The rows that a Rewrite moves, where the record of fragment reuse is to tell indices of them.
    pub moved: Option<&'a MovedRows>,
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
    let Built { header, fragments, indices, unknown } = build(inputs)?;
    let manifest = Manifest { fragments: fragments.all().to_vec(), ..header };
    Ok(ManifestFile { manifest, indices, transaction: None, unknown })
}

/// The next version: a manifest without its fragments, and those.
pub(crate) struct Built {
    pub(crate) header: Manifest,
    pub(crate) fragments: Fragments,
    pub(crate) indices: Vec<IndexMetadata>,
    pub(crate) unknown: UnknownFields,
}

impl Built {
    /// The file of the version. Sets the positions of its sections in the header.
    ///
    /// # Errors
    /// A message is longer than its length prefix can say.
    pub(crate) fn encode(&mut self, transaction: Option<&Bytes>) -> Result<Entry, LanceError> {
        let parts = Parts {
            header: &mut self.header,
            fragments: self.fragments.to_encode(),
            indices: &self.indices,
            transaction,
            unknown: &self.unknown,
        };
        parts.encode()
    }
}

/// [`next`], with the fragments shared with the version before.
pub(crate) fn build(inputs: &Inputs<'_>) -> Result<Built, LanceError> {
    let mut draft = Draft::after(inputs)?;
    let Some(operation) = &inputs.transaction.operation else {
        return Err(unsupported("a transaction without an operation that is known"));
    };
    check_place(inputs, operation)?;
    match operation {
        Operation::Append(append) => rows::append(&mut draft, append)?,
        Operation::Delete(delete) => rows::delete(&mut draft, delete)?,
        Operation::Update(update) => rows::update(&mut draft, update, inputs)?,
        Operation::Overwrite(overwrite) => replace::overwrite(&mut draft, overwrite)?,
        Operation::Merge(merge) => replace::merge(&mut draft, merge)?,
        Operation::Project(project) => schema::project(&mut draft, project)?,
        Operation::UpdateConfig(update) => config::update(&mut draft, update)?,
        Operation::CreateIndex(create) => indices::create(&mut draft, create)?,
        Operation::Rewrite(rewrite) => rewrite::rewrite(&mut draft, rewrite, inputs)?,
        Operation::ReserveFragments(reserve) => fragments::reserve(&mut draft, reserve)?,
        Operation::Restore(_) => restore::restore(&mut draft, inputs)?,
        Operation::UpdateBases(update) => bases::update(&mut draft, update)?,
        Operation::DataReplacement(replacement) => {
            replacement::replace(&mut draft, replacement, inputs.transaction.read_version)?;
        }
        Operation::DataOverlay(overlay) => overlay::put(&mut draft, overlay)?,
        Operation::UpdateMemWalState(update) => shards::take_in(&mut draft, &update.compacted_sstables, inputs)?,
        Operation::Clone(clone) => clone::shallow(&mut draft, clone)?,
    }
    application::record(&mut draft.manifest, inputs.transaction)?;
    draft.finish()
}

/// A table begins with an Overwrite or a Clone, and a Clone only ever begins one.
fn check_place(inputs: &Inputs<'_>, operation: &Operation) -> Result<(), LanceError> {
    let begins = match operation {
        Operation::Overwrite(_) => inputs.cloned.is_none(),
        Operation::Clone(_) => inputs.cloned.is_some() && inputs.base.is_none(),
        Operation::Append(_)
        | Operation::Delete(_)
        | Operation::CreateIndex(_)
        | Operation::Rewrite(_)
        | Operation::Merge(_)
        | Operation::Restore(_)
        | Operation::ReserveFragments(_)
        | Operation::Update(_)
        | Operation::Project(_)
        | Operation::UpdateConfig(_)
        | Operation::DataReplacement(_)
        | Operation::UpdateMemWalState(_)
        | Operation::UpdateBases(_)
        | Operation::DataOverlay(_) => false,
    };
    let clones = matches!(operation, Operation::Clone(_));
    if begins || (inputs.base.is_some() && !clones) {
        return Ok(());
    }
    let (problem, advice) = if clones {
        (
            "a Clone makes a new table of a version of another, and there is a table or no such version",
            "clone into an empty place",
        )
    } else {
        ("there is no table yet, and the operation does not create one", "create the table with an Overwrite")
    };
    Err(LanceError::Invalid { problem: problem.to_owned(), advice: advice.to_owned() })
}

fn unsupported(feature: &str) -> LanceError {
    LanceError::Unsupported {
        object: "the next version".to_owned(),
        feature: format!("committing {feature}"),
        advice: "commit it with a client that has it".to_owned(),
    }
}
