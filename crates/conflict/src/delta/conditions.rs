//! The conditions of Delta's checks.

use super::{DeltaFacts, DeltaFile, MetadataDifference, PartitionColumn, ProtocolAccess, ProtocolState};
use crate::eval::{Holds, Value, Widened, cast};
use lakebed_transaction::{Evidence, Register, Scalar, UnitId};
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

/// How many files a message names.
const FILES_NAMED_MAX: usize = 6;

pub(super) fn text(words: &str) -> Evidence {
    Evidence::Text(words.to_owned())
}

/// Spark's error class and the place where a protocol cannot be read or written.
pub(super) fn unusable(state: &ProtocolState, access: &ProtocolAccess) -> Option<(&'static str, Evidence)> {
    match access {
        ProtocolAccess::Usable => None,
        ProtocolAccess::UnsupportedVersion => {
            let ProtocolState { reader_version, writer_version, .. } = state;
            Some((VERSION_CLASS, text(&format!("reader version {reader_version}, writer version {writer_version}"))))
        }
        ProtocolAccess::UnsupportedReaderFeatures(names) => Some((READ_CLASS, text(&names.join(", ")))),
        ProtocolAccess::UnsupportedWriterFeatures(names) => Some((WRITE_CLASS, text(&names.join(", ")))),
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
    (!dropped.is_empty()).then(|| text(&dropped.join(", ")))
}

pub(super) fn metadata_changed(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    match metadata_difference(ours, landed)? {
        MetadataDifference::Other(part) => Some(Evidence::Text(part)),
        MetadataDifference::Identical | MetadataDifference::Adoptable | MetadataDifference::IdentityOnly => None,
    }
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
    hit.map(|file| located(&file.unit, Some(file), ours))
}

pub(super) fn unreadable_partition_value(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    if !looks_at_added(ours, landed) || ours.footprint.read_whole_table || ours.table.partition_columns.is_empty() {
        return None;
    }
    let filters = filters_of(ours);
    apart(landed).find_map(|file| {
        filters.iter().find_map(|filter| match filter.holds(&PartitionRow { ours, file }) {
            Holds::Failed(failure) => Some(text(&format!("{}: {failure}", file.unit))),
            Holds::Possibly | Holds::No => None,
        })
    })
}

/// Row-id backfills change no row in either role, and a blind append depends on nothing.
fn looks_at_added(ours: &DeltaFacts, landed: &DeltaFacts) -> bool {
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
    let met = ours.footprint.read_units.common(removed, FILES_NAMED_MAX);
    if met.is_empty() && ours.footprint.read_whole_table {
        return removed.as_slice().first().map(|unit| located(unit, file_of(landed, unit), ours));
    }
    met_files(met, landed, ours)
}

pub(super) fn removed_twice(ours: &DeltaFacts, landed: &DeltaFacts) -> Option<Evidence> {
    let met = ours.footprint.removed_units.common(&landed.footprint.removed_units, FILES_NAMED_MAX);
    met_files(met, ours, ours)
}

/// The files by name; where partitions tell more, the first with its partition.
fn met_files(met: Vec<UnitId>, holder: &DeltaFacts, ours: &DeltaFacts) -> Option<Evidence> {
    let first = met.first()?;
    match located(first, file_of(holder, first), ours) {
        Evidence::Text(place) if met.len() > 1 => Some(Evidence::Text(format!("{place} and more files"))),
        Evidence::Text(place) => Some(Evidence::Text(place)),
        Evidence::Units(_)
        | Evidence::Rows(_, _)
        | Evidence::Register(_)
        | Evidence::Fields(_)
        | Evidence::Key { .. }
        | Evidence::Column { .. }
        | Evidence::Partition(_)
        | Evidence::Operations => Some(Evidence::Units(met)),
    }
}

fn file_of<'a>(facts: &'a DeltaFacts, unit: &UnitId) -> Option<&'a DeltaFile> {
    facts.removed.iter().find(|file| file.unit == *unit)
}

/// The file, with its partition where the table has any and the action names it.
fn located(unit: &UnitId, file: Option<&DeltaFile>, ours: &DeltaFacts) -> Evidence {
    let columns = &ours.table.partition_columns;
    let Some(file) =
        file.filter(|file| !columns.is_empty() && file.partition.as_ref().is_some_and(|values| !values.is_empty()))
    else {
        return Evidence::Units(vec![unit.clone()]);
    };
    let value =
        |column: &PartitionColumn| format!("{}={}", column.name, text_of(file, column).map_or("null", |text| text));
    let hint: Vec<String> = columns.iter().map(value).collect();
    Evidence::Text(format!("{unit} [{}]", hint.join(", ")))
}
