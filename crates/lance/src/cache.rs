//! Versions that are already decoded.

use crate::Snapshot;
use bytes::Bytes;
use lakebed_naming::Version;
use std::fmt::Debug;
use std::sync::Arc;

/// Versions that are already decoded, kept by whoever drives several commits of one table.
///
/// A manifest holds every fragment, so decoding what a neighbour in the same process has just built is most of what following
/// it costs. An entry is known by its number and its bytes together: what never landed, or stands elsewhere, is never taken
/// for what did.
pub trait VersionCache: Debug + Send + Sync {
    /// The version in this entry, if it is at hand.
    fn get(&self, at: Version, entry: &Bytes) -> Option<Arc<Snapshot>>;

    /// Keeps a version, for as long as the cache likes.
    fn put(&self, at: Version, entry: &Bytes, snapshot: &Arc<Snapshot>);
}
