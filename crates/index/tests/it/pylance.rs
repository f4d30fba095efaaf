//! pylance on the same table at the same time, through one DynamoDB table: its own protocol against ours.

use crate::servers::dynamodb::ask;
use crate::servers::named;
use crate::stopping::{Stop, StoppingIndex, StoppingStore, until_dead};
use crate::suites::unique;
use crate::tables::{set, through};
use lakebed_index::{DynamoIndex, DynamoOptions, Layout};
use lakebed_storage::{CommitIndex, Store, StoreOptions, open};
use lakebed_table::{OpenOptions, Table};
use lakebed_transaction::Outcome;
use std::process::Command;
use std::sync::Arc;

/// Runs in pylance: `url` and `options` are the table's; what it prints is the answer.
const HEAD: &str = "
import os, sys, lance, pyarrow as pa
url, endpoint = sys.argv[1:3]
options = {'aws_endpoint': endpoint, 'dynamodb_endpoint': endpoint, 'allow_http': 'true', 'aws_region': 'us-east-1',
           'aws_access_key_id': 'test', 'aws_secret_access_key': 'test'}
def append(id):
    return lance.write_dataset(pa.table({'id': [id]}), url, mode='append', storage_options=options)
def show(table):
    print(table.version, sorted(table.to_table()['id'].to_pylist()), sorted(k for k in table.config() if k.startswith('test.')))
";

struct Bench {
    python: String,
    endpoint: String,
    place: String,
    dynamo: String,
    index: Arc<dyn CommitIndex>,
}

impl Bench {
    async fn new() -> Option<Self> {
        let (python, place, endpoint) =
            (named("LAKEBED_PYTHON")?, named("LAKEBED_TEST_S3")?, named("LAKEBED_TEST_DYNAMODB")?);
        let dynamo = unique("pylance");
        let body = format!(
            r#"{{"TableName":"{dynamo}","BillingMode":"PAY_PER_REQUEST","KeySchema":[{{"AttributeName":"base_uri","KeyType":"HASH"}},{{"AttributeName":"version","KeyType":"RANGE"}}],"AttributeDefinitions":[{{"AttributeName":"base_uri","AttributeType":"S"}},{{"AttributeName":"version","AttributeType":"N"}}]}}"#
        );
        ask(&endpoint, "CreateTable", &body).await;
        let mut options = DynamoOptions::default();
        options.endpoint = Some(endpoint.clone());
        let index = Arc::new(DynamoIndex::new(&dynamo, Layout::Lance, &options).unwrap());
        let place = format!("{place}/{dynamo}.lance");
        Some(Self { python, endpoint, place, dynamo, index })
    }

    /// Runs this in pylance; its last line.
    fn python(&self, text: &str) -> String {
        let url = format!("{}?ddbTableName={}", self.place.replace("s3://", "s3+ddb://"), self.dynamo);
        let mut command = Command::new(&self.python);
        let run = command.args(["-c", &format!("{HEAD}{text}"), &url, &self.endpoint]).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap().lines().last().unwrap_or_default().to_owned()
    }

    fn store(&self) -> Arc<dyn Store> {
        open(&self.place, &StoreOptions::new()).unwrap()
    }

    async fn ours(&self) -> Table {
        Table::open_store(self.store(), &through(&self.index)).await.unwrap()
    }
}

async fn commits(table: &mut Table, key: &str) -> u64 {
    match set(table, key).await {
        Outcome::Committed { version, .. } => version.get(),
        other @ (Outcome::Nothing { .. }
        | Outcome::Conflict(_)
        | Outcome::Exhausted { .. }
        | Outcome::Unknown { .. }) => {
            panic!("{other:?}")
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pylance_and_ours_commit_to_one_table_through_one_index() {
    let Some(bench) = Bench::new().await else { return };
    bench.python("lance.write_dataset(pa.table({'id': [1]}), url, storage_options=options)");
    let mut held = bench.ours().await;
    assert_eq!(held.version().get(), 1);
    assert_eq!(commits(&mut held, "a").await, 2);
    assert_eq!(bench.python("show(append(2))"), "3 [1, 2] ['test.a']");
    // Ours was opened at 2 and rebases over theirs.
    assert_eq!(commits(&mut held, "b").await, 4);
    assert_eq!(bench.python("show(lance.dataset(url, storage_options=options))"), "4 [1, 2] ['test.a', 'test.b']");
}

/// Ours dies at every request of a commit. pylance finds the version before or the one that was reserved, which it
/// finishes, and commits on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pylance_finishes_what_ours_left() {
    let Some(bench) = Bench::new().await else { return };
    bench.python("lance.write_dataset(pa.table({'id': [1]}), url, storage_options=options)");
    let (mut landed, mut ids) = (Vec::new(), vec![1]);
    // Within the create: side file put, latest, head, staged put, reserve, head, copy, confirm, delete; before and after each.
    for place in [7, 9, 12, 13, 15] {
        let stop = Stop::nowhere();
        let store: Arc<dyn Store> = Arc::new(StoppingStore(bench.store(), Arc::clone(&stop)));
        let index: Arc<dyn CommitIndex> = Arc::new(StoppingIndex(Arc::clone(&bench.index), Arc::clone(&stop)));
        let mut table = Table::open_store(store, &through(&index)).await.unwrap();
        stop.arm(place);
        let key = format!("p{place:02}");
        assert!(until_dead(&stop, set(&mut table, &key)).await.is_none(), "{place}");
        let seen = bench.ours().await.snapshot().summary().unwrap().properties.contains_key(&format!("test.{key}"));
        if seen {
            landed.push(format!("'test.{key}'"));
        }
        ids.push(place);
        ids.sort_unstable();
        let version = ids.len() + landed.len();
        let wanted = format!("{version} {ids:?} [{}]", landed.join(", "));
        assert_eq!(bench.python(&format!("show(append({place}))")), wanted, "place {place}");
        // Clients that know nothing of the index see the same.
        let plain = OpenOptions { isolated: true, ..OpenOptions::default() };
        let plain = Table::open_store(bench.store(), &plain).await.unwrap();
        assert_eq!(plain.version().get(), u64::try_from(version).unwrap());
    }
    assert!(landed.len() >= 3 && landed.len() < 5, "{landed:?}");
}
