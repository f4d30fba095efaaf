//! A process that opens the table, plans transactions and commits them.

use crate::actor::{Actor, Next, View};
use crate::family::{Family, Looking, Opening, Plan, Planned, Planner, Read};
use crate::mutation::{Forced, Mutation, Tweaked};
use crate::rng::Rng;
use bytes::Bytes;
use lakebed_commit::{
    Answer, Backoff, Budget, Commit, CommitError, Find, FindStep, Format, Freshness, ObjectName, Request, Step,
};
use lakebed_naming::{Uuid, Version};
use lakebed_transaction::{Exhaustion, Outcome, TransactionId};

type PendingOf<X> = <<X as Family>::F as Format>::Pending;

/// A version, and since when it is known to be the newest.
struct Held<X: Family> {
    snap: X::Snap,
    known_ms: u64,
}

/// A transaction under way.
struct Work<X: Family> {
    id: TransactionId,
    /// As its caller prepared it.
    pending: PendingOf<X>,
    base: Option<Version>,
    /// The version that it was planned on; `None` for a creation, and after *unknown*.
    on: Option<X::Snap>,
    objects: Vec<ObjectName>,
    resubmitted: u32,
}

enum Phase<X: Family> {
    Rest,
    Opening {
        looking: Looking<X>,
        tip: Option<u64>,
    },
    Planning {
        id: TransactionId,
        rng: Rng,
        read: Read,
        asked: Vec<ObjectName>,
    },
    Staging {
        work: Box<Work<X>>,
        puts: Vec<(ObjectName, Bytes)>,
    },
    Committing {
        work: Box<Work<X>>,
        commit: Box<Commit<Tweaked<X::F>>>,
        asked: Vec<Request>,
        begun_ms: u64,
        last_ms: u64,
    },
    Tidying {
        then: Option<Box<Work<X>>>,
    },
    Finding {
        work: Box<Work<X>>,
        find: Box<Find<'static, X::F>>,
    },
    Over,
}

/// A writer.
pub(crate) struct Writer<X: Family> {
    who: usize,
    serial: u64,
    held: Option<Held<X>>,
    /// The newest version that it ever opened, to go on from.
    last: Option<X::Snap>,
    phase: Phase<X>,
}

impl<X: Family> Writer<X> {
    pub(crate) const fn new(who: usize) -> Self {
        Self { who, serial: 0, held: None, last: None, phase: Phase::Rest }
    }

    fn rest(&mut self, view: &mut View<'_, X>) -> Next {
        self.phase = Phase::Rest;
        Next::Sleep(view.rng.between(0, view.setup.retention_ms))
    }

    fn begin(&mut self, view: &mut View<'_, X>) -> Next {
        if view.closing {
            self.phase = Phase::Over;
            return Next::Over;
        }
        if self.held.is_none() || view.rng.chance(300) {
            let looking =
                Looking::begin(None, self.last.clone(), view.setup.page, (view.now_ms, view.setup, &mut *view.rng));
            self.phase = Phase::Opening { looking, tip: view.audit.tip };
            return self.resume(Vec::new(), view);
        }
        let id = self.fresh_id(view);
        let rng = view.rng.fork();
        self.plan(id, rng, Read::new(), view)
    }

    fn fresh_id(&mut self, view: &mut View<'_, X>) -> TransactionId {
        self.serial += 1;
        let (high, low) = (view.rng.next(), view.rng.next());
        let id = Uuid::from_random(((u128::from(high) << 64) | u128::from(low)).to_be_bytes());
        TransactionId::new(id.to_string())
    }

