//! What is known of each row, on tables whose rows keep their ids: its id, and the versions that created and last changed it.

use crate::OpsError;
use crate::lance::table::LanceTable;
use crate::lance::touch::stable_ids;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::proto::table::data_fragment::{
    CreatedAtVersionSequence as Created, LastUpdatedAtVersionSequence as Updated,
};
use lakebed_lance::row_ids::RowVersions;

/// What is known of the rows of one fragment.
pub(super) struct Lineage {
    ids: Vec<u64>,
    created: RowVersions,
    updated: RowVersions,
}

/// A row's id, and the versions that created and last changed it.
pub(super) type Known = (u64, u64, u64);

impl Lineage {
    /// `None` for a table whose rows have no ids of their own.
    pub(super) fn of(table: &LanceTable, fragment: &DataFragment) -> Result<Option<Self>, OpsError> {
        let Some(ids) = stable_ids(table, fragment)? else { return Ok(None) };
        let created = match &fragment.created_at_version_sequence {
            Some(Created::InlineCreatedAtVersions(bytes)) => RowVersions::decode(bytes),
            Some(Created::ColumnCreatedAtVersions(_)) | None => None,
        };
        let updated = match &fragment.last_updated_at_version_sequence {
            Some(Updated::InlineLastUpdatedAtVersions(bytes)) => RowVersions::decode(bytes),
            Some(Updated::ColumnLastUpdatedAtVersions(_)) | None => None,
        };
        let (created, updated) = created.zip(updated).ok_or_else(|| unknown(fragment))?;
        Ok(Some(Self { ids, created, updated }))
    }

    /// What is known of the rows at these places.
    pub(super) fn at(&self, fragment: &DataFragment, rows: &[u64]) -> Result<Vec<Known>, OpsError> {
        let known = |row: &u64| {
            let id = self.ids.get(usize::try_from(*row).ok()?)?;
            Some((*id, self.created.at(*row)?, self.updated.at(*row)?))
        };
        rows.iter().map(|row| known(row).ok_or_else(|| unknown(fragment))).collect()
    }
}

/// Writes down in new fragments which versions created and changed their rows, which came in this order.
pub(super) fn write_down(
    fragments: &mut [DataFragment],
    known: impl IntoIterator<Item = (u64, u64)>,
) -> Result<(), OpsError> {
    let mut known = known.into_iter();
    for fragment in fragments {
        let (mut created, mut updated) = (RowVersions::default(), RowVersions::default());
        for _ in 0..fragment.physical_rows {
            let (was_created, was_updated) = known.next().ok_or_else(|| unknown(fragment))?;
            created.push(was_created, 1);
            updated.push(was_updated, 1);
        }
        fragment.created_at_version_sequence = Some(Created::InlineCreatedAtVersions(created.encode()));
        fragment.last_updated_at_version_sequence = Some(Updated::InlineLastUpdatedAtVersions(updated.encode()));
    }
    Ok(())
}

fn unknown(fragment: &DataFragment) -> OpsError {
    OpsError::Unsupported {
        feature: format!("the row versions of fragment {} as they are kept", fragment.id),
        statement: "a compaction",
        advice: "compact it with a Lance client".to_owned(),
    }
}
