//! The programs of the proof, through the facade.
//!
//! The proof's `k` is the column `p`, its `v` the column `v`; `id` is 0, but 1 in rows that are deleted from the start.

use crate::rows::{scan, source};
use crate::statement::append_read;
use crate::{Answer, Arena, Row, TrialError};
use lakebed_proof::program::{Filter, Program, Set};
use lakebed_proof::table::{Bag, Table as Abstract};
use lakebed_proof::universe::{Axis, Universe};
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, CompactRequest, Compaction, MergeSpec, Scope, Table};
use std::sync::Arc;

/// Whether a program is a statement of the facade's. An overwrite whose rows come from its own table is none, and neither are those
/// that the axes of schemas and applications add.
#[must_use]
pub const fn is_statement(program: Program) -> bool {
    match program {
        Program::Insert(..)
        | Program::InsertSelf(_)
        | Program::Update(..)
        | Program::Delete(_)
        | Program::Merge(..)
        | Program::Overwrite(_)
        | Program::OverwritePartition(..)
        | Program::Compact => true,
        Program::OverwriteByPart(_)
        | Program::OverwriteFlipped
        | Program::Alter
        | Program::AlterUnless(_)
        | Program::Stream(..)
        | Program::StreamUpdate(..)
        | Program::InsertAfterBatch(..) => false,
    }
}

/// A table of the proof, with its files and deleted rows.
///
/// # Errors
/// It cannot be made.
pub async fn table(arena: &Arena, universe: &Universe, table: &Abstract) -> Result<Arc<dyn Store>, TrialError> {
    let store = arena.memory();
    let mut properties = arena.properties();
    if universe.has(Axis::Copies) {
        properties.clear();
    }
    let arena = arena.clone().with_partitions(universe.has(Axis::Partitions));
    let mut files = Vec::new();
    let mut any_dead = false;
    for file in &table.files {
        let is_dead = |at: usize| file.dead >> at & 1 == 1;
        any_dead |= file.dead != 0;
        let rows = file.rows.iter().enumerate();
        files.push(rows.map(|(at, row)| Row { id: is_dead(at).into(), ..of(row.k, row.v) }).collect::<Vec<Row>>());
    }
    let (mut made, _) = arena.table(&store, properties, &files).await?;
    if any_dead {
        let _ = made.delete("id = 1", &CommitOptions::default()).await?;
    }
    Ok(store)
}

fn of(k: u8, v: u8) -> Row {
    Row { id: 0, p: k.into(), v: v.into() }
}

/// What a handle's version holds, in the proof's words; `None` where it holds a row that the proof does not know.
///
/// # Errors
/// The version cannot be read.
pub async fn bag(table: &Table) -> Result<Option<Bag>, TrialError> {
    let mut bag = Bag { counts: [[0; 2]; 2], schema: 0, batch: 0 };
    for row in scan(table, table.snapshot(), None).await? {
        let (Ok(k), Ok(v)) = (u8::try_from(row.p), u8::try_from(row.v)) else { return Ok(None) };
        if row.id != 0 || k > 1 || v > 1 {
            return Ok(None);
        }
        bag.add(k, v, 1);
    }
    Ok(Some(bag))
}

fn sql(filter: Filter) -> String {
    match filter {
        Filter::All => "TRUE".to_owned(),
        Filter::K(k) => format!("p = {k}"),
        Filter::V(v) => format!("v = {v}"),
    }
}

/// Runs a program on a handle, on the version that the handle knows.
///
/// # Errors
/// The program is no statement of the facade's, or the facade could not ask.
pub async fn run(program: Program, table: &mut Table, commit: &CommitOptions) -> Result<Answer, TrialError> {
    let report = match program {
        Program::Insert(k, v) => table.append(source(&[of(k, v)]), commit).await?,
        Program::InsertSelf(v) => {
            let other = |row: Row| Row { v: 1 - row.v, ..row };
            return append_read(table, &sql(Filter::V(v)), other, commit).await;
        }
        Program::Update(filter, set) => {
            let value = match set {
                Set::To(v) => format!("v = {v}"),
                Set::Flipped => "v = 1 - v".to_owned(),
            };
            table.update(&[value], Some(&sql(filter)), commit).await?
        }
        Program::Delete(filter) => table.delete(&sql(filter), commit).await?,
        Program::Merge(k, v) => {
            let spec = MergeSpec { on: vec!["p".to_owned()], ..MergeSpec::default() };
            table.merge(source(&[of(k, v)]), &spec, commit).await?
        }
        Program::Overwrite(row) => {
            let rows: Vec<Row> = row.into_iter().map(|(k, v)| of(k, v)).collect();
            table.overwrite(source(&rows), &Scope::Whole, commit).await?
        }
        Program::OverwritePartition(k, v) => {
            let rows: Vec<Row> = v.into_iter().map(|v| of(k, v)).collect();
            table.overwrite(source(&rows), &Scope::Where(sql(Filter::K(k))), commit).await?
        }
        Program::Compact => {
            let request = CompactRequest { compaction: Compaction::Major, ..CompactRequest::default() };
            table.compact(&request, commit).await?
        }
        Program::OverwriteByPart(_)
        | Program::OverwriteFlipped
        | Program::Alter
        | Program::AlterUnless(_)
        | Program::Stream(..)
        | Program::StreamUpdate(..)
        | Program::InsertAfterBatch(..) => {
            return Err(TrialError::Unfit {
                problem: format!("{program:?} is no statement of the facade's"),
                advice: "leave it out",
            });
        }
    };
    Ok(Answer::of(&report))
}
