//! Which rows of a landed transaction may meet what ours looked for: first by what is known without reading rows, then by what a
//! look at them answered. Each step only takes candidates away.

use super::PreciseFacts;
use super::facts::Met;
use crate::predicate::{Finding, Selects, selects_in_unit};
use lakebed_transaction::{Evidence, ReadPredicate, RowsFound, RowsSeen, RowsWanted, Unit, UnitId, UnitSet};

/// Which rows of an image count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Those taken out and those brought in.
    All,
    /// Those brought in, new or changed: for ours that does nothing but delete, a row that is gone already is no obstacle.
    Born,
}

/// Whether rows of landed's image meet what ours looked for.
#[derive(Clone, Debug)]
pub(super) enum Meeting {
    /// None does.
    No,
    /// Some do.
    Yes(Evidence),
    /// Rows have to be looked at.
    Open(RowsWanted),
    /// Rows would have to be looked at, and nobody will.
    Refused(RowsWanted),
}

/// Which rows of ours count: for what does nothing but delete, only born ones.
pub(super) const fn counts_for(ours: &PreciseFacts) -> Counts {
    match ours.kind {
        lakebed_transaction::PreciseKind::Delete => Counts::Born,
        lakebed_transaction::PreciseKind::Note
        | lakebed_transaction::PreciseKind::Insert
        | lakebed_transaction::PreciseKind::Change
        | lakebed_transaction::PreciseKind::Overwrite
        | lakebed_transaction::PreciseKind::Layout
        | lakebed_transaction::PreciseKind::Unknown
        | lakebed_transaction::PreciseKind::Hole => Counts::All,
    }
}

/// Whether landed's image meets what ours looked for.
pub(super) fn meeting(ours: &PreciseFacts, landed: &PreciseFacts) -> Meeting {
    let counts = counts_for(ours);
    match by_knowledge(ours, landed, counts) {
        Meeting::Open(wanted) => match &landed.seen {
            RowsSeen::NotLooked => Meeting::Open(wanted),
            RowsSeen::Refused => Meeting::Refused(wanted),
            RowsSeen::Looked(found) => by_look(found, counts),
        },
        decided @ (Meeting::No | Meeting::Yes(_) | Meeting::Refused(_)) => decided,
    }
}

fn by_look(found: &RowsFound, counts: Counts) -> Meeting {
    let removed = found.removed.as_ref().filter(|_| counts == Counts::All);
    let unit = found.born.as_ref().or(removed);
    unit.map_or(Meeting::No, |unit| Meeting::Yes(Evidence::Units(vec![unit.clone()])))
}

/// Partition values, statistics and row positions.
fn by_knowledge(ours: &PreciseFacts, landed: &PreciseFacts, counts: Counts) -> Meeting {
    let reads = Reads::of(ours);
    // A compaction changes no row; but where it took rows that ours takes out, only a look finds them again.
    let is_image = landed.changes_rows() || (follows_by_look(ours, landed) && lost_unit(ours, landed).is_some());
    if reads.is_empty() || !is_image {
        return Meeting::No;
    }
    let mut candidates = Candidates::default();
    candidates.added(&reads, landed);
    candidates.rewritten(ours, landed);
    if counts == Counts::Born && candidates.wanted.added.is_empty() {
        return Meeting::No;
    }
    candidates.removed(ours, &reads, landed);
    candidates.shrunk(ours, &reads, landed);
    candidates.meeting(&reads)
}

/// What ours looked for.
pub(super) struct Reads<'a> {
    predicates: Vec<&'a ReadPredicate>,
    probes: Vec<ReadPredicate>,
}

