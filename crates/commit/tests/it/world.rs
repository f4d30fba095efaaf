//! Several commits on one simulated store that loses answers, lets puts land late and refuses at random, in every order
//! that proptest finds: nothing is lost, nothing doubled, no answer is wrong.

use crate::toy::{PLAIN, Pending, Toy, entry, name, pending, version_of};
use bytes::Bytes;
use lakebed_commit::{Answer, Budget, Commit, Freshness, Listed, ObjectName, Request, Step};
use lakebed_naming::Version;
use lakebed_transaction::Outcome;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Default)]
struct Disk {
    objects: BTreeMap<ObjectName, (Bytes, i64)>,
    /// Puts that were answered *unknown* and have not landed yet.
    floating: Vec<(ObjectName, Bytes)>,
    now_ms: u64,
}

impl Disk {
    fn write_if_absent(&mut self, name: ObjectName, bytes: Bytes) -> bool {
        let now = i64::try_from(self.now_ms).unwrap();
        let fresh = !self.objects.contains_key(&name);
        if fresh {
            self.objects.insert(name, (bytes, now));
        }
        fresh
    }

    fn perform(&mut self, request: Request, fault: u8) -> Answer {
        self.now_ms += 1;
        if fault == 7 && !self.floating.is_empty() {
            let (name, bytes) = self.floating.remove(0);
            self.write_if_absent(name, bytes);
        }
        match (request, fault) {
            (Request::Wait { ms }, _) => {
                self.now_ms += ms;
                Answer::Elapsed
            }
            (Request::Create(name, bytes), 1) => {
                self.write_if_absent(name, bytes);
                Answer::Unknown("answer lost".into())
            }
            (Request::Create(name, bytes), 2) => {
                self.floating.push((name, bytes));
                Answer::Unknown("timed out".into())
            }
            (Request::Create(..), 3) => Answer::Unknown("nothing happened".into()),
            (Request::Create(..), 4) => Answer::Exists,
            (Request::Create(name, bytes), 5) => {
                self.write_if_absent(name, bytes);
                Answer::Exists
            }
            (_, 6) => Answer::NotNow { after_ms: 1 },
            (Request::Create(name, bytes), _) => {
                if self.write_if_absent(name, bytes) {
                    Answer::Created
                } else {
                    Answer::Exists
                }
            }
            (Request::Get(_) | Request::List { .. }, 1) => Answer::Failed("reset".into()),
            (Request::Get(name), _) => {
                self.objects.get(&name).map_or(Answer::Absent, |(bytes, _)| Answer::Bytes(bytes.clone()))
            }
            (Request::List { after, limit, .. }, _) => Answer::Names(
                self.objects
                    .iter()
                    .filter(|(name, _)| after.as_ref().is_none_or(|after| *name > after))
                    .take(limit)
                    .map(|(name, (_, ms))| Listed { name: name.clone(), size_bytes: 1, modified_ms: *ms })
                    .collect(),
            ),
            (Request::Delete(name), _) => {
                self.objects.remove(&name);
                Answer::Deleted
            }
            (Request::Put(..) | Request::GetRange(..), _) => Answer::Stored,
        }
    }
}

fn writer(number: usize, own_item: bool) -> (Pending, Commit<Toy>) {
    let item = if own_item { format!("item{number}") } else { "shared".to_owned() };
    let intent = pending(&format!("w{number}"), &[&item], &["root"]);
    let budget = Budget { repeats_max: 12, failures_max: 4, ..Budget::default() };
    let freshness = Freshness { until_ms: 200, for_ms: 200 };
    (intent.clone(), Commit::new(PLAIN, intent, Some(Version::new(1)), freshness, budget))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_is_wrong(own in proptest::collection::vec(proptest::bool::weighted(0.8), 2..5),
                          schedule in proptest::collection::vec((0_usize..5, 0_u8..16), 60..400)) {
        let mut disk = Disk::default();
        disk.write_if_absent(name(1), entry("root", &["root".into()], &["root".into()]));
        let mut writers: Vec<_> = own.iter().enumerate().map(|(n, own)| writer(n, *own)).collect();
        let mut steps: Vec<Option<Step>> = writers.iter_mut().map(|(_, commit)| Some(commit.start(0))).collect();
        let mut ends: Vec<Option<_>> = vec![None; writers.len()];
        // The schedule first, then a calm world in which everybody ends.
        let calm = (0..20_000).map(|turn| (turn % own.len(), 0));
        for (who, fault) in schedule.into_iter().map(|(who, fault)| (who % own.len(), fault)).chain(calm) {
            match steps[who].take() {
                None => {}
                Some(Step::Done(end)) => ends[who] = Some(end),
                Some(Step::Ask(requests)) => {
                    let answers = requests.into_iter().map(|request| disk.perform(request, fault)).collect();
                    steps[who] = Some(writers[who].1.answer(answers, disk.now_ms));
                }
            }
        }
        for (name, bytes) in std::mem::take(&mut disk.floating) {
            disk.write_if_absent(name, bytes);
        }
        audit(&disk, &writers, &ends)?;
    }
}

fn audit(
    disk: &Disk,
    writers: &[(Pending, Commit<Toy>)],
    ends: &[Option<Result<Outcome, lakebed_commit::CommitError>>],
) -> Result<(), TestCaseError> {
    let log: Vec<(u64, String)> = disk
        .objects
        .iter()
        .filter_map(|(name, (bytes, _))| Some((version_of(name)?, String::from_utf8_lossy(bytes).into_owned())))
        .collect();
    let mut state: Vec<String> = Vec::new();
    for (at, (version, text)) in log.iter().enumerate() {
        prop_assert_eq!(*version, at as u64 + 1, "the log has no gap");
        let fields: Vec<Vec<String>> = text
            .split(';')
            .map(|part| part.split_once('=').unwrap().1.split(',').map(str::to_owned).collect())
            .collect();
        state.extend(fields[1].clone());
        prop_assert_eq!(&fields[2], &state, "an entry is built on all that stands before it");
    }
    let mut unique = state.clone();
    unique.sort();
    unique.dedup();
    prop_assert_eq!(unique.len(), state.len(), "no item twice");
    for ((intent, _), end) in writers.iter().zip(ends) {
        let places: Vec<_> = log.iter().filter(|(_, text)| text.starts_with(&format!("id={};", intent.id))).collect();
        prop_assert!(places.len() <= 1, "a transaction id stands in at most one entry");
        match end {
            Some(Ok(Outcome::Committed { version, .. })) => {
                prop_assert_eq!(places.first().map(|(at, _)| *at), Some(version.get()), "committed means there");
            }
            Some(Ok(Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Nothing { .. }) | Err(_)) => {
                prop_assert!(places.is_empty(), "not committed means nowhere: {:?}", end);
            }
            Some(Ok(Outcome::Unknown { .. })) => {}
            None => prop_assert!(false, "a writer never ended"),
        }
    }
    Ok(())
}
