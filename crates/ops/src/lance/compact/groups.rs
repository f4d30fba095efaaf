//! Which fragments are worth being written anew, and which of them together.

use super::covering::Covering;
use super::{LanceCompactSpec, LanceCompaction, deleted, live};
use crate::OpsError;
use crate::compact::Compaction;
use crate::lance::conform::modelled;
use crate::lance::fragment::{FragmentRows, Which, deleted_rows};
use crate::lance::table::LanceTable;
use crate::lance::touch::mentioned;
use lakebed_data::filter_mask;
use lakebed_lance::proto::table::DataFragment;
use lakebed_transaction::Expr;
use std::collections::{BTreeMap, BTreeSet};

/// A fragment of which a larger part than one in so many is deleted is written anew.
const DELETED_PART: u64 = 10;

/// The fragments that may be written anew.
pub(super) struct Scope {
    pub(super) covering: Covering,
    /// Those with a row that meets the predicate; `None` for all.
    met: Option<BTreeSet<u64>>,
}

impl Scope {
    pub(super) async fn of(table: &LanceTable, spec: &LanceCompactSpec) -> Result<Self, OpsError> {
        let mut met = None;
        if let Some(predicate) = &spec.predicate {
            let mut found = BTreeSet::new();
            for fragment in table.fragments() {
                if any_row_meets(table, fragment, predicate).await? {
                    found.insert(fragment.id);
                }
            }
            met = Some(found);
        }
        Ok(Self { covering: Covering::of(&table.snapshot), met })
    }

    fn holds(&self, fragment: &DataFragment) -> bool {
        self.met.as_ref().is_none_or(|met| met.contains(&fragment.id))
    }

    /// Runs of neighbours that are worth being joined, each of fragments that the same indices cover.
    pub(super) fn runs(
        &self,
        table: &LanceTable,
        spec: &LanceCompactSpec,
        plan: &mut LanceCompaction,
    ) -> Vec<Vec<DataFragment>> {
        let major = spec.compaction == Compaction::Major;
        let worn = |fragment: &DataFragment| major && mostly_deleted(fragment);
        let rows_of = |fragment: &DataFragment| if major { live(fragment) } else { fragment.physical_rows };
        let mut groups: Vec<Vec<DataFragment>> = Vec::new();
        let mut run: Vec<DataFragment> = Vec::new();
        let mut end = |run: &mut Vec<DataFragment>| {
            let run = std::mem::take(run);
            if run.len() > 1 || run.iter().any(worn) {
                groups.push(run);
            }
        };
        let (mut rows, mut class) = (0_u64, Vec::new());
        for fragment in table.fragments() {
            let wanted = self.holds(fragment) && (fragment.physical_rows < spec.target_rows || worn(fragment));
            let blocked = wanted && self.covering.blocks(fragment.id, true);
            plan.covered += u64::from(blocked);
            let own = self.covering.class(fragment.id);
            if !wanted || blocked || rows >= spec.target_rows || own != class {
                end(&mut run);
                rows = 0;
            }
            if wanted && !blocked {
                rows = rows.saturating_add(rows_of(fragment));
                class = own;
                run.push(fragment.clone());
            }
        }
        end(&mut run);
        groups
    }

    /// All fragments in scope, those together that the same indices cover.
    pub(super) fn classes(&self, table: &LanceTable, plan: &mut LanceCompaction) -> Vec<Vec<DataFragment>> {
        let mut classes: BTreeMap<Vec<usize>, Vec<DataFragment>> = BTreeMap::new();
        for fragment in table.fragments().iter().filter(|fragment| self.holds(fragment)) {
            if self.covering.blocks(fragment.id, false) {
                plan.covered += 1;
            } else {
                classes.entry(self.covering.class(fragment.id)).or_default().push(fragment.clone());
            }
        }
        classes.into_values().collect()
    }
}

fn mostly_deleted(fragment: &DataFragment) -> bool {
    deleted(fragment).saturating_mul(DELETED_PART) > fragment.physical_rows
}

async fn any_row_meets(table: &LanceTable, fragment: &DataFragment, predicate: &Expr) -> Result<bool, OpsError> {
    let (read, columns) = mentioned(predicate, table);
    let before = deleted_rows(&table.store, &table.snapshot, fragment).await?;
    let mut rows = FragmentRows::open(table, fragment, &read, Which::Without(before)).await?;
    while let Some((raw, _)) = rows.next().await? {
        if filter_mask(predicate, &modelled(&raw, &columns)?)?.true_count() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}
