//! Delta as the simulator drives it: opening, planning, upkeep.

use crate::delta_model::{Intent, Model};
use crate::family::{
    Cleanable, Family, Names, Opening, Plan, Planned, Planner, Read, Seen, bytes_of, digest_of, digest_of_all,
    is_followed, take_page,
};
use crate::rng::Rng;
use crate::store::Store;
use bytes::Bytes;
use lakebed_commit::{Answer, ObjectName, Request};
use lakebed_conflict::delta::{DeltaPolicy, split_read};
use lakebed_delta::action::{Action, Add, Metadata, Protocol, TextMap, Txn};
use lakebed_delta::schema::StructType;
use lakebed_delta::{DeltaFormat, Hint, Load, LoadStep, Pending, Snapshot, Transaction, write_checkpoint};
use lakebed_naming::Version;
use lakebed_naming::delta::{LAST_CHECKPOINT, LOG_FOLDER, LogName, commit_path, log_path};
use lakebed_transaction::{BinaryOp, Column, ColumnType, Expr, Scalar, TransactionId};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The partitions that files lie in.
const PARTITIONS: u64 = 3;

/// The schema of every table.
static SCHEMA: LazyLock<String> = LazyLock::new(|| {
    let columns = [Column::new("id", ColumnType::Long, true), Column::new("p", ColumnType::Integer, true)];
    StructType::from_columns(&columns).to_json()
});

/// Delta tables.
pub(crate) struct Delta;

/// An opening under way.
pub(crate) struct Open {
    at: Option<Version>,
    /// What is held already: only what is newer is read, as long as nothing between was cleaned away.
    held: Option<Arc<Snapshot>>,
    page: usize,
    uses_hint: bool,
    hinted: bool,
    stage: Stage,
}

enum Stage {
    Begin,
    Hint,
    Listing(Names),
    Newer(Names),
    Following(Vec<Version>),
    Loading(Box<Load>, Vec<ObjectName>),
}

impl Open {
    fn list(&mut self, after: Option<ObjectName>) -> Opening<Arc<Snapshot>> {
        self.stage = Stage::Listing(Names::new());
        Opening::Ask(vec![Request::List { prefix: ObjectName::new(LOG_FOLDER), after, limit: self.page }])
    }

    fn load(&mut self, mut load: Box<Load>) -> Opening<Arc<Snapshot>> {
        match load.step() {
            Err(error) => Opening::Failed(error.to_string()),
            Ok(LoadStep::Done(snapshot)) => Opening::Done(Some(Arc::from(snapshot))),
            Ok(LoadStep::Relist) => {
                self.hinted = false;
                self.list(None)
            }
            Ok(LoadStep::Needs(names)) => {
                let requests = names.iter().cloned().map(Request::Get).collect();
                self.stage = Stage::Loading(load, names);
                Opening::Ask(requests)
            }
        }
    }

    /// Asks for the commits above the held version.
    fn newer(&mut self, held: &Snapshot, mut names: Names, answer: Option<Answer>) -> Opening<Arc<Snapshot>> {
        match take_page(&mut names, answer, &ObjectName::new(LOG_FOLDER), self.page) {
            Err(problem) => return Opening::Failed(problem),
            Ok(Some(next)) => {
                self.stage = Stage::Newer(names);
                return Opening::Ask(vec![next]);
            }
            Ok(None) => {}
        }
        let versions: Vec<Version> = names.keys().filter_map(Delta::entry_version).collect();
        let first = held.version().get() + 1;
        // A number that a cleanup freed and a sleeper filled again shows by its time.
        let times: Vec<u64> = names
            .iter()
            .filter(|(name, _)| Delta::entry_version(name).is_some())
            .map(|(_, (_, at_ms))| *at_ms)
            .collect();
        let contiguous = versions.iter().zip(first..).all(|(version, expected)| version.get() == expected);
        if !contiguous || !times.is_sorted() {
            self.held = None;
            return self.list(None);
        }
        if versions.is_empty() {
            return Opening::Done(self.held.take());
        }
        let requests = versions.iter().map(|version| Request::Get(ObjectName::new(commit_path(*version)))).collect();
        self.stage = Stage::Following(versions);
        Opening::Ask(requests)
    }

