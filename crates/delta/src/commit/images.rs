//! Actions as the `precise` rules see them: rows by file.
//!
//! What an entry does not say is left unknown, which the rules never take for an acceptance: a vector that could not be decoded
//! counts as a file taken out and put in, so that its rows have to be looked at.

use super::format::Landed;
use super::pending::Transaction;
use crate::action::{Action, Add, DeletionVector, Remove};
use crate::deletion_vector::{VectorPlace, decode, place};
use crate::{Core, Snapshot, partition, stats};
use lakebed_conflict::delta::DeltaFacts;
use lakebed_conflict::precise::PreciseFacts;
use lakebed_naming::Version;
use lakebed_transaction::{Access, DeltaKind, Expr, PreciseKind, Register, RowSet, Unit, UnitId, UnitSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the rows of deletion vectors come from; `None` for one that is not at hand.
pub type Vectors<'a> = &'a dyn Fn(&DeletionVector) -> Option<RowSet>;

/// The rows of a vector that stands in the log entry itself.
#[must_use]
pub fn inline_rows(vector: &DeletionVector) -> Option<RowSet> {
    match place(vector).ok()? {
        VectorPlace::Inline(bytes) => decode(vector, &bytes).ok(),
        VectorPlace::Object { .. } | VectorPlace::Elsewhere { .. } => None,
    }
}

impl Landed {
    /// What the `precise` rules see of it, for ours that read `table`; without one, nothing is known of its files.
    #[must_use]
    pub fn images(&self, table: Option<&Snapshot>, vectors: Vectors<'_>) -> PreciseFacts {
        let mut images = Images { table, vectors, out: PreciseFacts::default() };
        images.actions(self.actions());
        let mut landed = images.out;
        landed.kind = kind_of(self.facts(), &landed);
        landed.footprint.blind = self.facts().landed_blind();
        landed.footprint.data_change = self.facts().data_change;
        landed.footprint.registers = registers_written(self.facts());
        landed.version = Some(self.version());
        let read = self.info().and_then(|info| info.number("readVersion"));
        landed.read_version = read.and_then(|version| u64::try_from(version).ok()).map(Version::new);
        landed
    }
}

impl Transaction {
    /// What the `precise` rules see of ours on the table that it read.
    #[must_use]
    pub fn images(&self, table: Option<&Snapshot>, vectors: Vectors<'_>) -> PreciseFacts {
        let facts = self.facts(table.map(|table| &**table.core()));
        let mut images = Images { table, vectors, out: PreciseFacts::default() };
        images.actions(&self.actions);
        let mut ours = images.out;
        let kind = kind_of(&facts, &ours);
        // A rebase takes out what ours lists, not what stands in its scope by then.
        ours.kind = if kind == PreciseKind::Overwrite { PreciseKind::Change } else { kind };
        let reads = &facts.footprint;
        ours.footprint.predicates.clone_from(&reads.predicates);
        ours.footprint.keys.clone_from(&reads.keys);
        ours.footprint.read_whole_table = reads.read_whole_table;
        ours.footprint.read_units = reads.read_units.clone();
        ours.footprint.data_change = facts.data_change;
        ours.footprint.blind = facts.derived_blind();
        ours.footprint.registers = registers_written(&facts);
        let looked_up = facts.app_ids_read.iter().map(|id| (Register::Application(Arc::clone(id)), Access::Read));
        ours.footprint.registers.extend(looked_up);
        if facts.metadata.is_some() || facts.protocol.is_some() {
            ours.footprint.registers.push((Register::Schema, Access::Write));
        }
        if ours.kind == PreciseKind::Layout {
            // Files that are put in again under their names are inputs like those that are joined.
            ours.footprint.removed_units = ours.footprint.modified_units();
            ours.footprint.updated_units = UnitSet::default();
        }
        self.rows_of_ours(table, &mut ours);
        ours
    }

    /// Which rows ours met, where that follows from the rows that it deletes.
    fn rows_of_ours(&self, table: Option<&Snapshot>, ours: &mut PreciseFacts) {
        let in_place = |unit: &Unit| ours.footprint.removed_units.contains(&unit.id);
        let adds_elsewhere = ours.footprint.added_units.iter().any(|unit| !in_place(unit));
        if adds_elsewhere && ours.kind != PreciseKind::Layout {
            // What of a file that is taken out lives on in what is added cannot be told.
            ours.copied_units = ours.footprint.removed_units.clone();
        }
        if !matches!(self.operation.as_str(), "DELETE" | "UPDATE") || !has_one_plain_read(ours) {
            return;
        }
        ours.follows_met_rows = table.is_some_and(|table| table.metadata().flag("delta.enableDeletionVectors"));
        if ours.copied_units.is_empty() {
            let whole = |unit: &UnitId| Some((unit.clone(), every_row(table?, unit)?));
            let whole: Option<Vec<_>> = ours.footprint.removed_units.as_slice().iter().map(whole).collect();
            ours.matched = whole.map(|whole| whole.into_iter().chain(ours.footprint.rows.iter().cloned()).collect());
        }
    }
}

/// Whether ours read by one predicate that is understood, so that it met just those rows that it takes out: a subquery would be a
/// read of its own.
fn has_one_plain_read(ours: &PreciseFacts) -> bool {
    let [read] = ours.footprint.predicates.as_slice() else { return false };
    let others = ours.footprint.read_whole_table || !ours.footprint.keys.is_empty();
    let filters: Vec<&Expr> = read.partition.iter().chain(&read.data).collect();
    !others && !filters.is_empty() && filters.into_iter().all(is_plain)
}

fn is_plain(filter: &Expr) -> bool {
    let mut stack = vec![filter];
    while let Some(expr) = stack.pop() {
        if matches!(expr, Expr::Unknown { .. }) {
            return false;
        }
        stack.extend(expr.children());
    }
    true
}

/// Every row of a file of the table.
fn every_row(table: &Snapshot, unit: &UnitId) -> Option<RowSet> {
    let UnitId::File { path, .. } = unit else { return None };
    let rows = table.files().find(|file| file.path == *path)?.num_records()?;
    Some((0..rows).collect())
}

/// Applications and domains that are set.
fn registers_written(facts: &DeltaFacts) -> Vec<(Register, Access)> {
    let applications = facts.app_ids_written.iter().map(|id| (Register::Application(Arc::clone(id)), Access::Write));
    let domains = facts.domains.iter().filter(|name| &***name != super::ROW_TRACKING_DOMAIN);
    applications.chain(domains.map(|name| (Register::Domain(Arc::clone(name)), Access::Write))).collect()
}

fn kind_of(facts: &DeltaFacts, rows: &PreciseFacts) -> PreciseKind {
    let footprint = &rows.footprint;
    let takes_out = !footprint.removed_units.is_empty() || !footprint.updated_units.is_empty();
    if facts.carries_unknown_actions {
        PreciseKind::Unknown
    } else if footprint.added_units.is_empty() && !takes_out && !facts.carries_cdc {
        PreciseKind::Note
    } else if !facts.data_change && !facts.carries_cdc {
        PreciseKind::Layout
    } else if !takes_out {
        PreciseKind::Insert
    } else {
        match facts.kind {
            DeltaKind::Delete => PreciseKind::Delete,
            DeltaKind::Overwrite => PreciseKind::Overwrite,
            DeltaKind::Append
            | DeltaKind::AppendWithReads
            | DeltaKind::Update
            | DeltaKind::Merge
            | DeltaKind::Compact
            | DeltaKind::Restore
            | DeltaKind::Metadata
            | DeltaKind::Empty
            | DeltaKind::Other => PreciseKind::Change,
        }
    }
}

struct Images<'a> {
    table: Option<&'a Snapshot>,
    vectors: Vectors<'a>,
    out: PreciseFacts,
}

