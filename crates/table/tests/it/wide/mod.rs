//! Random statements over rows of many types, on handles that stand at different versions: what `precise` accepts is what the
//! statements make one after the other, and what `precise-reorder` accepts of two what they make in one order or the other. `LAKEBED_WIDE=A..B` names the seeds.

mod game;
#[expect(dead_code, reason = "other tests use all of it")]
#[path = "../../../../interop/tests/it/support/random.rs"]
mod random;
mod rows;
mod statement;

use crate::support::{isolated, place};
use game::{Rules, Tally, pairs, play};
use lakebed_table::TableFormat;
use random::Random;
use statement::Ground;
use std::collections::BTreeMap;
use std::ops::Range;

const VECTORS: (&str, &str) = ("delta.enableDeletionVectors", "true");
const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");
const ROW_IDS: (&str, &str) = ("delta.enableRowTracking", "true");
const MAPPING: (&str, &str) = ("delta.columnMapping.mode", "name");

/// The kinds of tables: their properties, and whether they have partitions.
const TABLES: [(&[(&str, &str)], bool); 6] = [
    (&[VECTORS], false),
    (&[VECTORS, MAPPING], true),
    (&[], false),
    (&[], true),
    (&[VECTORS, FEED, ROW_IDS], false),
    (&[VECTORS, ROW_IDS, MAPPING], true),
];

/// The seeds that are asked for, or a few.
fn seeds() -> Range<u64> {
    let asked = std::env::var("LAKEBED_WIDE").unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("LAKEBED_WIDE is {asked:?}, not A..B"));
    asked.split_once("..").map_or(0..2, |(start, end)| number(start)..number(end))
}

fn rules((properties, partitioned): (&[(&str, &str)], bool), policy: &'static str) -> Rules {
    let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Rules {
        ground: Ground { format: TableFormat::Delta, partitioned, renames: properties.contains(&MAPPING) },
        properties: properties.iter().map(text).collect::<BTreeMap<_, _>>(),
        policy,
        options: isolated(),
    }
}

async fn every_table(policy: &'static str, in_pairs: bool) {
    let mut all = Tally::default();
    for (number, table) in (0..).zip(TABLES) {
        let (rules, mut tally) = (rules(table, policy), Tally::default());
        for seed in seeds() {
            let place = || place(TableFormat::Delta);
            let seed = seed * 100 + number;
            let played = if in_pairs { pairs(seed, &rules, &place).await } else { play(seed, &rules, &place).await };
            tally.accepted += played.accepted;
            tally.refused += played.refused;
        }
        println!(
            "{policy}, {table:?}: {} accepted over what they had not seen, {} refused",
            tally.accepted, tally.refused
        );
        all.accepted += tally.accepted;
        all.refused += tally.refused;
    }
    assert!(all.accepted > all.refused / 8 && all.refused > 0, "{all:?}");
}

#[tokio::test]
async fn what_is_accepted_is_what_statements_make_one_after_the_other() {
    every_table("precise", false).await;
}

#[tokio::test]
async fn two_that_are_reordered_make_what_they_make_in_one_order_or_the_other() {
    every_table("precise-reorder", true).await;
}