    fn follow(&mut self, held: &Snapshot, versions: &[Version], answers: Vec<Answer>) -> Opening<Arc<Snapshot>> {
        let mut next = held.clone();
        for (version, answer) in versions.iter().zip(answers) {
            match bytes_of(Some(answer)) {
                Err(problem) => return Opening::Failed(problem),
                Ok(None) => {
                    self.held = None;
                    return self.list(None);
                }
                Ok(Some(bytes)) => match next.advance(*version, &bytes) {
                    Err(error) => return Opening::Failed(error.to_string()),
                    Ok(advanced) => next = advanced,
                },
            }
        }
        Opening::Done(Some(Arc::new(next)))
    }

    fn listed(&mut self, mut names: Names, answer: Option<Answer>) -> Opening<Arc<Snapshot>> {
        match take_page(&mut names, answer, &ObjectName::new(LOG_FOLDER), self.page) {
            Err(problem) => Opening::Failed(problem),
            Ok(Some(next)) => {
                self.stage = Stage::Listing(names);
                Opening::Ask(vec![next])
            }
            Ok(None) if names.is_empty() && !self.hinted => Opening::Done(None),
            Ok(None) => {
                let sizes = names.iter().map(|(name, (size, _))| (name.as_str(), *size));
                self.load(Box::new(Load::new(sizes, !self.hinted, self.at)))
            }
        }
    }
}

/// One operation under construction.
struct Draft {
    operation: &'static str,
    actions: Vec<Action>,
    intent: Intent,
    puts: Vec<(ObjectName, Bytes)>,
}

impl Draft {
    fn new(operation: &'static str, snap: &Snapshot) -> Self {
        let intent = Intent { read: Some(snap.version().get()), ..Intent::default() };
        Self { operation, actions: Vec::new(), intent, puts: Vec::new() }
    }

    fn add(&mut self, partition: u64, planner: &Planner<'_>, data_change: bool) {
        let path = format!("w{}-{}-{}.parquet", planner.who, planner.serial, self.puts.len());
        let value = partition.to_string();
        let mut add = Add::new(&path, 100, i64::try_from(planner.now_ms).unwrap_or(0));
        add.partition_values = [("p", Some(value.as_str()))].into_iter().collect();
        add.data_change = data_change;
        add.stats = Some(r#"{"numRecords":3}"#.into());
        self.actions.push(Action::Add(add));
        self.intent.adds.insert(path.clone(), partition);
        self.puts.push((ObjectName::new(path), Bytes::from_static(b"rows")));
    }

    fn remove(&mut self, file: &Add, planner: &Planner<'_>, data_change: bool) {
        self.actions.push(Action::Remove(file.to_remove(i64::try_from(planner.now_ms).unwrap_or(0), data_change)));
        self.intent.removes.insert(file.path.to_string());
    }
}

fn partition_of(add: &Add) -> u64 {
    add.partition_values.get("p").and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}

/// Fills in one of the operations.
fn draft(snap: &Snapshot, rng: &mut Rng, planner: &Planner<'_>) -> (Draft, lakebed_delta::Reads) {
    let files: Vec<&Arc<Add>> = snap.files().collect();
    let partition = rng.below(PARTITIONS);
    let within: Vec<&Arc<Add>> = files.iter().copied().filter(|add| partition_of(add) == partition).collect();
    let mut reads = lakebed_delta::Reads::default();
    let dice = rng.below(100);
    let mut draft = match dice {
        0..20 if !within.is_empty() => {
            let mut draft = Draft::new("DELETE", snap);
            within.iter().for_each(|file| draft.remove(file, planner, true));
            draft.intent.partition = Some(partition);
            let expr = Expr::column("p")
                .binary(BinaryOp::Equal, Expr::Literal(Scalar::Int(i64::try_from(partition).unwrap_or(0))));
            reads.predicates = vec![split_read(vec![expr], &snap.core().partition_columns())];
            draft
        }
        20..30 if within.len() > 1 => {
            let mut draft = Draft::new("OPTIMIZE", snap);
            within.iter().take(2).for_each(|file| draft.remove(file, planner, false));
            draft.add(partition, planner, false);
            draft
        }
        30..38 => {
            let mut draft = Draft::new("WRITE", snap);
            files.iter().for_each(|file| draft.remove(file, planner, true));
            draft.add(partition, planner, true);
            draft.intent.whole = true;
            reads.whole_table = true;
            draft
        }
        38..48 => {
            let mut draft = Draft::new("SET TBLPROPERTIES", snap);
            let (key, value) = (format!("sim.{}", rng.below(2)), format!("{}-{}", planner.who, planner.serial));
            let mut metadata = snap.metadata().clone();
            metadata.configuration.set(&key, Some(&value));
            draft.actions.push(Action::Metadata(metadata));
            draft.intent.property = Some((key, value));
            draft
        }
        48..60 => {
            let mut draft = Draft::new("STREAMING UPDATE", snap);
            let app_id = format!("app{}", rng.below(2));
            let version = snap.app_transactions().get(app_id.as_str()).map_or(0, |txn| txn.version) + 1;
            reads.app_ids.insert(Arc::from(app_id.as_str()));
            draft.intent.app = Some((app_id.clone(), version));
            draft.actions.push(Action::Txn(Txn { app_id, version, last_updated: None }));
            draft.add(partition, planner, true);
            draft
        }
        60..72 if !files.is_empty() => {
            let mut draft = Draft::new("UPDATE", snap);
            if let Some(file) = rng.pick(&files) {
                draft.remove(file, planner, true);
                draft.add(partition_of(file), planner, true);
            }
            draft
        }
        _ => {
            let mut draft = Draft::new("WRITE", snap);
            (0..rng.between(1, 2)).for_each(|_| draft.add(partition, planner, true));
            draft
        }
    };
    reads.files = draft.intent.removes.iter().map(|path| Arc::from(path.as_str())).collect();
    draft.intent.operation = draft.operation;
    (draft, reads)
}

impl Family for Delta {
    type F = DeltaFormat;
    type Snap = Arc<Snapshot>;
    type Open = Open;
    type Intent = Intent;
    type Model = Model;
    type Entry = Vec<Action>;

