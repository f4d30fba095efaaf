//! Rules of Lance tables, and the facts that only Lance has.
//!
//! [`LANCE`] is what pylance 14.0.2 does, sound or not; [`judge`] applies it to one landed transaction. Every version
//! between the one that was read and the newest must be judged: pylance passes over versions that a cleanup took away,
//! which loses updates, and whoever drives these rules must refuse such a hole.
//!
//! Two verdicts *rebase* are promises that the format keeps when it finishes: `rows-compared` (a row in both deletions is
//! retryable) and `overlaid-rows-compared` (a moved row under ours' overlay is). The facts come from a transaction's message
//! and from the version that ours read; what cannot be read is taken down as unknown, and unknown never accepts.

mod checks;
mod definitions;
mod facts;
mod keys;
mod marks;
mod table;

pub use definitions::DEFINITIONS;
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
