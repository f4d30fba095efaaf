//! Stores in memory.

use lakebed_storage::{Create, MemoryStore, Store};

#[tokio::test]
async fn a_name_is_shared_and_a_nameless_store_is_not() {
    let one = MemoryStore::named("memory-test");
    let other = MemoryStore::named("memory-test").below("a/b").expect("a folder");
    assert_eq!(other.create("x", "1".into()).await.expect("an answer"), Create::Created);
    assert_eq!(one.get("a/b/x").await.expect("an answer"), Some("1".into()));
    assert_eq!(other.root(), "memory://memory-test/a/b");
    assert_eq!(MemoryStore::named("another").get("a/b/x").await.expect("an answer"), None);
    assert_eq!(MemoryStore::new().get("a/b/x").await.expect("an answer"), None);
    assert!(one.below("../up").is_err());
}
