//! What the adapter makes of a store's errors, and how much of a listing it reads.

use futures::stream::{BoxStream, StreamExt};
use lakebed_storage::{Create, PutIfAbsent, Store, StoreError};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

type MakeError = Arc<dyn Fn() -> Error + Send + Sync>;

/// Memory whose conditional puts or reads may fail, and whose listings count what is taken from them and may be reversed.
#[derive(Clone, Default)]
struct Scripted {
    inner: Arc<InMemory>,
    create_error: Option<MakeError>,
    get_error: Option<MakeError>,
    reversed: bool,
    taken: Arc<AtomicUsize>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted with SECRET")
    }
}

impl fmt::Display for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted with SECRET")
    }
}

impl Scripted {
    fn counted(
        &self,
        metas: BoxStream<'static, object_store::Result<ObjectMeta>>,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        let taken = Arc::clone(&self.taken);
        let count = move |_: &object_store::Result<ObjectMeta>| {
            taken.fetch_add(1, Ordering::Relaxed);
        };
        if !self.reversed {
            return metas.inspect(count).boxed();
        }
        let reversed = async move {
            let mut all: Vec<_> = metas.collect().await;
            all.reverse();
            futures::stream::iter(all)
        };
        futures::stream::once(reversed).flatten().inspect(count).boxed()
    }
}

#[async_trait::async_trait]
impl ObjectStore for Scripted {
    async fn put_opts(&self, at: &Path, payload: PutPayload, options: PutOptions) -> object_store::Result<PutResult> {
        match &self.create_error {
            Some(make) if options.mode == PutMode::Create => Err(make()),
            Some(_) | None => self.inner.put_opts(at, payload, options).await,
        }
    }
    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, options).await
    }
    async fn get_opts(&self, at: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        match &self.get_error {
            Some(make) => Err(make()),
            None => self.inner.get_opts(at, options).await,
        }
    }
    fn delete_stream(
        &self,
        at: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(at)
    }
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.counted(self.inner.list(prefix))
    }
    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.counted(self.inner.list_with_offset(prefix, offset))
    }
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }
    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// The words in which `object_store` reports a status; the type behind them is private to it.
fn generic(text: &'static str) -> MakeError {
    Arc::new(move || Error::Generic { store: "S3", source: text.into() })
}

fn source(text: &'static str) -> Box<dyn std::error::Error + Send + Sync> {
    text.into()
}

fn adapted(store: Scripted) -> PutIfAbsent {
    PutIfAbsent::new(Arc::new(store), "table", "s3://me:SECRET@bucket/table?sig=SECRET")
        .expect("an adapter")
        .with_secrets(["SECRET-KEY".to_owned()])
}

async fn created_with(make: MakeError) -> Result<Create, StoreError> {
    adapted(Scripted { create_error: Some(make), ..Scripted::default() }).create("x", "1".into()).await
}

/// Field cases 130 and 139: however a store words the lost create, it is recognised; and the same for being busy.
#[tokio::test]
async fn answers_of_a_create() {
    let path = || "table/x".to_owned();
    let exists: [MakeError; 6] = [
        Arc::new(move || Error::AlreadyExists { path: path(), source: source("409") }),
        Arc::new(move || Error::Precondition { path: path(), source: source("412") }),
        Arc::new(move || Error::NotModified { path: path(), source: source("304") }),
        generic("Server returned non-2xx status code: 412 Precondition Failed: "),
        generic("Server returned non-2xx status code: 409 Conflict: ConditionalRequestConflict"),
        generic("Server returned non-2xx status code: 304 Not Modified: "),
    ];
    for make in exists {
        assert_eq!(created_with(make).await.expect("an answer"), Create::Exists);
    }
    let busy = [
        "Server returned non-2xx status code: 429 Too Many Requests: slow",
        "Server returned non-2xx status code: 503 Service Unavailable: SlowDown",
    ];
    for text in busy {
        assert_eq!(created_with(generic(text)).await.expect("an answer"), Create::NotNow { after_ms: 0 });
    }
    let unknown = [
        "operation timed out",
        "connection reset by peer",
        "Server returned non-2xx status code: 500 Internal Server Error: ",
        "Server returned non-2xx status code: 504 Gateway Timeout: ",
        "Server returned non-2xx status code: 408 Request Timeout: ",
        "Server returned non-2xx status code: 400 Bad Request: <Code>RequestTimeout</Code>",
        "Error performing PUT http://h/x in 3s, after 2 retries, max_retries: 10, retry_timeout: 180s  - Server returned non-2xx status code: 503 Service Unavailable: ",
    ];
    for text in unknown {
        assert!(matches!(created_with(generic(text)).await, Ok(Create::Unknown(_))), "{text}");
    }
}

