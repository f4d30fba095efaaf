//! How long application transactions are kept.

use crate::support::snapshot_of;
use bytes::Bytes;
use lakebed_delta::{Load, LoadStep, Snapshot, write_checkpoint, write_v2_checkpoint};
use lakebed_naming::Uuid;

const DAY_MS: i64 = 86_400_000;
/// The time at which the table is looked at.
const NOW_MS: i64 = 1_700_000_000_000;

/// A table with an old transaction, a young one, and one that does not say when it was.
fn table(retention: Option<&str>) -> Snapshot {
    let property =
        retention.map_or(String::new(), |text| format!(r#""delta.setTransactionRetentionDuration":"{text}""#));
    let first = format!(
        r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["v2Checkpoint"],"writerFeatures":["v2Checkpoint"]}}}}
{{"metaData":{{"id":"t","format":{{"provider":"parquet","options":{{}}}},"schemaString":"","partitionColumns":[],"configuration":{{{property}}}}}}}
{{"txn":{{"appId":"old","version":1,"lastUpdated":{}}}}}
{{"txn":{{"appId":"young","version":2,"lastUpdated":{}}}}}
{{"txn":{{"appId":"timeless","version":3}}}}"#,
        NOW_MS - 2 * DAY_MS,
        NOW_MS - DAY_MS + 1,
    );
    snapshot_of(&[&first])
}

fn apps(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.app_transactions().keys().map(|app| &**app).collect()
}

/// Without the property, or with one that says nothing, every transaction is kept; with it, what is younger than it says. Source:
/// Spark drops those that are as old as the retention, and those without a time.
#[test]
fn a_retention_lets_old_transactions_go() {
    for (retention, kept) in [
        (None, &["old", "timeless", "young"][..]),
        (Some("for a while"), &["old", "timeless", "young"]),
        (Some("interval 1 day"), &["young"]),
        (Some("interval 2 days"), &["young"]),
        (Some("interval 49 hours"), &["old", "young"]),
    ] {
        let table = table(retention);
        assert_eq!(apps(&table.clone().retained(NOW_MS)), kept, "{retention:?}");
        // A checkpoint leaves them out; the state at hand stays as it is.
        let plain = write_checkpoint(&table, NOW_MS).unwrap();
        let second = write_v2_checkpoint(&table, NOW_MS, Uuid::from_random([7; 16])).unwrap();
        for file in [plain, second] {
            assert_eq!(apps(&read(&file)), kept, "{retention:?}");
        }
        assert_eq!(apps(&table), ["old", "timeless", "young"]);
    }
}

fn read(file: &lakebed_delta::CheckpointFile) -> Snapshot {
    let mut load = Load::new([(file.name.to_string(), file.bytes.len() as u64)], true, None);
    for _ in 0..3 {
        match load.step().unwrap() {
            LoadStep::Done(snapshot) => return *snapshot,
            LoadStep::Relist => panic!("the listing is whole"),
            LoadStep::Needs(needs) => {
                for name in needs {
                    let own = (name == file.name).then(|| file.bytes.clone());
                    let side = || file.sidecars.iter().find(|(side, _)| *side == name).map(|(_, bytes)| bytes.clone());
                    load.feed(name.clone(), own.or_else(side).or(Some(Bytes::new())));
                }
            }
        }
    }
    panic!("a load never ends")
}
