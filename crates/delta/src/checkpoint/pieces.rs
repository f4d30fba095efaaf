//! Reading a checkpoint's objects for a replay: files stay columns, everything else becomes an action at once.

use super::columns::Group;
use super::projection::Columns;
use super::read;
use super::rows::Rows;
use crate::DeltaError;
use crate::action::{
    Action, FileUse, InfoUse, LeanInfo, each_action, each_action_without_files, leading_count, other_key,
};
use crate::snapshot::{Entry, Facts, KeyHash};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, StringViewArray, StructArray};
use bytes::Bytes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// One thing that a log says.
#[derive(Debug)]
pub(crate) enum Piece {
    /// A file comes or goes.
    File(Entry),
    /// Who made the version.
    Info(Box<LeanInfo>),
    /// Anything else. There are few of these, and many files.
    Other(Box<Action>),
    /// About so many files are to come.
    Ahead(usize),
}

impl From<Action> for Piece {
    fn from(action: Action) -> Self {
        match action {
            Action::Add(add) => Self::File(Entry::live(add)),
            Action::Remove(remove) => Self::File(Entry::gone(remove)),
            Action::CommitInfo(info) => Self::Info(Box::new(info.into())),
            other @ (Action::Cdc(_)
            | Action::Metadata(_)
            | Action::Protocol(_)
            | Action::Txn(_)
            | Action::Domain(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_)) => Self::Other(Box::new(other)),
        }
    }
}

/// From this size on, the statistics are decoded beside the other columns.
const APART_BYTES_MIN: usize = 1 << 20;

/// Batches that may be decoded and not yet taken; bounds the memory beside the state itself.
const BATCHES_AHEAD: usize = 4;

/// How statistics begin, as everybody writes them.
const STATS_START: &str = "{\"numRecords\":";

/// Reads one object of a checkpoint, by its name JSON or Parquet; where no files are wanted, none of their columns.
pub(crate) fn read_pieces(
    object: &str,
    bytes: &Bytes,
    files: FileUse,
    take: &mut dyn FnMut(Piece),
) -> Result<(), DeltaError> {
    if object.ends_with(".json") {
        let take = |action| take(Piece::from(action));
        return match files {
            FileUse::Keep => each_action(object, bytes, InfoUse::Skip, take),
            FileUse::Skip => each_action_without_files(object, bytes, take),
        };
    }
    let read = || match files {
        FileUse::Keep => parquet_pieces(object, bytes, take),
        FileUse::Skip => read::open(object, bytes)?.each_other(&mut |action| take(Piece::from(action))),
    };
    // As in `read`: the state that a panic leaves half filled is thrown away by every caller.
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(read::contradicting(object)))
}

fn parquet_pieces(object: &str, bytes: &Bytes, take: &mut dyn FnMut(Piece)) -> Result<(), DeltaError> {
    let opened = read::open(object, bytes)?;
    take(Piece::Ahead(opened.num_rows()));
    if bytes.len() < APART_BYTES_MIN || !opened.has_stats_text() {
        opened.each_other(&mut |action| take(Piece::from(action)))?;
        return opened.each_batch(Columns::Files, &mut |batch| batch_pieces(object, batch, (None, &[]), take));
    }
    on_two_threads(&opened, object, take)
}

/// One thread decodes all columns but the statistics and takes the hashes of the paths while these are at hand, another decodes the
/// statistics and gives away what the batches say.
fn on_two_threads(opened: &read::Opened<'_>, object: &str, take: &mut dyn FnMut(Piece)) -> Result<(), DeltaError> {
    let contradicting = || read::contradicting(object);
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel::<(RecordBatch, Vec<Option<KeyHash>>)>(BATCHES_AHEAD);
        let decoder = scope.spawn(move || {
            let mut send =
                |batch: &RecordBatch| send.send((batch.clone(), plain_hashes(batch))).map_err(|_| contradicting());
            let mut others = Vec::new();
            let read = || {
                opened.each_batch(Columns::FilesWithoutStats, &mut send)?;
                opened.each_other(&mut |action| others.push(action))?;
                Ok(others)
            };
            catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(contradicting()))
        });
        let mut stats = opened.batches(Columns::Stats)?;
        // A decoder that nobody listens to any more ends.
        let taken = receive.into_iter().try_for_each(|(batch, hashes)| {
            let stats = stats.next().ok_or_else(contradicting)??;
            if stats.num_rows() != batch.num_rows() {
                return Err(contradicting());
            }
            batch_pieces(object, &batch, (texts(&stats), &hashes), take)
        });
        let decoded = decoder.join().unwrap_or_else(|_| Err(contradicting()));
        taken.and(decoded)?.into_iter().for_each(|action| take(Piece::from(action)));
        if stats.next().is_some() { Err(contradicting()) } else { Ok(()) }
    })
}

