//! What a pair of Delta commits has that checks can meet in.

use super::DeltaFacts;
use super::conditions::looks_at_added;
use crate::Marks;

/// Ours is a bulk commit.
pub(super) const BULK: Marks = Marks::bit(0);
/// Ours may be left out where it is empty.
pub(super) const SKIPPABLE: Marks = Marks::bit(1);
/// Ours writes the protocol.
pub(super) const OUR_PROTOCOL: Marks = Marks::bit(2);
/// Landed writes the protocol.
pub(super) const PROTOCOL: Marks = Marks::bit(3);
/// Ours writes the metadata.
pub(super) const OUR_METADATA: Marks = Marks::bit(4);
/// Landed writes the metadata.
pub(super) const METADATA: Marks = Marks::bit(5);
/// Both write domains.
pub(super) const DOMAINS: Marks = Marks::bit(6);
/// Ours looked applications up, and landed writes some.
pub(super) const APPLICATIONS: Marks = Marks::bit(7);
/// Ours drops features of which traces are left.
pub(super) const TRACES: Marks = Marks::bit(8);
/// Ours read something, and landed adds files.
pub(super) const ADDED: Marks = Marks::bit(9);
/// The table is partitioned.
pub(super) const PARTITIONED: Marks = Marks::bit(10);
/// Landed calls itself a blind append.
pub(super) const CALLED_BLIND: Marks = Marks::bit(11);
/// Ours read files, or the table, and landed removes files.
pub(super) const READ_AND_REMOVED: Marks = Marks::bit(12);
/// Both remove files.
pub(super) const BOTH_REMOVE: Marks = Marks::bit(13);
/// The protocol in force may list features by name.
pub(super) const FEATURES: Marks = Marks::bit(14);
/// The metadata in force may have properties.
pub(super) const PROPERTIES: Marks = Marks::bit(15);

/// The marks of one pair.
pub(super) fn of(ours: &DeltaFacts, landed: &DeltaFacts) -> Marks {
    let (reads, table) = (&ours.footprint, &ours.table);
    let (protocol, metadata) = (landed.protocol.is_some(), landed.metadata.is_some());
    let (our_protocol, our_metadata) = (ours.protocol.is_some(), ours.metadata.is_some());
    let named = !table.protocol.writer_features.is_empty() || !table.protocol.reader_features.is_empty();
    let removes = !landed.footprint.removed_units.is_empty();
    let of_ours = BULK
        .when(ours.large)
        .and(SKIPPABLE.when(ours.skip_if_empty))
        .and(OUR_PROTOCOL.when(our_protocol))
        .and(OUR_METADATA.when(our_metadata))
        .and(TRACES.when(!ours.dropped_features_with_traces.is_empty()))
        .and(PARTITIONED.when(!table.partition_columns.is_empty()))
        .and(FEATURES.when(named || protocol || our_protocol))
        .and(PROPERTIES.when(!table.metadata.configuration.is_empty() || metadata || our_metadata));
    let of_both = PROTOCOL
        .when(protocol)
        .and(METADATA.when(metadata))
        .and(DOMAINS.when(!ours.domains.is_empty() && !landed.domains.is_empty()))
        .and(APPLICATIONS.when(!ours.app_ids_read.is_empty() && !landed.app_ids_written.is_empty()))
        .and(ADDED.when(!landed.added.is_empty() && looks_at_added(ours, landed)))
        .and(CALLED_BLIND.when(landed.declared_blind == Some(true)))
        .and(READ_AND_REMOVED.when(removes && (reads.read_whole_table || !reads.read_units.is_empty())))
        .and(BOTH_REMOVE.when(removes && !reads.removed_units.is_empty()));
    of_ours.and(of_both)
}
