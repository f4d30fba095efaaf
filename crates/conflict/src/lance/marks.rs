//! What a pair of Lance transactions has that checks can meet in.

use super::LanceFacts;
use super::checks::keys::key_filter;
use crate::Marks;
use lakebed_transaction::UnitSet;

/// One of the two replaces the schema.
pub(super) const SCHEMA: Marks = Marks::bit(0);
/// One of the two makes an earlier version current.
pub(super) const RESTORE: Marks = Marks::bit(1);
/// Fragments that ours updates or removes may be among those that landed updates or removes.
pub(super) const FRAGMENTS: Marks = Marks::bit(2);
/// Landed takes fragments out.
pub(super) const REMOVED: Marks = Marks::bit(6);
/// Landed says which data files its fragments have.
pub(super) const FILES: Marks = Marks::bit(3);
/// Ours names keys that it may have inserted.
pub(super) const OUR_KEYS: Marks = Marks::bit(4);
/// Landed names keys that it may have inserted.
pub(super) const LANDED_KEYS: Marks = Marks::bit(5);

/// The marks of one pair.
pub(super) fn of(ours: &LanceFacts, landed: &LanceFacts) -> Marks {
    SCHEMA
        .when(ours.schema.is_some() || landed.schema.is_some())
        .and(RESTORE.when(ours.restore_to.is_some() || landed.restore_to.is_some()))
        .and(FRAGMENTS.when(fragments_may_meet(ours, landed)))
        .and(REMOVED.when(!landed.footprint.removed_units.is_empty()))
        .and(FILES.when(!landed.files_written.is_empty()))
        .and(OUR_KEYS.when(key_filter(ours).is_some()))
        .and(LANDED_KEYS.when(key_filter(landed).is_some()))
}

fn fragments_may_meet(ours: &LanceFacts, landed: &LanceFacts) -> bool {
    let (a, b) = (&ours.footprint, &landed.footprint);
    let meets = |mine: &UnitSet| {
        mine.may_meet(&b.updated_units) || (!b.removed_units.is_empty() && mine.may_meet(&b.removed_units))
    };
    meets(&a.updated_units) || (!a.removed_units.is_empty() && meets(&a.removed_units))
}
