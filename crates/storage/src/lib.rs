//! Bytes under names, and *create if absent* with a stated guarantee.
//!
//! A table commits by creating one object that did not exist. [`Store`] is the promise that this stands on: at most one
//! [`Store::create`] of a name ever answers [`Create::Created`], a reader sees the whole object or none of it, and a store
//! that cannot tell what happened says so ([`Create::Unknown`]) instead of guessing.
//!
//! The crate knows no versions and no table format.

mod error;
mod store;

pub use error::StoreError;
pub use store::{Create, Listed, Store};
