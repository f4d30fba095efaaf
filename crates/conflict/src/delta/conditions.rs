//! The conditions of Delta's checks.

use super::metadata::{MetadataPart, OUTSIDE_SCHEMA_AND_PROPERTIES};
use super::{DeltaFacts, DeltaFile, MetadataDifference, PartitionColumn, ProtocolAccess, ProtocolState};
use crate::eval::{Holds, Value, Widened, cast};
use lakebed_transaction::{Evidence, Register, Scalar, UnitId, UnitSet};
use std::borrow::Cow;
use std::sync::Arc;

/// The operation that gives row ids to files that have none.
pub(super) const BACKFILL: &str = "ROW TRACKING BACKFILL";
/// The operation that takes row ids away.
pub(super) const UNBACKFILL: &str = "ROW TRACKING UNBACKFILL";

/// Spark's class for protocol versions that are not supported.
pub(super) const VERSION_CLASS: &str = "DELTA_INVALID_PROTOCOL_VERSION";
/// Spark's class for reader features that are not supported.
pub(super) const READ_CLASS: &str = "DELTA_UNSUPPORTED_FEATURES_FOR_READ";
/// Spark's class for writer features that are not supported.
pub(super) const WRITE_CLASS: &str = "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE";

/// How many parts of the metadata a message names for each side.
const PARTS_NAMED_MAX: usize = 3;

pub(super) fn text(words: impl Into<Cow<'static, str>>) -> Evidence {
    Evidence::text(words)
}

/// Spark's error class and the place where a protocol cannot be read or written.
pub(super) fn unusable(state: &ProtocolState, access: &ProtocolAccess) -> Option<(&'static str, Evidence)> {
    match access {
        ProtocolAccess::Usable => None,
        ProtocolAccess::UnsupportedVersion => {
            let ProtocolState { reader_version, writer_version, .. } = state;
            Some((VERSION_CLASS, text(format!("reader version {reader_version}, writer version {writer_version}"))))
        }
        ProtocolAccess::UnsupportedReaderFeatures(names) => Some((READ_CLASS, text(names.join(", ")))),
        ProtocolAccess::UnsupportedWriterFeatures(names) => Some((WRITE_CLASS, text(names.join(", ")))),
    }
}

pub(super) fn unsupported_version(_: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    unusable_as(landed, VERSION_CLASS)
}

pub(super) fn unsupported_reader_features(_: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    unusable_as(landed, READ_CLASS)
}

pub(super) fn unsupported_writer_features(_: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    unusable_as(landed, WRITE_CLASS)
}

fn unusable_as(landed: &DeltaFacts, class: &str) -> Option<Evidence> {
    let change = landed.protocol.as_ref()?;
    unusable(&change.state, &change.access).filter(|(found, _)| *found == class).map(|(_, evidence)| evidence)
}

pub(super) fn feature_dropped(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    let dropped = ours.table.protocol.dropped_by(&landed.protocol.as_ref()?.state);
    (!dropped.is_empty()).then(|| text(dropped.join(", ")))
}

pub(super) fn metadata_changed(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    match metadata_difference(ours, landed)? {
        MetadataDifference::Other(part) => Some(Evidence::text(part)),
        MetadataDifference::Identical | MetadataDifference::Adoptable | MetadataDifference::IdentityOnly => None,
    }
}

/// The part of the metadata that both change; where there is none, what each changes.
pub(super) fn both_change_metadata(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    let (mine, theirs) = (ours.metadata.as_ref()?, landed.metadata.as_ref()?);
    let before = &ours.table.metadata;
    let (mine, theirs) = (before.parts_changed_by(&mine.state), before.parts_changed_by(&theirs.state));
    let shared = mine.iter().find(|part| theirs.contains(part)).map(part_of_metadata);
    Some(shared.unwrap_or_else(|| text(format!("ours: {}; landed: {}", parts_listed(&mine), parts_listed(&theirs)))))
}

/// The first part of the metadata that ours takes over.
pub(super) fn adopts_metadata(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    let change = landed.metadata.as_ref().filter(|_| adopted_metadata(ours, landed))?;
    let parts = ours.table.metadata.parts_changed_by(&change.state);
    Some(parts.first().map_or(Evidence::Register(Register::Schema), part_of_metadata))
}

