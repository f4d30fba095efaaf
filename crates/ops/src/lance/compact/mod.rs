//! Compaction: fragments that are small, or of which much is deleted, written anew as fewer and whole ones; or rows put in order.

mod cluster;
mod covering;
mod groups;
mod join;
mod lineage;

use super::table::LanceTable;
use crate::OpsError;
use crate::compact::{Compaction, SORT_BYTES};
use lakebed_lance::proto::table::DataFragment;
use lakebed_transaction::{Expr, RowSet};
use std::collections::BTreeMap;

/// Below so many rows a fragment is small, as released clients have it.
const TARGET_ROWS: u64 = 1 << 20;

/// What to compact, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct LanceCompactSpec {
    /// What becomes of deleted rows.
    pub compaction: Compaction,
    /// Only fragments with a live row that meets this, which is bound to the table's columns.
    pub predicate: Option<Expr>,
    /// Below so many rows a fragment is small.
    pub target_rows: u64,
    /// Rows are sorted by this column, or by their place on a Z-order curve over several.
    pub cluster_by: Vec<String>,
    /// How many bytes of rows a sort holds in memory.
    pub sort_bytes: usize,
}

impl Default for LanceCompactSpec {
    fn default() -> Self {
        Self {
            compaction: Compaction::Major,
            predicate: None,
            target_rows: TARGET_ROWS,
            cluster_by: Vec::new(),
            sort_bytes: SORT_BYTES,
        }
    }
}

/// A compaction, planned on one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanceCompaction {
    /// Fragments that are replaced, and those that replace them.
    pub groups: Vec<LanceGroup>,
    /// Whether an index holds addresses of rows that move, so that the version has to record where they went.
    pub moves_indexed_rows: bool,
    /// Rows that were copied.
    pub rows_copied: u64,
    /// Fragments that were left alone because an index covers them that cannot follow their rows.
    pub covered: u64,
}

/// Fragments that are written anew together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanceGroup {
    /// The fragments that go, ascending.
    pub old: Vec<DataFragment>,
    /// The fragments that come, without deletion files, and the rows of each that are deleted.
    pub new: Vec<(DataFragment, RowSet)>,
    /// The rows of the old fragments that stand in the new ones, in the same order unless rows were put in order.
    pub moved: BTreeMap<u64, RowSet>,
}

/// Plans a compaction. The plan is empty where there is nothing to do.
///
/// Memory holds one new file, and in a sort [`LanceCompactSpec::sort_bytes`] of rows and a batch of each run.
///
/// # Errors
/// The request does not fit the table, or a data file cannot be read or written.
pub async fn compact(table: &LanceTable, spec: &LanceCompactSpec) -> Result<LanceCompaction, OpsError> {
    let mut plan = LanceCompaction::default();
    let scope = groups::Scope::of(table, spec).await?;
    if spec.cluster_by.is_empty() {
        for group in scope.runs(table, spec, &mut plan) {
            let joined = join::join(table, group, spec.compaction, &mut plan).await?;
            plan.groups.push(joined);
        }
    } else {
        let order = cluster::By::new(table, spec)?;
        for group in scope.classes(table, &mut plan) {
            plan.groups.extend(cluster::cluster(table, group, &order, spec, &mut plan.rows_copied).await?);
        }
    }
    plan.moves_indexed_rows =
        plan.groups.iter().any(|group| group.old.iter().any(|fragment| scope.covering.holds_addresses_of(fragment.id)));
    Ok(plan)
}

fn deleted(fragment: &DataFragment) -> u64 {
    fragment.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows)
}

fn live(fragment: &DataFragment) -> u64 {
    fragment.physical_rows.saturating_sub(deleted(fragment))
}
