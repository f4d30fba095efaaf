//! The behaviour suite and the races through the clients of the clouds: on Azurite, and on scripted servers of ours that stand in for Google
//! Cloud Storage and S3 Express One Zone, of which there is none to be had.

use crate::scripted::{Condition, Dialect, Server};
use crate::stores::{holds, races_of};
use lakebed_storage::{Create, Store, StoreError, StoreOptions, open, suite};
use std::sync::Arc;

const ROUNDS: u64 = 50;

fn options(server: &Server, dialect: Dialect) -> StoreOptions {
    let pairs: &[(&str, &str)] = match dialect {
        Dialect::Gcs => &[("google_base_url", &server.endpoint), ("google_bearer_token", "of no meaning")],
        Dialect::S3Express => {
            &[("endpoint", &server.endpoint), ("aws_skip_signature", "true"), ("region", "us-east-1")]
        }
    };
    pairs.iter().fold(StoreOptions::new(), |options, (key, value)| options.option(*key, *value))
}

fn url(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Gcs => "gs://bucket/a%20table",
        Dialect::S3Express => "s3://bucket--use1-az4--x-s3/a%20table",
    }
}

fn opened(server: &Server, dialect: Dialect) -> Arc<dyn Store> {
    open(url(dialect), &options(server, dialect)).expect("a store")
}

const BOTH: [Dialect; 2] = [Dialect::Gcs, Dialect::S3Express];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_scripted_google_cloud_storage() {
    let server = Server::start(Dialect::Gcs, Condition::Honoured);
    holds(opened(&server, Dialect::Gcs)).await;
    races_of(opened(&server, Dialect::Gcs), ROUNDS).await;
    assert!(server.conditional_puts() > 32 * ROUNDS, "{}", server.conditional_puts());
}

/// All but `CreateSession`, which the client sends to Amazon's own hosts only; requests go unsigned.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_scripted_s3_express_without_sessions() {
    let server = Server::start(Dialect::S3Express, Condition::Honoured);
    holds(opened(&server, Dialect::S3Express)).await;
    races_of(opened(&server, Dialect::S3Express), ROUNDS).await;
    assert!(server.conditional_puts() > 32 * ROUNDS, "{}", server.conditional_puts());
}

/// Azure Blob Storage's emulator by Microsoft, at `$LAKEBED_TEST_AZURE` (`az://container/folder`, the rest in `AZUR…`).
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn azurite() {
    let Ok(url) = std::env::var("LAKEBED_TEST_AZURE") else {
        println!("skipped: $LAKEBED_TEST_AZURE names no container");
        return;
    };
    let folder = format!("{}/suite-{}", url.trim_end_matches('/'), std::process::id());
    let store = open(&folder, &StoreOptions::new()).expect("a store");
    holds(Arc::clone(&store)).await;
    races_of(store, ROUNDS).await;
}

/// Without a probe the suite itself is red, and so is the race; on a server that looks first and writes then, the race alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite_is_red_on_servers_that_break_the_condition() {
    for dialect in BOTH {
        let deaf = Server::start(dialect, Condition::Ignored);
        let store = open(url(dialect), &options(&deaf, dialect).without_probe()).expect("a store");
        let violation = suite::run(&store).await.expect_err("the suite sees it");
        assert!(violation.to_string().contains("create where something stands"), "{violation}");
        let violation = suite::race(&store, 8, 1).await.expect_err("the race sees it");
        assert!(violation.to_string().contains("8 tasks were told that they created it"), "{violation}");

        let liar = Server::start(dialect, Condition::LookedAt(5));
        let store = open(url(dialect), &options(&liar, dialect).without_probe()).expect("a store");
        suite::run(&store).await.expect("in sequence it looks right");
        let violation = suite::race(&store, 32, 20).await.expect_err("the race sees it");
        assert!(violation.to_string().contains("were told that they created it"), "{violation}");
    }
}

/// Field case 18: such a server is refused before the first object is written to it; reading asks it nothing more, and nothing is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_18_a_server_that_breaks_the_condition_is_refused() {
    for dialect in BOTH {
        for condition in [Condition::Ignored, Condition::LookedAt(500)] {
            let server = Server::start(dialect, condition);
            let store = opened(&server, dialect);
            assert_eq!(store.get("x").await.expect("an answer"), None);
            assert_eq!(store.list("", None, 9).await.expect("a listing"), []);
            assert_eq!(server.conditional_puts(), 0, "reading tries nothing");
            for _ in 0..2 {
                let refused = store.create("x", "1".into()).await.expect_err("refused");
                assert!(matches!(refused, StoreError::Unusable { .. }), "{refused}");
                assert!(refused.to_string().contains("--index"), "{refused}");
                assert!(store.put("x", "1".into()).await.is_err());
            }
            assert_eq!(server.names(), [""; 0], "{dialect:?} {condition:?}");
        }
    }
}

/// Once for each place, whoever opens it, and not at all where somebody says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_place_is_tried_out_once() {
    for dialect in BOTH {
        let server = Server::start(dialect, Condition::Honoured);
        let mut before = 0;
        for (name, tries) in [("one", 10), ("two", 0), ("three", 0)] {
            let store = opened(&server, dialect);
            assert_eq!(store.create(name, "1".into()).await.expect("an answer"), Create::Created);
            assert_eq!(server.conditional_puts() - before, tries + 1, "{dialect:?} {name}");
            before = server.conditional_puts();
        }
        assert_eq!(server.names(), ["one", "three", "two"].map(|name| format!("a table/{name}")));
        let server = Server::start(dialect, Condition::Honoured);
        let store = open(url(dialect), &options(&server, dialect).without_probe()).expect("a store");
        assert_eq!(store.create("one", "1".into()).await.expect("an answer"), Create::Created);
        assert_eq!(server.conditional_puts(), 1);
    }
}