fn part_of_metadata(part: &MetadataPart) -> Evidence {
    match part {
        MetadataPart::Property(key) => Evidence::Register(Register::Property(Arc::clone(key))),
        MetadataPart::Schema => Evidence::Register(Register::Schema),
        MetadataPart::Rest => text(OUTSIDE_SCHEMA_AND_PROPERTIES),
    }
}

fn parts_listed(parts: &[MetadataPart]) -> String {
    let mut names: Vec<String> =
        parts.iter().take(PARTS_NAMED_MAX).map(|part| part_of_metadata(part).to_string()).collect();
    match parts.len().checked_sub(PARTS_NAMED_MAX) {
        Some(more) if more > 0 => names.push(format!("{more} more")),
        Some(_) | None => {}
    }
    if names.is_empty() { "nothing that differs".to_owned() } else { names.join(", ") }
}

pub(super) fn adopted_metadata(ours: &DeltaFacts, landed: &DeltaFacts) -> bool {
    metadata_difference(ours, landed) == Some(MetadataDifference::Adoptable)
}

fn metadata_difference(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<MetadataDifference> {
    let change = landed.metadata.as_ref()?;
    Some(change.difference_from(&ours.table.metadata, protocol_when_written(ours, landed)))
}

/// The protocol in force when ours follows landed.
fn protocol_when_written<'a>(ours: &'a DeltaFacts, landed: &'a DeltaFacts) -> &'a ProtocolState {
    ours.protocol.as_ref().or(landed.protocol.as_ref()).map_or(&ours.table.protocol, |change| &change.state)
}

/// Whether ours gives row ids when it follows landed: the feature is there and not suspended.
pub(super) fn numbers_rows(ours: &DeltaFacts, landed: &DeltaFacts) -> bool {
    protocol_when_written(ours, landed).supports("rowTracking")
        && !switched_on(ours, landed, "delta.rowTrackingSuspended")
}

pub(super) fn stamps_commits(ours: &DeltaFacts, landed: &DeltaFacts) -> bool {
    switched_on(ours, landed, "delta.enableInCommitTimestamps")
}

/// Whether a property is true in the metadata in force when ours follows landed.
fn switched_on(ours: &DeltaFacts, landed: &DeltaFacts, key: &str) -> bool {
    let adopted = landed.metadata.as_ref().filter(|_| adopted_metadata(ours, landed));
    let metadata = adopted.map_or_else(|| ours.own_metadata(), |change| &change.state);
    metadata.configuration.get(key).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

pub(super) fn same_domain(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    let mut shared = ours.domains.intersection(&landed.domains);
    shared
        .find(|name| &***name != super::facts::ROW_TRACKING_DOMAIN)
        .map(|name| Evidence::Register(Register::Domain(Arc::clone(name))))
}

pub(super) fn same_application(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    let mut shared = ours.app_ids_read.intersection(&landed.app_ids_written);
    shared.next().map(|id| Evidence::Register(Register::Application(Arc::clone(id))))
}

/// Whether landed's files count at `WriteSerializable`: those of a commit that calls itself blind do not, unless ours
/// changes metadata.
pub(super) fn counts_at_write_serializable(ours: &DeltaFacts, landed: &DeltaFacts) -> bool {
    ours.metadata.is_some() || landed.declared_blind != Some(true)
}

/// Whether landed calls itself blind although it does more than add.
pub(super) fn falsely_blind(landed: &DeltaFacts) -> bool {
    landed.declared_blind == Some(true) && !landed.landed_blind()
}

pub(super) fn added_files(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    if !looks_at_added(ours, landed) {
        return None;
    }
    let hit = if ours.footprint.read_whole_table || ours.table.partition_columns.is_empty() {
        landed.added.first()
    } else {
        let filters = filters_of(ours);
        landed
            .added
            .iter()
            .find(|file| filters.iter().any(|filter| filter.holds(&PartitionRow { ours, file }) == Holds::Possibly))
    };
    hit.map(|file| located(file, ours))
}

pub(super) fn unreadable_partition_value(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    if !looks_at_added(ours, landed) || ours.footprint.read_whole_table || ours.table.partition_columns.is_empty() {
        return None;
    }
    let filters = filters_of(ours);
    apart(landed).find_map(|file| {
        filters.iter().find_map(|filter| match filter.holds(&PartitionRow { ours, file }) {
            Holds::Failed(failure) => Some(text(format!("{}: {failure}", file.unit))),
            Holds::Possibly | Holds::No => None,
        })
    })
}

/// Row-id backfills change no row in either role, and a blind append depends on nothing.
pub(super) fn looks_at_added(ours: &DeltaFacts, landed: &DeltaFacts) -> bool {
    let moves_ids_only = |facts: &DeltaFacts| matches!(&*facts.operation, BACKFILL | UNBACKFILL);
    !ours.derived_blind() && !moves_ids_only(ours) && !moves_ids_only(landed)
}

fn filters_of(ours: &DeltaFacts) -> Vec<Widened<'_>> {
    ours.footprint.predicates.iter().map(|read| Widened::of(&read.partition)).collect()
}

/// Landed's added files, one of each run in the same partition: the others would be judged alike.
fn apart(landed: &DeltaFacts) -> impl Iterator<Item = &DeltaFile> {
    let before = std::iter::once(None).chain(landed.added.iter().map(Some));
    let firsts =
        before.zip(&landed.added).filter(|(before, file)| before.is_none_or(|b| b.partition != file.partition));
    firsts.map(|(_, file)| file)
}

/// The partition values of a landed file, read with the types of the table that ours read.
struct PartitionRow<'a> {
    ours: &'a DeltaFacts,
    file: &'a DeltaFile,
}