impl Images<'_> {
    fn actions(&mut self, actions: &[Action]) {
        let mut removes: BTreeMap<&str, &Remove> = BTreeMap::new();
        let mut adds = Vec::new();
        for action in actions {
            match action {
                Action::Add(add) => adds.push(add),
                Action::Remove(remove) => {
                    removes.insert(&remove.path, remove);
                }
                Action::Metadata(_)
                | Action::Protocol(_)
                | Action::Txn(_)
                | Action::Domain(_)
                | Action::Cdc(_)
                | Action::CommitInfo(_)
                | Action::CheckpointMetadata(_)
                | Action::Sidecar(_) => {}
            }
        }
        for add in adds {
            match removes.remove(&*add.path) {
                Some(remove) => self.in_place(remove, add),
                None => self.added(add),
            }
        }
        removes.into_values().for_each(|remove| self.removed(remove));
    }

    /// A file whose deletion vector changes.
    fn in_place(&mut self, remove: &Remove, add: &Add) {
        let rows = |vector: &Option<DeletionVector>| match vector {
            None => Some(RowSet::new()),
            Some(vector) => (self.vectors)(vector),
        };
        let unit = UnitId::file(&add.path);
        match (rows(&remove.deletion_vector), rows(&add.deletion_vector)) {
            (Some(old), Some(new)) if old.difference(&new).is_empty() => {
                self.out.footprint.updated_units.insert(unit.clone());
                self.out.footprint.rows.push((unit, new.difference(&old)));
                self.out.known_units.extend(self.unit(add));
            }
            (_, _) => {
                self.added(add);
                self.out.footprint.removed_units.insert(unit);
                self.out.known_units.extend(self.unit(add));
            }
        }
    }

    fn added(&mut self, add: &Add) {
        let bare = || Unit { data_change: add.data_change, ..Unit::named(UnitId::file(&add.path)) };
        let unit = self.unit(add).unwrap_or_else(bare);
        self.out.footprint.added_units.push(unit);
    }

    fn removed(&mut self, remove: &Remove) {
        self.out.footprint.removed_units.insert(UnitId::file(&remove.path));
        // What ours read knows the file better than the entry that takes it out.
        let held = self.table.and_then(|table| table.file(&remove.key()));
        let known = held.and_then(|add| self.unit(add));
        self.out.known_units.extend(known);
    }

    /// What is known of a file, by the columns of the table that ours read.
    fn unit(&self, add: &Add) -> Option<Unit> {
        let core: &Core = self.table?.core();
        let value = |column: &lakebed_conflict::delta::PartitionColumn| {
            let text = add.partition_values.find(&column.physical_name)?;
            Some((Arc::clone(&column.name), partition::parse(text, &column.column_type).ok()?))
        };
        let bounds = add.stats.as_deref().map(|text| stats::bounds(text, &core.schema, core.mapping));
        Some(Unit {
            id: UnitId::file(&add.path),
            row_count: add.num_records(),
            partition: core.partition_columns().iter().filter_map(value).collect(),
            bounds: bounds.unwrap_or_default(),
            data_change: add.data_change,
        })
    }
}
