//! Fragments for measurements and demonstrations.

use lakebed_lance::Snapshot;
use lakebed_lance::proto::table::{DataFile, DataFragment};
use lakebed_lance::transaction::new_fragment;

/// A fragment whose data file does not exist: all columns of the table, so many rows.
pub(crate) fn fictitious(snapshot: &Snapshot, file: &str, rows: u64) -> DataFragment {
    let fields: Vec<i32> = snapshot.fields().iter().map(|field| field.id).collect();
    let column_indices = (0_i32..).take(fields.len()).collect();
    let data = DataFile {
        path: file.to_owned(),
        fields,
        column_indices,
        file_major_version: 2,
        file_minor_version: 2,
        file_size_bytes: 1_000,
        base_id: None,
    };
    new_fragment(data, rows)
}
