//! Schedules of mixed statements under every policy, and histories that are wrong on purpose.

use lakebed_trials::check::{Commit, History, Promise};
use lakebed_trials::levels::policies;
use lakebed_trials::play::{Extras, play};
use lakebed_trials::schedule::random;
use lakebed_trials::{Arena, Filter, Row, State, Statement, TrialError};

/// What every policy accepts of a schedule leaves rows in every version that it promises.
async fn keep_their_promises(arena: &Arena) {
    for seed in 0..2 {
        let schedule = random(seed, 5, 60);
        for policy in policies(arena).await.unwrap() {
            let Some(promise) = Promise::of(policy) else { continue };
            let extras = Extras { states: true, again: false };
            let played = play(arena, Some(policy), arena.properties(), &schedule, extras).await.unwrap();
            if let Err(error) = promise.check(&played.history) {
                panic!("seed {seed}, {policy} promises to be {}: {error}", promise.name());
            }
            assert!(played.tally.met > 0 && !played.tally.refused.is_empty(), "{policy}: {:?}", played.tally);
        }
    }
}

#[tokio::test]
async fn policies_of_delta_tables_keep_their_promises() {
    keep_their_promises(&Arena::delta()).await;
}

#[cfg(feature = "lance-data")]
#[tokio::test]
async fn policies_of_lance_tables_keep_their_promises() {
    keep_their_promises(&Arena::lance()).await;
}

fn row(id: i64, v: i64) -> Row {
    Row { id, p: 0, v }
}

fn all() -> Filter {
    Filter { p: None, modulus: 1, remainder: 0 }
}

/// A history of statements, each with the version that it read and the rows after it.
fn history(start: &[Row], commits: &[(usize, Statement, &[Row])]) -> History {
    let state = |rows: &[Row]| {
        let mut state = State::default();
        state.add(rows.iter().copied());
        state
    };
    let commit = |(read, statement, rows): &(usize, Statement, &[Row])| Commit {
        read: *read,
        statement: statement.clone(),
        after: state(rows),
    };
    History { start: state(start), commits: commits.iter().map(commit).collect() }
}

fn broken_at(promise: Promise, history: &History) -> Option<usize> {
    match promise.check(history) {
        Ok(()) => None,
        Err(TrialError::Broken { version, .. }) => Some(version),
        Err(other) => panic!("{other}"),
    }
}

/// The textbook history: a DELETE of everything that had not seen an INSERT leaves the row that came.
#[test]
fn a_delete_before_an_insert_is_in_some_order_and_not_in_that_of_the_log() {
    let insert = Statement::Append(vec![row(2, 0)]);
    let told = history(
        &[row(1, 0)],
        &[(0, insert.clone(), &[row(1, 0), row(2, 0)]), (0, Statement::Delete(all()), &[row(2, 0)])],
    );
    assert_eq!(broken_at(Promise::LogOrder, &told), Some(2));
    assert_eq!(broken_at(Promise::SomeOrder, &told), None);
    assert_eq!(broken_at(Promise::Snapshot, &told), None);
    // Who had seen the row has to come after it.
    let seen =
        history(&[row(1, 0)], &[(0, insert, &[row(1, 0), row(2, 0)]), (1, Statement::Delete(all()), &[row(2, 0)])]);
    assert_eq!(broken_at(Promise::SomeOrder, &seen), Some(2));
    assert_eq!(broken_at(Promise::Snapshot, &seen), Some(2));
}

/// Two updates of one row, of which one is lost; and two whose rows swap what the other read.
#[test]
fn lost_updates_and_skews_are_seen() {
    let lost = history(
        &[row(1, 0)],
        &[(0, Statement::Update(all(), 1), &[row(1, 1)]), (0, Statement::Update(all(), 10), &[row(1, 10)])],
    );
    for promise in [Promise::LogOrder, Promise::SomeOrder, Promise::Snapshot, Promise::SnapshotButOverwrites] {
        assert_eq!(broken_at(promise, &lost), Some(2), "{promise:?}");
    }
    // Each copies what it found, and neither found the other's: snapshot isolation lets that pass.
    let skew = history(
        &[row(1, 0)],
        &[
            (0, Statement::AppendRead(all(), 10), &[row(1, 0), row(11, 0)]),
            (0, Statement::AppendRead(all(), 100), &[row(1, 0), row(11, 0), row(101, 0)]),
        ],
    );
    assert_eq!(broken_at(Promise::SomeOrder, &skew), Some(2));
    assert_eq!(broken_at(Promise::Snapshot, &skew), None);
}

/// An overwrite that leaves a row which landed meanwhile, and one that takes it.
#[test]
fn an_overwrite_replaces_what_it_meets_or_what_it_saw() {
    let insert = Statement::Append(vec![row(2, 0)]);
    let overwrite = Statement::Overwrite(vec![row(9, 0)]);
    let both = [row(1, 0), row(2, 0)];
    let leaves = history(&[row(1, 0)], &[(0, insert.clone(), &both), (0, overwrite.clone(), &[row(2, 0), row(9, 0)])]);
    let takes = history(&[row(1, 0)], &[(0, insert, &both), (0, overwrite, &[row(9, 0)])]);
    assert_eq!(broken_at(Promise::LogOrder, &leaves), Some(2));
    assert_eq!(broken_at(Promise::LogOrder, &takes), None);
    assert_eq!(broken_at(Promise::Snapshot, &leaves), None);
    assert_eq!(broken_at(Promise::Snapshot, &takes), Some(2));
    assert_eq!(broken_at(Promise::SnapshotButOverwrites, &takes), None);
}
