//! Versions and the names of the objects that hold them.
//!
//! Both table formats make the *name* of an object part of their protocol: a Lance manifest or a Delta commit is the
//! version that its name says. This crate is the only place that knows those names, both ways: from a [`Version`] to a
//! name, and from a name found in a listing to what it is. It knows no bytes and does no I/O.
//!
//! - [`lance`]: manifests in both naming schemes, detached and staged manifests, transaction and deletion files, refs.
//! - [`delta`]: commits, every form of checkpoint, sidecars, compacted logs, checksums, hints and stray files.
//!
//! Sources: the Lance table format's transaction and versioning pages, and the Delta transaction log protocol.

pub mod delta;
pub mod lance;
mod version;

pub use version::Version;
