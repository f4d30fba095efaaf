//! Writer processes, ours and the real clients', that are killed at any moment: what they were told stands, once.
//!
//! `cargo test` kills 50 times; `cargo xtask kills` as often as it is told to, in rounds on fresh tables. Where `$LAKEBED_TEST_S3` names a
//! bucket, the same is done there.

mod audit;
mod driver;
mod strays;
mod writer;

use crate::support::{Python, Random};
use driver::{Round, Told};
use lakebed_table::TableFormat;

/// How often something is killed where nobody says otherwise.
const KILLS: u32 = 50;

/// A round is not longer than this, so that its tables stay of a size at which commits take milliseconds.
const KILLS_OF_A_ROUND_MAX: u32 = 200;

/// How many kills are asked for.
const ASKED: &str = "LAKEBED_KILLS";

/// Field cases 6, 12 and 132, on processes: whoever is killed, and whenever, every acknowledged commit is there exactly once, every
/// refused one nowhere, and none twice; what the dead left behind goes with the next cleanup.
#[test]
fn killed_writers_lose_nothing_and_double_nothing() {
    if writer::run_if_told() {
        return;
    }
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    kill(&python, "local disk", folder.path().to_str().unwrap());
}

/// The same on a server that speaks S3, at `$LAKEBED_TEST_S3` (`s3://bucket/folder`, keys and endpoint in `AWS_…`).
#[test]
fn killed_writers_lose_nothing_on_s3() {
    let Ok(url) = std::env::var("LAKEBED_TEST_S3") else {
        println!("skipped: $LAKEBED_TEST_S3 names no bucket");
        return;
    };
    let Some(python) = Python::find() else { return };
    // A place of its own for each run: what an earlier one left is not ours to count.
    kill(&python, &url, &format!("{}/kills-{}", url.trim_end_matches('/'), std::process::id()));
}

/// Kills as often as it is asked for, in rounds on fresh tables below `place`, and audits each round.
fn kill(python: &Python, shown: &str, place: &str) {
    let asked = std::env::var(ASKED).ok().map_or(KILLS, |text| text.parse().expect("LAKEBED_KILLS is a number"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let begun = std::time::Instant::now();
    let (mut left, mut total, mut strays) = (asked, Told::default(), 0);
    while left > 0 {
        let kills = left.min(KILLS_OF_A_ROUND_MAX);
        left -= kills;
        let round = Round { python, place: format!("{place}/{left}"), kills };
        let told = runtime.block_on(round.run(&mut Random::new(u64::from(left) + 1)));
        strays += runtime.block_on(strays::counted_and_removed(&round.place));
        total.take_in(&told);
        println!("{shown}: round of {kills} kills: {told}");
    }
    println!(
        "{shown}: {asked} kills in {} s: {total}; nothing lost, nothing doubled, {strays} stray files, all removed by the next \
         cleanup",
        begun.elapsed().as_secs()
    );
}

/// The two tables of a round.
const TABLES: [(TableFormat, &str); 2] = [(TableFormat::Delta, "delta"), (TableFormat::Lance, "lance")];
