//! Pairs of statements as two real commits that run beside each other, under every policy that the format takes; all of them
//! with `LAKEBED_MATRIX=all`.
//!
//! What ours is answered has to be what the cell of the rule table says, whether it is accepted what an oracle on rows and files
//! says that knows no rule, and the rows what the policy promises of the two run alone.

use crate::oracle::{Ground as Tables, Pair, Says, expected};
use lakebed_conflict::Cell;
use lakebed_conflict::delta::{IsolationLevel, table_of};
use lakebed_conflict::lance::{DEFINITIONS, LANCE};
use lakebed_conflict::maxcompute::MAXCOMPUTE;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER, is_judged_by_rows};
use lakebed_storage::Store;
use lakebed_table::TableFormat;
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

/// The kinds of a statement in the families of rules, on tables in which a compaction that drops deleted rows has some to drop, or none.
fn kinds(statement: &Statement, tables: Tables) -> (DeltaKind, PreciseKind, LanceKind, MaxComputeKind) {
    use MaxComputeKind as M;
    match statement {
        Statement::Append(_) => (DeltaKind::Append, PreciseKind::Insert, LanceKind::Append, M::Insert),
        Statement::AppendRead(..) => (DeltaKind::AppendWithReads, PreciseKind::Insert, LanceKind::Append, M::Insert),
        Statement::Overwrite(_) => (DeltaKind::Overwrite, PreciseKind::Overwrite, LanceKind::Overwrite, M::Overwrite),
        Statement::OverwritePartition(..) => {
            (DeltaKind::Overwrite, PreciseKind::Overwrite, LanceKind::Update, M::Overwrite)
        }
        // An overwrite by no rows; of a Lance table, which has no partitions, a Delete.
        Statement::Truncate(_) if tables.format == TableFormat::Delta => {
            (DeltaKind::Delete, PreciseKind::Overwrite, LanceKind::Delete, M::Overwrite)
        }
        Statement::Truncate(_) | Statement::Delete(_) => {
            (DeltaKind::Delete, PreciseKind::Delete, LanceKind::Delete, M::Update)
        }
        Statement::Update(..) => (DeltaKind::Update, PreciseKind::Change, LanceKind::Update, M::Update),
        Statement::Merge(_) => (DeltaKind::Merge, PreciseKind::Change, LanceKind::Update, M::Update),
        Statement::Compact(layout) => {
            let drops = *layout == Layout::Major && tables.in_place;
            let matrix = if drops { M::MajorCompact } else { M::MinorCompact };
            (DeltaKind::Compact, PreciseKind::Layout, LanceKind::Rewrite, matrix)
        }
        Statement::Restore(..) if tables.format == TableFormat::Lance => {
            (DeltaKind::Restore, PreciseKind::Overwrite, LanceKind::Restore, M::Unspecified)
        }
        Statement::Restore(..) => (DeltaKind::Restore, PreciseKind::Change, LanceKind::Restore, M::Unspecified),
        Statement::Set(..) => (DeltaKind::Metadata, PreciseKind::Note, LanceKind::UpdateConfig, M::Unspecified),
    }
}

