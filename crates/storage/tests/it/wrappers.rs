//! The wrappers do what their names say.

use lakebed_storage::testing::{Counting, Delayed, Fault, Faulty, Operation, Script};
use lakebed_storage::{Create, CreateProbe, MemoryStore, Store, StoreError, probe_create};
use std::sync::Arc;
use std::time::Duration;

fn faulty(script: Script<Fault>) -> (MemoryStore, Faulty) {
    let inner = MemoryStore::new();
    (inner.clone(), Faulty::new(Arc::new(inner), script))
}

async fn create(store: &dyn Store, name: &str) -> Create {
    store.create(name, name.to_owned().into()).await.expect("an answer")
}

/// Field case 4, wrappers A and the inner retry: the bytes are there, the answer is not.
#[tokio::test]
async fn a_lost_answer_leaves_the_bytes() {
    let (inner, store) = faulty(Script::queue([
        None,
        Some(Fault::LostAnswer(Create::Unknown("timed out".to_owned()))),
        Some(Fault::LostAnswer(Create::Exists)),
    ]));
    assert_eq!(create(&store, "1").await, Create::Created);
    assert_eq!(create(&store, "2").await, Create::Unknown("timed out".to_owned()));
    assert_eq!(create(&store, "3").await, Create::Exists);
    assert_eq!(create(&store, "4").await, Create::Created);
    for name in ["1", "2", "3", "4"] {
        assert_eq!(inner.get(name).await.expect("an answer"), Some(name.into()));
    }
    let lost = Script::always(Fault::LostAnswer(Create::Unknown(String::new())));
    let rival = Faulty::new(Arc::new(inner.clone()), lost);
    assert_eq!(rival.create("1", "rival".into()).await.expect("an answer"), Create::Unknown(String::new()));
    assert_eq!(inner.get("1").await.expect("an answer"), Some("1".into()), "the create was conditional");
}

/// Field case 9: absent when looked at, there a little later.
#[tokio::test]
async fn a_late_create_lands_after_so_many_requests() {
    let (_, store) = faulty(Script::nth(1, Fault::LateLanding { after_requests: 2 }));
    assert!(matches!(create(&store, "x").await, Create::Unknown(_)));
    assert_eq!(store.get("x").await.expect("an answer"), None);
    assert_eq!(store.list("", None, 9).await.expect("a listing"), []);
    assert_eq!(store.pending(), 1);
    assert_eq!(store.get("x").await.expect("an answer"), Some("x".into()));
    assert_eq!(store.pending(), 0);
}

#[tokio::test]
async fn a_late_create_loses_to_a_rival() {
    let (_, store) = faulty(Script::nth(1, Fault::LateLanding { after_requests: 9 }));
    assert!(matches!(create(&store, "x").await, Create::Unknown(_)));
    assert_eq!(store.create("x", "rival".into()).await.expect("an answer"), Create::Created);
    store.settle().await.expect("a landing");
    assert_eq!((store.pending(), store.get("x").await.expect("an answer")), (0, Some("rival".into())));
}

#[tokio::test]
async fn refusals_store_nothing() {
    let answers = [Create::NotNow { after_ms: 5 }, Create::Exists, Create::Unknown("lost".to_owned())];
    let (inner, store) = faulty(Script::queue(answers.clone().map(|answer| Some(Fault::SpuriousRefusal(answer)))));
    for answer in answers {
        assert_eq!(create(&store, "x").await, answer);
        assert_eq!(inner.get("x").await.expect("an answer"), None);
    }
    let (inner, store) = faulty(Script::always(Fault::Denied));
    assert!(matches!(store.create("x", "1".into()).await, Err(StoreError::Denied { .. })));
    assert_eq!(inner.get("x").await.expect("an answer"), None);
}

#[tokio::test]
async fn scripts_choose_by_count_and_name() {
    let refused = || Fault::SpuriousRefusal(Create::Exists);
    let (_, store) = faulty(Script::first_of(|name| name.ends_with(".json"), refused()));
    let answers = [create(&store, "a").await, create(&store, "b.json").await, create(&store, "c.json").await];
    assert_eq!(answers, [Create::Created, Create::Exists, Create::Created]);
    let (_, store) = faulty(Script::each(|call| (call.nth % 2 == 0 && call.name != "free").then_some(Fault::Denied)));
    assert_eq!(create(&store, "1").await, Create::Created);
    assert!(store.create("2", "2".into()).await.is_err());
    assert_eq!(create(&store, "3").await, Create::Created);
    assert_eq!(create(&store, "free").await, Create::Created);
}

#[tokio::test]
async fn every_request_is_counted() {
    let store = Counting::new(Arc::new(MemoryStore::new()));
    store.put("a", "1".into()).await.expect("a put");
    assert_eq!(create(&store, "b").await, Create::Created);
    store.copy("a", "c").await.expect("a copy");
    store.get("a").await.expect("an answer");
    store.get_range("a", 0..1).await.expect("an answer");
    store.head("a").await.expect("an answer");
    store.list("folder", None, 1).await.expect("a listing");
    store.delete("a").await.expect("a delete");
    store.delete_all(&["b".to_owned(), "c".to_owned()]).await.expect("a delete");
    let seen: Vec<(Operation, String)> =
        store.snapshot().all().iter().map(|request| (request.operation, request.name.clone())).collect();
    let wanted = [
        (Operation::Put, "a"),
        (Operation::Create, "b"),
        (Operation::Copy, "c"),
        (Operation::Get, "a"),
        (Operation::GetRange, "a"),
        (Operation::Head, "a"),
        (Operation::List, "folder"),
        (Operation::Delete, "a"),
        (Operation::DeleteAll, "b c"),
    ];
    assert_eq!(seen, wanted.map(|(operation, name)| (operation, name.to_owned())));
    assert_eq!((store.take().total(), store.snapshot().total()), (9, 0));
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_waited_for() {
    let waits = |operation| Duration::from_secs(if operation == Operation::Create { 60 } else { 1 });
    let store = Delayed::by(Arc::new(MemoryStore::new()), waits);
    let begin = tokio::time::Instant::now();
    assert_eq!(create(&store, "x").await, Create::Created);
    assert_eq!(begin.elapsed().as_secs(), 60);
    store.get("x").await.expect("an answer");
    assert_eq!(begin.elapsed().as_secs(), 61);
}

/// Field case 18: a probe tells the store that ignores the condition, and leaves nothing behind.
#[tokio::test]
async fn a_probe_tells_a_deaf_store() {
    let cases = [
        (Script::quiet(), CreateProbe::Kept),
        (Script::always(Fault::IgnoredCondition), CreateProbe::Broken),
        (Script::nth(2, Fault::IgnoredCondition), CreateProbe::Broken),
        (Script::nth(2, Fault::SpuriousRefusal(Create::NotNow { after_ms: 0 })), CreateProbe::Unclear),
        (Script::nth(1, Fault::SpuriousRefusal(Create::Exists)), CreateProbe::Unclear),
    ];
    for (script, wanted) in cases {
        let (inner, store) = faulty(script);
        assert_eq!(probe_create(&store, "probe-1").await.expect("an answer"), wanted);
        assert_eq!(inner.list("", None, 9).await.expect("a listing"), []);
    }
}
