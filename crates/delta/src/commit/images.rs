//! Actions as the `precise` rules see them: rows by file.
//!
//! What an entry does not say is left unknown, which the rules never take for an acceptance: a vector that could not be decoded
//! counts as a file taken out and put in, so that its rows have to be looked at.

use super::format::Landed;
use super::moves::Moves;
use super::pending::Transaction;
use crate::action::{Action, Add, DeletionVector, Remove};
use crate::deletion_vector::{VectorPlace, decode, place};
use crate::{Core, Snapshot, partition, stats};
use lakebed_conflict::delta::DeltaFacts;
use lakebed_conflict::precise::PreciseFacts;
use lakebed_naming::Version;
use lakebed_transaction::{Access, DeltaKind, Expr, PreciseKind, Register, RowSet, Unit, UnitId, UnitSet};
use std::collections::{BTreeMap, HashMap};
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
        let mut images = Images::of(table, vectors);
        images.actions(self.actions());
        let mut landed = images.out;
        if table.is_some_and(has_vectors) {
            // Whoever follows a row to another place deletes it there by a vector.
            landed.mapped_units = Moves::of(self.actions(), vectors).sources();
        }
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
        let mut images = Images::of(table, vectors);
        images.taken = self.row_changes.iter().map(|change| (&*change.path, &change.deleted)).collect();
        images.actions(&self.actions);
        let (whole_files, unclear) = (images.whole_files, images.unclear);
        let mut ours = images.out;
        let scope = self.taking.as_ref().and_then(|taking| taking.scope.as_ref());
        ours.kind = match kind_of(&facts, &ours) {
            _ if scope.is_some() => PreciseKind::Overwrite,
            // Without its scope, a rebase takes out what ours lists, not what stands there by then.
            PreciseKind::Overwrite => PreciseKind::Change,
            // Its change files tell of every row that it met; a row that is gone already would be told of twice.
            PreciseKind::Delete if facts.carries_cdc => PreciseKind::Change,
            // What it says of every file of the table has to hold of those that land meanwhile.
            PreciseKind::Layout if facts.metadata.is_some() || facts.protocol.is_some() => PreciseKind::Change,
            kind @ (PreciseKind::Note
            | PreciseKind::Insert
            | PreciseKind::Delete
            | PreciseKind::Change
            | PreciseKind::Layout
            | PreciseKind::Unknown
            | PreciseKind::Hole) => kind,
        };
        let reads = &facts.footprint;
        ours.footprint.predicates.clone_from(&reads.predicates);
        if let Some(at) = ours.footprint.predicates.iter().position(|read| Some(read) == scope) {
            // That the rows in scope go is no reading of them.
            ours.footprint.predicates.remove(at);
        }
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
            let again = put_in_again(table, &self.actions);
            again.for_each(|unit| ours.footprint.removed_units.insert(unit));
        }
        self.rows_of_ours(table, &whole_files, &mut ours);
        if ours.kind != PreciseKind::Layout {
            // Rows of such a file live on, and which ones is not known.
            unclear.into_iter().for_each(|unit| ours.copied_units.insert(unit));
        }
        ours
    }

    /// Which rows ours met, where that follows from the rows that it deletes.
    fn rows_of_ours(&self, table: Option<&Snapshot>, whole_files: &WholeFiles, ours: &mut PreciseFacts) {
        let marks = table.is_some_and(has_vectors);
        if ours.kind == PreciseKind::Layout {
            if marks {
                ours.mapped_units = Moves::named_sources(&self.actions);
            }
            return;
        }
        let in_place = |unit: &Unit| ours.footprint.removed_units.contains(&unit.id);
        let adds_elsewhere = ours.footprint.added_units.iter().any(|unit| !in_place(unit));
        if adds_elsewhere && !self.taking.as_ref().is_some_and(|taking| taking.copies_nothing) {
            // What of a file that is taken out lives on in what is added cannot be told.
            ours.copied_units = ours.footprint.removed_units.clone();
        }
        let takes_all = match &self.taking {
            Some(taking) => taking.all_met,
            None => matches!(self.operation.as_str(), "DELETE" | "UPDATE") && has_one_plain_read(ours),
        };
        if !takes_all {
            return;
        }
        ours.follows_met_rows = marks && ours.kind != PreciseKind::Overwrite;
        if ours.copied_units.is_empty() {
            let whole = |(unit, rows): &(UnitId, Option<u64>)| Some((unit.clone(), (0..(*rows)?).collect()));
            let whole: Option<Vec<_>> = whole_files.iter().map(whole).collect();
            ours.matched = whole.map(|whole| whole.into_iter().chain(ours.footprint.rows.iter().cloned()).collect());
        }
    }
}

/// Files of the table that are put in again without having been taken out.
fn put_in_again<'a>(table: Option<&'a Snapshot>, actions: &'a [Action]) -> impl Iterator<Item = UnitId> + 'a {
    let again = move |add: &Add| table?.file(&add.key()).map(|add| UnitId::file(&add.path));
    actions.iter().filter_map(Action::as_add).filter_map(again)
}

/// Whether rows of the table's files can be deleted by vectors.
pub(super) fn has_vectors(table: &Snapshot) -> bool {
    table.metadata().flag("delta.enableDeletionVectors")
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

/// Files that are taken out as a whole, with the rows in them where that is known.
type WholeFiles = Vec<(UnitId, Option<u64>)>;

struct Images<'a> {
    table: Option<&'a Snapshot>,
    vectors: Vectors<'a>,
    /// By path: the rows that are taken out in place, where the transaction itself says so.
    taken: HashMap<&'a str, &'a RowSet>,
    whole_files: WholeFiles,
    /// Files whose vector changes in a way that is not known.
    unclear: Vec<UnitId>,
    out: PreciseFacts,
}

impl<'a> Images<'a> {
    fn of(table: Option<&'a Snapshot>, vectors: Vectors<'a>) -> Self {
        let out = PreciseFacts::default();
        Self { table, vectors, taken: HashMap::new(), whole_files: Vec::new(), unclear: Vec::new(), out }
    }

    fn actions(&mut self, actions: &[Action]) {
        let removed = actions.iter().filter_map(Action::as_remove);
        let mut removes: BTreeMap<&str, &Remove> = removed.map(|remove| (&*remove.path, remove)).collect();
        for add in actions.iter().filter_map(Action::as_add) {
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
        if let Some(taken) = self.taken.get(&*add.path) {
            self.out.footprint.updated_units.insert(unit.clone());
            self.out.footprint.rows.push((unit, RowSet::clone(taken)));
            return;
        }
        match (rows(&remove.deletion_vector), rows(&add.deletion_vector)) {
            (Some(old), Some(new)) if old.difference(&new).is_empty() => {
                self.out.footprint.updated_units.insert(unit.clone());
                self.out.footprint.rows.push((unit, new.difference(&old)));
                self.out.known_units.extend(self.unit(add));
            }
            (_, _) => {
                self.unclear.push(unit.clone());
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
        self.whole_files.push((UnitId::file(&remove.path), held.and_then(|add| add.num_records())));
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
