//! Answers that come after the deadline.

use crate::toy::{PLAIN, after_wait, asked, commit, ended, entry, name, pending};
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
    for entries in [&[(8, 90_000), (9, 5_000), (10, 6_000)][..], &[(8, 90_000), (12, 5_000)][..]] {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = machine.start(0);
        let _ = machine.answer(vec![Answer::Created], 90_000);
        let check = if entries.len() == 3 {
            // The page is full: the next one is asked for first.
            let _ = asked(machine.answer(vec![names(entries)], 90_001));
            asked(machine.answer(vec![names(&[])], 90_002))
        } else {
            asked(machine.answer(vec![names(entries)], 90_001))
        };
        assert_eq!(check, vec![Request::Get(name(8))]);
        let ours = machine.offered().unwrap().clone();
        let withdraw = asked(machine.answer(vec![Answer::Bytes(ours)], 90_003));
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

#[test]
fn two_sleepers_in_a_row_do_not_prove_each_other() {
    // 8 and 9 were both freed and both filled by processes that slept; 10 is what is left of the history.
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Created], 90_000);
    let _ = asked(machine.answer(vec![names(&[(8, 90_000), (9, 90_001), (10, 5_000)])], 90_002));
    assert_eq!(asked(machine.answer(vec![names(&[])], 90_003)), vec![Request::Get(name(8))]);
    let ours = machine.offered().unwrap().clone();
    assert_eq!(asked(machine.answer(vec![Answer::Bytes(ours)], 90_004)), vec![Request::Delete(name(8))]);
}

#[test]
fn another_sleepers_entry_is_not_withdrawn() {
    // Ours may have stood there, been built on and cleaned away; what stands there now is somebody else's.
    for found in [Answer::Bytes(entry("them", &["b".into()], &["b".into()])), Answer::Absent] {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = machine.start(0);
        let _ = machine.answer(vec![Answer::Created], 90_000);
        let _ = asked(machine.answer(vec![names(&[(8, 90_000), (12, 5_000)])], 90_001));
        let outcome = ended(machine.answer(vec![found], 90_002));
        assert!(matches!(outcome, Ok(Outcome::Unknown { tried, .. }) if tried == Version::new(8)), "{outcome:?}");
    }
}

#[test]
fn an_entry_that_a_cleanup_has_passed_over_is_unknown() {
    // Ours landed and was built on, and then it or its successors aged while we slept. It must not be offered again.
    for entries in [&[(12, 95_000)][..], &[(8, 90_000), (12, 95_000)][..]] {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = machine.start(0);
        let _ = machine.answer(vec![Answer::Created], 200_000);
        let outcome = ended(machine.answer(vec![names(entries)], 200_001));
        assert!(matches!(outcome, Ok(Outcome::Unknown { tried, .. }) if tried == Version::new(8)), "{outcome:?}");
    }
}

#[test]
fn a_withdrawn_entry_of_which_another_put_went_unanswered_is_unknown() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    let _ = asked(machine.answer(vec![Answer::Unknown("timed out".into())], 10));
    let _ = asked(machine.answer(vec![Answer::Absent], 20));
    let again = asked(machine.answer(vec![Answer::Elapsed], 30));
    assert!(matches!(again.as_slice(), [Request::Create(..)]));
    let _ = asked(machine.answer(vec![Answer::Created], 90_000));
    let _ = asked(machine.answer(vec![names(&[(8, 90_000), (12, 5_000)])], 90_001));
    let ours = machine.offered().unwrap().clone();
    assert_eq!(asked(machine.answer(vec![Answer::Bytes(ours)], 90_001)), vec![Request::Delete(name(8))]);
    let outcome = ended(machine.answer(vec![Answer::Deleted], 90_002));
    assert!(matches!(outcome, Ok(Outcome::Unknown { tried, .. }) if tried == Version::new(8)), "{outcome:?}");
}

#[test]
fn an_entry_that_was_turned_away_is_not_offered_on_a_stale_snapshot() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    let wait = asked(machine.answer(vec![Answer::NotNow { after_ms: 5 }], 10));
    assert!(matches!(wait.as_slice(), [Request::Wait { .. }]));
    let next = asked(machine.answer(vec![Answer::Elapsed], 90_000));
    assert!(matches!(next.as_slice(), [Request::List { .. }]), "{next:?}");
}

#[test]
fn an_unanswered_create_that_was_sent_late_is_unknown_even_where_somebody_else_stands() {
    for (now_ms, certain) in [(20, true), (90_000, false)] {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = machine.start(0);
        let _ = asked(machine.answer(vec![Answer::Unknown("timed out".into())], now_ms));
        let theirs = entry("them", &["b".into()], &["b".into()]);
        let step = machine.answer(vec![Answer::Bytes(theirs)], now_ms);
        if certain {
            assert!(matches!(asked(step).as_slice(), [Request::List { .. }]));
        } else {
            assert!(matches!(ended(step), Ok(Outcome::Unknown { .. })));
        }
    }
}

