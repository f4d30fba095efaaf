//! Rows in order.

use super::{append, batch, changes_no_data, files, rows, table};
use crate::support::committed;
use lakebed_delta::action::Add;
use lakebed_ops::{CompactSpec, Writing, compact, delta::statement};
use lakebed_table::{CommitOptions, CompactRequest, Snapshot, Table};
use lakebed_transaction::Outcome;

fn by(columns: &[&str], target_size_bytes: u64) -> CompactRequest {
    CompactRequest {
        cluster_by: columns.iter().map(|name| (*name).to_owned()).collect(),
        target_size_bytes: Some(target_size_bytes),
        ..CompactRequest::default()
    }
}

/// 20,000 rows whose two numbers follow no order, in four files.
async fn scattered(properties: &[(&str, &str)]) -> (std::sync::Arc<dyn lakebed_storage::Store>, Table) {
    let (store, mut table) = table(false, properties).await;
    for part in 0..4 {
        let mixed = |n: i64| (n * 7_919) % 20_000;
        append(
            &mut table,
            batch((part * 5_000..part * 5_000 + 5_000).map(|n| (mixed(n), "a", (n * 104_729) % 20_011))),
        )
        .await;
    }
    (store, table)
}

fn range(add: &Add, column: &str) -> (i64, i64) {
    let stats: serde_json::Value = serde_json::from_str(add.stats.as_deref().unwrap()).unwrap();
    (stats["minValues"][column].as_i64().unwrap(), stats["maxValues"][column].as_i64().unwrap())
}

#[tokio::test]
async fn one_column_parts_the_files_by_its_values() {
    let (store, mut table) = scattered(&[("delta.enableRowTracking", "true")]).await;
    let before = rows(&table).await;
    committed(&table.compact(&by(&["ID"], 64 << 10), &CommitOptions::default()).await.unwrap());
    assert_eq!(rows(&table).await, before, "rows, their ids and their versions");
    changes_no_data(&store, &table).await;
    let mut ranges: Vec<_> = files(&table).iter().map(|add| range(add, "id")).collect();
    ranges.sort_unstable();
    assert!(ranges.len() > 2, "{ranges:?}");
    assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
    let report = table.compact(&by(&["id"], 64 << 10), &CommitOptions::default()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Nothing { .. }), "{report:?}");
}

/// On a Z-order curve each file covers a small part of the plane, whichever of the columns one looks at.
#[tokio::test]
async fn several_columns_follow_a_curve() {
    let (store, mut table) = scattered(&[]).await;
    let before = rows(&table).await;
    committed(&table.compact(&by(&["id", "v"], 32 << 10), &CommitOptions::default()).await.unwrap());
    assert_eq!(rows(&table).await, before);
    changes_no_data(&store, &table).await;
    let files = files(&table);
    assert!(files.len() >= 4, "{}", files.len());
    let share = |column: &str| {
        let widths = files.iter().map(|add| range(add, column)).map(|(min, max)| (max - min) as f64 / 20_000.0);
        widths.sum::<f64>() / files.len() as f64
    };
    let (id, v) = (share("id"), share("v"));
    assert!(id < 0.75 && v < 0.75, "the files cover {id} and {v} of the two columns");
    assert!(id * v < 0.45, "the files cover {id} × {v} of the plane");
}

/// What does not fit in memory is sorted in runs on the local disk, to the same order.
#[tokio::test]
async fn a_sort_in_runs_equals_a_sort_in_memory() {
    let (store, table) = scattered(&[]).await;
    let Snapshot::Delta(held) = table.snapshot() else { panic!("not Delta") };
    let mut orders = Vec::new();
    for sort_bytes in [1 << 30, 1 << 16] {
        let spec =
            CompactSpec { cluster_by: vec!["v".to_owned(), "id".to_owned()], sort_bytes, ..CompactSpec::default() };
        let plan = compact(&store, &held.snapshot, &spec, &Writing::default()).await.unwrap();
        assert_eq!((plan.removed.len(), plan.added.len(), plan.rows_copied), (4, 1, 20_000));
        let made = statement(&held.snapshot, &plan, 0).unwrap();
        let add = made.actions.iter().find_map(|action| {
            if let lakebed_delta::action::Action::Add(add) = action { Some(add.clone()) } else { None }
        });
        orders.push(super::physical(&store, &add.unwrap()).await);
    }
    assert_eq!(orders[0].len(), 20_000);
    assert_eq!(orders[0], orders[1]);
}

/// The table's own clustering columns are gone by, are kept, and no others are taken.
#[tokio::test]
async fn a_clustered_table_keeps_its_columns() {
    let (store, mut table) = scattered(&[("delta.feature.clustering", "supported")]).await;
    let domain = r#"{"clusteringColumns":[["id"]],"domainName":"delta.clustering"}"#;
    let action = serde_json::json!({"domainMetadata": {"domain": "delta.clustering", "configuration": domain, "removed": false}});
    let prepared = crate::support::prepared_delta(
        table.version(),
        crate::support::unique_id(),
        "CLUSTER BY",
        &[action.to_string()],
    );
    committed(&table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap());
    let error = table.compact(&by(&["v"], 64 << 10), &CommitOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("clustered by id"), "{error}");
    committed(&table.compact(&by(&["id"], 64 << 10), &CommitOptions::default()).await.unwrap());
    assert!(files(&table).iter().all(|add| add.clustering_provider.as_deref() == Some("liquid")));
    let summary = table.snapshot().summary().unwrap();
    assert_eq!(summary.domain_metadata["delta.clustering"], domain);
    changes_no_data(&store, &table).await;
}
