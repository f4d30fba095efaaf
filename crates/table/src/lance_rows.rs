//! Prepared transactions and row deletions on a Lance table, and configuration on both formats.

use crate::commit::Givers;
use crate::create::fresh_id;
use crate::delta_rows::bound_to;
use crate::history::POLICY_KEY;
use crate::lance_look::Looker;
use crate::load::lance::{format_error, load_version};
use crate::snapshot::{LanceVersion, Snapshot};
use crate::{CommitOptions, Report, Table, TableError, application, migrate, policy};
use futures::future::BoxFuture;
use lakebed_lance::proto::file::Field;
use lakebed_lance::proto::table::transaction::Operation;
use lakebed_lance::proto::table::{DataFragment, Transaction as Message};
use lakebed_lance::reuse::MovedRows;
use lakebed_lance::transaction::{Head, MapChange, MapChanges, append, delete, update_config};
use lakebed_lance::{LanceFormat, Pending, Reads, deletion};
use lakebed_naming::Version;
use lakebed_naming::lance::{DeletionFileName, DeletionKind};
use lakebed_ops::lance::deleted_rows;
use lakebed_transaction::{Expr, Outcome, ReadPredicate, RowSet, Scalar, TransactionId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of a transaction beside its message.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// The rows that it takes out, by fragment.
    pub(crate) affected: Option<BTreeMap<u64, RowSet>>,
    /// What it looked at.
    pub(crate) reads: Option<Reads>,
    /// The rows that a Rewrite moves, where indices are to be told.
    pub(crate) moved: Option<MovedRows>,
}

/// What becomes of the fragments that rows are taken out of.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Fragments with their new deletion files.
    pub(crate) updated: Vec<DataFragment>,
    /// Fragments without a live row.
    pub(crate) removed: Vec<u64>,
    /// The rows that go, by fragment.
    pub(crate) affected: BTreeMap<u64, RowSet>,
}

impl Table {
    /// Sets and removes table properties (Delta) or configuration keys (Lance).
    ///
    /// # Errors
    /// A property cannot be set on this table, or the store cannot be asked. Nothing was committed.
    pub async fn set_properties(
        &mut self,
        set: BTreeMap<String, String>,
        unset: Vec<String>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        if set.is_empty() && unset.is_empty() {
            let outcome = Outcome::Nothing { version: self.version() };
            return Ok(Report::of(outcome, TransactionId::new(fresh_id().to_string())));
        }
        policy::check(self.format(), &set)?;
        let held = match self.snapshot.clone() {
            Snapshot::Delta(held) => return self.set_delta_properties(&held, &set, &unset, commit).await,
            Snapshot::Lance(held) => held,
        };
        let removed = unset.into_iter().map(|key| (key, None));
        let entries = set.into_iter().map(|(key, value)| (key, Some(value))).chain(removed).collect();
        let config = Some(MapChange { entries, replace: false });
        let message = update_config(head(&held), MapChanges { config, ..MapChanges::default() });
        self.commit_lance(&held, message, Beside::default(), Givers::One, commit).await
    }

    /// Appends fragments whose data files somebody wrote into the table's `data/` folder (Lance).
    ///
    /// # Errors
    /// The table is no Lance table, or the store cannot be asked. Nothing was committed.
    pub async fn append_fragments(
        &mut self,
        fragments: Vec<DataFragment>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = self.lance_for("appending fragments")?;
        let message = append(head(&held), fragments);
        self.commit_lance(&held, message, Beside::default(), Givers::One, commit).await
    }

    /// Deletes rows by fragment and physical position (Lance): deletion files are written, fragments without a live row are
    /// taken out. Rows that are deleted already stay so. Deletions of other rows of the same fragments, by others, are merged
    /// by the rebase. `predicate` is kept for who reads the history; where it is one on the table's columns, the rows are taken for
    /// those that meet it, so that policies which judge rows mind others that landed meanwhile and meet it, too.
    ///
    /// # Errors
    /// The table is no Lance table, a fragment is not there, or the store cannot be asked. Nothing was committed.
    pub async fn delete_rows(
        &mut self,
        rows: BTreeMap<u64, RowSet>,
        predicate: &str,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = self.lance_for("deleting rows by position")?;
        let taken = self.take_out(&held, rows).await?;
        if taken.affected.is_empty() {
            let outcome = Outcome::Nothing { version: held.snapshot.version() };
            return Ok(Report::of(outcome, TransactionId::new(fresh_id().to_string())));
        }
        let message = delete(head(&held), taken.updated, taken.removed, predicate.to_owned());
        let reads = deleted_by(&held.snapshot, predicate).unwrap_or_else(rows_alone);
        let beside = Beside { affected: Some(taken.affected), reads: Some(reads), moved: None };
        self.commit_lance(&held, message, beside, Givers::One, commit).await
    }

