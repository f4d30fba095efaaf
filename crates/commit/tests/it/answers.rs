//! Every request against every answer: the machine never panics, never says *committed* of what did not land nor *not
//! committed* of what may have.

use crate::toy::{PLAIN, Toy, asked, commit, ended, listed, name, pending, rival};
use bytes::Bytes;
use lakebed_commit::{Answer, Commit, CommitError, Listed, Request, Step};
use lakebed_naming::Version;
use lakebed_transaction::Outcome;

/// One of each kind of answer.
fn every_answer() -> Vec<Answer> {
    vec![
        Answer::Bytes(Bytes::from_static(b"id=x;items=q;state=q")),
        Answer::Bytes(Bytes::from_static(b"\xff not an entry")),
        Answer::Absent,
        Answer::Names(Vec::new()),
        Answer::Names(vec![Listed { name: name(2), size_bytes: 1, modified_ms: 2 }]),
        Answer::Stored,
        Answer::Created,
        Answer::Exists,
        Answer::Unknown("timed out".to_owned()),
        Answer::NotNow { after_ms: 5 },
        Answer::Deleted,
        Answer::Elapsed,
        Answer::Failed("refused".to_owned()),
    ]
}

/// Walks all sequences of answers of a given depth and checks every end against what the sequence allows.
fn walk(commit: &dyn Fn() -> Commit<Toy>, prefix: &mut Vec<Answer>, depth: usize, ends: &mut usize) {
    let mut machine = commit();
    let mut now_ms = 0;
    let mut step = machine.start(now_ms);
    let (mut created, mut in_doubt) = (false, false);
    for answer in prefix.iter() {
        let Step::Ask(requests) = step else {
            return;
        };
        let create = requests.iter().any(|request| matches!(request, Request::Create(..)));
        if create {
            created |= *answer == Answer::Created;
            // Whatever is not a plain refusal leaves it open whether the entry is there.
            in_doubt |= !matches!(answer, Answer::Created | Answer::Failed(_) | Answer::NotNow { .. });
        }
        if matches!(requests.as_slice(), [Request::Get(at)] if *at == name(2))
            && matches!(answer, Answer::Bytes(b) if b.starts_with(b"id=x"))
        {
            in_doubt = false;
        }
        now_ms += 10;
        step = machine.answer(requests.iter().map(|_| answer.clone()).collect(), now_ms);
    }
    match step {
        Step::Done(Ok(Outcome::Committed { version, .. })) => {
            *ends += 1;
            assert!(created, "committed at {version} without a create that was answered so: {prefix:?}");
        }
        Step::Done(Ok(Outcome::Unknown { .. })) => *ends += 1,
        Step::Done(Ok(Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Nothing { .. }) | Err(_)) => {
            *ends += 1;
            assert!(!created && !in_doubt, "'nothing was committed' although it may have been: {prefix:?}");
        }
        Step::Ask(_) if depth == 0 => {}
        Step::Ask(_) => {
            for answer in every_answer() {
                prefix.push(answer);
                walk(commit, prefix, depth - 1, ends);
                prefix.pop();
            }
        }
    }
}

#[test]
fn every_answer_to_every_request_of_a_plain_commit() {
    let mut ends = 0;
    walk(&|| commit(PLAIN, pending("me", &["a"], &[]), 1), &mut Vec::new(), 4, &mut ends);
    assert!(ends > 100, "{ends} ends");
}

#[test]
fn every_answer_to_every_request_of_a_commit_that_lists_and_puts_first() {
    let mut ends = 0;
    let format = Toy { side_file: true, lists_first: true };
    walk(&|| commit(format.clone(), pending("me", &["a"], &[]), 1), &mut Vec::new(), 4, &mut ends);
    assert!(ends > 10, "{ends} ends");
}

#[test]
fn an_uncontended_commit_is_one_create() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &["x"]), 7);
    let requests = asked(machine.start(0));
    assert_eq!(requests, vec![Request::Create(name(8), Bytes::from_static(b"id=me;items=a;state=x,a"))]);
    let outcome = ended(machine.answer(vec![Answer::Created], 1)).unwrap();
    assert_eq!(outcome, Outcome::Committed { version: Version::new(8), attempts: 1 });
}

#[test]
fn a_side_object_comes_before_the_entry() {
    let mut machine = commit(Toy { side_file: true, lists_first: false }, pending("me", &["a"], &[]), 7);
    assert!(matches!(asked(machine.start(0)).as_slice(), [Request::Put(..)]));
    assert!(
        matches!(asked(machine.answer(vec![Answer::Stored], 1)).as_slice(), [Request::Create(at, _)] if *at == name(8))
    );
    let outcome = ended(machine.answer(vec![Answer::Created], 2));
    assert!(machine.leftovers(&outcome).is_empty());
}

#[test]
fn a_stale_snapshot_lists_first() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    assert!(matches!(asked(machine.start(1_001)).as_slice(), [Request::List { .. }]));
    assert!(
        matches!(asked(machine.answer(vec![listed(&[])], 1_002)).as_slice(), [Request::Create(at, _)] if *at == name(8))
    );
}

#[test]
fn a_gap_in_the_window_is_an_error() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    assert!(matches!(asked(machine.start(2_000)).as_slice(), [Request::List { .. }]));
    let error = ended(machine.answer(vec![listed(&[8, 10])], 2_001)).unwrap_err();
    assert_eq!(error, CommitError::Gap { missing: Version::new(9), newest: Version::new(10) });
}

#[test]
fn a_store_that_says_not_now_gets_the_same_bytes_again() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let first = asked(machine.start(0));
    let wait = asked(machine.answer(vec![Answer::NotNow { after_ms: 300 }], 1));
    assert!(matches!(wait.as_slice(), [Request::Wait { ms }] if *ms >= 300));
    assert_eq!(asked(machine.answer(vec![Answer::Elapsed], 400)), first);
}

#[test]
fn a_conflict_names_both_sides_the_version_and_the_check() {
    let mut machine = commit(PLAIN, pending("me", &["a", "b"], &[]), 7);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Exists], 1);
    let _ = machine.answer(vec![rival("you", &["b"], &[])], 2);
    let Ok(Outcome::Conflict(conflict)) = ended(machine.answer(vec![listed(&[8])], 3)) else { panic!("no conflict") };
    assert_eq!(conflict.with, Version::new(8));
    assert_eq!(
        conflict.to_string(),
        "retryable conflict under toy@1: our addition cannot follow the addition of version 8: both add the same item (b); \
         read again and retry [same-item]"
    );
}

#[test]
fn entries_that_the_caller_holds_are_judged_without_a_request() {
    let Answer::Bytes(held) = rival("r", &["x"], &[]) else { panic!() };
    let skipped = held.clone();
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7)
        .with_landed([(Version::new(8), held), (Version::new(10), skipped)]);
    let requests = asked(machine.start(0));
    assert_eq!(requests, vec![Request::Create(name(9), Bytes::from_static(b"id=me;items=a;state=x,a"))]);
    assert_eq!(machine.pending().judged, vec![8]);

    let Answer::Bytes(held) = rival("r", &["a"], &[]) else { panic!() };
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7).with_landed([(Version::new(8), held)]);
    assert!(matches!(ended(machine.start(0)), Ok(Outcome::Conflict(_))));
}
