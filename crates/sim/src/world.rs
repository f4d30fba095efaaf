//! The world: a virtual clock, a queue of things to come, and the store between the processes.

use crate::actor::{Actor, Next, Stats, View};
use crate::audit::{Audit, Remover, Violation};
use crate::chaos::{Chaos, Fault};
use crate::family::{Family, Opening};
use crate::keepers::{Checkpointer, Cleaner, Reader};
use crate::mutation::Mutation;
use crate::rng::Rng;
use crate::setup::Setup;
use crate::store::Store;
use crate::writer::Writer;
use bytes::Bytes;
use lakebed_commit::{Answer, ObjectName, Request};
use std::collections::{BTreeMap, HashMap};

/// Things that happen in a run at most; a world that is still going then will not end.
const EVENTS_MAX: u64 = 60_000;
/// The time at which a world begins, in milliseconds.
const BEGIN_MS: u64 = 1_000_000;

/// Something that will happen.
enum Event {
    /// A process goes on with the answers that it has.
    Wake { who: usize, life: u32 },
    /// A request reaches the store.
    Arrive { who: usize, life: u32, slot: usize, request: Request },
    /// A create that was answered *unknown* takes effect.
    Land { name: ObjectName, bytes: Bytes },
}

/// A process and what it waits for.
struct Process<X: Family> {
    actor: Box<dyn Actor<X>>,
    life: u32,
    answers: Vec<Option<Answer>>,
    skew_ms: u64,
    over: bool,
    name: String,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// What happened.
    pub stats: Stats,
    /// What must not be, if anything.
    pub violation: Option<Violation>,
    /// The faults that struck, by the number of their decision.
    pub fired: Vec<(u64, Fault)>,
    /// What happened, line by line, where it was asked for.
    pub trace: Vec<String>,
}

/// One world.
pub(crate) struct World<X: Family> {
    setup: Setup,
    rng: Rng,
    chaos: Chaos,
    store: Store,
    audit: Audit<X>,
    stats: Stats,
    processes: Vec<Process<X>>,
    queue: BTreeMap<(u64, u64), Event>,
    events: u64,
    now_ms: u64,
    /// When a name may be created again.
    keys: HashMap<ObjectName, u64>,
    trace: Option<Vec<String>>,
}

impl<X: Family> World<X> {
    pub(crate) fn new(setup: &Setup, traced: bool) -> Self {
        let mut rng = Rng::new(setup.seed ^ 0x77_6f72_6c64);
        let mut actors: Vec<(String, Box<dyn Actor<X>>)> = Vec::new();
        for who in 0..setup.writers {
            actors.push((format!("w{who}"), Box::new(Writer::new(who))));
        }
        actors.push(("reader".to_owned(), Box::new(Reader::new())));
        if setup.cleans {
            actors.push(("cleaner".to_owned(), Box::new(Cleaner::new())));
            if !X::NAMES_END_WITH_ENTRY && setup.checkpoints {
                actors.push(("checkpointer".to_owned(), Box::new(Checkpointer::new())));
            }
        }
        let processes = actors
            .into_iter()
            .map(|(name, actor)| {
                // A cleanup goes by the store's own times; the clocks of writers may stand anywhere.
                let skew_ms = if actor.writes() { rng.below(setup.retention_ms * 2) } else { 0 };
                Process { actor, life: 0, answers: Vec::new(), skew_ms, over: false, name }
            })
            .collect();
        let store = Store::new(setup.shuffled);
        let mut world = Self {
            setup: setup.clone(),
            chaos: Chaos::new(setup.seed, setup.rates, setup.only.clone()),
            rng,
            store,
            audit: Audit::new(),
            stats: Stats::default(),
            processes,
            queue: BTreeMap::new(),
            events: 0,
            now_ms: BEGIN_MS,
            keys: HashMap::new(),
            trace: traced.then(Vec::new),
        };
        for who in 0..world.processes.len() {
            let delay_ms = world.rng.below(50);
            world.later(delay_ms, Event::Wake { who, life: 0 });
        }
        world
    }

    /// Runs until everything has come to rest, or a rule is broken.
    pub(crate) fn run(mut self) -> Report {
        while let Some(((at_ms, _), event)) = self.queue.pop_first() {
            self.now_ms = at_ms;
            if self.events > EVENTS_MAX {
                let rule = "every run ends";
                self.audit.violation = Some(Violation { rule, detail: format!("{EVENTS_MAX} events") });
            }
            if self.audit.violation.is_some() {
                break;
            }
            match event {
                Event::Wake { who, life } => self.wake(who, life),
                Event::Arrive { who, life, slot, request } => self.arrive(who, life, slot, request),
                Event::Land { name, bytes } => {
                    self.note(|| format!("{name} lands late"));
                    self.create(&name, bytes);
                }
            }
        }
        if self.audit.violation.is_none() {
            self.audit.finish();
            self.open_once_more();
        }
        self.stats.commits = self.audit.landed_count();
        self.stats.strays = self.audit.strays;
        self.stats.faults = self.chaos.fired.len() as u64;
        Report {
            stats: self.stats,
            violation: self.audit.violation,
            fired: self.chaos.fired,
            trace: self.trace.unwrap_or_default(),
        }
    }