    /// Writes the deletion files that take rows out of their fragments.
    pub(crate) async fn take_out(&self, held: &LanceVersion, rows: BTreeMap<u64, RowSet>) -> Result<Taken, TableError> {
        let mut taken = Taken::default();
        for (id, wanted) in rows {
            let fragment = held.snapshot.fragment(id).ok_or_else(|| TableError::Invalid {
                problem: format!("version {} has no fragment {id}", held.snapshot.version()),
                advice: "refresh the table and look its fragments up again".to_owned(),
            })?;
            let before = deleted_rows(self.store(), &held.snapshot, fragment).await?;
            let fresh = wanted.difference(&before);
            if fresh.is_empty() {
                continue;
            }
            let all = before.union(&fresh);
            taken.affected.insert(id, fresh);
            if fragment.physical_rows > 0 && all.len() >= fragment.physical_rows {
                taken.removed.push(id);
            } else {
                taken.updated.push(self.with_deletion_file(held, fragment, &all, before.is_empty()).await?);
            }
        }
        Ok(taken)
    }

    /// The fragment with a new deletion file, which is put here.
    pub(crate) async fn with_deletion_file(
        &self,
        held: &LanceVersion,
        fragment: &DataFragment,
        rows: &RowSet,
        first: bool,
    ) -> Result<DataFragment, TableError> {
        // A list that grew is always a bitmap.
        let kind = if first { deletion::fresh_kind(rows.len()) } else { DeletionKind::Bitmap };
        let name = DeletionFileName {
            fragment: fragment.id,
            read_version: held.snapshot.version(),
            id: self.place.draw_seed(),
            kind,
        };
        let bytes = deletion::encode(name.kind, rows).map_err(|source| format_error(&**self.store(), source))?;
        self.store().put(&name.path(), bytes).await?;
        Ok(DataFragment { deletion_file: Some(deletion::entry(&name, rows.len())), ..fragment.clone() })
    }

    /// Commits a prepared Lance transaction on the version that it names as the one it read.
    pub(crate) async fn commit_lance_message(
        &mut self,
        message: Message,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = self.lance_for("committing a Lance transaction")?;
        if message.read_version == 0 || message.operation.is_none() {
            return Err(TableError::Invalid {
                problem: "the transaction read no version of this table, or does nothing that is known".to_owned(),
                advice: "give a transaction that was built on a version of this table".to_owned(),
            });
        }
        let read = Version::new(message.read_version);
        let base = if read == held.snapshot.version() {
            held
        } else {
            load_version(&**self.store(), held.scheme, read).await?
        };
        let reads = match &message.operation {
            Some(Operation::Delete(delete)) => deleted_by(&base.snapshot, &delete.predicate),
            Some(_) | None => None,
        };
        let batch = application::of_lance(&message).map_err(|source| format_error(&**self.store(), source))?;
        let commit = CommitOptions { application: batch.or_else(|| commit.application.clone()), ..commit.clone() };
        let beside = Beside { reads, ..Beside::default() };
        let report = self.commit_lance(&base, message, beside, Givers::Several, &commit).await?;
        if let (Outcome::Conflict(_), Some(_)) = (&report.outcome, &commit.application) {
            // The batch may have landed in another transaction after the version that this one read.
            self.refresh().await?;
            return Ok(self.repeated(&commit).unwrap_or(report));
        }
        Ok(report)
    }

