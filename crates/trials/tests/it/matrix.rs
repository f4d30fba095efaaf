//! Pairs of statements as two real commits that run beside each other, under every policy that the format takes; all of them
//! with `LAKEBED_MATRIX=all`.
//!
//! What ours is answered has to be what the cell of the rule table says, whether it is accepted what an oracle on rows and files
//! says that knows no rule, and the rows what the policy promises of the two run alone.

use crate::oracle::{Pair, expected};
use lakebed_conflict::Cell;
use lakebed_conflict::delta::{IsolationLevel, table_of};
use lakebed_conflict::lance::LANCE;
use lakebed_conflict::maxcompute::MAXCOMPUTE;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};
use lakebed_storage::Store;
use lakebed_table::{Table, TableFormat};
use lakebed_transaction::{DeltaKind, LanceKind, MaxComputeKind, PreciseKind, Verdict};
use lakebed_trials::arena::{Objects, objects, once, put};
use lakebed_trials::check::{Commit, History, Promise};
use lakebed_trials::levels::policies;
use lakebed_trials::rows::PROPERTY;
use lakebed_trials::statement::Layout;
use lakebed_trials::{Answer, Arena, Filter, Row, State, Statement};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of the pairs, one in so many is run where the environment does not ask for all.
const PART: usize = 5;

/// The twelve statements, on a partition. `who` tells the two sides apart in what they write.
fn statements(p: i64, who: i64, restored: &(u64, Vec<Row>)) -> Vec<Statement> {
    let row = |id: i64| Row { id, p, v: 100 * id + who };
    let filter = |modulus: i64| Filter { p: Some(p), modulus, remainder: p };
    vec![
        Statement::Append(vec![row(1_000 + who), row(1_010 + who)]),
        Statement::AppendRead(filter(8), 10_000 * who),
        Statement::Overwrite(vec![row(2_000 + who)]),
        Statement::Truncate(p),
        Statement::Delete(filter(8)),
        Statement::Update(filter(12), who),
        // One key that is there, and one that is not.
        Statement::Merge(vec![row(p), row(920 + p)]),
        Statement::Compact(Layout::Minor),
        Statement::Compact(Layout::Major),
        Statement::Compact(Layout::Clustered),
        Statement::Restore(restored.0, restored.1.clone()),
        Statement::Set(format!("{PROPERTY}{p}"), who.to_string()),
    ]
}

