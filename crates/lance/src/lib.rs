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
//! ```
//! use lakebed_commit::Format;
//! use lakebed_lance::transaction::{Head, overwrite};
//! use lakebed_lance::{Creation, LanceFormat, Pending, Snapshot, schema};
//! use lakebed_naming::{Uuid, Version};
//! use lakebed_transaction::{Column, ColumnType};
//!
//! let columns = [Column::new("id", ColumnType::Long, true)];
//! let head = Head { read_version: None, id: Uuid::from_random([7; 16]), properties: Default::default() };
//! let message = overwrite(head, Vec::new(), schema::new_fields(&columns)?, Default::default());
//! let mut pending = Pending::create(message, Creation::default())?;
//! // What the commit machine does: the side files first, then the manifest, which is the commit.
//! let rendered = LanceFormat::default().render(&mut pending, Version::new(1), 1_700_000_000_000)?;
//! let table = Snapshot::open("the new table", &rendered.entry)?;
//! assert_eq!(table.columns()?, columns);
//! assert_eq!(rendered.side.len(), 1);
//! # Ok::<(), lakebed_lance::LanceError>(())
//! ```
//!
//! Sources: the Lance table format's specification pages, and what released Lance clients read and write.

pub mod application;
mod bounds;
pub mod build;
mod cache;
mod coverage;
pub mod deletion;
mod detached;
mod facts;
pub mod flags;
mod format;
mod fragments;
mod head;
pub mod index;
pub mod keys;
mod landed;
pub mod manifest;
mod pending;
mod policy;
mod precise;
pub mod proto;
mod rebase;
pub mod reuse;
pub mod row_ids;
pub mod schema;
mod snapshot;
pub mod transaction;

pub use bounds::{FileBounds, with_bounds};
pub use cache::VersionCache;
pub use detached::render_detached;
pub use facts::facts_of;
pub use format::LanceFormat;
pub use head::{TransactionHead, VersionHead};
pub use lakebed_commit::FormatError as LanceError;
pub use landed::Landed;
pub use pending::{Creation, Pending};
pub use policy::JudgedBy;
pub use precise::{BLIND, CLUSTERED_BY, FragmentSeen, LookAtRows, Reads, judge_unseen};
pub use snapshot::Snapshot;
