//! Many writers of which every request takes long, on a simulated clock and a store that does what it is asked.

use crate::toy::{PLAIN, Toy, entry, name, pending, version_of};
use bytes::Bytes;
use lakebed_commit::{Answer, Budget, Commit, Freshness, Listed, ObjectName, Request, Step};
use lakebed_naming::Version;
use lakebed_transaction::Outcome;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What one request takes. A try is a create, a look at what stood there instead, a listing and the reads: some five seconds.
const REQUEST_MS: u64 = 1_250;
/// A try with its four requests.
const TRY_MS: u64 = 4 * REQUEST_MS;

#[derive(Default)]
struct Disk {
    objects: BTreeMap<ObjectName, Bytes>,
    creates: u64,
}

impl Disk {
    fn serve(&mut self, request: &Request) -> Answer {
        match request {
            Request::Create(name, bytes) => {
                self.creates += 1;
                if self.objects.contains_key(name) {
                    return Answer::Exists;
                }
                self.objects.insert(name.clone(), bytes.clone());
                Answer::Created
            }
            Request::Get(name) => self.objects.get(name).map_or(Answer::Absent, |bytes| Answer::Bytes(bytes.clone())),
            Request::List { after, .. } => Answer::Names(
                self.objects
                    .iter()
                    .filter(|(name, _)| after.as_ref().is_none_or(|after| *name > after))
                    .map(|(name, _)| Listed { name: name.clone(), size_bytes: 1, modified_ms: 0 })
                    .collect(),
            ),
            Request::Wait { .. } => Answer::Elapsed,
            other @ (Request::Put(..) | Request::GetRange(..) | Request::Delete(_)) => panic!("{other:?}"),
        }
    }
}

fn writer(number: u64) -> Commit<Toy> {
    let intent = pending(&format!("w{number}"), &[&format!("item{number}")], &["root"]);
    let defaults = Budget::default();
    // An hour: one after the other alone they need longer than the usual five minutes.
    let budget = Budget {
        elapsed_ms_max: 3_600_000,
        backoff: lakebed_commit::Backoff { seed: number * 7_919 + 1, ..defaults.backoff },
        ..defaults
    };
    Commit::new(PLAIN, intent, Some(Version::new(1)), Freshness { until_ms: 300_000, for_ms: 300_000 }, budget)
}

/// What a crowd needed until everybody had committed once: creates that were sent, and milliseconds.
fn crowd(writers: u64) -> (u64, u64) {
    let mut disk = Disk::default();
    disk.objects.insert(name(1), entry("root", &["root".into()], &["root".into()]));
    let mut machines: Vec<Commit<Toy>> = (0..writers).map(writer).collect();
    // By time, and among equals in the order in which they were asked for.
    let mut queue = BinaryHeap::new();
    let (mut serial, mut now_ms, mut landed) = (0, 0, 0);
    let mut asked: Vec<Vec<Request>> = vec![Vec::new(); machines.len()];
    let mut steps: Vec<(usize, Step)> = machines.iter_mut().map(|machine| machine.start(0)).enumerate().collect();
    loop {
        for (who, step) in steps.drain(..) {
            match step {
                Step::Done(Ok(Outcome::Committed { .. })) => landed += 1,
                Step::Done(other) => panic!("writer {who} of {writers}: {other:?}"),
                Step::Ask(requests) => {
                    let takes = |request: &Request| if let Request::Wait { ms } = request { *ms } else { REQUEST_MS };
                    let takes_ms = requests.iter().map(takes).max().unwrap();
                    asked[who] = requests;
                    serial += 1;
                    queue.push(Reverse((now_ms + takes_ms, serial, who)));
                }
            }
        }
        let Some(Reverse((at_ms, _, who))) = queue.pop() else { break };
        now_ms = at_ms;
        let answers = asked[who].iter().map(|request| disk.serve(request)).collect();
        steps.push((who, machines[who].answer(answers, now_ms)));
    }
    assert_eq!(landed, writers);
    assert_eq!(disk.objects.keys().filter_map(version_of).collect::<Vec<_>>(), (1..writers + 2).collect::<Vec<_>>());
    (disk.creates, now_ms)
}

/// Field case 120: waits follow what a try takes, so that a crowd does not try N²/2 times; and nobody waits so long that the log
/// stands idle.
#[test]
fn case_120_slow_writers_do_not_try_each_time_that_somebody_lands() {
    for writers in [1, 2, 10, 30, 100] {
        let (creates, took_ms) = crowd(writers);
        let tries = took_ms / TRY_MS;
        println!(
            "{writers} writers: {creates} creates, N²/2 is {}, in the time of {tries} tries",
            writers * writers / 2
        );
        let bound = 3.0 * writers as f64 * (writers as f64).log2().max(1.0);
        assert!(creates as f64 <= bound, "{writers} writers created {creates} times, more than {bound}");
        assert!(took_ms <= 4 * writers * TRY_MS, "{writers} writers took {took_ms} ms");
    }
}