/// What the table of rules has for a pair: a verdict that is always given where no check fires, and the checks.
struct Entry {
    otherwise: Verdict,
    checks: Vec<(&'static str, Verdict)>,
}

fn entry<F>(cell: &Cell<F>, first: &[&lakebed_conflict::Check<F>]) -> Entry {
    let otherwise = match cell {
        Cell::Clear | Cell::If(_) => Verdict::Compatible,
        Cell::Always(verdict, _) | Cell::Else(_, verdict, _) => *verdict,
        Cell::Unspecified => Verdict::Unspecified,
    };
    let checks = first.iter().chain(cell.checks()).map(|check| (check.reason.check, check.verdict)).collect();
    Entry { otherwise, checks }
}

/// The kinds of a statement in the families of rules.
fn kinds(statement: &Statement) -> (DeltaKind, PreciseKind, LanceKind, MaxComputeKind) {
    use MaxComputeKind as M;
    match statement {
        Statement::Append(_) => (DeltaKind::Append, PreciseKind::Insert, LanceKind::Append, M::Insert),
        Statement::AppendRead(..) => (DeltaKind::AppendWithReads, PreciseKind::Insert, LanceKind::Append, M::Insert),
        Statement::Overwrite(_) => (DeltaKind::Overwrite, PreciseKind::Overwrite, LanceKind::Overwrite, M::Overwrite),
        Statement::OverwritePartition(..) => {
            (DeltaKind::Overwrite, PreciseKind::Overwrite, LanceKind::Update, M::Overwrite)
        }
        Statement::Truncate(_) | Statement::Delete(_) => {
            (DeltaKind::Delete, PreciseKind::Delete, LanceKind::Delete, M::Update)
        }
        Statement::Update(..) => (DeltaKind::Update, PreciseKind::Change, LanceKind::Update, M::Update),
        Statement::Merge(_) => (DeltaKind::Merge, PreciseKind::Change, LanceKind::Update, M::Update),
        Statement::Compact(Layout::Minor) => {
            (DeltaKind::Compact, PreciseKind::Layout, LanceKind::Rewrite, M::MinorCompact)
        }
        Statement::Compact(Layout::Major | Layout::Clustered) => {
            (DeltaKind::Compact, PreciseKind::Layout, LanceKind::Rewrite, M::MajorCompact)
        }
        Statement::Restore(..) => (DeltaKind::Restore, PreciseKind::Change, LanceKind::Restore, M::Unspecified),
        Statement::Set(..) => (DeltaKind::Metadata, PreciseKind::Note, LanceKind::UpdateConfig, M::Unspecified),
    }
}

/// The cell of a pair. Registers of Delta tables are judged by Delta's own checks under every policy that judges rows.
fn cell(arena: &Arena, policy: &str, ours: &Statement, landed: &Statement) -> Entry {
    let (ours, landed) = (kinds(ours), kinds(landed));
    let delta = |level| {
        let table = table_of(level);
        entry(&table.rows[ours.0.at()].cells[landed.0.at()], table.first)
    };
    let mut found = match policy {
        "delta-serializable" => delta(IsolationLevel::Serializable),
        "delta-write-serializable" => delta(IsolationLevel::WriteSerializable),
        "delta-snapshot" => delta(IsolationLevel::SnapshotIsolation),
        "precise" => entry(&PRECISE.rows[ours.1.at()].cells[landed.1.at()], PRECISE.first),
        "precise-reorder" => entry(&PRECISE_REORDER.rows[ours.1.at()].cells[landed.1.at()], PRECISE_REORDER.first),
        "lance" => entry(&LANCE.rows[ours.2.at()].cells[landed.2.at()], LANCE.first),
        "maxcompute" => entry(&MAXCOMPUTE.rows[ours.3.at()].cells[landed.3.at()], MAXCOMPUTE.first),
        other => panic!("the cells of {other} are not known here"),
    };
    if arena.format == TableFormat::Delta && !policy.starts_with("delta-") {
        let definitions = table_of(IsolationLevel::Serializable).first.iter().filter(|check| {
            let rows = ["added-files", "removed-what-was-read", "removed-twice"];
            !rows.contains(&check.reason.check)
        });
        found.checks.extend(definitions.map(|check| (check.reason.check, check.verdict)));
    }
    found
}

/// Whether an answer is one that the cell gives. A rebase that the cell allows may turn out impossible at the files (rows of a fragment
/// that are in both, rows of a compaction that stand nowhere): then ours is planned again, under the name of that check.
fn is_of(entry: &Entry, answer: &Answer) -> bool {
    match answer {
        Answer::Committed { .. } => {
            entry.otherwise.accepts() || entry.checks.iter().any(|(_, verdict)| verdict.accepts())
        }
        Answer::Refused { check, verdict, .. } => {
            let impossible = |says: Verdict| says == Verdict::Rebase && verdict == Verdict::Retryable.name();
            let says = |says: Verdict| says.name() == verdict || impossible(says);
            let fired = entry.checks.iter().any(|(known, verdict)| known == check && says(*verdict));
            fired || (!entry.otherwise.accepts() && entry.otherwise.name() == verdict)
        }
        Answer::Nothing | Answer::Exhausted | Answer::Unknown => false,
    }
}

/// Rows in two partitions, each in two files.
fn rows() -> Vec<Vec<Row>> {
    let rows = |from: i64| (from..from + 8).map(|id| Row { id, p: id % 2, v: id * 10 }).collect();
    vec![rows(0), rows(8)]
}

/// A table, and what landed on it.
struct Ground<'a> {
    arena: &'a Arena,
    base: Objects,
    start: State,
    /// By statement: what it left in the store and in the table; `None` where the format lacks it.
    landed: Vec<(Statement, Option<(Objects, State)>)>,
}

impl<'a> Ground<'a> {
    async fn new(arena: &'a Arena, properties: &BTreeMap<String, String>) -> Self {
        let store = arena.memory();
        let (_, start) = arena.table(&store, properties.clone(), &rows()).await.unwrap();
        Self { arena, base: objects(&store).await.unwrap(), start, landed: Vec::new() }
    }

    async fn holds(&self, store: &Arc<dyn Store>) -> State {
        let reader = self.arena.open(store).await.unwrap();
        State::of(&reader, reader.snapshot()).await.unwrap()
    }

    /// What a statement leaves that runs alone.
    async fn after(&mut self, statement: &Statement) -> Option<(Objects, State)> {
        if let Some((_, known)) = self.landed.iter().find(|(known, _)| known == statement) {
            return known.clone();
        }
        let store = self.arena.memory();
        put(&store, &self.base).await.unwrap();
        let mut table = self.arena.open(&store).await.unwrap();
        let landed = match answered(statement, &mut table, None).await {
            None => None,
            Some(answer) => {
                assert!(answer.committed().is_some(), "{statement:?}: {answer:?}");
                Some((objects(&store).await.unwrap(), self.holds(&store).await))
            }
        };
        self.landed.push((statement.clone(), landed.clone()));
        landed
    }

