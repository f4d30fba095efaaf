//! Asking for the outcome of a transaction, after an answer of *unknown*.

use crate::delta_rows::commit_error;
use crate::perform;
use crate::snapshot::Snapshot;
use crate::{CommitOptions, Table, TableError};
use lakebed_commit::{Find, Found};
use lakebed_conflict::delta::DeltaPolicy;
use lakebed_conflict::lance::LANCE;
use lakebed_delta::DeltaFormat;
use lakebed_lance::LanceFormat;
use lakebed_transaction::TransactionId;

impl Table {
    /// Where a transaction stands: at a version, in none of those that the log still holds, or out of the log's reach.
    ///
    /// # Errors
    /// The log cannot be listed, or one of its entries cannot be read.
    pub async fn outcome_of(&self, id: &TransactionId) -> Result<Found, TableError> {
        let store = self.store();
        let trusted_ms = u32::try_from(CommitOptions::default().trust.as_millis()).unwrap_or(u32::MAX);
        let found = match &self.snapshot {
            Snapshot::Delta(_) => {
                let format = DeltaFormat::new(DeltaPolicy::TableLevel);
                let mut search = Find::new(&format, id.clone(), None).with_clocks_apart(trusted_ms);
                perform::find(&mut search, &**store).await
            }
            Snapshot::Lance(held) => {
                let format = LanceFormat::new(held.scheme, &LANCE);
                let mut search = Find::new(&format, id.clone(), None).with_clocks_apart(trusted_ms);
                perform::find(&mut search, &**store).await
            }
        };
        found.map_err(|source| commit_error(store.root(), source))
    }
}