#[tokio::test]
async fn certain_refusals_are_errors() {
    let path = || "table/x".to_owned();
    let denied: [MakeError; 2] = [
        Arc::new(move || Error::PermissionDenied { path: path(), source: source("403") }),
        Arc::new(move || Error::Unauthenticated { path: path(), source: source("401") }),
    ];
    for make in denied {
        assert!(matches!(created_with(make).await, Err(StoreError::Denied { .. })));
    }
    let unable: [MakeError; 3] = [
        Arc::new(|| Error::NotSupported { source: source("no conditions here") }),
        Arc::new(|| Error::NotImplemented { operation: "put".to_owned(), implementer: "http".to_owned() }),
        generic("Server returned non-2xx status code: 501 Not Implemented: <Code>NotImplemented</Code>"),
    ];
    for make in unable {
        let refused = created_with(make).await.expect_err("refused");
        assert!(matches!(refused, StoreError::Unusable { .. }), "{refused}");
        assert!(refused.to_string().contains("--index"), "{refused}");
    }
    let others: [MakeError; 2] = [
        Arc::new(move || Error::NotFound { path: path(), source: source("no such bucket") }),
        generic("Server returned non-2xx status code: 413 Payload Too Large: "),
    ];
    for make in others {
        assert!(matches!(created_with(make).await, Err(StoreError::Failed { .. })));
    }
    // A refusal after a retry is not certain: the first try may have stored the object before it was answered with 500.
    let retried: MakeError = Arc::new(move || Error::PermissionDenied {
        path: path(),
        source: source(
            "in 3s, after 1 retries, max_retries: 10, retry_timeout: 180s  - Server returned non-2xx status code: 403 Forbidden",
        ),
    });
    assert!(matches!(created_with(retried).await, Ok(Create::Unknown(_))));
}

/// Field case 136: the text of a store's error keeps host, path and status, and loses query strings and planted secrets.
#[tokio::test]
async fn foreign_errors_are_cleaned() {
    let text = "Error performing GET https://u:SECRET@host/table/x?X-Sig=SECRET in 1ms - Server returned non-2xx status code: 403 Forbidden: SECRET-KEY";
    let get_error: MakeError =
        Arc::new(move || Error::PermissionDenied { path: "table/x".to_owned(), source: source(text) });
    let store =
        adapted(Scripted { get_error: Some(get_error), create_error: Some(generic(text)), ..Scripted::default() });
    let read = store.get("x").await.expect_err("denied");
    let created = store.create("x", "1".into()).await.expect_err("denied");
    let shown = format!("{read} {read:?} {created} {created:?} {store:?} {}", store.root());
    assert!(!shown.contains("SECRET"), "{shown}");
    assert!(shown.contains("https://host/table/x?… in 1ms") && shown.contains("403"), "{shown}");
    assert_eq!(store.root(), "s3://bucket/table?…");
}

#[tokio::test]
async fn a_busy_read_is_told_apart() {
    let busy = generic("Server returned non-2xx status code: 503 Service Unavailable: SlowDown");
    let store = adapted(Scripted { get_error: Some(busy), ..Scripted::default() });
    assert!(matches!(store.get("x").await, Err(StoreError::Busy { .. })));
    assert!(matches!(store.get_range("x", 0..1).await, Err(StoreError::Busy { .. })));
}

async fn filled(reversed: bool) -> (Scripted, Vec<String>) {
    let scripted = Scripted { reversed, ..Scripted::default() };
    let store = adapted(scripted.clone());
    let names: Vec<String> = (0..100).map(|i| format!("log/{i:03}")).collect();
    for name in &names {
        store.put(name, "1".into()).await.expect("a put");
    }
    (scripted, names)
}

async fn first(store: &PutIfAbsent, after: Option<&str>, limit: usize) -> Vec<String> {
    store.list("log", after, limit).await.expect("a listing").into_iter().map(|listed| listed.name).collect()
}

#[tokio::test]
async fn a_sorted_listing_stops_at_the_limit_and_starts_at_the_bound() {
    let (scripted, names) = filled(false).await;
    let sorted = adapted(scripted.clone()).with_sorted_listings();
    assert_eq!(first(&sorted, None, 3).await, names[..3]);
    assert_eq!(scripted.taken.swap(0, Ordering::Relaxed), 3);
    assert_eq!(first(&sorted, Some("log/095"), 3).await, names[96..99]);
    assert_eq!(scripted.taken.swap(0, Ordering::Relaxed), 3);
    let plain = adapted(scripted.clone());
    assert_eq!(first(&plain, None, 3).await, names[..3]);
    assert_eq!(scripted.taken.swap(0, Ordering::Relaxed), 100, "a store that is not known to sort is read whole");
}

#[tokio::test]
async fn a_listing_out_of_order_is_put_in_order() {
    let (scripted, names) = filled(true).await;
    for store in [adapted(scripted.clone()), adapted(scripted.clone()).with_sorted_listings()] {
        assert_eq!(first(&store, None, 3).await, names[..3]);
        assert_eq!(first(&store, Some("log/050"), 2).await, names[51..53]);
        assert_eq!(first(&store, None, usize::MAX).await, names);
    }
}

/// Creates take their own handle where one is given, so that its client can be one without retries.
#[tokio::test]
async fn creates_go_through_their_own_handle() {
    let reads = Scripted { create_error: Some(generic("the handle for reads")), ..Scripted::default() };
    let creates = Scripted { inner: Arc::clone(&reads.inner), ..Scripted::default() };
    let store = adapted(reads).with_creates_through(Arc::new(creates));
    assert_eq!(store.create("x", "1".into()).await.expect("an answer"), Create::Created);
    assert_eq!(store.get("x").await.expect("an answer"), Some("1".into()));
}
