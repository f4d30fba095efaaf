//! What the targets share: a load that is fed from a few objects.

use bytes::Bytes;
use lakebed_delta::{Load, LoadStep, Snapshot};

/// The first commit of a table, for what needs one.
pub const FIRST: &str = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"","partitionColumns":[],"configuration":{}}}"#;

/// Lets a target end on panics that escape alone: the Parquet reader asserts what damaged files break, and who calls it catches that.
pub fn only_what_escapes() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Loads the newest version of the objects; `None` where that is refused. A load ends after a few steps whatever it is fed.
pub fn load(objects: &[(&str, &[u8])]) -> Option<Snapshot> {
    let mut load = Load::new(objects.iter().map(|(name, bytes)| (*name, bytes.len() as u64)), true, None);
    for _ in 0..8 {
        match load.step().ok()? {
            LoadStep::Done(snapshot) => return Some(*snapshot),
            LoadStep::Relist => return None,
            LoadStep::Needs(needs) => {
                for name in needs {
                    let found = objects.iter().find(|(own, _)| *own == name.as_str());
                    load.feed(name, found.map(|(_, bytes)| Bytes::copy_from_slice(bytes)));
                }
            }
        }
    }
    panic!("a load never ends");
}

/// Asks a snapshot for everything that is computed only then.
pub fn look(snapshot: &Snapshot) {
    let _ = (snapshot.num_rows(), snapshot.num_deleted_rows(), snapshot.commit_info());
    for add in snapshot.files() {
        let _ = (add.key(), add.live_rows());
        if let Some(stats) = &add.stats {
            let _ = lakebed_delta::stats::bounds(stats, snapshot.schema(), snapshot.column_mapping());
        }
        for column in snapshot.core().partition_columns() {
            let text = add.partition_values.get(&column.physical_name);
            let _ = lakebed_delta::partition::parse(text, &column.column_type);
        }
        if let Some(vector) = &add.deletion_vector {
            let _ = lakebed_delta::deletion_vector::place(vector);
        }
    }
    let _ = (snapshot.tombstones().count(), snapshot.schema().undecodable());
}
