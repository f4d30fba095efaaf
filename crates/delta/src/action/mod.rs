//! The actions of the transaction log, as they stand in commits and checkpoints.
//!
//! Source: the Delta protocol's section on actions. A key or field that is not known is ignored, a missing field equals
//! `null`. When written, absent fields are left out and fields stand in the order in which Spark writes them.

mod file;
mod info;
mod lean;
mod lean_info;
mod line;
mod table;
mod text;

pub(crate) use file::other_key;
pub use file::{Add, AddCdc, DeletionVector, Remove};
pub use info::CommitInfo;
pub(crate) use lean::{leading_count, lean_add};
pub(crate) use lean_info::LeanInfo;
pub(crate) use line::{
    FileUse, InfoUse, each_action, each_action_without_files, take_line, take_line_without_files, write_tagged,
};
pub use line::{parse_actions, write_action, write_actions};
pub use table::{CheckpointMetadata, DomainMetadata, Format, Metadata, Protocol, Sidecar, Txn};
pub use text::TextMap;

/// One action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A file becomes part of the table.
    Add(Add),
    /// A file leaves the table.
    Remove(Remove),
    /// A file of row-level changes, no part of the state.
    Cdc(AddCdc),
    /// The table's schema, partitioning and properties.
    Metadata(Metadata),
    /// What readers and writers must support.
    Protocol(Protocol),
    /// An application's last transaction number.
    Txn(Txn),
    /// One named document.
    Domain(DomainMetadata),
    /// Who did what, no part of the state.
    CommitInfo(CommitInfo),
    /// Only in checkpoints of the second version: which version it holds.
    CheckpointMetadata(CheckpointMetadata),
    /// Only in checkpoints of the second version: where more of it stands.
    Sidecar(Sidecar),
}

impl Action {
    /// The file, where this adds one.
    #[must_use]
    pub const fn as_add(&self) -> Option<&Add> {
        if let Self::Add(add) = self { Some(add) } else { None }
    }

    /// The file, where this removes one.
    #[must_use]
    pub const fn as_remove(&self) -> Option<&Remove> {
        if let Self::Remove(remove) = self { Some(remove) } else { None }
    }

    /// The document, where this sets or removes the one of this domain.
    pub(crate) fn domain_of(&self, name: &str) -> Option<&DomainMetadata> {
        if let Self::Domain(domain) = self { Some(domain).filter(|domain| domain.domain == name) } else { None }
    }
}
