//! What a program finds and writes on the version that it read.

use crate::program::{Filter, Program};
use crate::table::Table;

/// What an overwrite replaces when it commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: no overwrite.
    Nothing,
    /// The rows of this filter.
    Rows(Filter),
}

/// A program's finished work, before it commits.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The program.
    pub program: Program,
    /// Identities of the rows that it looked for and found.
    pub found: Vec<u32>,
    /// Identities of the rows that it takes out.
    pub dead: Vec<u32>,
    /// The rows that it brings in.
    pub born: Vec<(u8, u8)>,
    /// What it replaces when it commits.
    pub scope: Scope,
    /// The schema that it sets.
    pub schema: Option<u8>,
    /// The batch that it sets.
    pub batch: Option<u8>,
    /// A compaction's inputs.
    pub inputs: Vec<u32>,
}

impl Effect {
    /// Runs a program on a version.
    #[must_use]
    pub fn of(program: Program, table: &Table) -> Self {
        let filter = program.looks_for();
        let rows: Vec<(u32, u8, u8)> = table.live().map(|(_, _, row)| (row.id, row.k, row.v)).collect();
        let found: Vec<(u32, u8, u8)> =
            rows.iter().copied().filter(|(_, k, v)| filter.is_some_and(|filter| filter.holds(*k, *v))).collect();
        let ids = |rows: &[(u32, u8, u8)]| rows.iter().map(|(id, _, _)| *id).collect::<Vec<_>>();
        let mut effect = Self {
            program,
            found: ids(&found),
            dead: Vec::new(),
            born: Vec::new(),
            scope: Scope::Nothing,
            schema: None,
            batch: None,
            inputs: Vec::new(),
        };
        let is_new_batch = table.batch == 0;
        match program {
            Program::Insert(k, v) => effect.born.push((k, v)),
            Program::InsertSelf(_) => effect.born.extend(found.iter().map(|(_, k, v)| (*k, 1 - v))),
            Program::Update(_, set) => effect.replace(&found, |v| set.of(v)),
            Program::Delete(_) => effect.dead = ids(&found),
            Program::Merge(k, v) if found.is_empty() => effect.born.push((k, v)),
            Program::Merge(_, v) => effect.replace(&found, |_| v),
            Program::Overwrite(row) => effect.overwrite(Filter::All, row.into_iter().collect()),
            Program::OverwriteByPart(kept) => {
                let born = rows.iter().filter(|(_, _, v)| *v == kept).map(|(_, k, v)| (*k, *v)).collect();
                effect.overwrite(Filter::All, born);
            }
            Program::OverwriteFlipped => {
                effect.overwrite(Filter::All, rows.iter().map(|(_, k, v)| (*k, 1 - v)).collect());
            }
            Program::OverwritePartition(k, row) => {
                effect.overwrite(Filter::K(k), row.into_iter().map(|v| (k, v)).collect());
            }
            Program::Compact if table.files.len() > 1 => {
                effect.inputs = table.files.iter().map(|file| file.id).collect()
            }
            Program::Alter => effect.schema = Some(1 - table.schema),
            Program::AlterUnless(_) => effect.schema = found.is_empty().then_some(1),
            Program::Stream(k, v) if is_new_batch => {
                effect.born.push((k, v));
                effect.batch = Some(1);
            }
            Program::StreamUpdate(_, v) if is_new_batch => {
                effect.replace(&found, |_| v);
                effect.batch = Some(1);
            }
            Program::InsertAfterBatch(k, v) if !is_new_batch => effect.born.push((k, v)),
            Program::Compact | Program::Stream(..) | Program::StreamUpdate(..) | Program::InsertAfterBatch(..) => {}
        }
        if effect.scope != Scope::Nothing {
            let Scope::Rows(filter) = effect.scope else { return effect };
            effect.dead = rows.iter().filter(|(_, k, v)| filter.holds(*k, *v)).map(|(id, _, _)| *id).collect();
        }
        for (_, v) in &mut effect.born {
            *v ^= table.schema;
        }
        effect
    }

    fn replace(&mut self, found: &[(u32, u8, u8)], value: impl Fn(u8) -> u8) {
        self.dead = found.iter().map(|(id, _, _)| *id).collect();
        self.born = found.iter().map(|(_, k, v)| (*k, value(*v))).collect();
    }

    fn overwrite(&mut self, filter: Filter, born: Vec<(u8, u8)>) {
        self.scope = Scope::Rows(filter);
        self.born = born;
    }

    /// The files in which it takes rows out, on the version that it read.
    #[must_use]
    pub fn touched_files(&self, read: &Table) -> Vec<u32> {
        let mut files: Vec<u32> =
            read.live().filter(|(_, _, row)| self.dead.contains(&row.id)).map(|(file, _, _)| file).collect();
        files.dedup();
        files
    }
}