#[test]
fn times_that_lie_close_together_prove_nothing() {
    // The store's clocks may differ by a little; 9 may well have been built on ours.
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    let _ = machine.answer(vec![Answer::Created], 90_000);
    let outcome = ended(machine.answer(vec![names(&[(8, 90_000), (9, 89_990)])], 90_001));
    assert!(matches!(outcome, Ok(Outcome::Unknown { .. })), "{outcome:?}");
}

#[test]
fn an_entry_in_doubt_is_looked_for_before_it_is_offered_late() {
    for (log, ends) in [(&[][..], false), (&[(9, 5_000)][..], true), (&[(8, 90_000)][..], false)] {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = machine.start(0);
        let _ = asked(machine.answer(vec![Answer::Unknown("timed out".into())], 10));
        let _ = asked(machine.answer(vec![Answer::Absent], 20));
        assert_eq!(asked(machine.answer(vec![Answer::Elapsed], 90_000)), vec![Request::Get(name(8))]);
        let list = asked(machine.answer(vec![Answer::Absent], 90_001));
        assert!(matches!(list.as_slice(), [Request::List { .. }]), "{list:?}");
        let step = machine.answer(vec![names(log)], 90_002);
        if ends {
            // The number was used and freed: ours may have been there.
            assert!(matches!(ended(step), Ok(Outcome::Unknown { tried, .. }) if tried == Version::new(8)));
        } else if !log.is_empty() {
            // Something stands there by now; whose it is must be read.
            assert_eq!(asked(step), vec![Request::Get(name(8))]);
        } else {
            let _ = asked(step);
            let create = asked(machine.answer(vec![Answer::Elapsed], 90_003));
            assert!(matches!(create.as_slice(), [Request::Create(at, _)] if *at == name(8)), "{create:?}");
        }
    }
}

#[test]
fn a_refilled_number_in_the_window_is_a_gap() {
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = asked(machine.start(50_000));
    let error = ended(machine.answer(vec![names(&[(8, 40_000), (9, 5_000)])], 50_001)).unwrap_err();
    assert!(matches!(error, CommitError::Gap { missing, .. } if missing == Version::new(8)), "{error}");
}

#[test]
fn ours_below_an_older_version_is_not_believed() {
    for (above_ms, believed) in [(39_900, false), (40_000, true)] {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = asked(machine.start(50_000));
        let reads = asked(machine.answer(vec![names(&[(8, 40_000), (9, above_ms)])], 50_001));
        assert_eq!(reads, [Request::Get(name(8)), Request::Get(name(9))]);
        let bodies = [("me", ["a".to_owned()]), ("other", ["b".to_owned()])];
        let answers = bodies.iter().map(|(id, items)| Answer::Bytes(entry(id, items, &[]))).collect();
        let _ = asked(machine.answer(answers, 50_002));
        let outcome = ended(machine.answer(vec![names(&[(8, 40_000), (9, above_ms)])], 50_003)).unwrap();
        let is_committed = matches!(outcome, Outcome::Committed { version, .. } if version == Version::new(8));
        let is_unknown = matches!(outcome, Outcome::Unknown { tried, .. } if tried == Version::new(8));
        assert_eq!((is_committed, is_unknown), (believed, !believed), "{outcome:?}");
    }
}

#[test]
fn a_rival_that_is_read_late_proves_nothing_where_its_number_was_freed() {
    // The store may have answered *exists* because ours was delivered twice, and a cleanup may have passed since.
    let gone = [&[(8, 90_000), (12, 5_000)][..], &[(12, 5_000)][..], &[(8, 90_000), (9, 89_990)][..]];
    for (log, certain) in gone.into_iter().map(|log| (log, false)).chain([(&[(8, 10)][..], true)]) {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = machine.start(0);
        assert_eq!(asked(machine.answer(vec![Answer::Exists], 10)), vec![Request::Get(name(8))]);
        let theirs = entry("them", &["b".into()], &[]);
        let list = asked(machine.answer(vec![Answer::Bytes(theirs)], 90_000));
        assert!(matches!(list.as_slice(), [Request::List { .. }]), "{list:?}");
        let step = machine.answer(vec![names(log)], 90_001);
        if certain {
            let create = asked(step);
            assert!(matches!(create.as_slice(), [Request::Wait { .. } | Request::Create(..)]), "{create:?}");
        } else {
            let outcome = ended(step);
            assert!(matches!(outcome, Ok(Outcome::Unknown { tried, .. }) if tried == Version::new(8)), "{outcome:?}");
        }
    }
}