    fn opened(
        &mut self,
        step: Opening<X::Snap>,
        looking: Looking<X>,
        tip: Option<u64>,
        view: &mut View<'_, X>,
    ) -> Next {
        match step {
            Opening::Ask(requests) => {
                self.phase = Phase::Opening { looking, tip };
                Next::Ask(requests)
            }
            Opening::Failed(problem) => {
                view.note(|| format!("w{} could not open: {problem}", self.who));
                self.phase = Phase::Rest;
                Next::Sleep(view.rng.between(1, 30))
            }
            Opening::Done(Some(snap)) => {
                view.audit.read(X::version(&snap), X::digest(&snap), tip);
                self.last = Some(snap.clone());
                self.held = Some(Held { snap, known_ms: looking.asked_ms });
                let id = self.fresh_id(view);
                let rng = view.rng.fork();
                self.plan(id, rng, Read::new(), view)
            }
            Opening::Done(None) => {
                let id = self.fresh_id(view);
                let planner = Planner { who: self.who, serial: self.serial, now_ms: view.now_ms, setup: view.setup };
                match X::create(&id, &planner) {
                    Some(planned) => self.stage(id, planned, None, view),
                    None => self.rest(view),
                }
            }
        }
    }

    fn plan(&mut self, id: TransactionId, rng: Rng, read: Read, view: &mut View<'_, X>) -> Next {
        let Some(held) = &self.held else { return self.rest(view) };
        let planner = Planner { who: self.who, serial: self.serial, now_ms: view.now_ms, setup: view.setup };
        match X::plan(&id, &held.snap, &read, rng.clone(), &planner) {
            Plan::Idle => {
                self.held = None;
                self.rest(view)
            }
            Plan::Needs(names) => {
                let requests = names.iter().cloned().map(Request::Get).collect();
                self.phase = Phase::Planning { id, rng, read, asked: names };
                Next::Ask(requests)
            }
            Plan::Ready(planned) => {
                let snap = held.snap.clone();
                self.stage(id, *planned, Some(snap), view)
            }
        }
    }

    fn stage(
        &mut self,
        id: TransactionId,
        planned: Planned<PendingOf<X>, X::Intent>,
        on: Option<X::Snap>,
        view: &mut View<'_, X>,
    ) -> Next {
        view.audit.begin(id.as_str(), planned.intent);
        let base = on.as_ref().map(|snap| X::version(snap));
        let objects = planned.puts.iter().map(|(name, _)| name.clone()).collect();
        let work: Box<Work<X>> = Box::new(Work { id, pending: planned.pending, base, on, objects, resubmitted: 0 });
        if planned.puts.is_empty() {
            let pending = work.pending.clone();
            return self.commit(work, pending, base, view);
        }
        let requests = planned.puts.iter().map(|(name, bytes)| Request::Put(name.clone(), bytes.clone())).collect();
        self.phase = Phase::Staging { work, puts: planned.puts };
        Next::Ask(requests)
    }

    fn commit(
        &mut self,
        work: Box<Work<X>>,
        pending: PendingOf<X>,
        base: Option<Version>,
        view: &mut View<'_, X>,
    ) -> Next {
        let known_ms = self.held.as_ref().filter(|_| work.resubmitted == 0).map(|held| held.known_ms);
        let until_ms = known_ms.map_or(0, |known| known + view.setup.fresh_ms);
        let budget = Budget {
            rebases_max: 20,
            elapsed_ms_max: 60_000,
            // Small budgets leave outcomes unknown, which is what whoever asks again has to deal with.
            failures_max: u32::try_from(view.rng.below(5)).unwrap_or(4),
            repeats_max: u32::try_from(view.rng.below(9)).unwrap_or(8),
            backoff: Backoff { first_ms: 4, max_ms: 100, seed: view.rng.next() },
        };
        let freshness = Freshness { until_ms, for_ms: view.setup.fresh_ms };
        let format = Tweaked::new(X::FORMAT.clone(), view.setup.page, view.setup.mutation);
        let mut commit = Box::new(Commit::new(format, pending, base, freshness, budget));
        let step = commit.start(view.now_ms);
        let begun_ms = view.now_ms;
        self.stepped(step, Running { work, commit, begun_ms, last_ms: begun_ms }, view)
    }

