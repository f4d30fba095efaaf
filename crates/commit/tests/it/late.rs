//! Answers that come after the deadline.

use crate::toy::{PLAIN, asked, commit, ended, name, pending};
use lakebed_commit::{Answer, CommitError, Listed, Request};
use lakebed_naming::Version;
use lakebed_transaction::Outcome;

fn names(entries: &[(u64, i64)]) -> Answer {
    Answer::Names(entries.iter().map(|(v, ms)| Listed { name: name(*v), size_bytes: 1, modified_ms: *ms }).collect())
}

#[test]
fn a_late_answer_is_checked_against_the_log_before_it_is_believed() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    assert!(matches!(asked(machine.answer(vec![Answer::Created], 90_000)).as_slice(), [Request::List { .. }]));
    let outcome = ended(machine.answer(vec![names(&[(8, 90_000)])], 90_001));
    assert_eq!(outcome, Ok(Outcome::Committed { version: Version::new(8), attempts: 1 }));
}

#[test]
fn a_version_written_on_ours_after_it_proves_ours() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Created], 90_000);
    assert!(matches!(
        ended(machine.answer(vec![names(&[(8, 90_000), (9, 90_000)])], 90_001)),
        Ok(Outcome::Committed { .. })
    ));
}

#[test]
fn a_freed_number_is_withdrawn_and_nothing_is_committed() {
    for entries in [&[(8, 90_000), (9, 5_000), (10, 6_000)][..], &[(8, 90_000), (12, 95_000)][..]] {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = machine.start(0);
        let _ = machine.answer(vec![Answer::Created], 90_000);
        let withdraw = if entries.len() == 3 {
            // The page is full: the next one is asked for first.
            let _ = asked(machine.answer(vec![names(entries)], 90_001));
            asked(machine.answer(vec![names(&[])], 90_002))
        } else {
            asked(machine.answer(vec![names(entries)], 90_001))
        };
        assert_eq!(withdraw, vec![Request::Delete(name(8))]);
        let _ = asked(machine.answer(vec![Answer::Deleted], 90_003));
        let after: Vec<_> = entries[1..].to_vec();
        let error = ended(machine.answer(vec![names(&after)], 90_004)).unwrap_err();
        assert!(matches!(error, CommitError::Gap { missing, .. } if missing == Version::new(8)), "{error}");
    }
}

#[test]
fn a_late_create_whose_log_cannot_be_listed_is_unknown() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    let mut step = machine.answer(vec![Answer::Created], 90_000);
    for now_ms in 90_001..91_000 {
        let lakebed_commit::Step::Ask(requests) = step else { break };
        let answers = requests
            .iter()
            .map(|r| if matches!(r, Request::Wait { .. }) { Answer::Elapsed } else { Answer::Failed("down".into()) })
            .collect();
        step = machine.answer(answers, now_ms);
    }
    assert!(matches!(ended(step), Ok(Outcome::Unknown { tried, .. }) if tried == Version::new(8)));
}
