//! What the tables should hold, by bookkeeping alone: the effects of the acknowledged commits, applied in the order of their
//! versions.

use super::statement::FRAGMENT_ROWS;
use crate::error::CliError;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lakebed_table::{ScanRequest, Snapshot, Table, TableFormat};
use std::collections::{BTreeMap, BTreeSet};

/// What a committed statement does.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    None,
    Insert { part: i64, ids: Vec<i64> },
    Delete { part: i64, divisor: i64, remainder: i64 },
    Replace { part: i64, ids: Vec<i64> },
    AddFragment { file: String },
    DeleteRows { file: String, positions: Vec<u64> },
}

/// What a table holds: rows as (id, partition) of a Delta table, live rows by data file of a Lance table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    rows: BTreeSet<(i64, i64)>,
    /// Rows that stand in the table more than once.
    repeated: u64,
    files: BTreeMap<String, u64>,
}

impl Contents {
    /// Rows in all.
    pub(super) fn num_rows(&self) -> u64 {
        self.rows.len() as u64 + self.repeated + self.files.values().sum::<u64>()
    }

    /// What the effects leave, applied in this order.
    pub(super) fn expected<'a>(effects: impl Iterator<Item = &'a Effect>) -> Self {
        let mut contents = Self::default();
        let mut fragments: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for effect in effects {
            match effect {
                Effect::None => {}
                Effect::Insert { part, ids } => contents.rows.extend(ids.iter().map(|id| (*id, *part))),
                Effect::Delete { part, divisor, remainder } => {
                    contents.rows.retain(|(id, of)| of != part || id % divisor != *remainder);
                }
                Effect::Replace { part, ids } => {
                    contents.rows.retain(|(_, of)| of != part);
                    contents.rows.extend(ids.iter().map(|id| (*id, *part)));
                }
                Effect::AddFragment { file } => {
                    fragments.insert(file, (0..FRAGMENT_ROWS).collect());
                }
                Effect::DeleteRows { file, positions } => {
                    if let Some(live) = fragments.get_mut(file.as_str()) {
                        live.retain(|row| !positions.contains(row));
                    }
                }
            }
        }
        let live = fragments.into_iter().filter(|(_, live)| !live.is_empty());
        contents.files = live.map(|(file, live)| (file.to_owned(), live.len() as u64)).collect();
        contents
    }

    /// What the newest version of the table holds: scanned (Delta), or counted from fragments and deletions (Lance).
    pub(super) async fn found(table: &Table) -> Result<Self, CliError> {
        match table.format() {
            TableFormat::Delta => Self::scanned(table).await,
            TableFormat::Lance => Ok(Self::counted(table.snapshot())),
        }
    }

    async fn scanned(table: &Table) -> Result<Self, CliError> {
        let mut contents = Self::default();
        let columns = Some(vec!["id".to_owned(), "part".to_owned()]);
        let request = ScanRequest { columns, ..ScanRequest::default() };
        let mut scanned = table.scan(table.snapshot(), &request)?;
        while let Some(batch) = scanned.next().await? {
            let [ids, parts] = batch.columns() else { return Err(unreadable()) };
            let (Some(ids), Some(parts)) = (ids.as_primitive_opt::<Int64Type>(), parts.as_primitive_opt::<Int64Type>())
            else {
                return Err(unreadable());
            };
            for (id, part) in ids.iter().zip(parts.iter()) {
                let (Some(id), Some(part)) = (id, part) else { return Err(unreadable()) };
                if !contents.rows.insert((id, part)) {
                    contents.repeated += 1;
                }
            }
        }
        Ok(contents)
    }

    fn counted(snapshot: &Snapshot) -> Self {
        let mut contents = Self::default();
        for fragment in snapshot.fragments() {
            let live =
                fragment.physical_rows.unwrap_or_default().saturating_sub(fragment.num_deleted.unwrap_or_default());
            if live > 0 {
                *contents.files.entry(fragment.files.join(",")).or_default() += live;
            }
        }
        contents
    }
}

fn unreadable() -> CliError {
    CliError::failed("the scan of the audit gave columns of another kind than it asked for", "report this")
}

#[cfg(test)]
mod tests {
    use super::{Contents, Effect};

    #[test]
    fn effects_leave_rows_in_the_order_of_the_log() {
        let effects = [
            Effect::Insert { part: 0, ids: vec![1, 2, 3, 5] },
            Effect::Insert { part: 1, ids: vec![10] },
            Effect::Delete { part: 0, divisor: 5, remainder: 0 },
            Effect::Insert { part: 0, ids: vec![15] },
            Effect::Replace { part: 1, ids: vec![20, 21] },
            Effect::None,
        ];
        let contents = Contents::expected(effects.iter());
        assert_eq!(contents.rows.into_iter().collect::<Vec<_>>(), [(1, 0), (2, 0), (3, 0), (15, 0), (20, 1), (21, 1)]);
    }

    #[test]
    fn effects_leave_live_rows_of_fragments() {
        let file = |name: &str| name.to_owned();
        let effects = [
            Effect::AddFragment { file: file("a") },
            Effect::AddFragment { file: file("b") },
            Effect::DeleteRows { file: file("a"), positions: vec![1, 2] },
            Effect::DeleteRows { file: file("a"), positions: vec![2, 3] },
            Effect::DeleteRows { file: file("b"), positions: (0..100).collect() },
        ];
        let contents = Contents::expected(effects.iter());
        assert_eq!(contents.files.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 97)]);
    }
}