/// The cell of a pair. Under the policies that judge rows, what stands beside the rows is judged by the format's own checks: registers of
/// Delta tables, and on Lance tables fields, configuration and indices, by which alone some operations are judged.
fn cell(tables: Tables, policy: &str, ours: &Statement, landed: &Statement) -> Entry {
    let is_truncate = matches!(landed, Statement::Truncate(_));
    let (ours, mut landed) = (kinds(ours, tables), kinds(landed, tables));
    if is_truncate {
        // What stands in an entry are the files that went, and no scope.
        landed.1 = PreciseKind::Delete;
    }
    let delta = |level| {
        let table = table_of(level);
        entry(&table.rows[ours.0.at()].cells[landed.0.at()], table.first)
    };
    let by_rows = match policy {
        "delta-serializable" => return delta(IsolationLevel::Serializable),
        "delta-write-serializable" => return delta(IsolationLevel::WriteSerializable),
        "delta-snapshot" => return delta(IsolationLevel::SnapshotIsolation),
        "lance" => return entry(&LANCE.rows[ours.2.at()].cells[landed.2.at()], LANCE.first),
        "maxcompute" => return entry(&MAXCOMPUTE.rows[ours.3.at()].cells[landed.3.at()], MAXCOMPUTE.first),
        "precise" => entry(&PRECISE.rows[ours.1.at()].cells[landed.1.at()], PRECISE.first),
        "precise-reorder" => entry(&PRECISE_REORDER.rows[ours.1.at()].cells[landed.1.at()], PRECISE_REORDER.first),
        other => panic!("the cells of {other} are not known here"),
    };
    let mut found = match tables.format {
        TableFormat::Lance => entry(&DEFINITIONS.rows[ours.2.at()].cells[landed.2.at()], DEFINITIONS.first),
        TableFormat::Delta => {
            let definitions = table_of(IsolationLevel::Serializable).first.iter().filter(|check| {
                let rows = ["added-files", "removed-what-was-read", "removed-twice"];
                !rows.contains(&check.reason.check)
            });
            let checks = definitions.map(|check| (check.reason.check, check.verdict)).collect();
            Entry { otherwise: Verdict::Compatible, checks }
        }
    };
    let judges_rows = tables.format == TableFormat::Delta || is_judged_by_rows(ours.2);
    if judges_rows {
        found.checks.extend(by_rows.checks);
        if found.otherwise.accepts() {
            found.otherwise = by_rows.otherwise;
        }
    }
    found
}

/// Whether an answer is one that the cell gives.
fn is_of(entry: &Entry, answer: &Answer) -> bool {
    match answer {
        Answer::Committed { .. } => {
            entry.otherwise.accepts() || entry.checks.iter().any(|(_, verdict)| verdict.accepts())
        }
        Answer::Refused { check, verdict, .. } => {
            let fired = entry.checks.iter().any(|(known, says)| known == check && says.name() == verdict);
            fired || (!entry.otherwise.accepts() && entry.otherwise.name() == verdict)
        }
        Answer::Nothing | Answer::Exhausted | Answer::Unknown => false,
    }
}

/// Rows in two partitions, in two files each and not in the order of their ids, some of them deleted; and the version before the second files came, with its rows.
async fn base(
    arena: &Arena,
    store: &Arc<dyn Store>,
    properties: &BTreeMap<String, String>,
) -> (State, (u64, Vec<Row>)) {
    let rows = |from: i64| (from..from + 8).rev().map(|id| Row { id, p: id % 2, v: id * 10 }).collect::<Vec<_>>();
    let (mut table, mut state) = arena.table(store, properties.clone(), &[rows(0)]).await.unwrap();
    let delete = |remainder| Statement::Delete(Filter { p: None, modulus: 8, remainder });
    let mut run = async |statement: Statement| {
        let answer = statement.run(&mut table, &once(None)).await.unwrap();
        state = statement.alone(&state);
        (answer.committed().unwrap(), state.clone())
    };
    let _ = run(delete(6)).await;
    let (version, half) = run(delete(7)).await;
    let restored = (version, half.found(|_| true));
    let _ = run(Statement::Append(rows(8))).await;
    let _ = run(delete(6)).await;
    let (_, state) = run(delete(7)).await;
    (state, restored)
}

/// A table, and what landed on it.
struct Ground<'a> {
    arena: &'a Arena,
    base: Objects,
    start: State,
    /// The version to restore, with its rows.
    restored: (u64, Vec<Row>),
    /// By statement: what it left in the store and in the table.
    landed: Vec<(Statement, (Objects, State))>,
}

impl<'a> Ground<'a> {
    async fn new(arena: &'a Arena, properties: &BTreeMap<String, String>) -> Self {
        let store = arena.memory();
        let (start, restored) = base(arena, &store, properties).await;
        Self { arena, base: objects(&store).await.unwrap(), start, restored, landed: Vec::new() }
    }

    async fn holds(&self, store: &Arc<dyn Store>) -> State {
        let reader = self.arena.open(store).await.unwrap();
        State::of(&reader, reader.snapshot()).await.unwrap()
    }

