//! The index in memory, which is there to test the protocol with.

use crate::suites::{index_holds, reservations_race, store_holds};
use lakebed_storage::{CommitIndex, MemoryIndex};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_holds() {
    let index: Arc<dyn CommitIndex> = Arc::new(MemoryIndex::new());
    index_holds(&index, ["log/1", "log/2"]).await;
    store_holds(&index, 50).await;
    reservations_race(&index, "log/1", 50).await;
}
