//! Many writers, one name.

use super::{Bench, Violation};
use crate::{Create, Store, StoreError};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// Large enough that a store which writes in place would show halves.
const BODY_BYTES: usize = 4_096;
const ASKS_MAX: u32 = 100;

/// What [`race`] saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RaceReport {
    /// Rounds that were run.
    pub rounds: u64,
    /// Creates that were sent, repeated ones included.
    pub creates: u64,
    /// Rounds in which nobody was told *created*, but the survivor's own answer was *unknown* or *exists*: allowed, and to
    /// be cleared up by reading back. 0 on a store that is well and near.
    pub unclear: u64,
}

/// In each of `rounds` rounds, `tasks` tasks are let loose at once to create one name with bytes of their own. At most one
/// may be told *created*, the bytes that survive must be that one's, whole, and they must be there as soon as anybody has an answer of
/// *exists*. A task that is told *not now* asks again.
///
/// # Errors
/// The first round that breaks this; what was stored stays for a look.
pub async fn race(store: &Arc<dyn Store>, tasks: usize, rounds: u64) -> Result<RaceReport, Violation> {
    let mut bench = Bench::new(store);
    bench.check("exactly one of many creates wins, and its bytes stay");
    let mut report = RaceReport::default();
    for round in 0..rounds {
        let name = bench.name(&format!("race/{round}"));
        let answers = round_of(&bench, &name, tasks).await?;
        report.rounds += 1;
        report.creates += answers.iter().map(|answer| u64::from(answer.asks)).sum::<u64>();
        if !judge(&bench, &name, &answers).await? {
            report.unclear += 1;
        }
    }
    bench.clear().await?;
    Ok(report)
}

struct Answered {
    task: usize,
    asks: u32,
    create: Create,
}

async fn round_of(bench: &Bench, name: &str, tasks: usize) -> Result<Vec<Answered>, Violation> {
    let barrier = Arc::new(Barrier::new(tasks));
    let mut running = JoinSet::new();
    for task in 0..tasks {
        let (store, barrier, name) = (Arc::clone(&bench.store), Arc::clone(&barrier), name.to_owned());
        running.spawn(async move {
            barrier.wait().await;
            ask(&*store, &name, task).await
        });
    }
    let mut answers = Vec::with_capacity(tasks);
    while let Some(ended) = running.join_next().await {
        let answer = ended.map_err(|error| bench.broken(format!("a create of {name} did not end: {error}")))?;
        answers.push(bench.ok(&format!("create {name}"), answer)?);
    }
    Ok(answers)
}

async fn ask(store: &dyn Store, name: &str, task: usize) -> Result<Answered, StoreError> {
    let mut asks = 0;
    loop {
        asks += 1;
        let create = store.create(name, body(task)).await?;
        match create {
            Create::NotNow { after_ms } if asks < ASKS_MAX => {
                tokio::time::sleep(std::time::Duration::from_millis(after_ms.max(1))).await;
            }
            Create::Created | Create::Exists | Create::Unknown(_) | Create::NotNow { .. } => {
                return Ok(Answered { task, asks, create });
            }
        }
    }
}

/// Whether the winner was told so.
async fn judge(bench: &Bench, name: &str, answers: &[Answered]) -> Result<bool, Violation> {
    let told: Vec<usize> =
        answers.iter().filter(|answer| answer.create == Create::Created).map(|answer| answer.task).collect();
    if told.len() > 1 {
        return Err(bench.broken(format!("{name}: {} tasks were told that they created it: {told:?}", told.len())));
    }
    let Some(bytes) = bench.ok("get", bench.store.get(name).await)? else {
        return Err(bench.broken(format!("{name}: {} tasks asked to create it, and nothing is there", answers.len())));
    };
    let Some(survivor) = answers.iter().find(|answer| bytes == body(answer.task)) else {
        return Err(bench.broken(format!("{name}: {} bytes stand there that no task sent", bytes.len())));
    };
    match (told.first(), &survivor.create) {
        (Some(winner), _) if *winner != survivor.task => Err(bench.broken(format!(
            "{name}: task {winner} was told that it created it, but the bytes of task {} stand there",
            survivor.task
        ))),
        (Some(_), _) => Ok(true),
        (None, Create::NotNow { .. }) => {
            Err(bench.broken(format!("{name}: a task was turned away, yet its bytes stand there")))
        }
        (None, Create::Created | Create::Exists | Create::Unknown(_)) => Ok(false),
    }
}

fn body(task: usize) -> Bytes {
    let mut body = format!("task {task} ").into_bytes();
    let filler = u8::try_from(task % 251).unwrap_or_default();
    body.resize(BODY_BYTES, filler);
    body.into()
}