    fn stepped(&mut self, step: Step, mut run: Running<X>, view: &mut View<'_, X>) -> Next {
        let mut step = step;
        loop {
            match step {
                Step::Done(answer) => return self.ended(answer, run, view),
                Step::Ask(requests) => {
                    let format = run.commit.format();
                    let told: Vec<Answer> = requests.iter().filter_map(|request| format.outgoing(request)).collect();
                    if told.len() == requests.len() {
                        step = run.commit.answer(told, run.last_ms);
                        continue;
                    }
                    let Running { work, commit, begun_ms, last_ms } = run;
                    self.phase = Phase::Committing { work, commit, asked: requests.clone(), begun_ms, last_ms };
                    return Next::Ask(requests);
                }
            }
        }
    }

    fn answered(
        &mut self,
        mut run: Running<X>,
        asked: &[Request],
        mut answers: Vec<Answer>,
        view: &mut View<'_, X>,
    ) -> Next {
        match run.commit.format().incoming(asked, &mut answers) {
            Some(Forced::Failed) => {
                let newest = run.work.base.unwrap_or_else(|| X::first_version());
                let outcome = Outcome::Exhausted { what: Exhaustion::Attempts, attempts: 1, newest };
                return self.ended(Ok(outcome), run, view);
            }
            Some(Forced::CommittedAt(Some(version))) => {
                return self.ended(Ok(Outcome::Committed { version, attempts: 1 }), run, view);
            }
            Some(Forced::CommittedAt(None)) | None => {}
        }
        // A machine that does not notice time sees the clock of its beginning.
        let frozen = view.setup.mutation == Some(Mutation::TrustLateAnswer);
        run.last_ms = if frozen { run.begun_ms } else { view.now_ms };
        let step = run.commit.answer(answers, run.last_ms);
        self.stepped(step, run, view)
    }

    fn ended(&mut self, answer: Result<Outcome, CommitError>, run: Running<X>, view: &mut View<'_, X>) -> Next {
        let Running { mut work, commit, begun_ms, .. } = run;
        view.note(|| format!("w{} {} ended: {answer:?}", self.who, work.id));
        view.audit.ended(work.id.as_str(), &answer);
        let mut then = None;
        // What was offered before may have landed, so only the first offer's objects are certainly nobody's.
        let alone = work.resubmitted == 0;
        let mut deletes = if alone { commit.leftovers(&answer) } else { Vec::new() };
        let objects = if alone { work.objects.clone() } else { Vec::new() };
        let held = self.held.take();
        match &answer {
            Ok(Outcome::Committed { version, .. }) => {
                let next = work
                    .on
                    .as_ref()
                    .zip(commit.offered())
                    .and_then(|(snap, ours)| X::advance(snap, commit.followed(), (*version, ours)));
                if let Some(snap) = next.filter(|snap| X::version(snap) == *version) {
                    view.audit.read(*version, X::digest(&snap), None);
                    self.held = Some(Held { snap, known_ms: begun_ms });
                }
            }
            Ok(Outcome::Unknown { .. }) => {
                view.stats.unknowns += 1;
                if view.setup.mutation == Some(Mutation::DeleteOnUnknown) {
                    deletes.extend(work.objects.iter().cloned());
                }
                work.on = None;
                if view.rng.chance(300) {
                    // Whoever prepared the transaction may hold it as it was, or as the commit left it.
                    work.base = commit.base();
                    work.pending = commit.into_parts().1;
                }
                then = Some(work);
            }
            Ok(Outcome::Conflict(_)) => {
                view.stats.conflicts += 1;
                // Nothing was committed, so nobody names these.
                deletes.extend(objects);
            }
            Ok(Outcome::Exhausted { .. } | Outcome::Nothing { .. }) => {
                view.stats.exhausted += 1;
                deletes.extend(objects);
            }
            Err(_) => {
                view.stats.errors += 1;
                deletes.extend(objects);
            }
        }
        drop(held);
        if deletes.is_empty() {
            return self.tidied(then, view);
        }
        self.phase = Phase::Tidying { then };
        Next::Ask(deletes.into_iter().map(Request::Delete).collect())
    }

    fn tidied(&mut self, then: Option<Box<Work<X>>>, view: &mut View<'_, X>) -> Next {
        let Some(mut work) = then else { return self.rest(view) };
        if work.resubmitted < 2 && view.rng.chance(400) {
            work.resubmitted += 1;
            view.audit.reopened(work.id.as_str());
            view.note(|| format!("w{} offers {} once more", self.who, work.id));
            let (pending, base) = (work.pending.clone(), work.base);
            return self.commit(work, pending, base, view);
        }
        self.search(work, view)
    }

