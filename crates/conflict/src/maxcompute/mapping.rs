//! Transactions of the two formats in the words of the matrix.

use super::{Hints, MaxComputeFacts, Partition, PartitionSet};
use crate::delta::{DeltaFacts, DeltaFile, PartitionColumn};
use crate::eval::{Value, cast, evaluate};
use crate::lance::LanceFacts;
use lakebed_transaction::{BinaryOp, DeltaKind, Expr, Footprint, LanceKind, MaxComputeKind, ReadPredicate, Scalar};
use std::sync::Arc;

impl MaxComputeFacts {
    /// A Delta transaction on a table with these partition columns.
    ///
    /// A commit that carries a protocol, metadata or a domain is outside the matrix, and so is a bulk commit. One whose file
    /// actions all say `dataChange: false` is a compaction, see [`Hints`]. Otherwise the operation's name counts, and where the
    /// name is not known its kind. A write that takes files out is an overwrite, or an update where it selects rows by a
    /// filter over data columns; a TRUNCATE, of the table or of partitions, is an overwrite by no rows.
    ///
    /// Partitions are those of its files; an overwrite that names its scope touches that, and one whose scope cannot be put
    /// in partitions touches the whole table.
    #[must_use]
    pub fn of_delta(facts: &DeltaFacts, columns: &[PartitionColumn], hints: Hints) -> Self {
        let kind = delta_kind(facts, hints);
        let partitions = if columns.is_empty() { None } else { delta_partitions(facts, kind, columns) };
        Self {
            kind,
            partitions: partitions.map_or_else(PartitionSet::whole_table, PartitionSet::of),
            reads_target: reads_target(&facts.footprint, hints),
        }
    }

    /// A Lance transaction. Lance has no partitions, so it touches the whole table, and its clients truncate by a `Delete`, which is an
    /// update; only `ReserveFragments`, which changes
    /// neither rows nor definitions, touches nothing. Indices, column changes, replacements and overlays, configuration,
    /// `Restore`, `Clone` and memtables are outside the matrix.
    #[must_use]
    pub fn of_lance(kind: LanceKind, facts: &LanceFacts, hints: Hints) -> Self {
        let partitions = match kind {
            LanceKind::ReserveFragments => PartitionSet::none(),
            LanceKind::Append
            | LanceKind::Delete
            | LanceKind::Update
            | LanceKind::Overwrite
            | LanceKind::CreateIndex
            | LanceKind::Rewrite
            | LanceKind::DataReplacement
            | LanceKind::DataOverlay
            | LanceKind::Merge
            | LanceKind::Restore
            | LanceKind::Project
            | LanceKind::UpdateConfig
            | LanceKind::UpdateMemWalState
            | LanceKind::UpdateBases
            | LanceKind::Clone
            | LanceKind::Unknown => PartitionSet::whole_table(),
        };
        Self { kind: lance_kind(kind, hints), partitions, reads_target: reads_target(&facts.footprint, hints) }
    }
}

fn reads_target(footprint: &Footprint, hints: Hints) -> bool {
    hints.reads_target.unwrap_or_else(|| !footprint.blind && footprint.reads_rows())
}

const fn lance_kind(kind: LanceKind, hints: Hints) -> MaxComputeKind {
    match kind {
        LanceKind::Append => MaxComputeKind::Insert,
        LanceKind::Delete | LanceKind::Update => MaxComputeKind::Update,
        LanceKind::Overwrite => MaxComputeKind::Overwrite,
        LanceKind::Rewrite => hints.compaction.kind(),
        LanceKind::ReserveFragments => MaxComputeKind::MinorCompact,
        LanceKind::CreateIndex
        | LanceKind::DataReplacement
        | LanceKind::DataOverlay
        | LanceKind::Merge
        | LanceKind::Restore
        | LanceKind::Project
        | LanceKind::UpdateConfig
        | LanceKind::UpdateMemWalState
        | LanceKind::UpdateBases
        | LanceKind::Clone
        | LanceKind::Unknown => MaxComputeKind::Unspecified,
    }
}

