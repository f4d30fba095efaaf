//! The rows that one Lance version brought and took.
//!
//! Fragments that came and went tell, and deletion files. A Rewrite moves rows and changes none. An update takes a row out of one
//! fragment and puts it into another; rows that went and came back equal in one version did not change and are left out.

use super::conform::modelled;
use super::fragment::{FragmentRows, Which, deleted_rows};
use super::table::LanceTable;
use crate::netted::{Netting, Unchanged};
use crate::{Change, OpsError};
use arrow_array::RecordBatch;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::transaction::Transaction;
use lakebed_transaction::LanceKind;
use std::collections::VecDeque;

/// The changes of one version, batch by batch: first every row that went, then every row that came, each with the columns of the
/// version in which it stood.
///
/// Memory holds one batch; where rows went and came, also the text of every row that went.
pub struct LanceChanges {
    before: LanceTable,
    after: LanceTable,
    parts: VecDeque<Part>,
    open: Option<(FragmentRows, Change)>,
    same: Option<Unchanged>,
    is_netted: bool,
}

impl std::fmt::Debug for LanceChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LanceChanges").field("parts", &self.parts).finish_non_exhaustive()
    }
}

/// Rows of one fragment with what became of them.
#[derive(Clone, Debug)]
struct Part {
    change: Change,
    fragment: DataFragment,
    /// Only those rows that the deletion file of this fragment has and that of the other has not.
    other: Option<DataFragment>,
}

impl LanceChanges {
    /// The changes between two versions that follow each other.
    #[must_use]
    pub fn new(before: LanceTable, after: LanceTable) -> Self {
        let layout_only = after.snapshot.transaction().map(Transaction::kind) == Some(LanceKind::Rewrite);
        let mut parts = if layout_only { Vec::new() } else { parts(&before, &after) };
        parts.sort_by_key(|part| part.change == Change::Insert);
        let any = |change| parts.iter().any(|part| part.change == change);
        let is_netted = any(Change::Delete) && any(Change::Insert);
        Self { before, after, parts: parts.into(), open: None, same: None, is_netted }
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read.
    pub async fn next(&mut self) -> Result<Option<(Change, RecordBatch)>, OpsError> {
        if self.is_netted && self.same.is_none() {
            let look = self.again();
            self.same = Some(look.unchanged().await?);
        }
        while let Some((change, batch)) = self.raw().await? {
            let batch = match &mut self.same {
                None => batch,
                Some(same) => same.leave_out(change, &batch)?,
            };
            if batch.num_rows() > 0 {
                return Ok(Some((change, batch)));
            }
        }
        Ok(None)
    }

    /// The same changes from their beginning, as the fragments tell them.
    fn again(&self) -> Self {
        Self {
            before: self.before.clone(),
            after: self.after.clone(),
            parts: self.parts.clone(),
            open: None,
            same: None,
            is_netted: false,
        }
    }

    /// How many rows of each text went and came back.
    async fn unchanged(mut self) -> Result<Unchanged, OpsError> {
        let mut netting = Netting::default();
        while let Some((change, batch)) = self.raw().await? {
            netting.see(change, &batch)?;
        }
        Ok(netting.unchanged())
    }

    /// The next rows of the fragments, those that came back included.
    async fn raw(&mut self) -> Result<Option<(Change, RecordBatch)>, OpsError> {
        loop {
            let (mut rows, change) = match self.open.take() {
                Some(open) => open,
                None => match self.parts.pop_front() {
                    Some(part) => match part.open(&self.before, &self.after).await? {
                        Some(rows) => (rows, part.change),
                        None => continue,
                    },
                    None => return Ok(None),
                },
            };
            let Some((raw, _)) = rows.next().await? else { continue };
            self.open = Some((rows, change));
            if raw.num_rows() > 0 {
                return Ok(Some((change, modelled(&raw, self.side(change).columns())?)));
            }
        }
    }

    /// The version in which rows stand that came or went.
    const fn side(&self, change: Change) -> &LanceTable {
        match change {
            Change::Delete => &self.before,
            Change::Insert => &self.after,
        }
    }
}

impl Part {
    /// Its rows; `None` where there are none.
    async fn open(&self, before: &LanceTable, after: &LanceTable) -> Result<Option<FragmentRows>, OpsError> {
        let (table, other) = match self.change {
            Change::Delete => (before, after),
            Change::Insert => (after, before),
        };
        let own = deleted_rows(&table.store, &table.snapshot, &self.fragment).await?;
        let which = match &self.other {
            None => Which::Without(own),
            Some(fragment) => {
                let there = deleted_rows(&other.store, &other.snapshot, fragment).await?;
                let only = there.difference(&own);
                if only.is_empty() {
                    return Ok(None);
                }
                Which::Only(only)
            }
        };
        let all: Vec<usize> = (0..table.columns().len()).collect();
        FragmentRows::open(table, &self.fragment, &all, which).await.map(Some)
    }
}

fn parts(before: &LanceTable, after: &LanceTable) -> Vec<Part> {
    let mut parts = Vec::new();
    let whole = |change, fragment: &DataFragment| Part { change, fragment: fragment.clone(), other: None };
    for was in before.fragments() {
        match after.snapshot.fragment(was.id) {
            None => parts.push(whole(Change::Delete, was)),
            Some(is) if is.files == was.files && is.overlays == was.overlays => {
                if is.deletion_file != was.deletion_file {
                    let part = |change, own: &DataFragment, other: &DataFragment| Part {
                        change,
                        fragment: own.clone(),
                        other: Some(other.clone()),
                    };
                    parts.push(part(Change::Delete, was, is));
                    parts.push(part(Change::Insert, is, was));
                }
            }
            Some(is) => parts.extend([whole(Change::Delete, was), whole(Change::Insert, is)]),
        }
    }
    let new = after.fragments().iter().filter(|fragment| before.snapshot.fragment(fragment.id).is_none());
    parts.extend(new.map(|fragment| whole(Change::Insert, fragment)));
    parts
}
