//! Random programs of the proof on real tables, by two and three handles: what each is answered and the rows after it are those of
//! the proof.

use lakebed_conflict::delta::{DeltaFacts, DeltaPolicy};
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};
use lakebed_proof::contender::{Answer as Said, Contender, Delta, Entry, Look, Precise};
use lakebed_proof::effect::Effect;
use lakebed_proof::play::{Act, Ending, play};
use lakebed_proof::program::Program;
use lakebed_proof::rebase::{Carried, Writing};
use lakebed_proof::table::Table;
use lakebed_proof::universe::{Axis, Universe};
use lakebed_sim::Rng;
use lakebed_transaction::UnitId;
use lakebed_trials::arena::once;
use lakebed_trials::programs::{bag, is_statement, run, table};
use lakebed_trials::{Answer, Arena};
use std::collections::BTreeMap;

/// How many random games each policy gets in every run; the environment may ask for more.
const GAMES: u64 = 15;

fn games() -> u64 {
    std::env::var("LAKEBED_GAMES").ok().map_or(GAMES, |text| text.parse().unwrap())
}

/// One game: a table, and what two or three handles do.
struct Game {
    table: Table,
    acts: Vec<Act>,
}

fn drawn(universe: &Universe, seed: u64) -> Game {
    let mut rng = Rng::new(seed);
    let statements: Vec<Program> = universe.programs.iter().copied().filter(|one| is_statement(*one)).collect();
    let table = rng.pick(&universe.tables).unwrap().clone();
    let handles = 2 + rng.place(2);
    let acts = (0..2 + rng.place(5)).map(|_| Act {
        handle: rng.place(handles),
        refreshes: rng.chance(300),
        program: *rng.pick(&statements).unwrap(),
    });
    Game { table, acts: acts.collect() }
}

/// Plays a game on a real table; how often something that had not been seen was met. The first difference goes to `wrong`.
async fn played(
    arena: &Arena,
    (universe, policy, seed): (&Universe, &str, u64),
    game: &Game,
    expected: &[Ending],
    wrong: &mut Vec<String>,
) -> u64 {
    let store = table(arena, universe, &game.table).await.unwrap();
    let mut reader = arena.open(&store).await.unwrap();
    let mut handles = BTreeMap::new();
    for act in &game.acts {
        if let std::collections::btree_map::Entry::Vacant(entry) = handles.entry(act.handle) {
            entry.insert(arena.open(&store).await.unwrap());
        }
    }
    let mut met = 0;
    for (at, (act, expected)) in game.acts.iter().zip(expected).enumerate() {
        let handle = handles.get_mut(&act.handle).unwrap();
        if act.refreshes {
            let _ = handle.refresh().await.unwrap();
        }
        let _ = reader.refresh().await.unwrap();
        met += u64::from(handle.version() < reader.version());
        let answer = run(act.program, handle, &once(Some(policy))).await.unwrap();
        let what = || {
            format!(
                "seed {seed} under {policy} in {universe}, act {at} of {:?} on {:?} answered {answer:?}",
                game.acts, game.table.files
            )
        };
        match (&answer, expected.answer) {
            (Answer::Nothing, None)
            | (Answer::Committed { .. }, Some(Said::Follows | Said::GoesBefore))
            | (Answer::Refused { .. }, Some(Said::Refused)) => {}
            (_, said) => {
                wrong.push(format!("{}, the proof says {said:?}", what()));
                return met;
            }
        }
        let _ = reader.refresh().await.unwrap();
        let found = bag(&reader).await.unwrap();
        if found != Some(expected.bag) {
            wrong.push(format!("{} and left {found:?}, in the proof {:?}", what(), expected.bag));
            return met;
        }
    }
    met
}

/// Random games in each universe under one policy.
async fn every_game(arena: &Arena, contender: &impl Contender, policy: &str, universes: &[Universe]) {
    let (mut acts, mut met, mut refused, mut wrong) = (0, 0, 0, Vec::new());
    for seed in 0..games() {
        for universe in universes {
            let game = drawn(universe, seed);
            let expected = play(universe, contender, &game.table, &game.acts);
            acts += expected.len();
            refused += expected.iter().filter(|ending| ending.answer == Some(Said::Refused)).count();
            met += played(arena, (universe, policy, seed), &game, &expected, &mut wrong).await;
        }
    }
    println!("{policy}: {acts} programs on {} tables, {met} met others' commits, {refused} refused", arena.format);
    assert!(met > 0 && refused > 0, "nobody met anybody");
    let some: Vec<&str> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} games differ:\n{}", wrong.len(), some.join("\n"));
}

/// The axes of tables on which rows are deleted in place.
const IN_PLACE: [&[Axis]; 4] = [&[], &[Axis::Partitions], &[Axis::Vectors], &[Axis::Partitions, Axis::Vectors]];
/// The axes of tables without vectors: nobody can delete a row in a file that somebody else wrote, so where it went is of no use.
const ON_COPIES: [&[Axis]; 2] = [&[Axis::Copies, Axis::NoMaps], &[Axis::Partitions, Axis::Copies, Axis::NoMaps]];

