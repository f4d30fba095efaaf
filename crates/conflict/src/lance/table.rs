//! The table.

use crate::lance::LanceFacts;
use crate::lance::checks::{config, fragments, indices, keys, reason, schema, shards};
use crate::lance::marks;
use crate::{Cell, Policy, Row};
use lakebed_transaction::{LanceKind, Reason, Verdict};

pub(super) type Lance = Cell<LanceFacts>;

/// Lance's own rules, as pylance 14.0.2 applies them.
///
/// Rows are ours, columns what landed. The cells follow pylance where pylance is unsound as well; a check with the
/// verdict *compatible* then names what goes wrong. What no check can see: two Updates without key filters may insert
/// one key twice, updates whose predicates select each other's results both stand (write skew), and what the caller
/// read before an Append is not known.
///
/// One deviation: an operation that we do not know is incompatible in every cell, on either side. pylance refuses it as
/// ours, and as landed too, except under a Clone and an `UpdateBases`.
#[rustfmt::skip]
pub static LANCE: Policy<LanceFacts, { LanceKind::COUNT }> = Policy {
    name: "lance",
    revision: 14,
    marks: marks::of,
    first: &[&schema::NULLABILITY, &schema::MERGE_AND_METADATA, &schema::RESTORE_AND_METADATA],
    rows: [
        // Columns: Append, Delete, Update, Overwrite, CreateIndex, Rewrite, DataReplacement, DataOverlay, Merge, Restore,
        // ReserveFragments, Project, UpdateConfig, UpdateMemWalState, UpdateBases, Clone, Unknown.
        Row { ours: LanceKind::Append.at(),
            cells: [OK, OK, OK, OVW, OK, OK, OK, OK, APP_MRG, RST, OK, OK, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Delete.at(),
            cells: [OK, ROWS, ROWS, OVW, OK, SAME, SAME, OK, MRG, RST, OK, OK, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Update.at(),
            cells: [UPD_APP, ROWS, UPD_UPD, OVW, OK, SAME, SAME, UPD_DOV, MRG, RST, OK, UPD_PRJ, OK, SHARD, OK, OK, UNK] },
        Row { ours: LanceKind::Overwrite.at(),
            cells: [HIDE, HIDE, HIDE, OVW_OVW, HIDE, OK, HIDE, HIDE, HIDE, HIDE, OK, HIDE, OVW_UCF, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::CreateIndex.at(),
            cells: [OK, OK, CRI_UPD, OVW, CRI_CRI, CRI_RWR, CRI_DRP, OK, CRI_MRG, RST, OK, CRI_PRJ, OK, CRI_MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Rewrite.at(),
            cells: [OK, SAME, SAME, OVW, RWR_CRI, RWR_RWR, SAME, SAME, MRG, RST, OK, OK, OK, OK, OK, OK, UNK] },
        Row { ours: LanceKind::DataReplacement.at(),
            cells: [OK, DRP_DEL, DRP_UPD, OVW, CRI_DRP, SAME, DRP_DRP, OK, MRG, RST, OK, DRP_PRJ, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::DataOverlay.at(),
            cells: [OK, DOV_DEL, DOV_UPD, OVW, OK, SAME, OK, OK, MRG, RST, OK, OK, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Merge.at(),
            cells: [MOVED, MOVED, MOVED, OVW, MRG_CRI, MOVED, MOVED, MOVED, MOVED, RST, OK, MRG_PRJ, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Restore.at(),
            cells: [BACK, BACK, BACK, BACK, BACK, OK, BACK, BACK, BACK, BACK, OK, BACK, BACK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::ReserveFragments.at(),
            cells: [OK, OK, OK, OVW, OK, OK, OK, OK, OK, RST, OK, OK, OK, OK, OK, OK, UNK] },
        Row { ours: LanceKind::Project.at(),
            cells: [OK, OK, OK, OVW, OK, OK, OK, OK, PRJ_SCH, RST, OK, PRJ_SCH, PRJ_UCF, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::UpdateConfig.at(),
            cells: [OK, OK, OK, UCF_OVW, OK, OK, OK, OK, OK, OK, OK, OK, UCF_UCF, OK, OK, OK, UNK] },
        Row { ours: LanceKind::UpdateMemWalState.at(),
            cells: [STATE, STATE, SHARD, STATE, SHARD, OK, STATE, STATE, STATE, STATE, OK, STATE, OK, SHARD, OK, STATE, UNK] },
        Row { ours: LanceKind::UpdateBases.at(),
            cells: [OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, BASES, OK, UNK_OK] },
        Row { ours: LanceKind::Clone.at(),
            cells: [OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, UNK_OK] },
        Row { ours: LanceKind::Unknown.at(),
            cells: [OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS, OURS] },
    ],
}
.checked();

pub(super) const OK: Lance = Cell::Clear;

/// Both change the same fragment.
pub(super) const SAME: Lance = Cell::If(&[&fragments::OVERLAP]);
/// The rebase by rows.
const ROWS: Lance = Cell::If(&[
    &fragments::ROWS_UNKNOWN,
    &fragments::FILES_CHANGED,
    &fragments::FRAGMENT_GONE,
    &fragments::ROWS_COMPARED,
]);
pub(super) const UPD_APP: Lance = Cell::If(&[&keys::APPENDED_KEYS]);
/// Keys, then the rebase by rows.
const UPD_UPD: Lance = Cell::If(&[
    &keys::KEYS_MEET,
    &keys::KEYS_UNFILTERED,
    &fragments::ROWS_UNKNOWN,
    &fragments::FILES_CHANGED,
    &fragments::FRAGMENT_GONE,
    &fragments::ROWS_COMPARED,
    &keys::CAUTION_KEYS_ONE_WAY,
]);
const UPD_DOV: Lance = Cell::If(&[&fragments::OVERLAY_ON_COLUMN, &fragments::OVERLAY_ON_MOVED_ROW]);
const UPD_PRJ: Lance = Cell::If(&[&schema::MODIFIED_FIELD_LOST]);
pub(super) const SHARD: Lance = Cell::If(&[&shards::SHARD_NOT_NEWER, &shards::SHARD_NEWER, &shards::SHARD_UNREAD]);
const APP_MRG: Lance = Cell::If(&[&schema::CAUTION_APPEND_LOSES_COLUMN]);
const OVW_OVW: Lance = Cell::Else(&[&config::CONFIG_KEY], Verdict::Retryable, OVERWRITE_TWICE);
const OVW_UCF: Lance = Cell::If(&[&config::CONFIG_KEY]);
pub(super) const CRI_UPD: Lance = Cell::If(&[&indices::COVERAGE_PRUNED]);
pub(super) const CRI_CRI: Lance = Cell::If(&[
    &indices::HISTORY_TRIMMED,
    &indices::SYSTEM_ENTRY_TWICE,
    &indices::INDEX_NAME_TWICE,
    &indices::INDEX_GROWN_AND_DROPPED,
    &indices::INDEX_REPLACED_TWICE,
]);
const CRI_RWR: Lance = Cell::If(&[
    &indices::COVERS_REWRITTEN,
    &indices::NGRAM_REWRITTEN,
    &indices::OVERLAY_FOLDED,
    &indices::CAUTION_DROP_MISSES,
]);
pub(super) const CRI_DRP: Lance = Cell::If(&[&indices::INDEXED_COLUMN_REPLACED]);
const CRI_MRG: Lance =
    Cell::If(&[&indices::MEMWAL_AND_MERGE, &indices::TAGGED_FIELD_LOST, &schema::CAUTION_INDEX_LOSES_FIELD]);
const CRI_PRJ: Lance = Cell::If(&[&schema::CAUTION_INDEX_LOSES_FIELD]);
pub(super) const CRI_MWS: Lance = Cell::Else(&[&shards::MEMWAL_ENTRY], Verdict::Incompatible, MEMWAL_LANDED);
pub(super) const RWR_CRI: Lance =
    Cell::If(&[&indices::REUSE_ENTRY_MIXED, &indices::REWRITES_COVERED, &indices::REWRITES_PARTLY_COVERED]);
const RWR_RWR: Lance = Cell::If(&[&indices::TRANSITION_CONSUMED, &fragments::OVERLAP]);
pub(super) const DRP_DEL: Lance = Cell::If(&[&fragments::TARGET_GONE]);
pub(super) const DRP_UPD: Lance = Cell::If(&[&fragments::TARGET_GONE, &fragments::TARGET_REWRITTEN]);
pub(super) const DRP_DRP: Lance = Cell::If(&[&fragments::REPLACED_TWICE]);
const DRP_PRJ: Lance = Cell::If(&[&schema::REPLACED_FIELD_LOST]);
pub(super) const DOV_DEL: Lance = Cell::If(&[&fragments::OVERLAID_GONE]);
pub(super) const DOV_UPD: Lance = Cell::If(&[&fragments::OVERLAID_GONE, &fragments::OVERLAID_ROWS_COMPARED]);
const MRG_CRI: Lance =
    Cell::If(&[&indices::MEMWAL_AND_MERGE, &indices::TAGGED_FIELD_LOST, &schema::CAUTION_MERGE_DROPS_INDEX]);
const PRJ_UCF: Lance = Cell::If(&[&schema::CAUTION_PROJECT_DROPS_METADATA]);
pub(super) const UCF_OVW: Lance = Cell::If(&[&config::METADATA_OVERWRITTEN, &config::CONFIG_KEY]);
pub(super) const UCF_UCF: Lance =
    Cell::If(&[&config::CONFIG_KEY, &config::TABLE_METADATA, &config::SCHEMA_METADATA, &config::FIELD_METADATA]);
pub(super) const BASES: Lance = Cell::If(&[&shards::BASE_TWICE]);

pub(super) const OVW: Lance = Cell::Always(
    Verdict::Incompatible,
    reason(
        "landed-overwrite",
        "landed replaced every row and the schema",
        "look at the new contents and decide whether the operation still makes sense",
    ),
);
pub(super) const RST: Lance = Cell::Always(
    Verdict::Incompatible,
    reason(
        "landed-restore",
        "landed made an earlier version current",
        "look at the restored contents and decide whether the operation still makes sense",
    ),
);
pub(super) const MWS: Lance = Cell::Always(Verdict::Incompatible, MEMWAL_LANDED);
pub(super) const MRG: Lance = Cell::Always(
    Verdict::Retryable,
    reason(
        "landed-merge",
        "landed replaced the columns of every fragment",
        "read the newest version and plan the operation again",
    ),
);
pub(super) const MOVED: Lance = Cell::Always(
    Verdict::Retryable,
    reason(
        "merge-over-changed-rows",
        "ours lists every fragment of the table, and landed changed what the table's fragments hold",
        "read the newest version and merge again",
    ),
);
pub(super) const MRG_PRJ: Lance = Cell::Always(
    Verdict::Incompatible,
    reason(
        "merge-over-project",
        "landed dropped or renamed columns, or changed their nullability, and ours brings its own schema",
        "look at the new schema and merge again",
    ),
);
pub(super) const PRJ_SCH: Lance = Cell::Always(
    Verdict::Retryable,
    reason(
        "schema-replaced-twice",
        "both transactions replace the schema",
        "read the newest version and change its schema",
    ),
);
pub(super) const STATE: Lance = Cell::Always(
    Verdict::Incompatible,
    reason(
        "memwal-over-operation",
        "ours changes the state of memtable shards, and landed is an operation that knows nothing of them",
        "read the newest version and bring the generation in again",
    ),
);
const HIDE: Lance = Cell::Always(
    Verdict::Compatible,
    reason(
        "overwrite-hides-landed",
        "ours replaces every row, index and column, those that landed wrote without being seen included",
        "overwrite only what was read, by a predicate, where landed work must be kept",
    ),
);
const BACK: Lance = Cell::Always(
    Verdict::Compatible,
    reason(
        "restore-hides-landed",
        "ours makes an earlier version current, so that nothing of what landed is seen",
        "restore on the newest version, after looking at what landed",
    ),
);
pub(super) const UNK: Lance = Cell::Always(
    Verdict::Incompatible,
    reason(
        "landed-unknown",
        "landed is an operation that this version does not know",
        "use a version that knows the operation, or read the newest version and plan again",
    ),
);
pub(super) const UNK_OK: Lance = Cell::Always(
    Verdict::Incompatible,
    reason(
        "landed-unknown-stricter",
        "landed is an operation that this version does not know; pylance would go on, this policy does not",
        "use a version that knows the operation, or read the newest version and plan again",
    ),
);
pub(super) const OURS: Lance = Cell::Always(
    Verdict::Incompatible,
    reason(
        "ours-unknown",
        "ours is an operation that this version does not know, so nothing can be said of what it meets",
        "commit it with a version that knows the operation",
    ),
);

const OVERWRITE_TWICE: Reason = reason(
    "overwritten-twice",
    "both transactions replace every row",
    "look at the new contents and overwrite again if they are still to go",
);
const MEMWAL_LANDED: Reason = reason(
    "landed-memwal-state",
    "landed changed the state of memtable shards, which ours knows nothing of",
    "read the newest version and plan the operation again",
);
