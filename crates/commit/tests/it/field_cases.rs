//! Field cases that the machine alone decides, on the toy format. The same cases run on real tables elsewhere.

use crate::toy::{PLAIN, after_wait, asked, commit, ended, listed, name, pending, rival};
use lakebed_commit::{Answer, Request, Step};
use lakebed_naming::Version;
use lakebed_transaction::Outcome;

fn create_bytes(requests: &[Request]) -> bytes::Bytes {
    match requests {
        [Request::Create(_, bytes)] => bytes.clone(),
        other => panic!("{other:?}"),
    }
}

/// Field cases 1 and 2: the create was stored, and an inner retry answered *exists*.
#[test]
fn case_1_and_2_an_own_entry_behind_exists_is_a_success_and_is_not_written_twice() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &["a", "b"]), 1);
    let ours = create_bytes(&asked(machine.start(0)));
    assert_eq!(asked(machine.answer(vec![Answer::Exists], 1)), vec![Request::Get(name(2))]);
    let outcome = ended(machine.answer(vec![Answer::Bytes(ours)], 2));
    assert_eq!(outcome, Ok(Outcome::Committed { version: Version::new(2), attempts: 1 }));
}

/// Field case 1, last sentence: what stands there cannot be read.
#[test]
fn case_1_an_entry_that_cannot_be_read_is_unknown_and_nothing_may_be_deleted() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &[]), 1);
    let _ = machine.start(0);
    let mut step = machine.answer(vec![Answer::Exists], 1);
    let mut now_ms = 2;
    let outcome = loop {
        match step {
            Step::Done(outcome) => break outcome,
            Step::Ask(requests) => {
                let answers = requests
                    .iter()
                    .map(|r| {
                        if matches!(r, Request::Wait { .. }) { Answer::Elapsed } else { Answer::Failed("reset".into()) }
                    })
                    .collect();
                now_ms += 1;
                step = machine.answer(answers, now_ms);
            }
        }
    };
    assert!(matches!(&outcome, Ok(Outcome::Unknown { tried, .. }) if *tried == Version::new(2)), "{outcome:?}");
    assert!(machine.leftovers(&outcome).is_empty());
}

/// Field case 3 (b): the id alone does not make an entry ours.
#[test]
fn case_3_a_reused_id_with_other_content_is_a_rival() {
    let mut machine = commit(PLAIN, pending("U", &["y"], &[]), 1);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Exists], 1);
    let _ = machine.answer(vec![rival("U", &["x"], &[])], 2);
    let step = machine.answer(vec![listed(&[2])], 3);
    let requests = asked(after_wait(&mut machine, step, 10));
    assert!(matches!(requests.as_slice(), [Request::Create(at, _)] if *at == name(3)));
    assert_eq!(&create_bytes(&requests)[..], b"id=U;items=y;state=x,y");
}

/// Field case 3 (a): an entry with our id and our intent is ours although its bytes differ.
#[test]
fn case_3_the_same_id_and_intent_is_ours_whatever_the_bytes() {
    let mut machine = commit(PLAIN, pending("U", &["y"], &[]), 1);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Unknown("reset".into())], 1);
    let outcome = ended(machine.answer(vec![rival("U", &["y"], &["other"])], 2));
    assert!(matches!(outcome, Ok(Outcome::Committed { version, .. }) if version == Version::new(2)));
}

/// Field case 4: the put timed out and (A) is there, (B) is not there, (C) a rival is there.
#[test]
fn case_4_a_timed_out_put_is_settled_by_reading_it() {
    for variant in ["A", "B", "C"] {
        let mut machine = commit(PLAIN, pending("me", &["c"], &[]), 4);
        let ours = create_bytes(&asked(machine.start(0)));
        assert_eq!(asked(machine.answer(vec![Answer::Unknown("timed out".into())], 1)), vec![Request::Get(name(5))]);
        let (outcome, expected) = match variant {
            "A" => (ended(machine.answer(vec![Answer::Bytes(ours)], 2)), 5),
            "B" => {
                let step = machine.answer(vec![Answer::Absent], 2);
                let again = asked(after_wait(&mut machine, step, 10));
                assert_eq!(again, vec![Request::Create(name(5), ours)], "the same bytes at the same name");
                (ended(machine.answer(vec![Answer::Created], 11)), 5)
            }
            _ => {
                let _ = machine.answer(vec![rival("you", &["z"], &[])], 2);
                let step = machine.answer(vec![listed(&[5])], 3);
                let next = asked(after_wait(&mut machine, step, 10));
                assert!(matches!(next.as_slice(), [Request::Create(at, _)] if *at == name(6)));
                (ended(machine.answer(vec![Answer::Created], 11)), 6)
            }
        };
        assert!(
            matches!(outcome, Ok(Outcome::Committed { version, .. }) if version == Version::new(expected)),
            "{variant}: {outcome:?}"
        );
    }
}

