//! Statements put together word by word do what the calls with options do.

use crate::support::{batch, batch_of, columns, committed, created, ids, once, place, source, three_rows};
use lakebed_table::{ApplicationBatch, ColumnChange, Matched, NewTable, NotMatched, TableFormat, VersionSpec, rows};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::time::Duration;

#[tokio::test]
async fn every_statement_has_a_builder() {
    let store = place(TableFormat::Delta);
    let definition = NewTable::new(TableFormat::Delta, columns()).with_partition_columns(vec!["p".to_owned()]);
    let mut table = created(&store, &definition).await;
    let north_and_south = batch_of(&[(1, Some("n")), (2, Some("s")), (3, Some("s"))]);
    committed(&table.builder().append(rows([north_and_south])).run().await.unwrap());
    committed(&table.builder().set("a", "1").set("b", "2").run().await.unwrap());
    committed(&table.builder().unset("a").run().await.unwrap());
    assert_eq!(table.snapshot().summary().unwrap().properties.get("a"), None);
    assert_eq!(table.snapshot().summary().unwrap().properties["b"], "2");
    let new = batch_of(&[(20, Some("s"))]);
    committed(&table.builder().overwrite(rows([new.clone()])).by_partition().run().await.unwrap());
    assert_eq!(ids(&store).await, [1, 20]);
    let only = table.builder().overwrite(rows([batch_of(&[(21, Some("s"))])])).only("p = 's'");
    committed(&only.policy("delta-serializable").timeout(Duration::from_secs(9)).run().await.unwrap());
    assert_eq!(ids(&store).await, [1, 21]);
    committed(&table.builder().update("id = id + 1").set("p = 'x'").only("id > 20").run().await.unwrap());
    assert_eq!(ids(&store).await, [1, 22]);
    let merged = batch_of(&[(22, Some("x")), (23, Some("x"))]);
    let merge = table.builder().merge(rows([merged]), ["id"]).matched(Matched::Delete);
    committed(&merge.not_matched(NotMatched::Insert).plannings_max(2).rebases_max(5).run().await.unwrap());
    assert_eq!(ids(&store).await, [1, 23]);
    committed(&table.builder().delete("id = 23").run().await.unwrap());
    assert_eq!(ids(&store).await, [1]);
    committed(&table.builder().restore(VersionSpec::Number(1)).run().await.unwrap());
    assert_eq!(ids(&store).await, [1, 2, 3]);
    committed(&table.append(source(batch_of(&[(4, Some("s"))])), &once()).await.unwrap());
    let compact = table.builder().compact().major().only("p = 's'").target_size_bytes(1 << 20);
    assert_eq!(compact.run().await.unwrap().metrics["files_removed"], 2);
    committed(&table.builder().compact().cluster_by(["id"]).run().await.unwrap());
    assert_eq!(ids(&store).await, [1, 2, 3, 4]);
    let more = Column::new("more", ColumnType::Long, true);
    let change = ColumnChange::Add { within: Vec::new(), columns: vec![more.clone()] };
    committed(&table.builder().change_columns(change).run().await.unwrap());
    committed(
        &table.builder().change_columns(ColumnChange::Drop(vec![vec!["more".into()]])).upgrade().run().await.unwrap(),
    );
    committed(&table.builder().truncate().options(once()).run().await.unwrap());
    assert_eq!(ids(&store).await, [0; 0]);
}

#[tokio::test]
async fn columns_come_with_rows_and_batches_land_once() {
    let (store, mut table) = three_rows(TableFormat::Delta).await;
    let more = vec![Column::new("more", ColumnType::Long, true)];
    let append = table.builder().append(rows([batch(&[4])])).merge_columns(more.clone());
    committed(&append.application(ApplicationBatch::new("etl", 1)).run().await.unwrap());
    assert!(table.snapshot().summary().unwrap().columns.iter().any(|column| column.name == "more"));
    let again = table.builder().append(rows([batch(&[4])])).application(ApplicationBatch::new("etl", 1));
    assert!(matches!(again.run().await.unwrap().outcome, Outcome::Nothing { .. }));
    assert_eq!(ids(&store).await, [1, 2, 3, 4]);
    let part = table.builder().overwrite(rows([batch(&[9])])).only("id = 9").replace_columns(columns());
    assert!(part.run().await.is_err());
    committed(&table.builder().overwrite(rows([batch(&[9])])).replace_columns(columns()).run().await.unwrap());
    assert_eq!(ids(&store).await, [9]);
}
