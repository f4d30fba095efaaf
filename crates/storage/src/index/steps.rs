//! The four steps of a create, and what is done about those that others left unfinished.

use super::{Entry, Indexed, Keeps, Reserve};
use crate::{Create, StoreError};
use bytes::Bytes;

impl Indexed {
    /// Stage, reserve, finalise, confirm.
    pub(super) async fn create_kept(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        // Whoever reads without the index sees no gap below ours then.
        self.finish_all().await?;
        // It may be older than the index, or its row may be gone.
        if self.store.head(name).await?.is_some() {
            return Ok(Create::Exists);
        }
        let entry = self.new_entry(name, &bytes);
        let staged = self.inside(&entry.staged)?;
        if let Err(error) = self.store.put(staged, bytes).await {
            // It is named by nobody.
            let _ = self.store.delete(staged).await;
            return not_now(error);
        }
        match self.index.reserve(&self.table, &entry).await {
            Ok(Reserve::Reserved) => self.finalise(&entry).await,
            Ok(Reserve::Taken(by)) if by.staged == entry.staged => self.finalise(&entry).await,
            Ok(Reserve::Taken(by)) => {
                let _ = self.store.delete(staged).await;
                self.taken(name, &by).await
            }
            Ok(Reserve::Unknown(said)) => Ok(Create::Unknown(said)),
            Err(error) => {
                let _ = self.store.delete(staged).await;
                not_now(error)
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "each try stages under a name of its own")]
    fn new_entry(&self, name: &str, bytes: &Bytes) -> Entry {
        let (name, id) = (self.outside(name), uuid::Uuid::new_v4().to_string());
        let staged = self.index.staged(&name, &id);
        let size_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Entry { name, staged, size_bytes, confirmed: false }
    }

    /// The name is ours: what fails from here on can be made up for by whoever comes next.
    async fn finalise(&self, entry: &Entry) -> Result<Create, StoreError> {
        match self.finish(entry).await {
            Ok(()) => Ok(Create::Created),
            Err(error) => Ok(Create::Unknown(format!("reserved, and not finalised: {error}"))),
        }
    }

    /// A confirmed name without an object will never get one.
    async fn taken(&self, name: &str, by: &Entry) -> Result<Create, StoreError> {
        if !by.confirmed || self.store.head(name).await?.is_some() {
            return Ok(Create::Exists);
        }
        match self.index.get(&self.table, &by.name).await? {
            Some(still) if still == *by && self.store.head(name).await?.is_none() => Err(self.broken(
                name,
                "the index says that it was created, but it is not there; if the table was removed, remove the rows of its \
                 key from the index",
            )),
            Some(_) | None => Ok(Create::Exists),
        }
    }

    /// Steps three and four, for whoever reserved the name. Any number of clients may do it at once.
    pub(super) async fn finish(&self, entry: &Entry) -> Result<(), StoreError> {
        let (name, staged) = (self.inside(&entry.name)?, self.inside(&entry.staged)?);
        // What stands there is this entry's bytes, or was put over them.
        if self.store.head(name).await?.is_none() {
            match self.store.copy(staged, name).await {
                // Another client was faster, and has removed what was staged.
                Err(StoreError::Absent { .. }) if self.store.head(name).await?.is_some() => {}
                Err(StoreError::Absent { .. }) => {
                    return Err(self.bodiless(name));
                }
                copied => copied?,
            }
        }
        // From here on nothing can fail that matters: the object is there.
        if self.index.confirm(&self.table, entry).await.is_ok() {
            let _ = self.store.delete(staged).await;
        }
        Ok(())
    }

    /// Finishes what writers of this table began and did not end.
    pub(super) async fn finish_all(&self) -> Result<(), StoreError> {
        for entry in self.index.latest(&self.table).await? {
            if self.inside(&entry.name).is_ok() {
                self.finish(&entry).await?;
            }
        }
        Ok(())
    }

    /// Frees a name: its entry first, so that no row stands for an object that is gone, and no row for a body that is.
    pub(super) async fn free(&self, name: &str) -> Result<(), StoreError> {
        self.keep_body(name).await?;
        if self.index.keeps(&self.outside(name)) != Keeps::Name {
            return Ok(());
        }
        let Some(entry) = self.index.get(&self.table, &self.outside(name)).await? else { return Ok(()) };
        if !entry.confirmed {
            // Nobody may finish it once its object is gone.
            self.finish(&entry).await?;
        }
        self.index.release(&self.table, &entry).await
    }

    /// The entry for whose name an object may have been staged.
    async fn entry_of_staged(&self, staged: &str) -> Result<Option<Entry>, StoreError> {
        match self.index.staged_for(&self.outside(staged)) {
            Some(name) if self.index.keeps(&name) == Keeps::Name => self.index.get(&self.table, &name).await,
            Some(_) | None => Ok(None),
        }
    }

    /// Whether somebody who died left this object behind: it was staged for a name that has its bytes already, or others.
    pub(super) async fn is_left_behind(&self, staged: &str) -> Result<bool, StoreError> {
        let entry = self.entry_of_staged(staged).await?;
        Ok(entry.is_some_and(|entry| entry.confirmed || entry.staged != self.outside(staged)))
    }

    /// Before an object goes: where it holds the bytes of a reserved name, that name gets them.
    pub(super) async fn keep_body(&self, name: &str) -> Result<(), StoreError> {
        let entry = self.entry_of_staged(name).await?;
        match entry.filter(|entry| !entry.confirmed && entry.staged == self.outside(name)) {
            Some(entry) => self.finish(&entry).await,
            None => Ok(()),
        }
    }

    /// The object that holds the bytes of a name that is reserved and not finalised.
    pub(super) async fn reserved(&self, name: &str) -> Result<Option<Entry>, StoreError> {
        let outside = self.outside(name);
        if self.index.keeps(&outside) != Keeps::Name {
            return Ok(None);
        }
        Ok(self.index.get(&self.table, &outside).await?.filter(|entry| !entry.confirmed))
    }

    /// A name that is reserved and can never be finalised.
    pub(super) fn bodiless(&self, name: &str) -> StoreError {
        self.broken(
            name,
            "it is reserved, and neither it nor what was staged for it is there; bring one of them back, or remove its row from \
             the index",
        )
    }

    pub(super) fn broken(&self, name: &str, problem: &str) -> StoreError {
        let problem = format!("{problem} (index {}, table {})", self.index.location(), self.table);
        StoreError::Failed { root: self.store.root().to_owned(), name: name.to_owned(), source: problem.into() }
    }

    pub(super) fn unfit(&self, name: &str) -> StoreError {
        StoreError::Unusable {
            url: self.index.location().to_owned(),
            problem: format!("its layout has no place for {name}, on which commits of this table stand"),
            advice: "use an index whose layout is that of the table's format".to_owned(),
        }
    }
}

/// Nothing was reserved, so a store or an index that is busy may simply be asked again.
fn not_now(error: StoreError) -> Result<Create, StoreError> {
    if matches!(error, StoreError::Busy { .. }) {
        return Ok(Create::NotNow { after_ms: 0 });
    }
    Err(error)
}
