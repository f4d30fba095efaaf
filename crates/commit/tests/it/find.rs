//! Asking for the outcome of a transaction by its id.

use crate::toy::{PLAIN, Toy, listed, rival};
use lakebed_commit::{Answer, Find, FindStep, Found, Request};
use lakebed_naming::Version;
use lakebed_transaction::TransactionId;

/// A log of versions, each by the rival of its number and written at the time of its number.
fn search(format: &Toy, id: &str, above: Option<u64>, log: &[u64]) -> Found {
    search_timed(format, id, above, log, &[])
}

/// The same, where some entries carry other times.
fn search_timed(format: &Toy, id: &str, above: Option<u64>, log: &[u64], times: &[(u64, i64)]) -> Found {
    let mut find = Find::new(format, TransactionId::new(id), above.map(Version::new)).with_clocks_apart(10);
    let mut step = find.start();
    loop {
        match step {
            FindStep::Done(found) => return found.unwrap(),
            FindStep::Ask(requests) => {
                let answers = requests
                    .iter()
                    .map(|request| match request {
                        Request::List { after, limit, .. } => {
                            let rest: Vec<_> = log
                                .iter()
                                .filter(|v| after.as_ref().is_none_or(|after| crate::toy::name(**v) > *after))
                                .take(*limit)
                                .copied()
                                .collect();
                            let Answer::Names(mut page) = listed(&rest) else { panic!("{rest:?}") };
                            for entry in &mut page {
                                let other = times.iter().find(|(v, _)| crate::toy::name(*v) == entry.name);
                                entry.modified_ms = other.map_or(entry.modified_ms, |(_, ms)| *ms);
                            }
                            Answer::Names(page)
                        }
                        Request::Get(name) => {
                            let version = crate::toy::version_of(name).unwrap();
                            rival(&format!("t{version}"), &["x"], &[])
                        }
                        other @ (Request::GetRange(..)
                        | Request::Put(..)
                        | Request::Create(..)
                        | Request::Delete(_)
                        | Request::Wait { .. }) => panic!("{other:?}"),
                    })
                    .collect::<Vec<Answer>>();
                step = find.answer(answers);
            }
        }
    }
}

#[test]
fn a_transaction_is_found_where_it_stands() {
    assert_eq!(search(&PLAIN, "t5", None, &[3, 4, 5, 6, 7]), Found::Committed(Version::new(5)));
    assert_eq!(search(&PLAIN, "t5", Some(4), &[3, 4, 5, 6, 7]), Found::Committed(Version::new(5)));
}

#[test]
fn what_is_nowhere_is_said_to_be_in_none_of_what_was_read() {
    let found = search(&PLAIN, "nobody", None, &[3, 4, 5]);
    assert_eq!(found, Found::InNone { oldest: Version::new(3), newest: Version::new(5) });
}

#[test]
fn a_log_that_was_cut_is_out_of_reach() {
    assert_eq!(search(&PLAIN, "t2", Some(1), &[5, 6]), Found::OutOfReach { oldest: Some(Version::new(5)) });
}

#[test]
fn a_hole_that_a_cleanup_left_cuts_the_log() {
    // 7 is gone although 5 and 6 are still there: what it was cannot be said any more.
    assert_eq!(search(&PLAIN, "t7", Some(4), &[5, 6, 8, 9]), Found::OutOfReach { oldest: Some(Version::new(8)) });
    assert_eq!(
        search(&PLAIN, "t7", None, &[5, 6, 8, 9]),
        Found::InNone { oldest: Version::new(8), newest: Version::new(9) }
    );
    // 5 may have landed late, in a number that had been freed, when 7 still stood.
    assert_eq!(search(&PLAIN, "t5", Some(4), &[5, 6, 8, 9]), Found::OutOfReach { oldest: Some(Version::new(8)) });
    assert_eq!(search(&PLAIN, "t8", Some(4), &[5, 6, 8, 9]), Found::Committed(Version::new(8)));
}

#[test]
fn what_landed_late_in_a_freed_number_is_no_commit() {
    // 5 was freed and filled long after 6 was written.
    let found = search_timed(&PLAIN, "t5", Some(4), &[5, 6, 7], &[(5, 100)]);
    assert_eq!(found, Found::OutOfReach { oldest: Some(Version::new(6)) });
    // Clocks that lie a little apart make no stray.
    let found = search_timed(&PLAIN, "t5", Some(4), &[5, 6, 7], &[(5, 15)]);
    assert_eq!(found, Found::Committed(Version::new(5)));
}
