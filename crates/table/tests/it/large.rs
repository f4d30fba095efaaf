//! Tables with many files: what is looked at, and what is left alone.

use crate::local::{Local, add, classic, commit, first, now_ms};
use crate::support::{committed, isolated, source};
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use lakebed_storage::Store;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_table::{CommitOptions, Snapshot, Table};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many file actions were made of what the log holds.
fn made(table: &Table) -> usize {
    let Snapshot::Delta(held) = table.snapshot() else { panic!("a Delta table") };
    held.snapshot.num_files_made()
}

/// Two rows of the table's only column.
fn rows() -> RecordBatch {
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, true)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(vec![1, 2]))]).unwrap()
}

fn counting(local: &Local) -> (Arc<Counting>, Arc<dyn Store>) {
    let counting = Arc::new(Counting::new(local.store()));
    (Arc::clone(&counting), counting)
}

/// A cold append, from a checkpoint or from commits, makes no action of any file; each object is read once.
#[tokio::test]
async fn a_cold_append_decodes_no_file_action() {
    const FILES: usize = 20_000;
    let local = Local::new();
    let mut lines = first(r#""delta.checkpointInterval":"1000""#);
    lines.extend((0..FILES).map(|at| add(&format!("f{at}.parquet"))));
    local.commit(0, &lines, now_ms());
    for from_checkpoint in [false, true] {
        if from_checkpoint {
            local.open().await.checkpoint().await.unwrap();
            assert!(local.has(&classic(1)));
            std::fs::remove_file(local.path(&commit(0))).unwrap();
        }
        let (counted, store) = counting(&local);
        let mut table = Table::open_store(store, &isolated()).await.unwrap();
        let before = table.version().get();
        let report = table.append(source(rows()), &CommitOptions::default()).await.unwrap();
        assert_eq!(committed(&report), before + 1);
        assert_eq!(made(&table), 0, "from a checkpoint: {from_checkpoint}");
        let summary = table.snapshot().summary().unwrap();
        assert_eq!(summary.num_files as usize, FILES + 1 + usize::from(from_checkpoint));
        assert_eq!(made(&table), 0, "nor does telling what there is");
        let requests = counted.take();
        let read = requests.names(Operation::Get);
        assert_eq!(read.iter().collect::<BTreeSet<_>>().len(), read.len(), "each object is read once: {read:?}");
        // Asked for, they are there.
        assert_eq!(table.snapshot().files().len() as u64, summary.num_files);
        assert_eq!(made(&table) as u64, summary.num_files);
    }
}
