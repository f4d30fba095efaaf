//! The statements of the demonstration, and how they are run.

use super::model::Effect;
use crate::clock;
use crate::error::CliError;
use crate::fragments::fictitious;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lakebed_data::DataError;
use lakebed_table::{Batches, CommitOptions, Report, Scope, Snapshot, Table, TableFormat};
use lakebed_transaction::RowSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Partitions of the Delta table; fewer than writers, so that they meet.
pub(super) const PARTITIONS: i64 = 4;
/// Rows of each fragment of the Lance table.
pub(super) const FRAGMENT_ROWS: u64 = 100;
/// Rows with the same remainder are deleted together.
const REMAINDERS: i64 = 5;

/// One statement.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    /// Delta: new rows in a partition, by their ids.
    Insert { part: i64, ids: Vec<i64> },
    /// Delta: the rows of a partition whose ids leave a remainder go.
    DeleteFrom { part: i64, remainder: i64 },
    /// Delta: all rows of a partition go.
    DeletePart { part: i64 },
    /// Delta: all rows of a partition are replaced.
    ReplacePart { part: i64, ids: Vec<i64> },
    /// Both: a property is set.
    Set { key: String, value: String },
    /// Lance: a new fragment.
    AddFragment { file: String },
    /// Lance: some rows of one live fragment go.
    DeleteRows { pick: Pick, first: u64, count: u64 },
}

/// Which of the live fragments; a retry takes another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pick {
    /// This one, counted round and round from the oldest.
    Nth(u64),
    /// The newest.
    Newest,
}

impl Pick {
    /// The place among so many fragments.
    fn place(self, retry: u64, fragments: usize) -> usize {
        let fragments = fragments.max(1) as u64;
        let at = match self {
            Self::Nth(nth) => nth.wrapping_add(retry) % fragments,
            Self::Newest => fragments - 1 - retry % fragments,
        };
        usize::try_from(at).unwrap_or_default()
    }
}

impl Statement {
    /// What a writer does as its nth commit: mixed, and the same in every run.
    pub(super) fn planned(format: TableFormat, writer: u32, number: u32) -> Self {
        let dice = mix(u64::from(writer) << 32 | u64::from(number));
        let part = i64::try_from(dice % 1_000).unwrap_or_default() % PARTITIONS;
        match (format, (writer * 3 + number) % 10) {
            (_, 7) => Self::Set { key: format!("demo.writer-{}", writer % 4), value: number.to_string() },
            (TableFormat::Delta, 2 | 6) => {
                Self::DeleteFrom { part, remainder: i64::try_from(dice >> 32).unwrap_or_default() % REMAINDERS }
            }
            (TableFormat::Delta, 4) => Self::ReplacePart { part, ids: ids(writer, number, 20) },
            (TableFormat::Lance, 2 | 4 | 6) => {
                Self::DeleteRows { pick: Pick::Nth(dice >> 32), first: dice % FRAGMENT_ROWS, count: 7 }
            }
            (TableFormat::Lance, 9) => Self::DeleteRows { pick: Pick::Nth(dice >> 32), first: 0, count: FRAGMENT_ROWS },
            (_, _) => Self::addition(format, writer, number),
        }
    }

    /// A statement that always has something to write.
    pub(super) fn addition(format: TableFormat, writer: u32, number: u32) -> Self {
        match format {
            TableFormat::Delta => {
                Self::Insert { part: i64::from(writer + number) % PARTITIONS, ids: ids(writer, number, 40) }
            }
            TableFormat::Lance => Self::AddFragment { file: format!("writer-{writer}-{number}.lance") },
        }
    }

