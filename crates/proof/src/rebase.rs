//! Finished work put on a version, the one that was read or a newer one, without reading anything again.

use crate::effect::{Effect, Scope};
use crate::program::{Filter, Program};
use crate::table::{Row, Table};
use crate::universe::{Axis, Universe};

/// Which row changes replace files by copies; the others delete rows in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// All.
    Always,
    /// None.
    Never,
    /// Those that the universe names.
    AsTheUniverse,
}

/// How a writer writes and rebases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// Which row changes replace files by copies.
    pub copies: Copies,
    /// Rows that were moved are found again.
    pub maps: bool,
    /// A compaction of files that are gone is left out.
    pub leaves_out: bool,
    /// An overwrite takes its scope anew; else it takes out what it saw.
    pub takes_scope_anew: bool,
}

impl Writing {
    /// As lakebed writes in this universe.
    #[must_use]
    pub fn by_rows(universe: &Universe) -> Self {
        Self {
            copies: Copies::AsTheUniverse,
            maps: !universe.has(Axis::NoMaps),
            leaves_out: true,
            takes_scope_anew: true,
        }
    }

    /// As writers do who only know files.
    pub const BY_FILES: Self = Self { copies: Copies::Always, maps: false, leaves_out: false, takes_scope_anew: false };
}

/// A row that a look found carried over, and where it stood then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The file.
    pub file: u32,
    /// The row.
    pub row: Row,
}

/// The table after the work, done on `read`, is put on `now`; `carried` are rows to be deleted beside those that it found.
#[must_use]
pub fn put_on(
    universe: &Universe,
    effect: &Effect,
    (read, now): (&Table, &Table),
    carried: &[Carried],
    writing: Writing,
) -> Table {
    let mut after = now.clone();
    for Carried { file, row } in carried {
        kill(&mut after, *file, *row, writing);
    }
    after.schema = effect.schema.unwrap_or(after.schema);
    after.batch = effect.batch.unwrap_or(after.batch);
    let copies = match writing.copies {
        Copies::Always => true,
        Copies::Never => false,
        Copies::AsTheUniverse => universe.copies(effect.program),
    };
    match effect.scope {
        Scope::Nothing if effect.program == Program::Compact => compact(universe, effect, read, &mut after, writing),
        Scope::Rows(filter) if writing.takes_scope_anew => overwrite(universe, effect, filter, &mut after),
        Scope::Nothing | Scope::Rows(_) if copies => copy(universe, effect, read, &mut after, writing),
        Scope::Nothing | Scope::Rows(_) => delete_in_place(universe, effect, read, &mut after, writing),
    }
    after
}

fn compact(universe: &Universe, effect: &Effect, read: &Table, after: &mut Table, writing: Writing) {
    let is_gone = effect.inputs.iter().any(|input| after.file(*input).is_none());
    if effect.inputs.is_empty() || (is_gone && writing.leaves_out) {
        return;
    }
    let mut rows = Vec::new();
    for input in &effect.inputs {
        let holder = if writing.maps { after.file(*input) } else { read.file(*input) };
        rows.extend(holder.into_iter().flat_map(|file| file.live().map(|(_, row)| row)));
    }
    after.files.retain(|file| !effect.inputs.contains(&file.id));
    universe.put(after, rows);
}

fn overwrite(universe: &Universe, effect: &Effect, filter: Filter, after: &mut Table) {
    after.files.retain(|file| !file.live().all(|(_, row)| filter.holds(row.k, row.v)));
    let born = after.new_rows(&effect.born);
    universe.put(after, born);
}

fn delete_in_place(universe: &Universe, effect: &Effect, read: &Table, after: &mut Table, writing: Writing) {
    for (file, _, row) in read.live().filter(|(_, _, row)| effect.dead.contains(&row.id)) {
        kill(after, file, row, writing);
    }
    after.files.retain(|file| !file.is_spent());
    let born = after.new_rows(&effect.born);
    universe.put(after, born);
}

/// Deletes a row where it stood, or where it went.
fn kill(after: &mut Table, file: u32, row: Row, writing: Writing) {
    let is_there = after.file(file).is_some();
    for holder in &mut after.files {
        if holder.id == file || (!is_there && writing.maps) {
            holder.delete(row.id);
        }
    }
}

fn copy(universe: &Universe, effect: &Effect, read: &Table, after: &mut Table, writing: Writing) {
    let mut rows = Vec::new();
    for touched in effect.touched_files(read) {
        let Some(old) = read.file(touched) else { continue };
        let (dead, kept): (Vec<Row>, Vec<Row>) =
            old.live().map(|(_, row)| row).partition(|row| effect.dead.contains(&row.id));
        let now = after.file(touched).map(|file| file.live().map(|(_, row)| row.id).collect::<Vec<_>>());
        match now {
            Some(alive) => {
                rows.extend(kept.into_iter().filter(|row| !writing.maps || alive.contains(&row.id)));
                after.files.retain(|file| file.id != touched);
            }
            None if writing.maps => dead.into_iter().for_each(|row| kill(after, touched, row, writing)),
            None => rows.extend(kept),
        }
    }
    after.files.retain(|file| !file.is_spent());
    rows.extend(after.new_rows(&effect.born));
    universe.put(after, rows);
}