    fn search(&mut self, work: Box<Work<X>>, view: &mut View<'_, X>) -> Next {
        view.audit.searches(work.id.as_str());
        let find = Find::new(X::FORMAT, work.id.clone(), work.base);
        let mut find = Box::new(find.with_clocks_apart(u32::try_from(view.setup.fresh_ms).unwrap_or(u32::MAX)));
        let step = find.start();
        self.finding(step, work, find, view)
    }

    fn finding(
        &mut self,
        step: FindStep,
        work: Box<Work<X>>,
        find: Box<Find<'static, X::F>>,
        view: &mut View<'_, X>,
    ) -> Next {
        match step {
            FindStep::Ask(requests) => {
                self.phase = Phase::Finding { work, find };
                Next::Ask(requests)
            }
            FindStep::Done(Err(_)) if view.rng.chance(900) => {
                // The search could not ask; it begins again.
                self.search(work, view)
            }
            FindStep::Done(Err(_)) => self.rest(view),
            FindStep::Done(Ok(found)) => {
                view.note(|| format!("w{} {} found: {found:?}", self.who, work.id));
                view.stats.searches += 1;
                view.audit.found(work.id.as_str(), work.base, found);
                self.rest(view)
            }
        }
    }
}

struct Running<X: Family> {
    work: Box<Work<X>>,
    commit: Box<Commit<Tweaked<X::F>>>,
    begun_ms: u64,
    last_ms: u64,
}

impl<X: Family> Actor<X> for Writer<X> {
    fn resume(&mut self, answers: Vec<Answer>, view: &mut View<'_, X>) -> Next {
        match std::mem::replace(&mut self.phase, Phase::Rest) {
            Phase::Over => {
                self.phase = Phase::Over;
                Next::Over
            }
            Phase::Rest => self.begin(view),
            Phase::Opening { mut looking, tip } => {
                let step = looking.go_on(answers, view.now_ms, view.rng);
                self.opened(step, looking, tip, view)
            }
            Phase::Planning { id, rng, mut read, asked } => {
                for (name, answer) in asked.into_iter().zip(answers) {
                    match answer {
                        Answer::Bytes(bytes) => read.insert(name, Some(bytes)),
                        Answer::Absent => read.insert(name, None),
                        Answer::Names(_)
                        | Answer::Stored
                        | Answer::Created
                        | Answer::Exists
                        | Answer::Unknown(_)
                        | Answer::NotNow { .. }
                        | Answer::Deleted
                        | Answer::Elapsed
                        | Answer::Failed(_) => return self.rest(view),
                    };
                }
                self.plan(id, rng, read, view)
            }
            Phase::Staging { work, puts } => {
                if answers.iter().all(|answer| *answer == Answer::Stored) {
                    let (pending, base) = (work.pending.clone(), work.base);
                    return self.commit(work, pending, base, view);
                }
                let again = puts.iter().map(|(name, bytes)| Request::Put(name.clone(), bytes.clone())).collect();
                self.phase = Phase::Staging { work, puts };
                Next::Ask(again)
            }
            Phase::Committing { work, commit, asked, begun_ms, last_ms } => {
                self.answered(Running { work, commit, begun_ms, last_ms }, &asked, answers, view)
            }
            Phase::Tidying { then } => self.tidied(then, view),
            Phase::Finding { work, mut find } => {
                let step = find.answer(answers);
                self.finding(step, work, find, view)
            }
        }
    }

    fn interrupted(&mut self, memory: bool, view: &mut View<'_, X>) {
        if !memory {
            self.held = None;
            self.last = None;
        }
        if let Phase::Committing { work, .. } | Phase::Staging { work, .. } = &self.phase {
            view.audit.abandoned(work.id.as_str());
        }
        self.phase = Phase::Rest;
    }

    fn writes(&self) -> bool {
        true
    }
}
