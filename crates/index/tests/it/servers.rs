//! The indexes that want a server, where one is named in the environment (`cargo xtask stores up` starts them).

use std::sync::Arc;

use crate::suites::{index_holds, plain, reservations_race, store_holds};
use crate::tables::writers_race;
use lakebed_storage::CommitIndex;
use lakebed_table::TableFormat;

/// What a variable says, or a word that the test is skipped: a failure where nothing may be skipped.
pub(crate) fn named(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        assert!(std::env::var("CI").is_err(), "${variable} names no server, and in CI none may be missing");
        println!("skipped: ${variable} names no server");
    }
    value
}

/// Everything that holds for an index that keeps any name.
async fn holds(index: Arc<dyn CommitIndex>) {
    index_holds(&index, ["log/1", "log/2"]).await;
    store_holds(&index, 5).await;
    reservations_race(&index, "log/1", 20).await;
    for format in [TableFormat::Delta, TableFormat::Lance] {
        writers_race(&plain(), &index, format, 1).await;
    }
}

/// What a client says of a server that is not there: nothing was reserved, and no secret is shown.
async fn absent_is_busy(url: &str) {
    let index = lakebed_index::open(url).unwrap();
    let entry =
        lakebed_storage::Entry { name: "a".to_owned(), staged: "a-1".to_owned(), size_bytes: 1, confirmed: false };
    let error = index.reserve("s3://b/t", &entry).await.unwrap_err();
    assert!(matches!(error, lakebed_storage::StoreError::Busy { .. }), "{error:?}");
    let shown = format!("{error} {error:?} {index:?}");
    assert!(shown.contains("127.0.0.1") && !shown.contains("SECRET"), "{shown}");
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_holds() {
    absent_is_busy("postgres://me:SECRET@127.0.0.1:1/x").await;
    let Some(url) = named("LAKEBED_TEST_POSTGRES") else { return };
    holds(lakebed_index::open(&url).unwrap()).await;
}

#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn redis_holds() {
    absent_is_busy("redis://me:SECRET@127.0.0.1:1/0").await;
    let Some(url) = named("LAKEBED_TEST_REDIS") else { return };
    holds(lakebed_index::open(&url).unwrap()).await;
}

/// A reply that never comes leaves the reservation open; one that the server refuses does not.
#[cfg(feature = "redis")]
#[tokio::test]
async fn a_redis_that_goes_away_leaves_a_reservation_unknown() {
    use lakebed_storage::{Entry, Reserve, StoreError};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for (answer, unknown) in [("", true), ("-OOM not now\r\n", false), ("-NOPERM no\r\n", false), ("?\r\n", true)] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4_096];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let index = lakebed_index::RedisIndex::new(&format!("redis://127.0.0.1:{port}")).unwrap();
        let entry = Entry { name: "a".to_owned(), staged: "a-1".to_owned(), size_bytes: 1, confirmed: false };
        match index.reserve("s3://b/t", &entry).await {
            Ok(Reserve::Unknown(_)) => assert!(unknown, "{answer}"),
            Err(StoreError::Busy { .. } | StoreError::Denied { .. }) => assert!(!unknown, "{answer}"),
            other => panic!("{answer}: {other:?}"),
        }
    }
}

#[cfg(feature = "dynamodb")]
pub(crate) mod dynamodb {
    use super::named;
    use crate::suites::{index_holds, plain, reservations_race, unique};
    use crate::tables::{create, keys, set, through, writers_race};
    use lakebed_index::{DynamoIndex, DynamoOptions, Layout};
    use lakebed_storage::{CommitIndex, Create, Indexed, MemoryStore, Store};
    use lakebed_table::TableFormat;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// One unsigned request; a test server asks for no signature.
    pub(crate) async fn ask(endpoint: &str, operation: &str, body: &str) -> String {
        let host = endpoint.strip_prefix("http://").unwrap().trim_end_matches('/');
        let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
        let length = body.len();
        let credential = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, \
                          SignedHeaders=host, Signature=0";
        let request = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/x-amz-json-1.0\r\n\
             x-amz-target: DynamoDB_20120810.{operation}\r\nauthorization: {credential}\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{operation}: {answer}");
        answer
    }