    const FORMAT: &'static DeltaFormat = &DeltaFormat::new(DeltaPolicy::TableLevel);
    const NAMES_END_WITH_ENTRY: bool = false;
    const READS_ON: bool = true;

    fn open(at: Option<Version>, held: Option<Arc<Snapshot>>, rng: &mut Rng, page: usize) -> Open {
        // A hint above the version asked for would hide what that version needs.
        Open {
            at,
            held,
            page: page.max(1),
            uses_hint: at.is_none() && rng.chance(500),
            hinted: false,
            stage: Stage::Begin,
        }
    }

    fn opening(open: &mut Open, answers: Vec<Answer>) -> Opening<Arc<Snapshot>> {
        let held = open.held.clone();
        match (std::mem::replace(&mut open.stage, Stage::Begin), &held) {
            (Stage::Begin, Some(held)) => {
                open.stage = Stage::Newer(Names::new());
                let after = Some(ObjectName::new(commit_path(held.version())));
                let (prefix, limit) = (Self::folder(), open.page);
                return Opening::Ask(vec![Request::List { prefix, after, limit }]);
            }
            (Stage::Newer(names), Some(held)) => return open.newer(held, names, answers.into_iter().next()),
            (Stage::Following(versions), Some(held)) => return open.follow(held, &versions, answers),
            (stage, _) => open.stage = stage,
        }
        let mut answers = answers.into_iter();
        match std::mem::replace(&mut open.stage, Stage::Begin) {
            Stage::Newer(_) | Stage::Following(_) => open.list(None),
            Stage::Begin if open.uses_hint => {
                open.stage = Stage::Hint;
                Opening::Ask(vec![Request::Get(ObjectName::new(log_path(LAST_CHECKPOINT)))])
            }
            Stage::Begin => open.list(None),
            Stage::Hint => match bytes_of(answers.next()) {
                Err(problem) => Opening::Failed(problem),
                Ok(bytes) => {
                    let hint = bytes.and_then(|bytes| Hint::parse(&bytes));
                    open.hinted = hint.is_some();
                    open.list(hint.map(|hint| hint.list_after()))
                }
            },
            Stage::Listing(names) => open.listed(names, answers.next()),
            Stage::Loading(mut load, names) => {
                for name in names {
                    match bytes_of(answers.next()) {
                        Ok(bytes) => load.feed(name, bytes),
                        Err(problem) => return Opening::Failed(problem),
                    }
                }
                open.load(load)
            }
        }
    }

    fn version(snap: &Arc<Snapshot>) -> Version {
        snap.version()
    }

    fn digest(snap: &Arc<Snapshot>) -> u64 {
        let files = digest_of_all(snap.files().map(|add| (&*add.path, partition_of(add))));
        let config = digest_of_all(snap.properties().iter().filter(|(key, _)| key.starts_with("sim.")));
        let txns = digest_of_all(snap.app_transactions().iter().map(|(app, txn)| (&**app, txn.version)));
        digest_of(&(snap.num_files(), files, config, txns))
    }

