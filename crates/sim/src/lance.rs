//! Lance as the simulator drives it: opening, planning, upkeep.

use crate::family::{
    Cleanable, Family, Names, Opening, Plan, Planned, Planner, Read, Seen, bytes_of, digest_of, is_followed, take_page,
};
use crate::lance_model::{Intent, Model};
use crate::rng::Rng;
use crate::store::Store;
use bytes::Bytes;
use lakebed_commit::{Answer, ObjectName, Request};
use lakebed_conflict::lance::LANCE;
use lakebed_lance::proto::table::{DataFile, DataFragment, Transaction as Message};
use lakebed_lance::transaction::{Head, MapChange, MapChanges, append, delete, new_fragment, overwrite, update_config};
use lakebed_lance::{Creation, LanceFormat, Pending, Snapshot, deletion, schema};
use lakebed_naming::lance::{DeletionFileName, DeletionKind, ManifestName, Scheme, VERSIONS_FOLDER, manifest_path};
use lakebed_naming::{Uuid, Version};
use lakebed_transaction::{Column, ColumnType, RowSet, TransactionId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows in every fragment: few, so that deletions meet.
const ROWS: u64 = 5;

/// Lance tables.
pub(crate) struct Lance;

/// An opening under way.
pub(crate) struct Open {
    at: Option<Version>,
    page: usize,
    stage: Stage,
}

enum Stage {
    Begin,
    Listing(Names),
    Reading(Version),
}

impl Open {
    fn read(&mut self, version: Version) -> Opening<Arc<Snapshot>> {
        self.stage = Stage::Reading(version);
        Opening::Ask(vec![Request::Get(ObjectName::new(manifest_path(Scheme::V2, version)))])
    }
}

fn manifest_version(name: &ObjectName) -> Option<Version> {
    let name = name.as_str().strip_prefix(VERSIONS_FOLDER)?.strip_prefix('/')?;
    if let ManifestName::Version { version, .. } = ManifestName::parse(name) { Some(version) } else { None }
}

/// One operation under construction.
struct Draft<'a> {
    snap: &'a Snapshot,
    read: &'a Read,
    planner: &'a Planner<'a>,
    head: Head,
    puts: Vec<(ObjectName, Bytes)>,
    affected: Option<BTreeMap<u64, RowSet>>,
}

impl Draft<'_> {
    fn fragments(&mut self, count: u64) -> (Vec<DataFragment>, Vec<String>) {
        let (mut fragments, mut paths) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let path = format!("w{}-{}-{}.lance", self.planner.who, self.planner.serial, self.puts.len());
            let file = DataFile {
                path: path.clone(),
                fields: vec![0],
                column_indices: vec![0],
                file_major_version: 2,
                file_minor_version: 2,
                file_size_bytes: 4,
                base_id: None,
            };
            self.puts.push((ObjectName::new(format!("data/{path}")), Bytes::from_static(b"rows")));
            fragments.push(new_fragment(file, ROWS));
            paths.push(path);
        }
        (fragments, paths)
    }

    /// The rows that are deleted of a fragment, or the object that says so.
    fn deleted(&self, fragment: &DataFragment) -> Result<RowSet, Option<ObjectName>> {
        let Ok(Some(name)) = self.snap.deletion_object(fragment) else { return Ok(RowSet::new()) };
        let Some(bytes) = self.read.get(&name) else { return Err(Some(name)) };
        let (Some(bytes), Some(file)) = (bytes, &fragment.deletion_file) else { return Err(None) };
        let kind = deletion::kind_of(name.as_str(), file).map_err(|_| None)?;
        deletion::decode(name.as_str(), kind, bytes, Some(fragment.physical_rows)).map_err(|_| None)
    }

    /// Takes some rows, or all that are left, out of one fragment.
    fn take_rows(mut self, rng: &mut Rng, all: bool) -> Result<(Message, Intent, Self), Option<ObjectName>> {
        let fragment = rng.pick(self.snap.fragments()).cloned().ok_or(None)?;
        let path = fragment.files.first().map(|file| file.path.clone()).ok_or(None)?;
        let before = self.deleted(&fragment)?;
        let live: Vec<u64> = (0..fragment.physical_rows).filter(|row| !before.contains(*row)).collect();
        let mut rows = RowSet::new();
        let count = if all { live.len() } else { 1 + rng.place(2) };
        let start = rng.place(live.len());
        live.iter().cycle().skip(start).take(count.min(live.len())).for_each(|row| {
            rows.insert(*row);
        });
        let union = before.union(&rows);
        let intent = Intent { rows: [(path, rows.iter().collect())].into_iter().collect(), ..Intent::default() };
        let lists = !(all && self.planner.setup.variant);
        let (mut updated, mut removed) = (Vec::new(), Vec::new());
        if union.len() >= fragment.physical_rows {
            removed.push(fragment.id);
        } else {
            let kind = if before.is_empty() { DeletionKind::Arrow } else { DeletionKind::Bitmap };
            let name =
                DeletionFileName { fragment: fragment.id, read_version: self.snap.version(), id: rng.next(), kind };
            let bytes = deletion::encode(kind, &union).map_err(|_| None)?;
            self.puts.push((ObjectName::new(name.path()), bytes));
            updated.push(DataFragment { deletion_file: Some(deletion::entry(&name, union.len())), ..fragment.clone() });
        }
        if lists {
            self.affected = Some([(fragment.id, rows)].into_iter().collect());
        }
        Ok((delete(self.head.clone(), updated, removed, "x".to_owned()), intent, self))
    }
}

