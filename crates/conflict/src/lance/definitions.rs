//! What stands beside the rows: the part of the rules that the `precise` policies take over on Lance tables.

use crate::lance::LanceFacts;
use crate::lance::checks::{config, indices, reason, schema};
use crate::lance::marks;
use crate::lance::table::{
    BASES, CRI_DRP, CRI_MWS, CRI_UPD, DOV_DEL, DOV_UPD, DRP_DEL, DRP_DRP, DRP_UPD, Lance, MOVED, MRG, MRG_PRJ, MWS, OK,
    OURS, OVW, PRJ_SCH, RST, RWR_CRI, SAME, SHARD, STATE, UCF_OVW, UCF_UCF, UNK, UNK_OK,
};
use crate::{Cell, Policy, Row};
use lakebed_transaction::{LanceKind, Verdict};

/// Schema, indices, configuration, memtable shards and base paths, judged so that what is accepted is log order.
///
/// Appends, deletes, updates, overwrites and compactions are judged by their rows as well; what they need of the definitions are
/// the fields that they use. Everything else is judged here alone: by the cells of [`LANCE`](super::LANCE) where these are sound,
/// and where pylance accepts what it should not, by a refusal.
#[rustfmt::skip]
pub static DEFINITIONS: Policy<LanceFacts, { LanceKind::COUNT }> = Policy {
    name: "lance-definitions",
    revision: 1,
    marks: marks::of,
    first: &[&schema::NULLABILITY, &schema::MERGE_AND_METADATA, &schema::RESTORE_AND_METADATA],
    rows: [
        // Columns: Append, Delete, Update, Overwrite, CreateIndex, Rewrite, DataReplacement, DataOverlay, Merge, Restore,
        // ReserveFragments, Project, UpdateConfig, UpdateMemWalState, UpdateBases, Clone, Unknown.
        Row { ours: LanceKind::Append.at(),
            cells: [OK, OK, OK, FIELDS, OK, OK, OK, OK, FIELDS, FIELDS, OK, FIELDS, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Delete.at(),
            cells: [OK, OK, OK, FIELDS, OK, OK, OK, OK, FIELDS, FIELDS, OK, FIELDS, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Update.at(),
            cells: [OK, OK, OK, FIELDS, OK, OK, OK, OK, FIELDS, FIELDS, OK, FIELDS, OK, SHARD, OK, OK, UNK] },
        Row { ours: LanceKind::Overwrite.at(),
            cells: [OK, OK, OK, OVW_OVW, OK, OK, OK, OK, FIELDS, FIELDS, OK, FIELDS, OVW_UCF, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::CreateIndex.at(),
            cells: [OK, OK, CRI_UPD, OVW, CRI_CRI, CRI_RWR, CRI_DRP, OK, CRI_MRG, RST, OK, FIELDS, OK, CRI_MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Rewrite.at(),
            cells: [OK, OK, OK, OVW, RWR_CRI, RWR_RWR, OK, OK, MRG, RST, OK, OK, OK, OK, OK, OK, UNK] },
        Row { ours: LanceKind::DataReplacement.at(),
            cells: [OK, DRP_DEL, DRP_UPD, OVW, CRI_DRP, SAME, DRP_DRP, OK, MRG, RST, OK, FIELDS, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::DataOverlay.at(),
            cells: [OK, DOV_DEL, DOV_UPD, OVW, OK, SAME, OK, OK, MRG, RST, OK, FIELDS, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Merge.at(),
            cells: [MOVED, MOVED, MOVED, OVW, MRG_CRI, MOVED, MOVED, MOVED, MOVED, RST, OK, MRG_PRJ, OK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::Restore.at(),
            cells: [BACK, BACK, BACK, BACK, BACK, OK, BACK, BACK, BACK, BACK, OK, BACK, BACK, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::ReserveFragments.at(),
            cells: [OK, OK, OK, OVW, OK, OK, OK, OK, OK, RST, OK, OK, OK, OK, OK, OK, UNK] },
        Row { ours: LanceKind::Project.at(),
            cells: [OK, OK, OK, OVW, OK, OK, OK, OK, PRJ_SCH, RST, OK, PRJ_SCH, PRJ_UCF, MWS, OK, OK, UNK] },
        Row { ours: LanceKind::UpdateConfig.at(),
            cells: [OK, OK, OK, UCF_OVW, OK, OK, OK, OK, FIELDS, FIELDS, OK, FIELDS, UCF_UCF, OK, OK, OK, UNK] },
        Row { ours: LanceKind::UpdateMemWalState.at(),
            cells: [STATE, STATE, SHARD, STATE, SHARD, OK, STATE, STATE, STATE, STATE, OK, STATE, OK, SHARD, OK, STATE, UNK] },
        Row { ours: LanceKind::UpdateBases.at(),
            cells: [OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, BASES, OK, UNK_OK] },
        Row { ours: LanceKind::Clone.at(),
            cells: [OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, UNK_OK] },
        Row { ours: LanceKind::Unknown.at(),
            cells: [OURS; LanceKind::COUNT] },
    ],
}
.checked();

/// The fields that ours uses must still be what they were.
const FIELDS: Lance = Cell::If(&[&schema::FIELD_CHANGED]);
const OVW_OVW: Lance = Cell::If(&[&config::CONFIG_KEY, &schema::FIELD_CHANGED]);
const OVW_UCF: Lance = Cell::If(&[&config::CONFIG_KEY, &schema::FIELD_CHANGED]);
const CRI_CRI: Lance = Cell::If(&[
    &indices::HISTORY_TRIMMED,
    &indices::SYSTEM_ENTRY_TWICE,
    &indices::INDEX_NAME_WRITTEN,
    &indices::INDEX_REPLACED_TWICE,
]);
const CRI_RWR: Lance = Cell::If(&[
    &indices::COVERS_REWRITTEN,
    &indices::NGRAM_REWRITTEN,
    &indices::OVERLAY_FOLDED,
    &indices::DROP_FOLLOWS,
    &indices::REPLACED_ENTRY_REMAPPED,
]);
const CRI_MRG: Lance = Cell::If(&[&indices::MEMWAL_AND_MERGE, &indices::TAGGED_FIELD_LOST, &schema::FIELD_CHANGED]);
const RWR_RWR: Lance = Cell::If(&[&indices::TRANSITION_CONSUMED]);
const MRG_CRI: Lance = Cell::If(&[&indices::MEMWAL_AND_MERGE, &indices::TAGGED_FIELD_LOST, &schema::LANDED_INDEX_LOST]);
const PRJ_UCF: Lance = Cell::If(&[&schema::METADATA_WOULD_BE_LOST]);
const BACK: Lance = Cell::Always(
    Verdict::LaterOverwrites,
    reason(
        "restore-replaces-landed",
        "ours makes an earlier version current, whatever landed",
        "restore on the newest version, after looking at what landed",
    ),
);