    fn later(&mut self, delay_ms: u64, event: Event) {
        self.events += 1;
        self.queue.insert((self.now_ms.saturating_add(delay_ms), self.events), event);
    }

    fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>8} {}", self.now_ms - BEGIN_MS, text()));
        }
    }

    fn latency(&mut self) -> u64 {
        self.rng.between(0, self.setup.latency_ms)
    }

    /// A sleep that is longer than any freshness bound, and sometimes longer than what a cleanup keeps.
    fn long_sleep(&mut self) -> u64 {
        self.rng.between(self.setup.fresh_ms, self.setup.retention_ms * 3)
    }

    fn wake(&mut self, who: usize, life: u32) {
        let closing = self.audit.landed_count() >= self.setup.commits;
        let writing = self.processes.iter().any(|process| process.actor.writes() && !process.over);
        let Some(process) = self.processes.get_mut(who) else { return };
        if process.life != life || process.over {
            return;
        }
        let answers = std::mem::take(&mut process.answers).into_iter().flatten().collect();
        let from = self.trace.as_ref().map_or(0, Vec::len);
        let mut view = View {
            now_ms: self.now_ms + process.skew_ms,
            rng: &mut self.rng,
            audit: &mut self.audit,
            setup: &self.setup,
            stats: &mut self.stats,
            closing,
            writing,
            trace: self.trace.as_mut(),
        };
        let next = process.actor.resume(answers, &mut view);
        for line in self.trace.iter_mut().flatten().skip(from) {
            *line = format!("{:>8} {line}", self.now_ms - BEGIN_MS);
        }
        match next {
            Next::Over => {
                if let Some(process) = self.processes.get_mut(who) {
                    process.over = true;
                }
            }
            Next::Sleep(ms) => self.later(ms.max(1), Event::Wake { who, life }),
            Next::Ask(requests) => self.send(who, life, requests),
        }
    }

    fn send(&mut self, who: usize, life: u32, requests: Vec<Request>) {
        let pause_ms = if self.chaos.strikes(Fault::Pause) { self.long_sleep() } else { 0 };
        if let Some(process) = self.processes.get_mut(who) {
            process.answers = vec![None; requests.len()];
            let name = process.name.clone();
            if pause_ms > 0 {
                self.note(|| format!("{name} sleeps {pause_ms} ms before its request"));
            }
        }
        for (slot, request) in requests.into_iter().enumerate() {
            let wait_ms = if let Request::Wait { ms } = request { ms } else { 0 };
            let delay_ms = pause_ms + wait_ms + self.latency();
            self.later(delay_ms, Event::Arrive { who, life, slot, request });
        }
        let crashes = self.chaos.strikes(Fault::Crash);
        if crashes || self.chaos.strikes(Fault::Dropped) {
            self.interrupt(who, !crashes);
        }
    }

    /// The process stops where it is; what it sent may still arrive.
    fn interrupt(&mut self, who: usize, memory: bool) {
        let Some(process) = self.processes.get_mut(who) else { return };
        process.life += 1;
        process.answers.clear();
        let (life, name) = (process.life, process.name.clone());
        let mut view = View {
            now_ms: self.now_ms + process.skew_ms,
            rng: &mut self.rng,
            audit: &mut self.audit,
            setup: &self.setup,
            stats: &mut self.stats,
            closing: false,
            writing: true,
            trace: None,
        };
        process.actor.interrupted(memory, &mut view);
        self.note(|| format!("{name} {}", if memory { "drops its future" } else { "dies" }));
        let delay_ms = self.rng.between(1, 100);
        self.later(delay_ms, Event::Wake { who, life });
    }

    fn arrive(&mut self, who: usize, life: u32, slot: usize, request: Request) {
        self.stats.requests += 1;
        let current = self.processes.get(who).is_some_and(|process| process.life == life);
        if !current && self.rng.chance(500) {
            // It never left the process that is gone.
            return;
        }
        let told = self.trace.is_some().then(|| describe(&request));
        let answer = self.serve(who, request);
        let Some(process) = self.processes.get_mut(who) else { return };
        if let Some(told) = told {
            let line = format!("{} {told}: {}", process.name, describe_answer(&answer));
            if let Some(trace) = &mut self.trace {
                trace.push(format!("{:>8} {line}", self.now_ms - BEGIN_MS));
            }
        }
        if !current {
            return;
        }
        if let Some(place) = process.answers.get_mut(slot) {
            *place = Some(answer);
        }
        if process.answers.iter().all(Option::is_some) {
            let doze_ms = if self.chaos.strikes(Fault::Doze) { self.long_sleep() } else { 0 };
            let delay_ms = doze_ms + self.latency();
            self.later(delay_ms, Event::Wake { who, life });
        }
    }

    /// What the store does with a request, and what it says.
    fn serve(&mut self, who: usize, request: Request) -> Answer {
        if matches!(request, Request::Wait { .. }) {
            return Answer::Elapsed;
        }
        if self.chaos.strikes(Fault::NotNow) {
            return Answer::NotNow { after_ms: self.rng.below(30) };
        }
        match request {
            Request::Create(name, bytes) => self.serve_create(name, bytes),
            Request::Put(name, bytes) => {
                let fails = self.chaos.strikes(Fault::WriteFails);
                if !fails || self.rng.chance(500) {
                    self.store.put(name.clone(), bytes.clone(), self.now_ms);
                    self.audit.appeared(&name, &bytes, &self.store);
                }
                if fails { Answer::Failed("the connection broke".to_owned()) } else { Answer::Stored }
            }
            Request::Delete(name) => {
                let fails = self.chaos.strikes(Fault::WriteFails);
                if !fails || self.rng.chance(500) {
                    let writes = self.processes.get(who).is_some_and(|process| process.actor.writes());
                    let by = if writes { Remover::Writer } else { Remover::Cleaner };
                    if self.store.delete(&name) {
                        self.audit.removed(&name, by);
                    }
                }
                if fails { Answer::Failed("the connection broke".to_owned()) } else { Answer::Deleted }
            }
            request @ (Request::Get(_) | Request::GetRange(..) | Request::List { .. } | Request::Wait { .. }) => {
                if self.chaos.strikes(Fault::ReadFails) {
                    return Answer::Failed("the connection broke".to_owned());
                }
                self.store.read(&request).unwrap_or(Answer::Elapsed)
            }
        }
    }

    fn serve_create(&mut self, name: ObjectName, bytes: Bytes) -> Answer {
        if self.setup.key_spacing_ms > 0 {
            let free_ms = self.keys.get(&name).copied().unwrap_or(0);
            self.keys.insert(name.clone(), self.now_ms + self.setup.key_spacing_ms);
            if self.now_ms < free_ms {
                return Answer::NotNow { after_ms: free_ms - self.now_ms };
            }
        }
        let unknown = || Answer::Unknown("the answer was lost".to_owned());
        if self.chaos.strikes(Fault::Refused) {
            return Answer::Failed("access denied".to_owned());
        }
        if self.chaos.strikes(Fault::SpuriousExists) {
            return Answer::Exists;
        }
        if self.chaos.strikes(Fault::Vanished) {
            return unknown();
        }
        if self.chaos.strikes(Fault::LateLanding) {
            let delay_ms = self.rng.between(1, self.setup.float_ms);
            self.later(delay_ms, Event::Land { name, bytes });
            return unknown();
        }
        let created = self.create(&name, bytes);
        if self.chaos.strikes(Fault::LostAnswer) {
            return unknown();
        }
        if created && !self.chaos.strikes(Fault::DeliveredTwice) { Answer::Created } else { Answer::Exists }
    }

    /// Creates the object where there is none.
    fn create(&mut self, name: &ObjectName, bytes: Bytes) -> bool {
        let overwrites = self.setup.mutation == Some(Mutation::CreateOverwrites);
        let free = overwrites || !self.store.contains(name);
        if free {
            self.store.put(name.clone(), bytes.clone(), self.now_ms);
            self.audit.appeared(name, &bytes, &self.store);
        }
        free
    }

    /// At the end, on a store that does what it is asked: the newest version is what the log says.
    fn open_once_more(&mut self) {
        let mut open = X::open(None, None, &mut self.rng, self.setup.page);
        let mut answers = Vec::new();
        loop {
            match X::opening(&mut open, answers) {
                Opening::Ask(requests) => {
                    answers =
                        requests.iter().map(|request| self.store.read(request).unwrap_or(Answer::Elapsed)).collect();
                }
                Opening::Done(Some(snap)) => {
                    let tip = self.audit.tip;
                    return self.audit.read(X::version(&snap), X::digest(&snap), tip);
                }
                Opening::Done(None) => return self.cannot_open("there is no table".to_owned()),
                Opening::Failed(problem) => return self.cannot_open(problem),
            }
        }
    }

    fn cannot_open(&mut self, detail: String) {
        self.audit.violation = Some(Violation { rule: "a table at rest can be opened", detail });
    }
}

fn describe(request: &Request) -> String {
    match request {
        Request::Get(name) | Request::GetRange(name, _) => format!("reads {name}"),
        Request::List { prefix, after, .. } => {
            format!("lists {prefix} after {}", after.as_ref().map_or("-", |after| after.as_str()))
        }
        Request::Put(name, _) => format!("puts {name}"),
        Request::Create(name, bytes) => format!("creates {name} ({} bytes)", bytes.len()),
        Request::Delete(name) => format!("deletes {name}"),
        Request::Wait { ms } => format!("waits {ms} ms"),
    }
}

fn describe_answer(answer: &Answer) -> String {
    match answer {
        Answer::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Answer::Names(names) => {
            let names: Vec<&str> = names.iter().map(|listed| listed.name.as_str()).collect();
            format!("{names:?}")
        }
        other @ (Answer::Absent
        | Answer::Stored
        | Answer::Created
        | Answer::Exists
        | Answer::Unknown(_)
        | Answer::NotNow { .. }
        | Answer::Deleted
        | Answer::Elapsed
        | Answer::Failed(_)) => format!("{other:?}"),
    }
}