fn head(id: &TransactionId, read: Option<Version>) -> Option<Head> {
    Some(Head { read_version: read, id: Uuid::parse(id.as_str())?, properties: BTreeMap::new() })
}

/// Fills in one of the operations.
fn draft<'a>(mut draft: Draft<'a>, rng: &mut Rng) -> Result<(Message, Intent, Draft<'a>), Option<ObjectName>> {
    let planner = draft.planner;
    match rng.below(100) {
        0..45 if !draft.snap.fragments().is_empty() => draft.take_rows(rng, false),
        45..55 if !draft.snap.fragments().is_empty() => draft.take_rows(rng, true),
        55..63 => {
            let (fragments, adds) = draft.fragments(rng.between(1, 3));
            let intent = Intent { adds, whole: true, ..Intent::default() };
            let fields = draft.snap.fields().to_vec();
            Ok((overwrite(draft.head.clone(), fragments, fields, BTreeMap::new()), intent, draft))
        }
        63..73 => {
            let (key, value) = (format!("sim{}", rng.below(2)), format!("{}-{}", planner.who, planner.serial));
            let before = draft.snap.config().get(&key).cloned();
            let change = MapChange { entries: [(key.clone(), Some(value.clone()))].into(), replace: false };
            let message =
                update_config(draft.head.clone(), MapChanges { config: Some(change), ..MapChanges::default() });
            let intent = Intent { config: Some((key, before, value)), ..Intent::default() };
            Ok((message, intent, draft))
        }
        _ => {
            let (fragments, adds) = draft.fragments(rng.between(1, 2));
            Ok((append(draft.head.clone(), fragments), Intent { adds, ..Intent::default() }, draft))
        }
    }
}

impl Family for Lance {
    type F = LanceFormat;
    type Snap = Arc<Snapshot>;
    type Open = Open;
    type Intent = Intent;
    type Model = Model;
    type Entry = Snapshot;

    const FORMAT: &'static LanceFormat = &LanceFormat::new(Scheme::V2, &LANCE);
    const NAMES_END_WITH_ENTRY: bool = true;
    const READS_ON: bool = false;

    fn open(at: Option<Version>, _: Option<Arc<Snapshot>>, _: &mut Rng, page: usize) -> Open {
        Open { at, page: page.max(1), stage: Stage::Begin }
    }

    fn opening(open: &mut Open, answers: Vec<Answer>) -> Opening<Arc<Snapshot>> {
        let mut answers = answers.into_iter();
        let prefix = Self::folder();
        match std::mem::replace(&mut open.stage, Stage::Begin) {
            Stage::Begin => match open.at {
                Some(at) => open.read(at),
                None => {
                    open.stage = Stage::Listing(Names::new());
                    Opening::Ask(vec![Request::List { prefix, after: None, limit: open.page }])
                }
            },
            Stage::Listing(mut names) => match take_page(&mut names, answers.next(), &prefix, open.page) {
                Err(problem) => Opening::Failed(problem),
                // Names sort newest first, so the first page that has a version has the newest.
                Ok(next) => match (names.keys().filter_map(manifest_version).max(), next) {
                    (Some(newest), _) => open.read(newest),
                    (None, None) => Opening::Done(None),
                    (None, Some(next)) => {
                        open.stage = Stage::Listing(names);
                        Opening::Ask(vec![next])
                    }
                },
            },
            Stage::Reading(version) => match bytes_of(answers.next()) {
                Ok(Some(bytes)) => match Snapshot::open("the manifest", &bytes) {
                    Ok(snapshot) => Opening::Done(Some(Arc::new(snapshot))),
                    Err(error) => Opening::Failed(error.to_string()),
                },
                Ok(None) => Opening::Failed(format!("version {version} is not there")),
                Err(problem) => Opening::Failed(problem),
            },
        }
    }

