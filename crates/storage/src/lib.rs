//! Bytes under names, and *create if absent* with a stated guarantee.
//!
//! A table commits by creating one object that did not exist. [`Store`] is the promise that this stands on: at most one
//! [`Store::create`] of a name ever answers [`Create::Created`], a reader sees the whole object or none of it, and a store
//! that cannot tell what happened says so ([`Create::Unknown`]) instead of guessing.
//!
//! | store | for |
//! |---|---|
//! | [`LocalStore`] | local files, durable by fsync or not |
//! | [`MemoryStore`] | tests and throw-away tables |
//! | [`PutIfAbsent`] | any `object_store` with an atomic conditional put: S3, Azure Blob Storage, Google Cloud Storage, … |
//! | [`RenameIfAbsent`] | a store with an atomic rename that replaces nothing: HDFS, hierarchical Azure, local files |
//! | [`LockedCreate`] | a store with neither, and a lock that you bring |
//! | [`Probed`] | a store that may not keep its promise: it is tried out before the first write |
//! | [`Indexed`] | a store that cannot create atomically, with a [`CommitIndex`] that can |
//! | [`Below`] | a folder of any of these |
//!
//! [`open`] makes one from a URL. A store of your own implements [`Store`] and proves itself with the module `suite`
//! (feature `test-util`), which races it too; [`probe_create`] and [`probe_race`] tell at run time a store that ignores the condition or
//! checks it and then writes.
//!
//! ```
//! use lakebed_storage::{Create, StoreOptions, open};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), lakebed_storage::StoreError> {
//! let store = open("memory://example/table", &StoreOptions::new())?;
//! assert_eq!(store.create("log/1", "ours".into()).await?, Create::Created);
//! assert_eq!(store.create("log/1", "theirs".into()).await?, Create::Exists);
//! assert_eq!(store.get("log/1").await?, Some("ours".into()));
//! # Ok(())
//! # }
//! ```
//!
//! The crate knows no versions and no table format.
//!
//! # Features
//! `aws`, `azure`, `gcp`: S3, Azure Blob Storage, Google Cloud Storage in [`open`]. `test-util`: the modules `testing` (wrappers that count, delay and break) and `suite`.

mod below;
mod error;
mod index;
mod local;
mod locked;
mod memory;
mod name;
mod open;
mod probe;
mod put_if_absent;
mod redact;
mod renamed;
mod store;
#[cfg(feature = "test-util")]
pub mod suite;
mod task;
#[cfg(feature = "test-util")]
pub mod testing;

pub use below::Below;
pub use error::StoreError;
pub use index::{CommitIndex, Entry, Indexed, Keeps, MemoryIndex, Reserve};
pub use local::{Durability, LocalStore};
pub use locked::{CommitLock, Locked, LockedCreate, ProcessLock};
pub use memory::MemoryStore;
pub use name::check_name;
pub use open::{StoreOptions, open};
pub use probe::{CreateProbe, PROBE_FOLDER, ProbeRace, Probed, probe_create, probe_name, probe_race};
pub use put_if_absent::{CREATE_ANSWERS, CreateAnswer, Meaning, PutIfAbsent, Said, create_answers_markdown};
pub use redact::Secrets;
pub use renamed::{MoveIfAbsent, RenameIfAbsent};
pub use store::{Create, Listed, Store};
