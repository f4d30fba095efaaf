//! OPTIMIZE: files joined, deleted rows dropped, rows put in order. No reader sees a difference.

mod cluster;
mod join;
mod order;
mod sort;

pub(crate) use cluster::has_order;
pub(crate) use order::{Order, Sample};
pub(crate) use sort::Sorter;

use crate::delete::over_partition;
use crate::rows::{Content, RowWriter};
use crate::statement::{Writing, write_vectors};
use crate::view::{FileReader, ViewFile};
use crate::{Layout, OpsError, Plan};
use lakebed_data::evaluate_scalar;
use lakebed_delta::action::Add;
use lakebed_delta::{Snapshot, partition};
use lakebed_storage::Store;
use lakebed_transaction::{Expr, Scalar};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files are joined up to about so many bytes where nothing else is said: 128 MiB.
pub const TARGET_SIZE_BYTES: u64 = 128 << 20;
/// Rows are sorted in memory up to so many bytes, and beyond that in runs on the local disk: 64 MiB.
pub const SORT_BYTES: usize = 64 << 20;

/// What becomes of deleted rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compaction {
    /// They stay where they are, hidden: every physical row of the joined files keeps its order.
    Minor,
    /// They are dropped, in files of any size.
    #[default]
    Major,
}

/// What to compact, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactSpec {
    /// What becomes of deleted rows.
    pub compaction: Compaction,
    /// Only partitions that meet this: bound to the table's columns, and its SQL for the log.
    pub predicate: Option<(Expr, String)>,
    /// Files smaller than this are joined, to files of about this size.
    pub target_size_bytes: u64,
    /// Rows are sorted by this column, or by their place on a Z-order curve over several.
    pub cluster_by: Vec<String>,
    /// How many bytes of rows a sort holds in memory.
    pub sort_bytes: usize,
}

impl Default for CompactSpec {
    fn default() -> Self {
        Self {
            compaction: Compaction::Major,
            predicate: None,
            target_size_bytes: TARGET_SIZE_BYTES,
            cluster_by: Vec::new(),
            sort_bytes: SORT_BYTES,
        }
    }
}

/// A file that may be rewritten.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) file: ViewFile,
    pub(crate) add: Arc<Add>,
}

impl Input {
    fn has_vector(&self) -> bool {
        self.add.deletion_vector.is_some()
    }

    /// About how many bytes its rows take that stay.
    fn size_bytes(&self, compaction: Compaction) -> u64 {
        match (compaction, self.file.physical_rows) {
            (Compaction::Major, Some(rows @ 1..)) => {
                let live = u128::from(rows.saturating_sub(self.file.deleted.len()));
                u64::try_from(u128::from(self.file.size_bytes) * live / u128::from(rows)).unwrap_or(u64::MAX)
            }
            (Compaction::Major | Compaction::Minor, _) => self.file.size_bytes,
        }
    }
}

/// Plans a compaction. The plan is empty where there is nothing to do.
///
/// Memory holds one new file, and in a sort [`CompactSpec::sort_bytes`] of rows and a batch of each run.
///
/// # Errors
/// The request does not fit the table, or a data file cannot be read or written.
pub async fn compact(
    store: &Arc<dyn Store>,
    snapshot: &Snapshot,
    spec: &CompactSpec,
    writing: &Writing,
) -> Result<Plan, OpsError> {
    let layout = Layout::of(snapshot.core())?;
    let cluster_by = cluster::columns(snapshot, &layout, spec)?;
    let mut plan = Plan { operation: "OPTIMIZE", layout_only: true, ..Plan::default() };
    plan.parameters = parameters(spec, snapshot.protocol().supports("clustering"));
    let target = usize::try_from(spec.target_size_bytes).unwrap_or(usize::MAX);
    // Joined files stay whole, so that each knows all its sources.
    let bytes = if cluster_by.is_empty() { usize::MAX } else { target };
    let mut writing = writing.clone();
    writing.options = writing.options.with_target_size_bytes(bytes);
    let mut writer = RowWriter::new(store, &layout, &writing, Content::TrackedRows)?;
    for group in groups(snapshot, &layout, spec)?.into_values() {
        if cluster_by.is_empty() {
            for bin in join::bins(group, spec, layout.deletion_vectors) {
                join::join(store, &bin, spec.compaction, &layout, &mut writer, &mut plan).await?;
            }
        } else {
            cluster::cluster(store, group, &cluster_by, (spec, &layout), &mut writer, &mut plan).await?;
        }
    }
    write_vectors(store, &mut plan).await?;
    plan.read.clone_from(&plan.removed);
    Ok(plan)
}

/// As Spark writes them.
fn parameters(spec: &CompactSpec, clustered: bool) -> BTreeMap<String, String> {
    let predicate: Vec<&str> = spec.predicate.iter().map(|(_, text)| text.as_str()).collect();
    let none: &[String] = &[];
    let (z_order, cluster) =
        if clustered { (none, spec.cluster_by.as_slice()) } else { (spec.cluster_by.as_slice(), none) };
    [
        ("predicate", json!(predicate)),
        ("zOrderBy", json!(z_order)),
        ("clusterBy", json!(cluster)),
        ("auto", json!(false)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.to_string()))
    .collect()
}

/// The files in scope by partition, in the order of their paths.
fn groups(
    snapshot: &Snapshot,
    layout: &Layout,
    spec: &CompactSpec,
) -> Result<BTreeMap<Vec<Option<String>>, Vec<Input>>, OpsError> {
    let conjuncts = spec.predicate.as_ref().map(|(predicate, _)| predicate.conjuncts()).unwrap_or_default();
    if let Some(other) = conjuncts.iter().find(|conjunct| !over_partition(conjunct, snapshot.partition_columns())) {
        let names = snapshot.partition_columns().join(", ");
        let known = if names.is_empty() { "the table has none".to_owned() } else { format!("they are {names}") };
        return Err(OpsError::Invalid {
            problem: format!("compaction goes by whole partitions, and {other:?} looks at another column"),
            advice: format!("give a condition on partition columns alone: {known}"),
        });
    }
    let reader = FileReader::new(snapshot)?;
    let mut groups: BTreeMap<Vec<Option<String>>, Vec<Input>> = BTreeMap::new();
    for add in snapshot.files() {
        let file = reader.live(add)?;
        if in_scope(&file, &conjuncts)? {
            let key = layout.partition.iter().zip(&file.partition);
            let key = key.map(|(known, (_, value))| partition::format(value, &known.column.column_type)).collect();
            groups.entry(key).or_default().push(Input { file, add: Arc::clone(add) });
        }
    }
    for group in groups.values_mut() {
        group.sort_by(|a, b| a.file.object.cmp(&b.file.object));
    }
    Ok(groups)
}

fn in_scope(file: &ViewFile, conjuncts: &[&Expr]) -> Result<bool, OpsError> {
    let row: Vec<(&str, Scalar)> = file.partition.iter().map(|(name, value)| (&**name, value.clone())).collect();
    for conjunct in conjuncts {
        if evaluate_scalar(conjunct, &row)? != Scalar::Boolean(true) {
            return Ok(false);
        }
    }
    Ok(true)
}
