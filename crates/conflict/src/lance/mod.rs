//! Rules of Lance tables, and the facts that only Lance has.
//!
//! [`LANCE`] is what pylance 14.0.2 does, sound or not; [`judge`] applies it.

mod checks;
mod facts;
mod keys;
mod table;

pub use facts::{
    BaseFacts, ConfigFacts, FileList, FragmentSet, IndexFacts, IndexRole, LanceFacts, MapEdit, OverlayFacts,
    RewriteFacts, RewriteGroup, SchemaChange, SchemaOrigin, ShardId, UpdateFacts, UpdateMode,
};
pub use keys::{KeyFilter, KeySet};
pub use table::LANCE;

use lakebed_transaction::{Judgement, LanceKind};

/// Judges ours, not committed, against one landed transaction under [`LANCE`].
pub fn judge(ours: (LanceKind, &LanceFacts), landed: (LanceKind, &LanceFacts)) -> Judgement {
    LANCE.judge((ours.0.at(), ours.1), (landed.0.at(), landed.1))
}