    /// Boxed, so that it is compiled here and not in each program that awaits it.
    pub(crate) fn commit_lance<'a>(
        &'a mut self,
        held: &'a LanceVersion,
        mut message: Message,
        beside: Beside,
        givers: Givers,
        commit: &'a CommitOptions,
    ) -> BoxFuture<'a, Result<Report, TableError>> {
        Box::pin(async move {
            if let Some(done) = application::repeated_on_lance(&held.snapshot, commit) {
                return Ok(done);
            }
            application::mark_lance(&mut message, commit);
            migrate::refuse_writing(&**self.store(), held.migrating)?;
            let judged_by = policy::lance(commit.policy.as_deref(), Some(held.snapshot.config()))?;
            if givers == Givers::One {
                message.transaction_properties.insert(POLICY_KEY.to_owned(), judged_by.label());
            }
            let id = TransactionId::new(message.uuid.clone());
            let restored = restored_by(&message);
            let place = Arc::clone(&self.place);
            let wrong = |source| format_error(&*place.store, source);
            let mut pending = Pending::new(Arc::clone(&held.snapshot), message, place.draw_seed()).map_err(wrong)?;
            if let Some(rows) = beside.affected {
                pending = pending.with_affected_rows(rows);
            }
            if let Some(reads) = beside.reads {
                pending = pending.with_reads(reads);
            }
            if let Some(moved) = beside.moved {
                pending = pending.with_moved_rows(moved);
            }
            if let Some(version) = restored {
                let old = load_version(&*place.store, held.scheme, version).await?;
                pending = pending.with_restored(old.snapshot);
            }
            let mut format = LanceFormat::judged_by(held.scheme, judged_by).with_cache(place.shared.clone());
            if let Some(files) = &place.lance_files {
                format = format.with_looker(Arc::new(Looker { files: Arc::clone(files) }));
            }
            let base = held.snapshot.version();
            let ended = place.run(format, pending, Some((base, self.known_ms(base))), givers, commit).await?;
            if let (Outcome::Committed { version, .. }, Some(entry)) = (&ended.outcome, &ended.entry) {
                let built = ended.pending.built(entry).cloned();
                let opened = built.or_else(|| {
                    let opened = lakebed_lance::Snapshot::open(&format!("version {version}"), entry);
                    opened.ok().map(Arc::new)
                });
                self.take_lance(held, *version, opened, ended.asked_ms);
                self.hint_at(held.scheme, *version);
            }
            Ok(Report::of(ended.outcome, id))
        })
    }

    /// Moves the handle to the version that ours created.
    fn take_lance(
        &mut self,
        held: &LanceVersion,
        version: Version,
        opened: Option<Arc<lakebed_lance::Snapshot>>,
        asked_ms: u64,
    ) {
        if let Some(snapshot) = opened.filter(|snapshot| snapshot.version() == version) {
            self.snapshot = Snapshot::Lance(LanceVersion { snapshot, scheme: held.scheme, migrating: false });
            self.asked_ms = asked_ms;
        }
    }

    pub(crate) fn lance_for(&self, what: &str) -> Result<LanceVersion, TableError> {
        match &self.snapshot {
            Snapshot::Lance(lance) => Ok(lance.clone()),
            Snapshot::Delta(_) => Err(TableError::Invalid {
                problem: format!("{what} needs a Lance table, and this is a Delta table"),
                advice: "use the statements of Delta tables".to_owned(),
            }),
        }
    }
}

pub(crate) fn head(held: &LanceVersion) -> Head {
    Head { read_version: Some(held.snapshot.version()), id: fresh_id(), properties: BTreeMap::new() }
}

/// What is looked for by who names rows by their places: no other row.
fn rows_alone() -> Reads {
    let none = ReadPredicate { partition: Vec::new(), data: vec![Expr::Literal(Scalar::Boolean(false))] };
    Reads { predicates: vec![none], all_met: true, ..Reads::nothing() }
}

/// What a Lance Delete says that it looked for on a version: every row that meets its predicate. `None`: the text cannot be read.
#[must_use]
pub fn deleted_by(version: &lakebed_lance::Snapshot, predicate: &str) -> Option<Reads> {
    let filter = bound_to(predicate, &version.columns().ok()?).ok()?;
    let field = |name: &Arc<str>| {
        let named = |field: &&Field| field.parent_id < 0 && field.name.eq_ignore_ascii_case(name);
        version.fields().iter().find(named).map(|field| i64::from(field.id))
    };
    let fields = filter.columns().into_iter().filter_map(<[_]>::first).map(field).collect();
    let predicates = vec![ReadPredicate { partition: Vec::new(), data: vec![filter] }];
    Some(Reads { predicates, all_met: true, fields, ..Reads::default() })
}

/// The version that a Restore makes current.
fn restored_by(message: &Message) -> Option<Version> {
    if let Some(Operation::Restore(restore)) = &message.operation { Some(Version::new(restore.version)) } else { None }
}
