//! Pairs and triples of transactions under the policies that judge rows: what is accepted leaves the rows of a serial run.
//!
//! Programs run on tables of real manifests, deletion files and messages; the rows of data files are held beside them, and a serial
//! run computes on rows alone.

use crate::common::{data_file, head};
use bytes::Bytes;
use lakebed_commit::{Fetched, Finished, Format, Judged, Need, ObjectName, Rebased};
use lakebed_conflict::eval::{Value, evaluate};
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};
use lakebed_lance::proto::table::transaction::rewrite::RewriteGroup;
use lakebed_lance::proto::table::{DataFragment, Transaction as Message};
use lakebed_lance::transaction::{append, delete, new_fragment, overwrite, rewrite, update};
use lakebed_lance::{
    BLIND, CLUSTERED_BY, Creation, FragmentSeen, JudgedBy, LanceFormat, Landed, LookAtRows, Pending, Reads, Snapshot,
    deletion, schema,
};
use lakebed_naming::Version;
use lakebed_naming::lance::{DeletionFileName, DeletionKind, Scheme};
use lakebed_transaction::{
    BinaryOp, Column, ColumnType, Expr, Judgement, KeyProbe, ReadPredicate, RowSet, Scalar, SeenRow, Verdict,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

type Row = (i64, i64);

/// The rows of data files, by path.
#[derive(Debug, Default)]
struct Files(Mutex<HashMap<String, Vec<Row>>>);

impl Files {
    fn rows(&self, fragment: &DataFragment) -> Vec<Row> {
        self.0.lock().unwrap()[&fragment.files[0].path].clone()
    }

    fn write(&self, rows: &[Row]) -> DataFragment {
        let mut files = self.0.lock().unwrap();
        let path = format!("{}.lance", files.len());
        files.insert(path.clone(), rows.to_vec());
        new_fragment(data_file(&path, &[0, 1]), rows.len() as u64)
    }
}

impl LookAtRows for Files {
    fn rows(&self, seen: FragmentSeen<'_>, filters: &[Expr]) -> Option<Vec<SeenRow>> {
        assert_eq!(seen.objects.len(), 1, "its bytes were fetched");
        let mut found = Vec::new();
        for (position, row) in (0_u64..).zip(Self::rows(self, seen.fragment)) {
            let counts = seen.only.map_or(!seen.without.contains(position), |only| only.contains(position));
            if counts && filters.iter().any(|filter| meets(filter, row)) {
                let values = if seen.values { format!("{row:?}") } else { String::new() };
                found.push(SeenRow { position, values: values.into_bytes().into() });
            }
        }
        Some(found)
    }
}

fn meets(filter: &Expr, (id, v): Row) -> bool {
    let column = |path: &[Arc<str>]| Value::Known(Scalar::Int(if &*path[0] == "id" { id } else { v }));
    evaluate(filter, &column) == Value::boolean(true)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Find {
    Id(i64),
    V(i64),
    All,
}

impl Find {
    fn expr(self) -> Expr {
        let equals = |column, value| Expr::column(column).binary(BinaryOp::Equal, Expr::Literal(Scalar::Int(value)));
        match self {
            Self::Id(id) => equals("id", id),
            Self::V(v) => equals("v", v),
            Self::All => Expr::always(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Insert(Row),
    Delete(Find),
    /// Sets v.
    Set(Find, i64),
    /// Turns 0 into 1 and 1 into 0.
    Flip(Find),
    /// Sets v where the id is there, else inserts.
    Upsert(Row),
    Overwrite(Row),
    /// A compaction of ours, which keeps the order of rows.
    Compact,
    /// One of ours that leaves deleted rows in, with a deletion file.
    CompactMinor,
    /// One of ours that puts rows in another order.
    Sort,
    /// One of another client, which says nothing of where rows went.
    ForeignCompact,
}

impl Program {
    fn all() -> Vec<Self> {
        let mut all = vec![Self::Compact, Self::CompactMinor, Self::Sort, Self::ForeignCompact];
        all.extend([Self::Overwrite((0, 1)), Self::Flip(Find::All)]);
        all.push(Self::Delete(Find::All));
        for k in [0, 1] {
            all.extend([Self::Delete(Find::Id(k)), Self::Delete(Find::V(k)), Self::Flip(Find::Id(k))]);
            all.push(Self::Set(Find::V(k), 1 - k));
            for v in [0, 1] {
                all.extend([Self::Insert((k, v)), Self::Upsert((k, v)), Self::Set(Find::Id(k), v)]);
            }
        }
        all
    }

    /// What it does to rows, alone.
    fn serial(self, rows: &[Row]) -> Vec<Row> {
        let mut after: Vec<Row> = rows.to_vec();
        match self {
            Self::Insert(row) => after.push(row),
            Self::Delete(find) => after.retain(|row| !meets(&find.expr(), *row)),
            Self::Set(find, v) => after.iter_mut().filter(|row| meets(&find.expr(), **row)).for_each(|row| row.1 = v),
            Self::Flip(find) => {
                after.iter_mut().filter(|row| meets(&find.expr(), **row)).for_each(|row| row.1 = 1 - row.1);
            }
            Self::Upsert((id, v)) => {
                if after.iter().any(|row| row.0 == id) {
                    after.iter_mut().filter(|row| row.0 == id).for_each(|row| row.1 = v);
                } else {
                    after.push((id, v));
                }
            }
            Self::Overwrite(row) => after = vec![row],
            Self::Compact | Self::CompactMinor | Self::Sort | Self::ForeignCompact => {}
        }
        after.sort_unstable();
        after
    }
}

/// A table with everything that was ever written.
#[derive(Clone)]
struct World {
    files: Arc<Files>,
    objects: HashMap<ObjectName, Bytes>,
    versions: Vec<Arc<Snapshot>>,
    landed: Vec<Landed>,
    judged_by: JudgedBy,
    ids: u8,
}

impl World {
    fn new(fragments: &[&[Row]], judged_by: JudgedBy) -> Self {
        let files = Arc::new(Files::default());
        let columns = [Column::new("id", ColumnType::Long, true), Column::new("v", ColumnType::Long, true)];
        let fields = schema::new_fields(&columns).unwrap();
        let fragments = fragments.iter().map(|rows| files.write(rows)).collect();
        let message = overwrite(head(0, 1), fragments, fields, BTreeMap::new());
        let mut pending = Pending::create(message, Creation::default()).unwrap();
        let rendered = LanceFormat::default().render(&mut pending, Version::new(1), 1000).unwrap();
        let first = Arc::new(Snapshot::open("test", &rendered.entry).unwrap());
        Self { files, objects: HashMap::new(), versions: vec![first], landed: Vec::new(), judged_by, ids: 1 }
    }

    fn format(&self) -> LanceFormat {
        LanceFormat::judged_by(Scheme::V2, self.judged_by).with_looker(Arc::clone(&self.files) as Arc<dyn LookAtRows>)
    }

    fn newest(&self) -> &Arc<Snapshot> {
        self.versions.last().unwrap()
    }

    fn deleted(&self, version: &Snapshot, fragment: &DataFragment) -> RowSet {
        let Some(name) = version.deletion_object(fragment).unwrap() else { return RowSet::new() };
        let kind = deletion::kind_of("test", &fragment.deletion_file.unwrap()).unwrap();
        deletion::decode("test", kind, &self.objects[&name], Some(fragment.physical_rows)).unwrap()
    }

    fn rows(&self, version: &Snapshot) -> Vec<Row> {
        let mut rows: Vec<Row> =
            version.fragments().iter().flat_map(|one| self.live(version, one)).map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }

    fn live(&self, version: &Snapshot, fragment: &DataFragment) -> Vec<(u64, Row)> {
        let deleted = self.deleted(version, fragment);
        (0_u64..).zip(self.files.rows(fragment)).filter(|(at, _)| !deleted.contains(*at)).collect()
    }

    /// A transaction that runs the program on a version.
    fn plan(&mut self, program: Program, base: &Arc<Snapshot>) -> Option<Pending> {
        self.ids += 1;
        let id = self.ids;
        let mut start = head(base.version().get(), id);
        let reads = |find: Find, fields: Vec<i64>| Reads {
            predicates: vec![ReadPredicate { partition: Vec::new(), data: vec![find.expr()] }],
            all_met: true,
            fields: Some(fields),
            ..Reads::default()
        };
        let field = |find: Find| match find {
            Find::Id(_) => vec![0],
            Find::V(_) => vec![1],
            Find::All => Vec::new(),
        };
        let random = u64::from(id);
        let pending = |message: Message| Pending::new(Arc::clone(base), message, random).unwrap();
        Some(match program {
            Program::Insert(row) => {
                start.properties.insert(BLIND.to_owned(), "true".to_owned());
                let fragment = self.files.write(&[row]);
                pending(append(start, vec![fragment])).with_reads(Reads::nothing())
            }
            Program::Overwrite(row) => {
                let fragment = self.files.write(&[row]);
                let message = overwrite(start, vec![fragment], base.fields().to_vec(), BTreeMap::new());
                pending(message).with_reads(Reads { keeps_schema: true, ..Reads::nothing() })
            }
            Program::Delete(find) => {
                let (affected, _) = self.matching(base, find);
                let (updated, removed) = self.marked(base, &affected, random);
                let message = delete(start, updated, removed, String::new());
                pending(message).with_affected_rows(affected).with_reads(reads(find, field(find)))
            }
            Program::Set(find, _) | Program::Flip(find) => {
                let (affected, rows) = self.matching(base, find);
                let changed = |row: Row| if let Program::Set(_, v) = program { (row.0, v) } else { (row.0, 1 - row.1) };
                let new: Vec<Row> = rows.into_iter().map(changed).collect();
                let fields = [field(find), vec![1]].concat();
                let message = self.updated(start, base, &affected, &new, random);
                pending(message).with_affected_rows(affected).with_reads(reads(find, fields))
            }
            Program::Upsert((key, v)) => {
                let find = Find::Id(key);
                let (affected, rows) = self.matching(base, find);
                let new: Vec<Row> = (0..rows.len().max(1)).map(|_| (key, v)).collect();
                let message = self.updated(start, base, &affected, &new, random);
                let probe = KeyProbe { columns: vec!["id".into()], matches: find.expr() };
                let reads = Reads { keys: vec![probe], ..reads(find, vec![0, 1]) };
                pending(message).with_affected_rows(affected).with_reads(reads)
            }
            Program::Compact | Program::CompactMinor | Program::Sort | Program::ForeignCompact => {
                if program != Program::ForeignCompact {
                    start.properties.insert("lakebed.policy".to_owned(), "precise@1".to_owned());
                }
                let new_fragment = self.joined(program, base, random)?;
                let group =
                    RewriteGroup { old_fragments: base.fragments().to_vec(), new_fragments: vec![new_fragment] };
                pending(rewrite(start, vec![group]))
            }
        })
    }

    /// All fragments of a version as one.
    fn joined(&mut self, program: Program, base: &Snapshot, random: u64) -> Option<DataFragment> {
        let (mut rows, mut dead) = (Vec::new(), RowSet::new());
        for fragment in base.fragments() {
            let deleted = self.deleted(base, fragment);
            for (at, row) in (0_u64..).zip(self.files.rows(fragment)) {
                match (deleted.contains(at), program) {
                    (true, Program::CompactMinor) => {
                        dead.insert(rows.len() as u64);
                        rows.push(row);
                    }
                    (true, _) => {}
                    (false, _) => rows.push(row),
                }
            }
        }
        if rows.len() as u64 == dead.len() {
            return None;
        }
        if program == Program::Sort {
            rows.reverse();
        }
        let mut fragment = self.files.write(&rows);
        if program == Program::Sort {
            fragment.metadata.insert(CLUSTERED_BY.to_owned(), "0".to_owned());
        }
        if !dead.is_empty() {
            // An id beyond every other stands for one that was reserved.
            fragment.id = 100 + random;
            let (read_version, kind) = (base.version(), DeletionKind::Bitmap);
            let name = DeletionFileName { fragment: fragment.id, read_version, id: random, kind };
            self.objects.insert(ObjectName::new(name.path()), deletion::encode(kind, &dead).unwrap());
            fragment.deletion_file = Some(deletion::entry(&name, dead.len()));
        }
        Some(fragment)
    }

    fn matching(&self, base: &Snapshot, find: Find) -> (BTreeMap<u64, RowSet>, Vec<Row>) {
        let (mut affected, mut rows) = (BTreeMap::new(), Vec::new());
        for fragment in base.fragments() {
            let met: Vec<_> =
                self.live(base, fragment).into_iter().filter(|(_, row)| meets(&find.expr(), *row)).collect();
            rows.extend(met.iter().map(|(_, row)| *row));
            if !met.is_empty() {
                affected.insert(fragment.id, met.into_iter().map(|(at, _)| at).collect());
            }
        }
        (affected, rows)
    }

    /// The fragments with these rows deleted, and those of which none is left.
    fn marked(
        &mut self,
        base: &Snapshot,
        affected: &BTreeMap<u64, RowSet>,
        random: u64,
    ) -> (Vec<DataFragment>, Vec<u64>) {
        let (mut updated, mut removed) = (Vec::new(), Vec::new());
        for (id, rows) in affected {
            let fragment = base.fragment(*id).unwrap().clone();
            let all = self.deleted(base, &fragment).union(rows);
            if all.len() == fragment.physical_rows {
                removed.push(*id);
                continue;
            }
            let kind = DeletionKind::Arrow;
            let name = DeletionFileName { fragment: *id, read_version: base.version(), id: random, kind };
            self.objects.insert(ObjectName::new(name.path()), deletion::encode(kind, &all).unwrap());
            updated.push(DataFragment { deletion_file: Some(deletion::entry(&name, all.len())), ..fragment });
        }
        (updated, removed)
    }

    fn updated(
        &mut self,
        start: lakebed_lance::transaction::Head,
        base: &Snapshot,
        affected: &BTreeMap<u64, RowSet>,
        new: &[Row],
        random: u64,
    ) -> Message {
        let (updated, removed) = self.marked(base, affected, random);
        let new = if new.is_empty() { Vec::new() } else { vec![self.files.write(new)] };
        update(start, updated, removed, new, vec![1])
    }

    /// Whether ours can follow everything that landed since; it then does.
    fn follow(&mut self, pending: &mut Pending) -> Result<Vec<Verdict>, Box<Judgement>> {
        let format = self.format();
        let mut fetched = Fetched::default();
        let mut verdicts = Vec::new();
        let since = usize::try_from(pending.follows().unwrap().get()).unwrap() - 1;
        let landed = self.landed[since..].to_vec();
        for landed in landed {
            let judgement = loop {
                match format.judge(pending, &landed, &fetched).unwrap() {
                    Judged::Verdict(judgement) => break judgement,
                    Judged::Needs(names) => self.fetch(names, &mut fetched),
                }
            };
            if !judgement.verdict.accepts() {
                return Err(Box::new(judgement));
            }
            verdicts.push(judgement.verdict);
            while let Rebased::Needs(names) = format.rebase(pending, &landed, &fetched).unwrap() {
                self.fetch(names, &mut fetched);
            }
        }
        loop {
            match format.finish(pending, &fetched).unwrap() {
                Finished::Ready => return Ok(verdicts),
                Finished::Conflict { why, .. } => return Err(Box::new(why)),
                Finished::Needs(needs) => {
                    for need in needs {
                        match need {
                            Need::Read(name) => self.fetch(vec![name], &mut fetched),
                            Need::Write(name, bytes) => {
                                assert!(self.objects.insert(name.clone(), bytes).is_none(), "a name of its own");
                                fetched.mark_written(name);
                            }
                        }
                    }
                }
            }
        }
    }

    fn fetch(&self, names: Vec<ObjectName>, fetched: &mut Fetched) {
        for name in names {
            assert!(fetched.get(&name).is_none(), "{name} is asked for once");
            // A data file's rows stand beside it.
            let data = name.as_str().starts_with("data/").then(Bytes::new);
            fetched.insert(name.clone(), self.objects.get(&name).cloned().or(data));
        }
    }

    fn commit(&mut self, pending: &mut Pending) {
        let at = self.newest().version().next().unwrap();
        let format = self.format();
        let rendered = format.render(pending, at, 1000).unwrap();
        self.objects.extend(rendered.side);
        let lakebed_commit::Parsed::Done(landed) = format.parse(at, &rendered.entry, &Fetched::default()).unwrap()
        else {
            panic!("the transaction is inline")
        };
        self.versions.push(Arc::clone(landed.snapshot()));
        self.landed.push(landed);
    }
}

/// Tables of up to three rows in one or two fragments.
fn tables() -> Vec<Vec<Vec<Row>>> {
    vec![
        vec![vec![(0, 0)]],
        vec![vec![(0, 0), (1, 0)]],
        vec![vec![(0, 0), (1, 1), (1, 0)]],
        vec![vec![(0, 1)], vec![(1, 0), (0, 0)]],
        vec![vec![(0, 0), (0, 0)], vec![(1, 1)]],
    ]
}

fn world(table: &[Vec<Row>], judged_by: JudgedBy) -> World {
    World::new(&table.iter().map(Vec::as_slice).collect::<Vec<_>>(), judged_by)
}

/// The same tables, as they are and with rows of them deleted.
fn worlds(judged_by: JudgedBy) -> Vec<World> {
    let mut worlds = Vec::new();
    for table in tables() {
        let whole = world(&table, judged_by);
        let mut worn = whole.clone();
        let base = Arc::clone(worn.newest());
        let mut delete = worn.plan(Program::Delete(Find::V(1)), &base).unwrap();
        worn.commit(&mut delete);
        worlds.push(whole);
        if worn.newest().fragments().iter().any(|fragment| fragment.deletion_file.is_some()) {
            worlds.push(worn);
        }
    }
    worlds
}

/// What became of the pairs of one policy.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    pairs: u32,
    accepted: u32,
    reordered: u32,
}

fn pairs(judged_by: JudgedBy) -> Tally {
    let mut tally = Tally::default();
    for start in worlds(judged_by) {
        let (base, before) = (Arc::clone(start.newest()), start.rows(start.newest()));
        for winner in Program::all() {
            for ours in Program::all() {
                let mut world = start.clone();
                let (Some(mut first), Some(mut second)) = (world.plan(winner, &base), world.plan(ours, &base)) else {
                    continue;
                };
                world.commit(&mut first);
                tally.pairs += 1;
                let Ok(verdicts) = world.follow(&mut second) else { continue };
                world.commit(&mut second);
                let (rows, what) = (world.rows(world.newest()), format!("{before:?}: {winner:?}, then {ours:?}"));
                tally.accepted += 1;
                if verdicts == [Verdict::Reordered] {
                    tally.reordered += 1;
                    assert_eq!(rows, winner.serial(&ours.serial(&before)), "{what}, reordered");
                } else {
                    assert_eq!(rows, ours.serial(&winner.serial(&before)), "{what}");
                }
            }
        }
    }
    tally
}

#[test]
fn accepted_pairs_leave_the_rows_of_log_order() {
    let tally = pairs(JudgedBy::Rows(&PRECISE));
    println!("precise: {tally:?}");
    assert_eq!(tally.reordered, 0);
    // Of the pairs of these tables, a rebase that takes out only rows that it saw reaches log order in about three of five.
    assert!(tally.accepted * 5 >= tally.pairs * 3, "{tally:?}");
}

#[test]
fn reordered_pairs_leave_the_rows_of_ours_before_the_insert() {
    let tally = pairs(JudgedBy::Rows(&PRECISE_REORDER));
    println!("precise-reorder: {tally:?}");
    assert!(tally.reordered * 20 > tally.pairs && tally.accepted * 20 >= tally.pairs * 13, "{tally:?}");
}

/// Two that landed, one after the other, and ours that saw neither.
#[test]
fn ours_follows_two_that_landed() {
    chains(true);
}

/// The same, where the second had not seen the first and follows it.
#[test]
fn ours_follows_one_that_followed() {
    chains(false);
}

fn chains(second_saw_the_first: bool) {
    let (mut accepted, mut seen) = (0_u32, 0_u32);
    let programs = Program::all();
    for table in &tables()[2..4] {
        let start = world(table, JudgedBy::Rows(&PRECISE));
        let (base, before) = (Arc::clone(start.newest()), start.rows(start.newest()));
        // Some of the triples, spread over all.
        for (at, first) in programs.iter().enumerate() {
            for (next, second) in programs.iter().enumerate() {
                for ours in programs.iter().skip((at + next) % 7).step_by(7) {
                    let mut world = start.clone();
                    let (Some(mut one), Some(mut three)) = (world.plan(*first, &base), world.plan(*ours, &base)) else {
                        continue;
                    };
                    world.commit(&mut one);
                    let middle = if second_saw_the_first { Arc::clone(world.newest()) } else { Arc::clone(&base) };
                    let Some(mut two) = world.plan(*second, &middle) else { continue };
                    if world.follow(&mut two).is_err() {
                        continue;
                    }
                    world.commit(&mut two);
                    seen += 1;
                    if world.follow(&mut three).is_err() {
                        continue;
                    }
                    world.commit(&mut three);
                    accepted += 1;
                    let expected = ours.serial(&second.serial(&first.serial(&before)));
                    let what = format!("{table:?}: {first:?}, {second:?}, then {ours:?}");
                    assert_eq!(world.rows(world.newest()), expected, "{what}");
                }
            }
        }
    }
    println!("{accepted} of {seen} triples");
    assert!(accepted * 3 > seen, "{accepted} of {seen}");
}