/// Field case 4, its variant: a rival whose body differs in nothing but the id is still a rival.
#[test]
fn case_4_an_equal_intent_under_another_id_is_not_ours() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &[]), 4);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Exists], 1);
    let _ = machine.answer(vec![rival("you", &["c"], &[])], 2);
    assert!(matches!(ended(machine.answer(vec![listed(&[5])], 3)), Ok(Outcome::Conflict(_))));
}

/// Field case 5: unanswered, ours landed, and others landed on top before we looked.
#[test]
fn case_5_the_version_that_was_tried_is_read_not_the_newest() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &[]), 4);
    let ours = create_bytes(&asked(machine.start(0)));
    // Versions 6 and 7 are there too; the machine has no need to see them.
    assert_eq!(asked(machine.answer(vec![Answer::Unknown("reset".into())], 1)), vec![Request::Get(name(5))]);
    assert!(
        matches!(ended(machine.answer(vec![Answer::Bytes(ours)], 2)), Ok(Outcome::Committed { version, .. }) if version.get() == 5)
    );
}

/// Field case 9: not there when looked at, and landed afterwards.
#[test]
fn case_9_absence_is_not_failure_and_a_late_landing_is_recognised() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &[]), 4);
    let ours = create_bytes(&asked(machine.start(0)));
    let _ = machine.answer(vec![Answer::Unknown("timed out".into())], 1);
    let step = machine.answer(vec![Answer::Absent], 2);
    assert!(matches!(asked(after_wait(&mut machine, step, 10)).as_slice(), [Request::Create(at, _)] if *at == name(5)));
    // Meanwhile the first put has landed.
    let _ = machine.answer(vec![Answer::Exists], 11);
    assert!(
        matches!(ended(machine.answer(vec![Answer::Bytes(ours)], 12)), Ok(Outcome::Committed { version, .. }) if version.get() == 5)
    );
}

/// Field case 10: an error is not a *did not happen*.
#[test]
fn case_10_what_stays_unanswered_ends_as_unknown() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &[]), 4);
    let mut step = machine.start(0);
    let mut now_ms = 0;
    let outcome = loop {
        match step {
            Step::Done(outcome) => break outcome,
            Step::Ask(requests) => {
                now_ms += 1;
                let answers = requests
                    .iter()
                    .map(|request| match request {
                        Request::Create(..) => Answer::Unknown("500".into()),
                        Request::Wait { .. } => Answer::Elapsed,
                        Request::Get(_)
                        | Request::GetRange(..)
                        | Request::List { .. }
                        | Request::Put(..)
                        | Request::Delete(_) => Answer::Absent,
                    })
                    .collect();
                step = machine.answer(answers, now_ms);
            }
        }
    };
    assert!(matches!(&outcome, Ok(Outcome::Unknown { tried, .. }) if tried.get() == 5), "{outcome:?}");
    assert!(machine.leftovers(&outcome).is_empty(), "nothing that may be committed is offered for removal");
}

/// Field case 22: two rivals won in a row; both are judged, oldest first.
#[test]
fn case_22_every_version_of_the_window_is_judged() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &[]), 4);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Exists], 1);
    let _ = machine.answer(vec![rival("r1", &["x"], &[])], 2);
    let fetch = asked(machine.answer(vec![listed(&[5, 6])], 3));
    assert_eq!(fetch, vec![Request::Get(name(6))], "version 5 was read already");
    let step = machine.answer(vec![rival("r2", &["y"], &["x"])], 4);
    let next = asked(after_wait(&mut machine, step, 10));
    assert!(matches!(next.as_slice(), [Request::Create(at, _)] if *at == name(7)));
    assert_eq!(machine.pending().judged, vec![5, 6]);
}

/// Field case 22, other half: the first of two rivals conflicts, the newest would not.
#[test]
fn case_22_an_older_rival_conflicts_although_the_newest_does_not() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &[]), 4);
    let _ = machine.start(2_000);
    let _ = machine.answer(vec![listed(&[5, 6])], 2_001);
    let _ = asked(machine.answer(vec![rival("r1", &["c"], &[]), rival("r2", &["y"], &["c"])], 2_002));
    let answer = machine.answer(vec![listed(&[5, 6])], 2_003);
    let Ok(Outcome::Conflict(conflict)) = ended(answer) else { panic!("no conflict") };
    assert_eq!(conflict.with, Version::new(5));
}

/// Field case 23: after a rebase the entry is built on the newest state, not on the one that was read.
#[test]
fn case_23_a_retry_is_rendered_on_what_landed() {
    let mut machine = commit(PLAIN, pending("me", &["c"], &["old"]), 4);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Exists], 1);
    let _ = machine.answer(vec![rival("r", &["new"], &["old"])], 2);
    let step = machine.answer(vec![listed(&[5])], 3);
    let next = asked(after_wait(&mut machine, step, 10));
    assert_eq!(&create_bytes(&next)[..], b"id=me;items=c;state=old,new,c");
}