    /// Runs it once: the answer, and what it does to the table if it was committed. A statement on fragments looks for them
    /// in the version that the handle knows; a `retry` picks others.
    pub(super) async fn run(
        &self,
        table: &mut Table,
        retry: u64,
        commit: &CommitOptions,
    ) -> Result<(Report, Effect), CliError> {
        Ok(match self {
            Self::Insert { part, ids } => {
                let report = table.append(|| Ok(batches(*part, ids)), commit).await?;
                (report, Effect::Insert { part: *part, ids: ids.clone() })
            }
            Self::DeleteFrom { part, remainder } => {
                let text = format!("part = {part} AND id % {REMAINDERS} = {remainder}");
                let report = table.delete(&text, commit).await?;
                (report, Effect::Delete { part: *part, divisor: REMAINDERS, remainder: *remainder })
            }
            Self::DeletePart { part } => {
                let report = table.delete(&format!("part = {part}"), commit).await?;
                (report, Effect::Delete { part: *part, divisor: 1, remainder: 0 })
            }
            Self::ReplacePart { part, ids } => {
                let scope = Scope::Where(format!("part = {part}"));
                let report = table.overwrite(|| Ok(batches(*part, ids)), &scope, commit).await?;
                (report, Effect::Replace { part: *part, ids: ids.clone() })
            }
            Self::Set { key, value } => {
                let set = BTreeMap::from([(key.clone(), format!("{value}-{retry}"))]);
                (table.set_properties(set, Vec::new(), commit).await?, Effect::None)
            }
            Self::AddFragment { file } => {
                let Snapshot::Lance(held) = table.snapshot() else { return Err(mismatch()) };
                let fragment = fictitious(&held.snapshot, file, FRAGMENT_ROWS);
                let report = table.append_fragments(vec![fragment], commit).await?;
                (report, Effect::AddFragment { file: file.clone() })
            }
            Self::DeleteRows { pick, first, count } => {
                let at = pick.place(retry, table.snapshot().fragments().len());
                delete_rows(table, at, *first..first.saturating_add(*count), commit).await?
            }
        })
    }
}

async fn delete_rows(
    table: &mut Table,
    at: usize,
    rows: std::ops::Range<u64>,
    commit: &CommitOptions,
) -> Result<(Report, Effect), CliError> {
    let fragments = table.snapshot().fragments();
    let Some(fragment) = fragments.get(at) else {
        // Nothing is there yet: no row to delete.
        return Ok((table.delete_rows(BTreeMap::new(), "", commit).await?, Effect::None));
    };
    let positions: Vec<u64> = rows.map(|row| row % FRAGMENT_ROWS).collect();
    let set: RowSet = positions.iter().copied().collect();
    let report = table.delete_rows(BTreeMap::from([(fragment.id, set)]), "rows by position", commit).await?;
    let file = fragment.files.first().cloned().unwrap_or_default();
    Ok((report, Effect::DeleteRows { file, positions }))
}

fn mismatch() -> CliError {
    CliError::failed("a statement for one format met a table of the other", "report this")
}

fn ids(writer: u32, number: u32, count: i64) -> Vec<i64> {
    let first = (i64::from(writer) * 100_000 + i64::from(number)) * 100;
    (first..first + count).collect()
}

/// Rows of one partition.
fn batches(part: i64, ids: &[i64]) -> Batches {
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from(ids.to_vec()))),
        ("part", Arc::new(Int64Array::from(vec![part; ids.len()]))),
        ("note", Arc::new(StringArray::from_iter_values(ids.iter().map(|id| format!("row {id}"))))),
    ];
    let batch = RecordBatch::try_from_iter(columns);
    Box::new(std::iter::once(
        batch.map_err(|source| DataError::Arrow { what: "rows of the demonstration".to_owned(), source }),
    ))
}

/// Scatters a number (the last steps of SplitMix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How long to wait before a statement is run again, in milliseconds: more with each retry, and not in step with the others.
pub(super) fn pause_ms(writer: u32, retry: u64) -> u64 {
    let spread = 2 + 2 * retry.min(16);
    mix(u64::from(writer) ^ retry ^ clock::now_micros().unsigned_abs()) % spread
}
