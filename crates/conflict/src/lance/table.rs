//! The table.

use crate::lance::LanceFacts;
use crate::{Cell, Policy, Row};
use lakebed_transaction::LanceKind;

/// Lance's own rules.
pub static LANCE: Policy<LanceFacts, { LanceKind::COUNT }> = Policy {
    name: "lance",
    revision: 14,
    first: &[],
    rows: [
        Row { ours: LanceKind::Append.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Delete.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Update.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Overwrite.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::CreateIndex.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Rewrite.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::DataReplacement.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::DataOverlay.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Merge.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Restore.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::ReserveFragments.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Project.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::UpdateConfig.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::UpdateMemWalState.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::UpdateBases.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Clone.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
        Row { ours: LanceKind::Unknown.at(), cells: [const { Cell::Unspecified }; LanceKind::COUNT] },
    ],
}
.checked();
