//! Commits outside of the history of a Lance table.

use crate::load::lance::{format_error, load_version};
use crate::snapshot::LanceVersion;
use crate::{Prepared, Table, TableError, migrate, prepared_checks};
use lakebed_lance::{Pending, render_detached};
use lakebed_naming::lance::{DetachedVersion, ManifestName, Scheme};
use lakebed_storage::Create;
use std::sync::Arc;

/// Numbers tried before it is given up: each is taken once in 2⁶³.
const NUMBERS_MAX: usize = 5;

impl Table {
    /// Commits a prepared Lance transaction as a version outside of the history, on the version that it read, which may be
    /// outside of it too. Nothing that landed since is looked at. The version is found again only by its number.
    ///
    /// # Errors
    /// The table's names are of the old scheme, the transaction does not fit, or the store cannot be asked.
    pub async fn commit_detached(&self, prepared: &Prepared) -> Result<LanceVersion, TableError> {
        let held = self.lance_for("committing a detached version")?;
        let Prepared::LanceTransaction(bytes) = prepared else {
            return Err(TableError::Invalid {
                problem: "Delta actions cannot be committed to a Lance table".to_owned(),
                advice: "give a Lance transaction message (.txn)".to_owned(),
            });
        };
        let store = &**self.store();
        migrate::refuse_writing(store, held.migrating)?;
        if held.scheme == Scheme::V1 {
            return Err(TableError::Invalid {
                problem: "detached versions need manifests with V2 names".to_owned(),
                advice: "run migrate-naming first".to_owned(),
            });
        }
        let wrong = |source| format_error(store, source);
        let transaction =
            lakebed_lance::transaction::Transaction::decode("the prepared transaction", bytes).map_err(wrong)?;
        prepared_checks::known(&transaction)?;
        let base = load_version(store, held.scheme, transaction.read_version()).await?;
        let pending = Pending::new(base.snapshot, transaction.message().clone(), 0).map_err(wrong)?;
        for _ in 0..NUMBERS_MAX {
            let number = DetachedVersion::from_random(self.place.draw_seed());
            let rendered = render_detached(&pending, number, self.place.clock.now_ms()).map_err(wrong)?;
            for (name, bytes) in rendered.side {
                store.put(name.as_str(), bytes).await?;
            }
            let name = ManifestName::Detached(number).path().unwrap_or_default();
            let there = match store.create(&name, rendered.entry.clone()).await? {
                Create::Created => true,
                Create::Exists | Create::Unknown(_) => store.get(&name).await? == Some(rendered.entry.clone()),
                Create::NotNow { .. } => false,
            };
            if there {
                let snapshot = lakebed_lance::Snapshot::open(&name, &rendered.entry).map_err(wrong)?;
                return Ok(LanceVersion { snapshot: Arc::new(snapshot), scheme: Scheme::V2, migrating: false });
            }
        }
        Err(TableError::Unavailable {
            root: store.root().to_owned(),
            problem: "no detached version could be written".to_owned(),
            advice: "try again".to_owned(),
        })
    }
}