impl<'a> Reads<'a> {
    pub(super) fn of(ours: &'a PreciseFacts) -> Self {
        let footprint = &ours.footprint;
        let mut probes: Vec<ReadPredicate> = footprint
            .keys
            .iter()
            .map(|probe| ReadPredicate { partition: Vec::new(), data: vec![probe.matches.clone()] })
            .collect();
        if footprint.read_whole_table {
            probes.push(ReadPredicate::everything());
        }
        Self { predicates: footprint.predicates.iter().collect(), probes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.predicates.is_empty() && self.probes.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &ReadPredicate> {
        self.predicates.iter().copied().chain(&self.probes)
    }

    /// The read that says most about a unit.
    fn in_unit(&self, unit: &Unit) -> Finding {
        let mut open = None;
        for read in self.all() {
            let finding = selects_in_unit(read, unit);
            match finding.selects {
                Selects::Always => return finding,
                Selects::Possibly => {
                    open.get_or_insert(finding);
                }
                Selects::Never => {}
            }
        }
        open.unwrap_or(Finding { selects: Selects::Never, evidence: None })
    }
}

/// What is left to look at.
#[derive(Default)]
struct Candidates {
    wanted: RowsWanted,
    /// A unit all of whose rows ours looked for.
    born_surely: Option<Evidence>,
    /// Rows that ours met and landed took out: gone, unless they were carried over.
    removed_or_carried: Option<Evidence>,
}

impl Candidates {
    fn added(&mut self, reads: &Reads<'_>, landed: &PreciseFacts) {
        for unit in &landed.footprint.added_units {
            let finding = reads.in_unit(unit);
            match finding.selects {
                Selects::Never => continue,
                Selects::Possibly => {}
                Selects::Always => {
                    let place = finding.evidence.unwrap_or_else(|| Evidence::Units(vec![unit.id.clone()]));
                    self.born_surely.get_or_insert(place);
                }
            }
            self.wanted.added.push(unit.id.clone());
        }
    }

    /// Columns rewritten in place: every row of the unit goes and comes, unless ours has nothing to do with these columns.
    fn rewritten(&mut self, ours: &PreciseFacts, landed: &PreciseFacts) {
        if landed.footprint.columns.is_empty() || !touches_columns(ours, landed) {
            return;
        }
        for unit in landed.footprint.updated_units.as_slice() {
            self.wanted.removed.push(unit.clone());
            self.wanted.added.push(unit.clone());
        }
    }

    fn removed(&mut self, ours: &PreciseFacts, reads: &Reads<'_>, landed: &PreciseFacts) {
        for unit in landed.footprint.removed_units.as_slice() {
            match ours.met_in(unit) {
                Some(Met::Nothing) => continue,
                _ if known_apart(reads, landed, unit) => continue,
                Some(Met::Rows(rows)) => {
                    self.removed_or_carried.get_or_insert_with(|| Evidence::Rows(unit.clone(), rows.clone()));
                }
                None => {}
            }
            self.wanted.removed.push(unit.clone());
        }
    }

    fn shrunk(&mut self, ours: &PreciseFacts, reads: &Reads<'_>, landed: &PreciseFacts) {
        if !landed.footprint.columns.is_empty() {
            return;
        }
        for unit in landed.footprint.updated_units.as_slice() {
            let lost = landed.footprint.rows.iter().find(|(id, _)| id == unit).map(|(_, rows)| rows);
            match (ours.met_in(unit), lost) {
                (Some(Met::Nothing), _) => continue,
                _ if known_apart(reads, landed, unit) => continue,
                (Some(Met::Rows(met)), Some(lost)) => {
                    let both = met.intersection(lost);
                    if both.is_empty() {
                        continue;
                    }
                    self.removed_or_carried.get_or_insert(Evidence::Rows(unit.clone(), both));
                }
                (_, Some(lost)) if lost.is_empty() => continue,
                (Some(Met::Rows(_)) | None, _) => {}
            }
            self.wanted.shrunk.push(unit.clone());
        }
    }

    fn meeting(self, reads: &Reads<'_>) -> Meeting {
        let Self { mut wanted, born_surely, removed_or_carried } = self;
        let nothing_went = wanted.removed.is_empty() && wanted.shrunk.is_empty();
        if nothing_went && wanted.added.is_empty() {
            return Meeting::No;
        }
        // What was carried over cancels, but only between what went and what came.
        if (nothing_went || wanted.added.is_empty())
            && let Some(evidence) = born_surely.or(removed_or_carried)
        {
            return Meeting::Yes(evidence);
        }
        wanted.filters = reads.all().map(ReadPredicate::condition).collect();
        Meeting::Open(wanted)
    }
}

/// Whether what is known of a unit without reading it tells that ours looked for none of its rows.
fn known_apart(reads: &Reads<'_>, landed: &PreciseFacts, unit: &UnitId) -> bool {
    let known = landed.known_units.iter().find(|known| known.id == *unit);
    known.is_some_and(|known| reads.in_unit(known).selects == Selects::Never)
}

fn touches_columns(ours: &PreciseFacts, landed: &PreciseFacts) -> bool {
    ours.columns_touched
        .as_ref()
        .is_none_or(|touched| landed.footprint.columns.iter().any(|column| touched.contains(column)))
}

/// Whether the rows of landed were looked at for ours, because nothing else decided.
pub(super) fn looked_at<'a>(ours: &PreciseFacts, landed: &'a PreciseFacts) -> Option<&'a RowsFound> {
    let RowsSeen::Looked(found) = &landed.seen else { return None };
    matches!(by_knowledge(ours, landed, counts_for(ours)), Meeting::Open(_)).then_some(found)
}

/// Whether rows that a look finds carried over are just those that ours takes out. Where ours was ordered before an insert, its
/// rows are among them, too.
pub(super) fn follows_by_look(ours: &PreciseFacts, landed: &PreciseFacts) -> bool {
    let gone = &landed.footprint.removed_units;
    let mapped = |unit: &UnitId| ours.mapped_units.contains(unit) && landed.mapped_units.contains(unit);
    let copies_lost = ours.copied_units.as_slice().iter().any(|unit| gone.contains(unit) && !mapped(unit));
    ours.follows_met_rows && ours.followed.ordered_before.is_none() && !copies_lost
}

/// A unit in which ours takes rows out and that landed took out without recording where its rows went.
pub(super) fn lost_unit(ours: &PreciseFacts, landed: &PreciseFacts) -> Option<Evidence> {
    first_unit(&ours.modified(), |unit| {
        let copied = ours.copied_units.contains(unit) && !ours.mapped_units.contains(unit);
        let mapped = landed.mapped_units.contains(unit) && !copied;
        landed.footprint.removed_units.contains(unit) && !mapped
    })
}

/// The first units of ours that meet a condition, as evidence.
pub(super) fn first_unit(units: &UnitSet, wanted: impl Fn(&UnitId) -> bool) -> Option<Evidence> {
    units.as_slice().iter().find(|unit| wanted(unit)).map(|unit| Evidence::Units(vec![unit.clone()]))
}