    fn version(snap: &Arc<Snapshot>) -> Version {
        snap.version()
    }

    fn digest(snap: &Arc<Snapshot>) -> u64 {
        digest_of(&(crate::lance_model::state(snap), snap.config()))
    }

    fn advance(_: &Arc<Snapshot>, _: &[(Version, Bytes)], ours: (Version, &Bytes)) -> Option<Arc<Snapshot>> {
        Snapshot::open("our manifest", ours.1).ok().map(Arc::new)
    }

    fn create(id: &TransactionId, _: &Planner<'_>) -> Option<Planned<Pending, Intent>> {
        let fields = schema::new_fields(&[Column::new("id", ColumnType::Long, true)]).ok()?;
        let message = overwrite(head(id, None)?, Vec::new(), fields, BTreeMap::new());
        let pending = Pending::create(message, Creation::default()).ok()?;
        Some(Planned { pending, intent: Intent { whole: true, ..Intent::default() }, puts: Vec::new() })
    }

    fn plan(
        id: &TransactionId,
        snap: &Arc<Snapshot>,
        read: &Read,
        mut rng: Rng,
        planner: &Planner<'_>,
    ) -> Plan<Pending, Intent> {
        let random = rng.next();
        let Some(head) = head(id, Some(snap.version())) else { return Plan::Idle };
        let begun = Draft { snap, read, planner, head, puts: Vec::new(), affected: None };
        let (message, intent, done) = match draft(begun, &mut rng) {
            Ok(drafted) => drafted,
            Err(Some(name)) => return Plan::Needs(vec![name]),
            Err(None) => return Plan::Idle,
        };
        let Ok(mut pending) = Pending::new(Arc::clone(snap), message, random) else { return Plan::Idle };
        if let Some(rows) = done.affected {
            pending = pending.with_affected_rows(rows);
        }
        Plan::Ready(Box::new(Planned { pending, intent, puts: done.puts }))
    }

    fn entry_version(name: &ObjectName) -> Option<Version> {
        manifest_version(name)
    }

    fn read_entry(_: Version, bytes: &Bytes) -> Result<(String, Snapshot), String> {
        let snapshot = Snapshot::open("the manifest", bytes).map_err(|error| error.to_string())?;
        let transaction = snapshot.transaction().ok_or("it has no transaction")?;
        Ok((transaction.id().as_str().to_owned(), snapshot))
    }

    fn follow(
        model: &mut Model,
        at: Version,
        entry: &Snapshot,
        intent: &Intent,
        store: &Store,
    ) -> Result<Seen, String> {
        model.follow(at, entry, intent, store)
    }

    fn cleanable(listed: &[(ObjectName, u64)], before_ms: u64) -> Cleanable {
        let versions: BTreeMap<Version, u64> =
            listed.iter().filter_map(|(name, at_ms)| Some((manifest_version(name)?, *at_ms))).collect();
        let is_old = |name: &ObjectName, at_ms: u64| {
            at_ms < before_ms && manifest_version(name).is_some_and(|at| is_followed(&versions, at, before_ms))
        };
        let (old, kept): (Vec<_>, Vec<_>) = listed
            .iter()
            .filter(|(name, _)| manifest_version(name).is_some())
            .partition(|(name, at_ms)| is_old(name, *at_ms));
        let names = |list: Vec<&(ObjectName, u64)>| list.into_iter().map(|(name, _)| name.clone()).collect();
        Cleanable { old: names(old), kept: names(kept) }
    }

    fn names(_: Version, bytes: &Bytes) -> Vec<ObjectName> {
        Snapshot::open("the manifest", bytes).map(|snapshot| crate::lance_model::names(&snapshot)).unwrap_or_default()
    }

    fn checkpoint(_: &Arc<Snapshot>, _: u64) -> Vec<(ObjectName, Bytes)> {
        Vec::new()
    }

    fn folder() -> ObjectName {
        ObjectName::new(VERSIONS_FOLDER)
    }
}
