//! Versions and the names of the objects that hold them.
//!
//! Both table formats make the *name* of an object part of their protocol: a Lance manifest or a Delta commit is the
//! version that its name says. This crate is the only place that knows those names, both ways: from a [`Version`] to a
//! name, and from a name found in a listing to what it is. It knows no bytes and does no I/O.
//!
//! - [`lance`]: manifests in both naming schemes, detached and staged manifests, transaction and deletion files, refs,
//!   and which manifest of a listing is the newest.
//! - [`delta`]: commits, every form of checkpoint, sidecars, compacted logs, checksums, hints, stray files, and which
//!   objects of a listing rebuild one version.
//!
//! Names use `/` on every system. Nothing here panics on any name: what no rule recognises is *other*, and is ignored by
//! the analyses rather than refused, because tables live beside the files of strangers.
//!
//! Sources: the Lance table format's transaction and versioning pages, and the Delta transaction log protocol.

pub mod delta;
mod digits;
mod error;
pub mod lance;
mod uuid;
mod version;

pub use error::NameError;
pub use uuid::Uuid;
pub use version::{Version, VersionRange};