    /// What a statement leaves that runs alone.
    async fn after(&mut self, statement: &Statement) -> (Objects, State) {
        if let Some((_, known)) = self.landed.iter().find(|(known, _)| known == statement) {
            return known.clone();
        }
        let store = self.arena.memory();
        put(&store, &self.base).await.unwrap();
        let mut table = self.arena.open(&store).await.unwrap();
        let answer = statement.run(&mut table, &once(None)).await.unwrap();
        assert!(answer.committed().is_some(), "{statement:?}: {answer:?}");
        let landed = (objects(&store).await.unwrap(), self.holds(&store).await);
        self.landed.push((statement.clone(), landed.clone()));
        landed
    }

    /// Ours commits on the version before landed: what it was answered, and the history.
    async fn run(&mut self, policy: &str, pair: &Pair) -> (Answer, History) {
        let (landed, after) = self.after(&pair.landed).await;
        let store = self.arena.memory();
        put(&store, &self.base).await.unwrap();
        let mut table = self.arena.open(&store).await.unwrap();
        put(&store, &landed).await.unwrap();
        let answer = pair.ours.run(&mut table, &once(Some(policy))).await.unwrap();
        let found = self.holds(&store).await;
        let commit = |statement: &Statement, after| Commit { read: 0, statement: statement.clone(), after };
        let mut history = History { start: self.start.clone(), commits: vec![commit(&pair.landed, after.clone())] };
        if answer.committed().is_some() {
            history.commits.push(commit(&pair.ours, found));
        } else {
            assert_eq!(found, after, "{answer:?} changed something");
        }
        (answer, history)
    }
}

/// What a policy promises of two commits. None of the statements here is an overwrite that reads what it replaces, and without those what
/// MaxCompute's matrix accepts is in log order.
fn promised(policy: &str) -> Promise {
    Promise::of(policy).unwrap_or(Promise::LogOrder)
}

async fn every_pair(arena: &Arena, properties: BTreeMap<String, String>) {
    let tables = Tables { format: arena.format, in_place: properties == arena.properties() };
    let mut ground = Ground::new(arena, &properties).await;
    let mut wrong = Vec::new();
    let all = std::env::var("LAKEBED_MATRIX").is_ok_and(|text| text == "all");
    for (number, policy) in policies(arena).await.unwrap().into_iter().enumerate() {
        let (mut pairs, mut accepted) = (0, 0);
        // Each policy leaves out others.
        let every = every(&ground.restored).into_iter().enumerate();
        for (_, pair) in every.filter(|(at, _)| all || (at + number) % PART == 0) {
            let (answer, history) = ground.run(policy, &pair).await;
            let found = wrong.len();
            pairs += 1;
            accepted += usize::from(answer.committed().is_some());
            let says = expected(policy, &pair, &history.start, tables);
            let follows_cell = is_of(&cell(tables, policy, &pair.ours, &pair.landed), &answer);
            if !follows_cell && !matches!(says, Says::Impossible(_)) {
                wrong.push("not in its cell".to_owned());
            }
            wrong.extend(says.differs(&answer).map(|how| format!("expected {how}")));
            wrong.extend(promised(policy).check(&history).err().map(|error| error.to_string()));
            if wrong.len() > found {
                let (ours, landed) = (pair.ours.name(), pair.landed.name());
                println!("{policy}: {ours} after {landed}, apart: {}: {answer:?}, {:?}", pair.apart, &wrong[found..]);
            }
        }
        println!("{policy} on {tables}: {pairs} pairs as their cells say, {accepted} accepted");
        assert!(accepted > 0 && accepted < pairs);
    }
    assert!(wrong.is_empty(), "{} are wrong", wrong.len());
}

/// Every two statements, on one partition and on two.
fn every(restored: &(u64, Vec<Row>)) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for apart in [false, true] {
        for ours in statements(0, 1, restored) {
            let landed = statements(i64::from(apart), 2, restored).into_iter();
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

#[cfg(feature = "lance-data")]
#[tokio::test]
async fn lance_tables_follow_the_rule_tables() {
    let arena = Arena::lance();
    every_pair(&arena, arena.properties()).await;
}
