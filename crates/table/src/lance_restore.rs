//! Restoring a Lance table to an old version.

use crate::commit::Givers;
use crate::create::fresh_id;
use crate::lance_rows::{Beside, head};
use crate::load::list_all;
use crate::snapshot::{LanceVersion, Snapshot};
use crate::{CommitOptions, Report, Table, TableError, VersionSpec};
use lakebed_lance::transaction::restore;
use lakebed_transaction::{Outcome, TransactionId};
use std::collections::BTreeSet;

/// So many missing objects are named; the others are counted.
const NAMED_MAX: usize = 10;

/// The folders of what a version names.
const FOLDERS: [&str; 2] = ["data", "_deletions"];

impl Table {
    /// Commits a new version that equals an old one of a Lance table. Its counters go on, so that no id is given twice.
    ///
    /// # Errors
    /// The version is not there, files of it are gone, or the store cannot be asked. Nothing was committed.
    pub(crate) async fn restore_lance(
        &mut self,
        to: VersionSpec,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = self.lance_for("restoring a Lance version")?;
        let Snapshot::Lance(old) = self.at(to).await? else { return Err(self.vanished()) };
        if old.snapshot.version() == held.snapshot.version() {
            let outcome = Outcome::Nothing { version: held.snapshot.version() };
            return Ok(Report::of(outcome, TransactionId::new(fresh_id().to_string())));
        }
        self.refuse_missing_files(&old).await?;
        let message = restore(head(&held), old.snapshot.version());
        self.commit_lance(&held, message, Beside::default(), Givers::One, commit).await
    }

    /// A version whose files a cleanup began to remove cannot come back.
    async fn refuse_missing_files(&self, old: &LanceVersion) -> Result<(), TableError> {
        let store = &**self.store();
        let wrong = |source| crate::load::lance::format_error(store, source);
        let mut there = BTreeSet::new();
        for folder in FOLDERS {
            there.extend(list_all(store, folder, None).await?.into_iter().map(|listed| listed.name));
        }
        let mut missing = Vec::new();
        for fragment in old.snapshot.fragments() {
            let own = fragment.files.iter().filter(|file| file.base_id.is_none());
            for file in own {
                missing.push(old.snapshot.data_object(file).map_err(wrong)?);
            }
            if fragment.deletion_file.is_some_and(|file| file.base_id.is_none()) {
                missing.extend(old.snapshot.deletion_object(fragment).map_err(wrong)?);
            }
        }
        missing.retain(|name| !there.contains(name.as_str()));
        if missing.is_empty() {
            return Ok(());
        }
        let named = missing.iter().take(NAMED_MAX).map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let more = missing.len().saturating_sub(NAMED_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Err(TableError::Unavailable {
            root: store.root().to_owned(),
            problem: format!(
                "version {} cannot be restored, for files of it are gone: {named}{more}; nothing was written",
                old.snapshot.version()
            ),
            advice: "restore a younger version, or bring the files back".to_owned(),
        })
    }
}