fn delta_kind(facts: &DeltaFacts, hints: Hints) -> MaxComputeKind {
    let changes_definitions = facts.protocol.is_some()
        || facts.metadata.is_some()
        || facts.carries_unknown_actions
        || facts.domains.iter().any(|name| &**name != crate::delta::ROW_TRACKING_DOMAIN);
    if changes_definitions || facts.large {
        return MaxComputeKind::Unspecified;
    }
    let moves_files = !facts.added.is_empty() || !facts.removed.is_empty();
    if moves_files && !facts.data_change {
        return hints.compaction.kind();
    }
    match &*facts.operation {
        "WRITE" | "STREAMING UPDATE" => written(facts),
        "TRUNCATE" => MaxComputeKind::Overwrite,
        "DELETE" | "UPDATE" | "MERGE" => MaxComputeKind::Update,
        "OPTIMIZE" | "REORG" => hints.compaction.kind(),
        _ => by_kind(facts, hints),
    }
}

fn by_kind(facts: &DeltaFacts, hints: Hints) -> MaxComputeKind {
    match facts.kind {
        DeltaKind::Append | DeltaKind::AppendWithReads | DeltaKind::Overwrite => written(facts),
        DeltaKind::Delete | DeltaKind::Update | DeltaKind::Merge => MaxComputeKind::Update,
        DeltaKind::Compact => hints.compaction.kind(),
        DeltaKind::Restore | DeltaKind::Metadata | DeltaKind::Empty | DeltaKind::Other => MaxComputeKind::Unspecified,
    }
}

fn written(facts: &DeltaFacts) -> MaxComputeKind {
    let takes_out =
        !facts.removed.is_empty() || !facts.footprint.removed_units.is_empty() || facts.kind == DeltaKind::Overwrite;
    let selects_rows = facts.footprint.predicates.iter().any(|read| !read.data.is_empty());
    match (takes_out, selects_rows) {
        (false, _) => MaxComputeKind::Insert,
        (true, true) => MaxComputeKind::Update,
        (true, false) => MaxComputeKind::Overwrite,
    }
}

/// The partitions that are touched; `None` where they cannot be told.
fn delta_partitions(facts: &DeltaFacts, kind: MaxComputeKind, columns: &[PartitionColumn]) -> Option<Vec<Partition>> {
    let known_removals = facts.removed.len() >= facts.footprint.removed_units.len();
    if !known_removals || kind == MaxComputeKind::Unspecified {
        return None;
    }
    let mut partitions: Vec<Partition> = Vec::new();
    if kind == MaxComputeKind::Overwrite {
        if facts.footprint.read_whole_table {
            return None;
        }
        for read in &facts.footprint.predicates {
            partitions.extend(scope_of(read)?);
        }
    }
    for file in facts.added.iter().chain(&facts.removed) {
        partitions.push(partition_of(file, columns)?);
    }
    Some(partitions)
}

fn partition_of(file: &DeltaFile, columns: &[PartitionColumn]) -> Option<Partition> {
    let texts = file.partition.as_deref()?;
    let value = |column: &PartitionColumn| {
        let text = texts.iter().find(|(key, _)| *key == column.physical_name).and_then(|(_, text)| text.as_ref());
        let value = text.map_or(Value::NULL, |text| cast(&Scalar::String(Arc::clone(text)), &column.column_type));
        let Value::Known(value) = value else { return None };
        Some((Arc::clone(&column.name), value))
    };
    columns.iter().map(value).collect()
}

/// The partitions in which a read of partition columns holds, where it names them one by one.
fn scope_of(read: &ReadPredicate) -> Option<Vec<Partition>> {
    let [only] = read.partition.as_slice() else { return None };
    let mut partitions = Vec::new();
    let mut stack = vec![only];
    while let Some(expr) = stack.pop() {
        if let Expr::Binary(BinaryOp::Or, a, b) = expr {
            stack.extend([&**a, &**b]);
        } else {
            partitions.push(expr.conjuncts().into_iter().map(named_value).collect::<Option<Partition>>()?);
        }
    }
    Some(partitions)
}

/// `column = constant`.
fn named_value(expr: &Expr) -> Option<(Arc<str>, Scalar)> {
    let Expr::Binary(BinaryOp::Equal | BinaryOp::NullSafeEqual, a, b) = expr else { return None };
    let Expr::Column(path) = &**a else { return None };
    let ([name], true) = (path.as_slice(), b.columns().is_empty()) else { return None };
    let Value::Known(value) = evaluate(b, &|_: &[Arc<str>]| Value::Unbounded) else { return None };
    Some((Arc::clone(name), value))
}