    /// Ours commits on the version before landed: what it was answered, and the history. `None` where the format lacks a statement.
    async fn run(&mut self, policy: &str, pair: &Pair) -> Option<(Answer, History)> {
        let (landed, after) = self.after(&pair.landed).await?;
        let store = self.arena.memory();
        put(&store, &self.base).await.unwrap();
        let mut table = self.arena.open(&store).await.unwrap();
        put(&store, &landed).await.unwrap();
        let answer = answered(&pair.ours, &mut table, Some(policy)).await?;
        let found = self.holds(&store).await;
        let commit = |statement: &Statement, after| Commit { read: 0, statement: statement.clone(), after };
        let mut history = History { start: self.start.clone(), commits: vec![commit(&pair.landed, after.clone())] };
        if answer.committed().is_some() {
            history.commits.push(commit(&pair.ours, found));
        } else {
            assert_eq!(found, after, "{answer:?} changed something");
        }
        Some((answer, history))
    }
}

/// What a statement is answered; `None` where tables of the format lack it.
async fn answered(statement: &Statement, table: &mut Table, policy: Option<&str>) -> Option<Answer> {
    match statement.run(table, &once(policy)).await {
        Ok(answer) => Some(answer),
        // Lance tables are only compacted as a whole, so far.
        Err(error) if error.to_string().contains("is not done here") => None,
        Err(error) => panic!("{statement:?}: {error}"),
    }
}

async fn every_pair(arena: &Arena, properties: BTreeMap<String, String>) {
    let in_place = properties == arena.properties();
    let mut ground = Ground::new(arena, &properties).await;
    let mut wrong = Vec::new();
    let all = std::env::var("LAKEBED_MATRIX").is_ok_and(|text| text == "all");
    for (number, policy) in policies(arena).await.unwrap().into_iter().enumerate() {
        let Some(promise) = Promise::of(policy) else { continue };
        let (mut pairs, mut accepted, mut lacks) = (0, 0, 0);
        // Each policy leaves out others.
        let some = every(arena.format).into_iter().enumerate().filter(|(at, _)| all || (at + number) % PART == 0);
        for (_, pair) in some {
            let Some((answer, history)) = ground.run(policy, &pair).await else {
                lacks += 1;
                continue;
            };
            let found = wrong.len();
            pairs += 1;
            accepted += usize::from(answer.committed().is_some());
            if !is_of(&cell(arena, policy, &pair.ours, &pair.landed), &answer) {
                wrong.push("not in its cell".to_owned());
            }
            let says = expected(policy, &pair, &history.start, in_place);
            wrong.extend(says.and_then(|says| says.differs(&answer)).map(|how| format!("expected {how}")));
            wrong.extend(promise.check(&history).err().map(|error| error.to_string()));
            if wrong.len() > found {
                let (ours, landed) = (pair.ours.name(), pair.landed.name());
                println!("{policy}: {ours} after {landed}, apart: {}: {answer:?}, {:?}", pair.apart, &wrong[found..]);
            }
        }
        println!(
            "{policy} on {} tables, rows deleted in place: {in_place}: {pairs} pairs as their cells say, {accepted} accepted; \
             {lacks} have a statement that the format lacks",
            arena.format
        );
        assert!(accepted > 0 && accepted < pairs);
    }
    assert!(wrong.is_empty(), "{} are wrong", wrong.len());
}

/// Every two statements, on one partition and on two.
fn every(format: TableFormat) -> Vec<Pair> {
    let version = if format == TableFormat::Lance { 2 } else { 1 };
    let restored = (version, rows().remove(0));
    let mut pairs = Vec::new();
    for apart in [false, true] {
        for ours in statements(0, 1, &restored) {
            let landed = statements(i64::from(apart), 2, &restored).into_iter();
            pairs.extend(landed.map(|landed| Pair { ours: ours.clone(), landed, apart }));
        }
    }
    pairs
}

#[tokio::test]
async fn delta_tables_with_vectors_follow_the_rule_tables() {
    let arena = Arena::delta();
    every_pair(&arena, arena.properties()).await;
}

#[tokio::test]
async fn delta_tables_without_vectors_follow_the_rule_tables() {
    every_pair(&Arena::delta(), BTreeMap::new()).await;
}
