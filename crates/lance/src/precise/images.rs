//! A landed version as the `precise` rules see it: what the manifests before and after it tell of its rows.
//!
//! What they do not tell is left unknown, which the rules never take for an acceptance: a fragment whose deleted rows cannot be
//! told counts as taken out and put in, so that its rows have to be looked at.

use super::moves::{Moves, as_read};
use super::{at_hand, ours, same_values, unread};
use crate::proto::table::DataFragment;
use crate::{Landed, Snapshot, bounds};
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::precise::PreciseFacts;
use lakebed_naming::Version;
use lakebed_transaction::{LanceKind, PreciseKind, RowSet, Unit, UnitId};
use std::collections::BTreeMap;

/// What changed between two versions that follow each other.
pub(super) struct Changes<'a> {
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
    /// Fragments that went.
    pub(super) gone: Vec<&'a DataFragment>,
    /// Fragments that came.
    pub(super) came: Vec<&'a DataFragment>,
    /// Fragments that stayed with the same values, and of which other rows are deleted.
    shrunk: Vec<(&'a DataFragment, &'a DataFragment)>,
    /// Fragments that stayed with other values.
    rewritten: Vec<(&'a DataFragment, &'a DataFragment)>,
}

impl<'a> Changes<'a> {
    pub(super) fn between(before: &'a Snapshot, after: &'a Snapshot) -> Self {
        let mut changes =
            Self { before, after, gone: Vec::new(), came: Vec::new(), shrunk: Vec::new(), rewritten: Vec::new() };
        for was in before.fragments() {
            match after.fragment(was.id) {
                None => changes.gone.push(was),
                Some(is) if !same_values(was, is) => changes.rewritten.push((was, is)),
                Some(is) if was.deletion_file != is.deletion_file => changes.shrunk.push((was, is)),
                Some(_) => {}
            }
        }
        changes.came.extend(after.fragments().iter().filter(|is| before.fragment(is.id).is_none()));
        changes
    }

    /// The deletion files that must be read before the rows that went can be told.
    pub(super) fn needs(&self, landed: &Landed, fetched: &Fetched) -> Vec<ObjectName> {
        let both = self.shrunk.iter().flat_map(|(was, is)| [(self.before, *was), (self.after, *is)]);
        // What a compaction left out tells where the other rows went.
        let sources = self.gone.iter().map(|was| (self.before, as_read(landed, was)));
        let sources = sources.filter(|_| landed.kind() == LanceKind::Rewrite);
        unread(both.chain(sources), fetched)
    }

    fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.came.is_empty() && self.shrunk.is_empty() && self.rewritten.is_empty()
    }
}

/// What the rules see of a landed version, and where it moved rows.
pub(super) fn images(landed: &Landed, changes: &Changes<'_>, fetched: &Fetched) -> (PreciseFacts, Moves) {
    let mut out = PreciseFacts::default();
    let known = landed.transaction().map(|transaction| bounds::of(transaction.message())).unwrap_or_default();
    for was in &changes.gone {
        out.footprint.removed_units.insert(UnitId::Fragment(was.id));
    }
    for is in &changes.came {
        out.footprint.added_units.push(unit(is, changes.after, &known));
    }
    for (was, is) in &changes.rewritten {
        let fields = rewritten_fields(was, is, changes.after);
        if was.deletion_file == is.deletion_file && !fields.is_empty() {
            out.footprint.columns.extend(fields);
            out.footprint.updated_units.insert(UnitId::Fragment(was.id));
        } else if was.deletion_file != is.deletion_file {
            replaced(&mut out, is);
        }
    }
    out.footprint.columns.sort_unstable();
    out.footprint.columns.dedup();
    for (was, is) in &changes.shrunk {
        let lost = lost_rows(changes, was, is, fetched).filter(|_| out.footprint.columns.is_empty());
        match lost {
            Some(lost) => {
                out.footprint.updated_units.insert(UnitId::Fragment(was.id));
                out.footprint.rows.push((UnitId::Fragment(was.id), lost));
            }
            None => replaced(&mut out, is),
        }
    }
    let moves =
        if landed.kind() == LanceKind::Rewrite { Moves::of(landed, changes, fetched) } else { Moves::default() };
    out.mapped_units = moves.sources();
    out.kind = kind(landed, changes);
    let message = landed.transaction().map(crate::transaction::Transaction::message);
    out.footprint.blind = out.kind == PreciseKind::Insert && message.is_some_and(ours::says_blind);
    out.footprint.data_change = out.changes_rows();
    out.version = Some(landed.version());
    out.read_version = message.map(|message| Version::new(message.read_version));
    (out, moves)
}