/// The hashes of the paths by which files are told as they stand, row by row; `None` where it takes more than that.
fn plain_hashes(batch: &RecordBatch) -> Vec<Option<KeyHash>> {
    let add = batch.column_by_name("add").and_then(|column| column.as_struct_opt());
    let paths = add.and_then(|add| add.column_by_name("path")?.as_string_view_opt());
    let Some(paths) = paths else { return Vec::new() };
    paths.iter().map(|path| path.filter(|path| other_key(path, None).is_none()).map(KeyHash::of)).collect()
}

/// The statistics' text of a batch; `None` where it is no plain text.
fn texts(batch: &RecordBatch) -> Option<StringViewArray> {
    let add = batch.column_by_name("add")?.as_struct_opt()?;
    Some(add.column_by_name("stats")?.as_string_view_opt()?.clone())
}

fn batch_pieces(
    object: &str,
    batch: &RecordBatch,
    (stats, hashes): (Option<StringViewArray>, &[Option<KeyHash>]),
    take: &mut dyn FnMut(Piece),
) -> Result<(), DeltaError> {
    let add = batch.column_by_name("add").and_then(|column| column.as_struct_opt());
    let columnar = add.and_then(|add| Some((add, Rows::new(add, stats)?)));
    read::read_batch(object, batch, columnar.is_none(), &mut |action| take(Piece::from(action)))?;
    columnar.map_or(Ok(()), |(add, rows)| files(object, add, (&Arc::new(rows), hashes), take))
}

/// The files of a batch, as rows of its columns.
fn files(
    object: &str,
    add: &StructArray,
    (rows, hashes): (&Arc<Rows>, &[Option<KeyHash>]),
    take: &mut dyn FnMut(Piece),
) -> Result<(), DeltaError> {
    if add.null_count() == add.len() {
        return Ok(());
    }
    let of = Told::new(add, rows);
    for row in 0..add.len() {
        if add.is_null(row) {
            continue;
        }
        if rows.paths().is_null(row) {
            read::refuse_unless_hollow(object, "add", add, row)?;
            continue;
        }
        let at = u32::try_from(row).map_err(|_| read::contradicting(object))?;
        let vector = of.vectors.filter(|vectors| vectors.is_valid(row));
        let vector = vector.and_then(|_| read::deletion_vector(&Group::of(add, row)));
        let facts = Facts {
            size: of.size(row),
            num_records: of.num_records(row),
            deleted_rows: vector.as_ref().map_or(0, crate::action::DeletionVector::deleted_rows),
        };
        let hash = hashes.get(row).copied().flatten().filter(|_| vector.is_none());
        take(Piece::File(match hash {
            Some(hash) => Entry::hashed_row(rows, at, facts, hash),
            None => Entry::row(rows, at, facts, other_key(rows.paths().value(row), vector.as_ref())),
        }));
    }
    Ok(())
}

/// The columns by which a file is told, looked up once for a batch.
struct Told<'a> {
    add: &'a StructArray,
    sizes: Option<&'a Int64Array>,
    stats: Option<&'a StringViewArray>,
    vectors: Option<&'a StructArray>,
}

impl<'a> Told<'a> {
    fn new(add: &'a StructArray, rows: &'a Rows) -> Self {
        let own = || add.column_by_name("stats").and_then(|stats| stats.as_string_view_opt());
        let vectors = add.column_by_name("deletionVector").and_then(|vectors| vectors.as_struct_opt());
        Self {
            add,
            sizes: add.column_by_name("size").and_then(|sizes| sizes.as_primitive_opt::<Int64Type>()),
            stats: rows.stats().or_else(own),
            vectors: vectors.filter(|vectors| vectors.null_count() < vectors.len()),
        }
    }

    fn size(&self, row: usize) -> i64 {
        match self.sizes {
            Some(sizes) if sizes.is_valid(row) => sizes.value(row),
            Some(_) => 0,
            None => Group::of(self.add, row).long("size").unwrap_or_default(),
        }
    }

    fn num_records(&self, row: usize) -> Option<u64> {
        if let Some(text) = self.stats.filter(|stats| stats.is_valid(row)).map(|stats| stats.value(row)) {
            let begins = text.strip_prefix(STATS_START).filter(|_| text.ends_with('}'));
            return begins.and_then(|rest| leading_count(rest.as_bytes())).or_else(|| crate::stats::num_records(text));
        }
        let parsed = Group::of(self.add, row).group("stats_parsed")?;
        u64::try_from(parsed.long("numRecords")?).ok()
    }
}