impl crate::eval::Columns for PartitionRow<'_> {
    fn value(&self, path: &[Arc<str>]) -> Value {
        let [name] = path else { return Value::Unbounded };
        let mut columns = self.ours.table.partition_columns.iter();
        let Some(column) = columns.find(|column| column.name.eq_ignore_ascii_case(name)) else {
            return Value::Unbounded;
        };
        // A key that is missing counts as NULL; an empty text does not.
        text_of(self.file, column)
            .map_or(Value::NULL, |text| cast(&Scalar::String(Arc::clone(text)), &column.column_type))
    }
}

fn text_of<'a>(file: &'a DeltaFile, column: &PartitionColumn) -> Option<&'a Arc<str>> {
    let values = file.partition.as_deref().unwrap_or_default();
    values.iter().find(|(key, _)| *key == column.physical_name).and_then(|(_, text)| text.as_ref())
}

pub(super) fn removed_what_was_read(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    let removed = &landed.footprint.removed_units;
    let met = met_files(&ours.footprint.read_units, removed, landed, ours);
    if met.is_none() && ours.footprint.read_whole_table {
        // No partition stands beside it: ours named none of the files that it read.
        return removed.as_slice().first().map(|unit| Evidence::Units(vec![unit.clone()]));
    }
    met
}

pub(super) fn removed_twice(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    met_files(&ours.footprint.removed_units, &landed.footprint.removed_units, ours, ours)
}

/// One file that is in both sets; with its partition, and whether there are more, where partitions tell more.
fn met_files(mine: &UnitSet, theirs: &UnitSet, holder: &DeltaFacts, ours: &DeltaFacts) -> Option<Evidence> {
    let met = mine.common(theirs, 1);
    let Some(place) = file_of(holder, met.first()?, ours).map(|file| in_partition(file, ours)) else {
        return Some(Evidence::Units(met));
    };
    let mut count = 0;
    let is_only = mine.every_common(theirs, |_| {
        count += 1;
        count < 2
    });
    Some(text(if is_only { place } else { format!("{place} and more files") }))
}

/// The removed file of this path, where its action names a partition of ours' table.
fn file_of<'a>(facts: &'a DeltaFacts, unit: &UnitId, ours: &DeltaFacts) -> Option<&'a DeltaFile> {
    if ours.table.partition_columns.is_empty() {
        return None;
    }
    facts.removed.iter().find(|file| file.unit == *unit).filter(|file| names_partition(file))
}

fn names_partition(file: &DeltaFile) -> bool {
    file.partition.as_ref().is_some_and(|values| !values.is_empty())
}

/// The file, with its partition where the table has any and the action names it.
fn located(file: &DeltaFile, ours: &DeltaFacts) -> Evidence {
    if ours.table.partition_columns.is_empty() || !names_partition(file) {
        return Evidence::Units(vec![file.unit.clone()]);
    }
    text(in_partition(file, ours))
}

fn in_partition(file: &DeltaFile, ours: &DeltaFacts) -> String {
    let value =
        |column: &PartitionColumn| format!("{}={}", column.name, text_of(file, column).map_or("null", |text| text));
    let hint: Vec<String> = ours.table.partition_columns.iter().map(value).collect();
    format!("{} [{}]", file.unit, hint.join(", "))
}