/// A fragment of whose rows nothing more is known than that some may have gone, come or changed.
fn replaced(out: &mut PreciseFacts, is: &DataFragment) {
    out.footprint.removed_units.insert(UnitId::Fragment(is.id));
    out.footprint.added_units.push(Unit::named(UnitId::Fragment(is.id)));
}

fn lost_rows(changes: &Changes<'_>, was: &DataFragment, is: &DataFragment, fetched: &Fetched) -> Option<RowSet> {
    let before = at_hand(changes.before, was, fetched)?;
    let after = at_hand(changes.after, is, fetched)?;
    before.difference(&after).is_empty().then(|| after.difference(&before))
}

fn unit(is: &DataFragment, version: &Snapshot, known: &bounds::Bounds) -> Unit {
    let id = UnitId::Fragment(is.id);
    let row_count = (is.physical_rows > 0).then_some(is.physical_rows);
    let bounds = known.of_fragment(is, version);
    Unit { row_count, bounds, ..Unit::named(id) }
}

/// The fields of the schema whose values stand in another place of a fragment since.
fn rewritten_fields(was: &DataFragment, is: &DataFragment, after: &Snapshot) -> Vec<i64> {
    let (old, new) = (places(was), places(is));
    let overlaid = |fragment: &DataFragment| -> Vec<i32> {
        let files = fragment.overlays.iter().filter_map(|overlay| overlay.data_file.as_ref());
        files.flat_map(|file| file.fields.iter().copied()).collect()
    };
    let mut overlaid_now = Vec::new();
    if was.overlays != is.overlays {
        overlaid_now = overlaid(was);
        overlaid_now.extend(overlaid(is));
    }
    let fields = after.fields().iter().map(|field| field.id);
    let moved = fields.filter(|id| old.get(id) != new.get(id) || overlaid_now.contains(id));
    moved.map(i64::from).collect()
}

/// Where the values of each field stand.
fn places(fragment: &DataFragment) -> BTreeMap<i32, (&str, i32, Option<u32>)> {
    let mut places = BTreeMap::new();
    for file in &fragment.files {
        for (at, field) in file.fields.iter().enumerate().filter(|(_, field)| **field >= 0) {
            let column = file.column_indices.get(at).copied().unwrap_or(-1);
            places.insert(*field, (file.path.as_str(), column, file.base_id));
        }
    }
    places
}

fn kind(landed: &Landed, changes: &Changes<'_>) -> PreciseKind {
    let only_adds = changes.gone.is_empty() && changes.shrunk.is_empty() && changes.rewritten.is_empty();
    let only_moves = changes.shrunk.is_empty() && changes.rewritten.is_empty();
    match landed.kind() {
        LanceKind::Unknown => PreciseKind::Unknown,
        _ if changes.is_empty() => PreciseKind::Note,
        LanceKind::Append if only_adds => PreciseKind::Insert,
        LanceKind::Delete if changes.came.is_empty() && changes.rewritten.is_empty() => PreciseKind::Delete,
        LanceKind::Rewrite if only_moves => PreciseKind::Layout,
        LanceKind::Overwrite | LanceKind::Restore => PreciseKind::Overwrite,
        LanceKind::Append
        | LanceKind::Delete
        | LanceKind::Rewrite
        | LanceKind::Update
        | LanceKind::CreateIndex
        | LanceKind::DataReplacement
        | LanceKind::DataOverlay
        | LanceKind::Merge
        | LanceKind::ReserveFragments
        | LanceKind::Project
        | LanceKind::UpdateConfig
        | LanceKind::UpdateMemWalState
        | LanceKind::UpdateBases
        | LanceKind::Clone => PreciseKind::Change,
    }
}
