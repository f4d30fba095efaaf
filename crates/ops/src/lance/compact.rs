//! Compaction: fragments that are small, or of which much is deleted, written anew as fewer and whole ones.

use super::fragment::{FragmentRows, Which, deleted_rows};
use super::table::LanceTable;
use super::touch::stable_ids;
use super::write::Writer;
use crate::OpsError;
use lakebed_lance::index;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::proto::table::data_fragment::{
    CreatedAtVersionSequence as Created, LastUpdatedAtVersionSequence as Updated,
};
use lakebed_lance::proto::table::transaction::rewrite::RewriteGroup;
use lakebed_lance::row_ids::RowVersions;

/// Below so many rows a fragment is small, as released clients have it.
const TARGET_ROWS: u64 = 1 << 20;

/// A fragment of which a larger part than one in so many is deleted is written anew.
const DELETED_PART: u64 = 10;

/// A compaction, planned on one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanceCompaction {
    /// Fragments that are replaced, and those that replace them; neighbours in the order of a scan.
    pub groups: Vec<RewriteGroup>,
    /// Rows that were copied.
    pub rows_copied: u64,
    /// Fragments that were left alone because an index covers them, which would have to be built again.
    pub covered: u64,
}

/// Plans a compaction of fragments below `target_rows` (default: 1,048,576).
///
/// # Errors
/// A data file cannot be read or written.
pub async fn compact(table: &LanceTable, target_rows: Option<u64>) -> Result<LanceCompaction, OpsError> {
    let mut plan = LanceCompaction::default();
    for group in groups(table, target_rows.unwrap_or(TARGET_ROWS), &mut plan) {
        let new_fragments = rewritten(table, &group, &mut plan).await?;
        plan.groups.push(RewriteGroup { old_fragments: group, new_fragments });
    }
    Ok(plan)
}

/// Runs of neighbours that are worth being written anew.
fn groups(table: &LanceTable, target_rows: u64, plan: &mut LanceCompaction) -> Vec<Vec<DataFragment>> {
    let covered = |fragment: &DataFragment| {
        table.snapshot.indices().iter().filter(|entry| !index::is_system(entry)).any(|entry| {
            // An index that does not say what it covers may cover everything.
            index::coverage(entry).is_none_or(|covered| u32::try_from(fragment.id).is_ok_and(|id| covered.contains(id)))
        })
    };
    let mut groups: Vec<Vec<DataFragment>> = Vec::new();
    let mut run: Vec<DataFragment> = Vec::new();
    let mut end = |run: &mut Vec<DataFragment>| {
        let run = std::mem::take(run);
        if run.len() > 1 || run.iter().any(mostly_deleted) {
            groups.push(run);
        }
    };
    let mut rows = 0_u64;
    for fragment in table.fragments() {
        let small = fragment.physical_rows < target_rows || mostly_deleted(fragment);
        let blocked = small && covered(fragment);
        plan.covered += u64::from(blocked);
        if !small || blocked || rows >= target_rows {
            end(&mut run);
            rows = 0;
        }
        if small && !blocked {
            rows = rows.saturating_add(live(fragment));
            run.push(fragment.clone());
        }
    }
    end(&mut run);
    groups
}

fn deleted(fragment: &DataFragment) -> u64 {
    fragment.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows)
}

fn live(fragment: &DataFragment) -> u64 {
    fragment.physical_rows.saturating_sub(deleted(fragment))
}

fn mostly_deleted(fragment: &DataFragment) -> bool {
    deleted(fragment).saturating_mul(DELETED_PART) > fragment.physical_rows
}

/// What is known of each row of a new fragment, on tables whose rows keep their ids.
#[derive(Default)]
struct Lineage {
    created: RowVersions,
    updated: RowVersions,
}

async fn rewritten(
    table: &LanceTable,
    group: &[DataFragment],
    plan: &mut LanceCompaction,
) -> Result<Vec<DataFragment>, OpsError> {
    let all: Vec<usize> = (0..table.columns().len()).collect();
    let mut writer = Writer::new(table);
    let mut lineage = Vec::new();
    for fragment in group {
        let before = deleted_rows(&table.store, &table.snapshot, fragment).await?;
        let ids = stable_ids(table, fragment)?;
        let versions = ids.as_ref().map(|_| versions(fragment)).transpose()?;
        let mut rows = FragmentRows::open(table, fragment, &all, Which::Without(before)).await?;
        while let Some((batch, positions)) = rows.next().await? {
            let kept: Option<Vec<u64>> = ids
                .as_ref()
                .map(|ids| positions.iter().filter_map(|row| ids.get(usize::try_from(*row).ok()?).copied()).collect());
            if let Some([created, updated]) = &versions {
                lineage.extend(positions.iter().map(|row| (created.at(*row), updated.at(*row))));
            }
            plan.rows_copied += writer.write(&batch, kept.as_deref()).await?;
        }
    }
    let mut fragments = writer.finish().await?;
    let mut lineage = lineage.into_iter();
    for fragment in fragments.iter_mut().filter(|_| table.snapshot.has_stable_row_ids()) {
        let mut own = Lineage::default();
        for _ in 0..fragment.physical_rows {
            let (created, updated) = lineage.next().unwrap_or_default();
            let (Some(created), Some(updated)) = (created, updated) else { return Err(unknown_versions(fragment)) };
            own.created.push(created, 1);
            own.updated.push(updated, 1);
        }
        fragment.created_at_version_sequence = Some(Created::InlineCreatedAtVersions(own.created.encode()));
        fragment.last_updated_at_version_sequence = Some(Updated::InlineLastUpdatedAtVersions(own.updated.encode()));
    }
    Ok(fragments)
}

/// The versions that created and last changed each row of a fragment.
fn versions(fragment: &DataFragment) -> Result<[RowVersions; 2], OpsError> {
    let created = match &fragment.created_at_version_sequence {
        Some(Created::InlineCreatedAtVersions(bytes)) => RowVersions::decode(bytes),
        Some(Created::ColumnCreatedAtVersions(_)) | None => None,
    };
    let updated = match &fragment.last_updated_at_version_sequence {
        Some(Updated::InlineLastUpdatedAtVersions(bytes)) => RowVersions::decode(bytes),
        Some(Updated::ColumnLastUpdatedAtVersions(_)) | None => None,
    };
    created.zip(updated).map(|(created, updated)| [created, updated]).ok_or_else(|| unknown_versions(fragment))
}

fn unknown_versions(fragment: &DataFragment) -> OpsError {
    OpsError::Unsupported {
        feature: format!("the row versions of fragment {} as they are kept", fragment.id),
        statement: "a compaction",
        advice: "compact it with a Lance client".to_owned(),
    }
}
