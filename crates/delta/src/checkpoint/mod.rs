//! Checkpoints: the state of a version in one object or a few.

mod arrays;
mod columns;
mod levels;
mod pieces;
mod projection;
mod read;
mod rows;
mod stats_json;
mod write;

pub(crate) use pieces::{Piece, read_pieces};
pub(crate) use read::read;
pub(crate) use rows::Rows;
pub use write::{CheckpointFile, hint_to_standing, wants_v2_checkpoints, write_checkpoint, write_v2_checkpoint};

use crate::action::Action;
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::delta::log_path;

/// The sidecars that a checkpoint's object names.
///
/// # Errors
/// The object is no checkpoint.
pub fn sidecars_of(object: &str, bytes: &Bytes) -> Result<Vec<ObjectName>, crate::DeltaError> {
    let mut names = Vec::new();
    read(object, bytes, &mut |action| {
        if let Action::Sidecar(sidecar) = action {
            names.push(sidecar_name(&sidecar.path));
        }
    })?;
    Ok(names)
}

/// The object of a sidecar, by its path in a checkpoint. Every sidecar stands in one folder, whether or not a writer spells out
/// where that is.
pub(crate) fn sidecar_name(path: &str) -> ObjectName {
    let file = path.rsplit('/').next().unwrap_or(path);
    ObjectName::new(log_path(&format!("_sidecars/{}", crate::path::identity(file))))
}
