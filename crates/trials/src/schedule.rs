//! Who looks and who commits, in which order.

use crate::arena::PARTITIONS;
use crate::rows::PROPERTY;
use crate::statement::Layout;
use crate::{Filter, Row, Statement};
use lakebed_sim::Rng;
use serde::{Deserialize, Serialize};

/// One step of one handle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// It looks for the newest version.
    Refresh,
    /// It plans a statement on the version that it knows, and commits.
    Run(Statement),
}

/// Steps of handles, by their numbers, in order.
pub type Schedule = Vec<(usize, Step)>;

/// A schedule of so many statements of so many writers: each looks, and commits when on average every other has committed since.
#[must_use]
pub fn random(seed: u64, writers: usize, statements: usize) -> Schedule {
    let mut rng = Rng::new(seed);
    let mut busy = vec![false; writers];
    let mut made = 0;
    let mut schedule = Schedule::new();
    while made < statements {
        let writer = rng.place(writers);
        let Some(is_busy) = busy.get_mut(writer) else { break };
        if *is_busy {
            schedule.push((writer, Step::Run(statement(&mut rng, writer, made))));
            made += 1;
        } else {
            schedule.push((writer, Step::Refresh));
        }
        *is_busy = !*is_busy;
    }
    schedule
}

/// The files of a table to begin with: some rows in every partition.
#[must_use]
pub fn first_rows() -> Vec<Vec<Row>> {
    let rows = |from: i64| (from..from + 40).map(|id| Row { id, p: id % PARTITIONS, v: id * 10 }).collect();
    vec![rows(0), rows(40)]
}

/// A statement of a mix: mostly rows that come and change in one partition, now and then a layout, a property, everything anew.
/// `number` is its own among those of its writer.
#[must_use]
pub fn statement(rng: &mut Rng, writer: usize, number: usize) -> Statement {
    let own = 1_000 + 1_000 * i64::try_from(writer + 100 * number).unwrap_or_default();
    let p = small(rng, PARTITIONS);
    let fresh = |count: i64| (own..own + count).map(|id| Row { id, p, v: id }).collect::<Vec<_>>();
    let filter = |rng: &mut Rng, modulus: i64, p: Option<i64>| Filter { p, modulus, remainder: small(rng, modulus) };
    match rng.below(100) {
        0..28 => Statement::Append(fresh(4)),
        28..34 => Statement::AppendRead(filter(rng, 11, Some(p)), own * 1_000),
        34..50 => {
            let modulus = 3 + small(rng, 5);
            Statement::Delete(filter(rng, modulus, Some(p)))
        }
        50..67 => {
            let modulus = 3 + small(rng, 9);
            let everywhere = rng.chance(200);
            Statement::Update(filter(rng, modulus, (!everywhere).then_some(p)), own)
        }
        67..77 => {
            let keys = [small(rng, 20), 20 + small(rng, 20)];
            Statement::Merge(keys.map(|id| Row { id, p: id % PARTITIONS, v: own + id }).to_vec())
        }
        77..83 => Statement::OverwritePartition(p, fresh(6)),
        83..87 => Statement::Truncate(p),
        87 => Statement::Overwrite(fresh(12)),
        88..98 => Statement::Compact(layout(rng)),
        _ => Statement::Set(format!("{PROPERTY}{}", small(rng, 3)), own.to_string()),
    }
}

fn layout(rng: &mut Rng) -> Layout {
    match rng.below(3) {
        0 => Layout::Major,
        1 => Layout::Minor,
        _ => Layout::Clustered,
    }
}

fn small(rng: &mut Rng, below: i64) -> i64 {
    i64::try_from(rng.below(below.unsigned_abs())).unwrap_or_default()
}