fn universes(axes: &[&[Axis]]) -> Vec<Universe> {
    axes.iter().map(|axes| Universe::new(3, axes)).collect()
}

#[tokio::test]
async fn precise_on_delta_tables_is_that_of_the_proof() {
    let precise = Precise::shipped(&PRECISE);
    every_game(&Arena::delta(), &precise, "precise", &universes(&IN_PLACE)).await;
    every_game(&Arena::delta(), &Compacts(precise), "precise", &universes(&ON_COPIES)).await;
}

#[tokio::test]
async fn precise_reorder_on_delta_tables_is_that_of_the_proof() {
    let precise = Precise::shipped(&PRECISE_REORDER);
    every_game(&Arena::delta(), &precise, "precise-reorder", &universes(&IN_PLACE)).await;
    every_game(&Arena::delta(), &Compacts(precise), "precise-reorder", &universes(&ON_COPIES)).await;
}

/// The same, but that a compaction of which nothing is left is planned again: the proof leaves out what it made of files that are gone, and
/// accepts it.
struct Compacts(Precise);

impl Contender for Compacts {
    type Ours = (<Precise as Contender>::Ours, Vec<UnitId>);
    type Landed = <Precise as Contender>::Landed;

    fn name(&self) -> String {
        self.0.name()
    }

    fn writing(&self, universe: &Universe) -> Writing {
        self.0.writing(universe)
    }

    fn ours(&self, universe: &Universe, effect: &Effect, read: &Table) -> Self::Ours {
        (self.0.ours(universe, effect, read), effect.inputs.iter().map(|input| fragment(*input)).collect())
    }

    fn landed(&self, universe: &Universe, entry: &Entry) -> Self::Landed {
        self.0.landed(universe, entry)
    }

    fn judge(&self, ours: &mut Self::Ours, landed: &Self::Landed, look: Look<'_>) -> Said {
        if ours.1.iter().any(|input| landed.footprint.removed_units.contains(input)) {
            return Said::Refused;
        }
        self.0.judge(&mut ours.0, landed, look)
    }

    fn carried<'a>(&self, ours: &'a Self::Ours) -> &'a [Carried] {
        self.0.carried(&ours.0)
    }
}

fn fragment(file: u32) -> UnitId {
    UnitId::Fragment(u64::from(file))
}

/// Delta's levels, but that a merge reads every file of the table, as Spark's does.
struct Files(Delta);

impl Contender for Files {
    type Ours = DeltaFacts;
    type Landed = DeltaFacts;

    fn name(&self) -> String {
        self.0.name()
    }

    fn writing(&self, universe: &Universe) -> Writing {
        self.0.writing(universe)
    }

    fn ours(&self, universe: &Universe, effect: &Effect, read: &Table) -> DeltaFacts {
        let mut ours = self.0.ours(universe, effect, read);
        if matches!(effect.program, Program::Merge(..)) {
            ours.footprint.read_units = read.files.iter().map(|file| fragment(file.id)).collect();
        }
        ours
    }

    fn landed(&self, universe: &Universe, entry: &Entry) -> DeltaFacts {
        self.0.landed(universe, entry)
    }

    fn judge(&self, ours: &mut DeltaFacts, landed: &DeltaFacts, look: Look<'_>) -> Said {
        self.0.judge(ours, landed, look)
    }

    fn carried<'a>(&self, ours: &'a DeltaFacts) -> &'a [Carried] {
        self.0.carried(ours)
    }
}

#[tokio::test]
async fn deltas_levels_on_delta_tables_are_those_of_the_proof() {
    for (name, policy) in [
        ("delta-serializable", DeltaPolicy::Serializable),
        ("delta-write-serializable", DeltaPolicy::WriteSerializable),
        ("delta-snapshot", DeltaPolicy::Snapshot),
    ] {
        let contender = Files(Delta { policy, with_application: false });
        every_game(&Arena::delta(), &contender, name, &[Universe::new(3, &[Axis::Copies])]).await;
    }
}

/// Lance's tables have no partitions, and its rows are always deleted in place.
#[cfg(feature = "lance-data")]
const OF_LANCE: [&[Axis]; 2] = [&[], &[Axis::Vectors]];

#[cfg(feature = "lance-data")]
#[tokio::test]
async fn lances_policy_on_lance_tables_is_that_of_the_proof() {
    let lance = lakebed_proof::contender::Lance;
    every_game(&Arena::lance(), &lance, "lance", &universes(&OF_LANCE)).await;
}

#[cfg(feature = "lance-data")]
#[tokio::test]
async fn precise_on_lance_tables_is_that_of_the_proof() {
    for (name, table) in [("precise", &PRECISE), ("precise-reorder", &PRECISE_REORDER)] {
        let precise = Compacts(Precise::shipped(table));
        every_game(&Arena::lance(), &precise, name, &universes(&OF_LANCE)).await;
    }
}