    fn advance(snap: &Arc<Snapshot>, followed: &[(Version, Bytes)], ours: (Version, &Bytes)) -> Option<Arc<Snapshot>> {
        let mut next = (**snap).clone();
        for (version, bytes) in followed {
            next = next.advance(*version, bytes).ok()?;
        }
        next.advance(ours.0, ours.1).ok().map(Arc::new)
    }

    fn create(id: &TransactionId, planner: &Planner<'_>) -> Option<Planned<Pending, Intent>> {
        let stamps = if planner.setup.variant { "true" } else { "false" };
        let metadata = Metadata {
            id: "6d1c8f0e-3c55-4f52-9a1e-0c2f6f1a7b11".to_owned(),
            schema_string: SCHEMA.clone(),
            partition_columns: vec!["p".to_owned()],
            configuration: [("delta.enableInCommitTimestamps", Some(stamps))].into_iter().collect::<TextMap>(),
            ..Metadata::default()
        };
        let protocol = Protocol::needed_for(&metadata).ok()?;
        let actions = vec![Action::Protocol(protocol), Action::Metadata(metadata)];
        let pending = Pending::create(Transaction::new(id.clone(), "CREATE TABLE", actions)).ok()?;
        let intent = Intent { operation: "CREATE TABLE", stamps: planner.setup.variant, ..Intent::default() };
        Some(Planned { pending, intent, puts: Vec::new() })
    }

    fn plan(
        id: &TransactionId,
        snap: &Arc<Snapshot>,
        _: &Read,
        mut rng: Rng,
        planner: &Planner<'_>,
    ) -> Plan<Pending, Intent> {
        let (draft, reads) = draft(snap, &mut rng, planner);
        let mut transaction = Transaction::new(id.clone(), draft.operation, draft.actions);
        transaction.reads = reads;
        match Pending::on(snap.core(), transaction) {
            Ok(pending) => Plan::Ready(Box::new(Planned { pending, intent: draft.intent, puts: draft.puts })),
            Err(_) => Plan::Idle,
        }
    }

    fn entry_version(name: &ObjectName) -> Option<Version> {
        let name = name.as_str().strip_prefix(LOG_FOLDER)?.strip_prefix('/')?;
        if let LogName::Commit(version) = LogName::parse(name) { Some(version) } else { None }
    }

    fn read_entry(at: Version, bytes: &Bytes) -> Result<(String, Vec<Action>), String> {
        crate::delta_model::read(at, bytes)
    }

    fn follow(model: &mut Model, at: Version, entry: &Vec<Action>, intent: &Intent, _: &Store) -> Result<Seen, String> {
        model.follow(at, entry, intent)
    }

    fn cleanable(listed: &[(ObjectName, u64)], before_ms: u64) -> Cleanable {
        let name = |name: &ObjectName| {
            name.as_str().strip_prefix(LOG_FOLDER).and_then(|rest| rest.strip_prefix('/')).map(LogName::parse)
        };
        let checkpoint = |object: &ObjectName| match name(object) {
            Some(LogName::Checkpoint(checkpoint)) => Some(checkpoint.version),
            _ => None,
        };
        let Some(newest) = listed.iter().filter_map(|(name, _)| checkpoint(name)).max() else {
            return Cleanable::default();
        };
        let commits: BTreeMap<Version, u64> =
            listed.iter().filter_map(|(name, at_ms)| Some((Self::entry_version(name)?, *at_ms))).collect();
        let below = |object: &ObjectName| {
            checkpoint(object)
                .or_else(|| Self::entry_version(object))
                .is_some_and(|version| version < newest && is_followed(&commits, version, before_ms))
        };
        let old = listed.iter().filter(|(name, at_ms)| *at_ms < before_ms && below(name));
        Cleanable { old: old.map(|(name, _)| name.clone()).collect(), kept: Vec::new() }
    }

    fn names(_: Version, _: &Bytes) -> Vec<ObjectName> {
        Vec::new()
    }

    fn checkpoint(snap: &Arc<Snapshot>, now_ms: u64) -> Vec<(ObjectName, Bytes)> {
        match write_checkpoint(snap, i64::try_from(now_ms).unwrap_or(0)) {
            Ok(file) => vec![(file.name, file.bytes), (file.hint_name, file.hint)],
            Err(_) => Vec::new(),
        }
    }

    fn folder() -> ObjectName {
        ObjectName::new(LOG_FOLDER)
    }
}
