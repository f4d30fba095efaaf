//! The Lance table format: manifests, transactions, deletion files, and how one version follows another.
//!
//! Everything here is pure: bytes in, bytes out; time, random ids and the objects that were read come in as data.
//!
//! - [`manifest`]: the file of one version, decoded and encoded;
//! - [`Snapshot`]: one version, checked, with its fragments, schema, indices, maps and counts;
//! - [`schema`]: Lance's fields as columns, and columns as new fields;
//! - [`transaction`]: what a writer wants done, decoded and built;
//! - [`deletion`]: the files that list a fragment's deleted rows;
//! - [`build`]: the next manifest;
//! - [`LanceFormat`]: the format as the commit machine drives it;
//! - [`proto`]: the wire messages.
//!
//! Sources: the Lance table format's specification pages, and what released Lance clients read and write.

pub mod build;
mod coverage;
pub mod deletion;
mod facts;
pub mod flags;
mod format;
pub mod index;
mod landed;
pub mod manifest;
mod pending;
pub mod proto;
mod rebase;
pub mod row_ids;
pub mod schema;
mod snapshot;
pub mod transaction;

pub use facts::facts_of;
pub use format::LanceFormat;
pub use lakebed_commit::FormatError as LanceError;
pub use landed::Landed;
pub use pending::{Creation, Pending};
pub use snapshot::Snapshot;
