//! What a listener is told of requests and commits, against a store that counts by itself.

use crate::stores::{Meddled, Moment};
use crate::support::{BOTH, add, committed, isolated, once, opened, prepared_add, three_rows, try_remove, unique_id};
use lakebed_storage::Store;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_table::{
    CommitEnd, CommitMetrics, CommitOptions, Metrics, OpenOptions, RequestEnd, RequestKind, RequestMetrics, Table,
    TableFormat,
};
use lakebed_transaction::Outcome;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One commit, as it was told.
#[derive(Clone, Debug, PartialEq)]
struct ToldCommit {
    end: String,
    attempts: u32,
    rebases: u32,
    conflict: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Heard {
    requests: Mutex<Vec<(RequestKind, RequestEnd, u64, u64)>>,
    commits: Mutex<Vec<ToldCommit>>,
}

impl Metrics for Heard {
    fn request(&self, request: &RequestMetrics<'_>) {
        assert!(!request.root.is_empty());
        let told = (request.kind, request.end, request.read_bytes, request.written_bytes);
        self.requests.lock().unwrap().push(told);
    }

    fn commit(&self, commit: &CommitMetrics<'_>) {
        assert!(!commit.policy.is_empty() && !commit.ours.is_empty(), "{commit:?}");
        let end = match commit.end {
            CommitEnd::Answered(Outcome::Committed { version, .. }) => format!("committed {version}"),
            CommitEnd::Answered(Outcome::Conflict(_)) => "conflict".to_owned(),
            CommitEnd::Dropped => "dropped".to_owned(),
            CommitEnd::Answered(_) | CommitEnd::Failed | _ => format!("{:?}", commit.end),
        };
        let told = ToldCommit { end, attempts: commit.attempts, rebases: commit.rebases, conflict: commit.conflict() };
        self.commits.lock().unwrap().push(told);
    }
}

impl Heard {
    fn commits(&self) -> Vec<ToldCommit> {
        std::mem::take(&mut *self.commits.lock().unwrap())
    }

    fn count(&self, kind: RequestKind, end: RequestEnd) -> usize {
        self.requests.lock().unwrap().iter().filter(|told| (told.0, told.1) == (kind, end)).count()
    }
}

async fn heard(store: &Arc<dyn Store>) -> (Arc<Heard>, Table) {
    let heard = Arc::new(Heard::default());
    let options = OpenOptions { metrics: Some(Arc::clone(&heard) as Arc<dyn Metrics>), ..isolated() };
    let table = Table::open_store(Arc::clone(store), &options).await.unwrap();
    (heard, table)
}

/// Each request is told once, with the bytes that really went.
#[tokio::test]
async fn every_request_is_told() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let counting = Arc::new(Counting::new(Arc::clone(&store)));
        let counted: Arc<dyn Store> = Arc::clone(&counting) as Arc<dyn Store>;
        let (heard, mut table) = heard(&counted).await;
        let version = committed(&add(&mut table, &[4]).await);
        table.settle().await;
        let seen = counting.take();
        let told = heard.requests.lock().unwrap().clone();
        assert_eq!(told.len(), seen.total(), "{format}: {told:?} and {seen:?}");
        for (operation, kind) in [
            (Operation::Get, RequestKind::Get),
            (Operation::List, RequestKind::List),
            (Operation::Put, RequestKind::Put),
            (Operation::Create, RequestKind::Create),
        ] {
            let count = told.iter().filter(|told| told.0 == kind).count();
            assert_eq!(count, seen.count(operation), "{format}: {}", kind.name());
        }
        // What was sent is what stands there now.
        let mut written = 0;
        for name in seen.names(Operation::Put).into_iter().chain(seen.names(Operation::Create)) {
            written += store.head(name).await.unwrap().unwrap().size_bytes;
        }
        assert_eq!(told.iter().map(|told| told.3).sum::<u64>(), written, "{format}");
        let mut read = 0;
        for name in seen.names(Operation::Get) {
            read += store.head(name).await.unwrap().map_or(0, |listed| listed.size_bytes);
        }
        assert_eq!(told.iter().filter(|told| told.0 == RequestKind::Get).map(|told| told.2).sum::<u64>(), read);
        let expected = ToldCommit { end: format!("committed {version}"), attempts: 1, rebases: 0, conflict: None };
        assert_eq!(heard.commits(), [expected], "{format}");
    }
}

/// A rebase, and a conflict with the name of its check.
#[tokio::test]
async fn commits_are_told_with_what_was_in_their_way() {
    for format in BOTH {
        let (store, mut rival) = three_rows(format).await;
        let (heard, mut table) = heard(&store).await;
        let read = table.version().get();
        committed(&add(&mut rival, &[4]).await);
        committed(&add(&mut table, &[5]).await);
        let followed = heard.commits();
        let expected = ToldCommit { end: format!("committed {}", read + 2), attempts: 2, rebases: 1, conflict: None };
        assert_eq!(followed, [expected], "{format}");
        assert_eq!(heard.count(RequestKind::Create, RequestEnd::Exists), 1, "{format}");
        let mut rival = opened(&store).await;
        committed(&try_remove(&mut rival, 2, &once()).await.unwrap());
        // By rows, two deletes of one row do not conflict; by Lance's own rules they do.
        let policy = (format == TableFormat::Lance).then(|| "lance".to_owned());
        let report = try_remove(&mut table, 2, &CommitOptions { policy, ..once() }).await.unwrap();
        let told = heard.commits();
        match &report.outcome {
            Outcome::Conflict(conflict) => {
                let check = conflict.why.reason.map(|reason| reason.check);
                assert!(check.is_some() && told.len() == 1 && told[0].conflict == check, "{format}: {told:?}");
            }
            Outcome::Committed { .. }
            | Outcome::Nothing { .. }
            | Outcome::Exhausted { .. }
            | Outcome::Unknown { .. } => {
                panic!("{format}: two deletes of one row: {:?}", report.outcome)
            }
        }
    }
}

/// A commit whose future is dropped is told as that, and so is the request that nobody waits for.
#[tokio::test]
async fn what_is_dropped_is_told() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let silent = Meddled::new(&store).act(Moment::Before, std::future::pending).shared();
        let (heard, mut table) = heard(&silent).await;
        let prepared = prepared_add(&table, unique_id(), 1).await;
        let waited = tokio::time::timeout(Duration::from_millis(50), table.commit_prepared(prepared, &once())).await;
        assert!(waited.is_err(), "{format}: it ended");
        let dropped = ToldCommit { end: "dropped".to_owned(), attempts: 0, rebases: 0, conflict: None };
        assert_eq!(heard.commits(), [dropped], "{format}");
        assert_eq!(heard.count(RequestKind::Create, RequestEnd::Dropped), 1, "{format}");
    }
}