    /// A DynamoDB table of its own in this layout.
    async fn index(endpoint: &str, layout: Layout) -> Arc<dyn CommitIndex> {
        let table = unique("commits");
        // The key schemas of pylance's table and of Spark's.
        let (hash, range, kind) = match layout {
            Layout::Lance => ("base_uri", "version", "N"),
            Layout::Delta => ("tablePath", "fileName", "S"),
        };
        let body = format!(
            r#"{{"TableName":"{table}","BillingMode":"PAY_PER_REQUEST","KeySchema":[{{"AttributeName":"{hash}","KeyType":"HASH"}},{{"AttributeName":"{range}","KeyType":"RANGE"}}],"AttributeDefinitions":[{{"AttributeName":"{hash}","AttributeType":"S"}},{{"AttributeName":"{range}","AttributeType":"{kind}"}}]}}"#
        );
        ask(endpoint, "CreateTable", &body).await;
        let mut options = DynamoOptions::default();
        options.endpoint = Some(endpoint.to_owned());
        Arc::new(DynamoIndex::new(&table, layout, &options).unwrap())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn both_layouts_hold() {
        let Some(endpoint) = named("LAKEBED_TEST_DYNAMODB") else { return };
        let cases = [
            (
                Layout::Lance,
                TableFormat::Lance,
                ["_versions/18446744073709551614.manifest", "_versions/18446744073709551613.manifest"],
            ),
            (
                Layout::Delta,
                TableFormat::Delta,
                ["_delta_log/00000000000000000001.json", "_delta_log/00000000000000000002.json"],
            ),
        ];
        for (layout, format, names) in cases {
            let index = index(&endpoint, layout).await;
            index_holds(&index, names).await;
            reservations_race(&index, names[0], 20).await;
            // Only log entries have a place in it, so the store under it takes the rest.
            let store: Arc<dyn Store> = Arc::new(MemoryStore::named(&unique("bucket")).below("t").unwrap());
            writers_race(&store, &index, format, 1).await;
        }
    }

    /// The rows as the sheets have them: pylance's from its own tables, Spark's from its source.
    #[tokio::test]
    async fn rows_are_those_of_the_other_clients() {
        let Some(endpoint) = named("LAKEBED_TEST_DYNAMODB") else { return };
        for (layout, format) in [(Layout::Lance, TableFormat::Lance), (Layout::Delta, TableFormat::Delta)] {
            let index = index(&endpoint, layout).await;
            let bucket = unique("bucket");
            let store: Arc<dyn Store> = Arc::new(MemoryStore::named(&bucket).below("a/t").unwrap());
            let mut table = create(&store, &index, format).await;
            assert!(matches!(set(&mut table, "one").await, lakebed_transaction::Outcome::Committed { .. }));
            let name = index.location().trim_start_matches("index dynamodb:").to_owned();
            let rows = ask(&endpoint, "Scan", &format!(r#"{{"TableName":"{name}"}}"#)).await;
            let rows: String = rows.split("\r\n\r\n").nth(1).unwrap().split_whitespace().collect();
            match layout {
                Layout::Lance => {
                    assert!(rows.contains(r#""base_uri":{"S":"a/t"}"#), "{rows}");
                    assert!(rows.contains(r#""path":{"S":"a/t/_versions/18446744073709551613.manifest"}"#), "{rows}");
                    assert!(rows.contains(r#""committer":{"S":"lancedb"}"#) && rows.contains(r#""version":{"N":"2"}"#));
                }
                Layout::Delta => {
                    assert!(rows.contains(&format!(r#""tablePath":{{"S":"memory://{bucket}/a/t"}}"#)), "{rows}");
                    assert!(rows.contains(r#""fileName":{"S":"00000000000000000001.json"}"#), "{rows}");
                    assert!(rows.contains(r#""tempPath":{"S":".tmp/00000000000000000001.json."#), "{rows}");
                    assert!(rows.contains(r#""complete":{"S":"true"}"#) && rows.contains(r#""expireTime":{"N":""#));
                }
            }
            assert_eq!(keys(&store, &through(&index)).await, (vec!["one".to_owned()], 1));
        }
    }

    /// A table whose commits would not be kept is refused, not written blindly.
    #[tokio::test]
    async fn the_wrong_layout_is_refused() {
        let mut options = DynamoOptions::default();
        options.endpoint = Some("http://127.0.0.1:1".to_owned());
        let index = Arc::new(DynamoIndex::new("commits", Layout::Delta, &options).unwrap());
        let store = Indexed::new(plain(), index);
        let error = store.create("_versions/18446744073709551614.manifest", "x".into()).await.unwrap_err().to_string();
        assert!(error.contains("no place") && error.contains("layout"), "{error}");
        let lance = Arc::new(DynamoIndex::new("commits", Layout::Lance, &options).unwrap());
        assert!(Indexed::new(plain(), lance).create("_delta_log/00000000000000000000.json", "x".into()).await.is_err());
        // What no commit stands on is left to the store.
        let index = Arc::new(DynamoIndex::new("commits", Layout::Delta, &options).unwrap());
        let store = Indexed::new(Arc::new(MemoryStore::new()), index);
        assert_eq!(store.create("_delta_log/00000000000000000000.crc", "x".into()).await.unwrap(), Create::Created);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_reserves_nothing() {
        let mut options = DynamoOptions::default();
        options.endpoint = Some("http://127.0.0.1:1".to_owned());
        let index = DynamoIndex::new("commits", Layout::Lance, &options).unwrap();
        let name = "_versions/18446744073709551614.manifest".to_owned();
        let entry = lakebed_storage::Entry { staged: format!("{name}-1"), name, size_bytes: 1, confirmed: false };
        let error = index.reserve("s3://b/t", &entry).await.unwrap_err();
        assert!(
            matches!(error, lakebed_storage::StoreError::Busy { .. } | lakebed_storage::StoreError::Denied { .. }),
            "{error}"
        );
    }
}