#[test]
fn an_entry_that_cannot_be_read_leaves_ours_in_doubt_once_it_is_late() {
    for (now_ms, certain) in [(20, true), (90_000, false)] {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = machine.start(0);
        let _ = asked(machine.answer(vec![Answer::Exists], 10));
        let newer = Answer::Bytes(bytes::Bytes::from_static(b"unsupported"));
        let outcome = ended(machine.answer(vec![newer], now_ms));
        assert_eq!(matches!(outcome, Err(CommitError::Format(_))), certain, "{outcome:?}");
        assert_eq!(matches!(outcome, Ok(Outcome::Unknown { .. })), !certain, "{outcome:?}");
    }
}

#[test]
fn what_was_read_and_is_not_listed_any_more_is_a_gap() {
    // 8 was freed, another sleeper filled it, it was read in time of our own create, and then it was withdrawn.
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    let _ = asked(machine.answer(vec![Answer::Exists], 10));
    let _ = asked(machine.answer(vec![Answer::Bytes(entry("them", &["b".into()], &[]))], 20));
    let error = ended(machine.answer(vec![names(&[(9, 5)])], 30)).unwrap_err();
    assert!(matches!(error, CommitError::Gap { missing, .. } if missing == Version::new(8)), "{error}");
}

#[test]
fn a_window_that_was_read_after_the_time_of_its_base_is_listed_again() {
    // 6 of the history was cleaned away after it was listed, and the lost create of an offer before filled it.
    let bodies = [("me", ["a".to_owned()]), ("other", ["b".to_owned()])];
    let read = || bodies.iter().map(|(id, items)| Answer::Bytes(entry(id, items, &[]))).collect();
    let listings: [(&[(u64, i64)], _); 4] =
        [(&[(8, 10), (9, 20)], true), (&[(8, 49_999), (9, 20)], false), (&[(9, 20)], false), (&[], false)];
    for (log, believed) in listings {
        let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
        let _ = asked(machine.start(50_000));
        let _ = asked(machine.answer(vec![names(&[(8, 10), (9, 20)])], 50_001));
        let list = asked(machine.answer(read(), 50_002));
        assert!(matches!(list.as_slice(), [Request::List { .. }]), "{list:?}");
        let outcome = ended(machine.answer(vec![names(log)], 50_003)).unwrap();
        let is_committed = matches!(outcome, Outcome::Committed { version, .. } if version == Version::new(8));
        let is_unknown = matches!(outcome, Outcome::Unknown { tried, .. } if tried == Version::new(8));
        assert_eq!((is_committed, is_unknown), (believed, !believed), "{outcome:?}");
    }
}

#[test]
fn a_rival_that_was_read_and_changed_is_never_followed() {
    // Another sleeper's create filled 8: what stood there before is not known, so that nothing can be built on it.
    let rivals = [("x", ["b".to_owned()]), ("y", ["c".to_owned()])];
    let read = || rivals.iter().map(|(id, items)| Answer::Bytes(entry(id, items, &[]))).collect();
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = asked(machine.start(50_000));
    let _ = asked(machine.answer(vec![names(&[(8, 10), (9, 20)])], 50_001));
    let _ = asked(machine.answer(read(), 50_002));
    let error = ended(machine.answer(vec![names(&[(8, 50_002), (9, 20)])], 50_003)).unwrap_err();
    assert!(matches!(error, CommitError::Gap { missing, .. } if missing == Version::new(8)), "{error}");
}

#[test]
fn within_the_time_of_the_base_a_window_is_listed_once() {
    let rivals = [("x", ["b".to_owned()]), ("y", ["c".to_owned()])];
    let read = || rivals.iter().map(|(id, items)| Answer::Bytes(entry(id, items, &[]))).collect();
    let mut machine = commit(PLAIN, pending("me", &["a"], &[]), 7);
    let _ = machine.start(0);
    let _ = asked(machine.answer(vec![Answer::Exists], 10));
    let list = asked(machine.answer(vec![Answer::Bytes(entry("x", &["b".to_owned()], &[]))], 20));
    assert!(matches!(list.as_slice(), [Request::List { .. }]), "{list:?}");
    let _ = asked(machine.answer(vec![names(&[(8, 10), (9, 20), (10, 20)])], 30));
    let _ = asked(machine.answer(vec![names(&[])], 35));
    let step = machine.answer(read(), 40);
    let create = asked(after_wait(&mut machine, step, 41));
    assert!(matches!(create.as_slice(), [Request::Create(at, _)] if *at == name(11)), "{create:?}");
}
