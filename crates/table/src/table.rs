//! A handle on one table.

use crate::create::Place;
use crate::load;
use crate::migrate;
use crate::shared::{Shared, shared, sweep};
use crate::snapshot::{LanceVersion, Snapshot};
use crate::tailed::Tailed;
use crate::time_travel::{Late, stamped_from};
use crate::{OpenOptions, TableError, TableFormat, VersionSpec};
use lakebed_delta::LogTail;
use lakebed_naming::Version;
use lakebed_storage::Store;
use std::sync::Arc;

/// A handle on one table: its store, and the newest version that this handle knows.
///
/// Reading never writes. Handles of one table in one process share what they learn of the log, unless they were opened
/// isolated.
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) place: Arc<Place>,
    pub(crate) snapshot: Snapshot,
    /// When the request was sent that showed the snapshot to be the newest version.
    pub(crate) asked_ms: u64,
}

impl Table {
    /// Opens the table at a local path or URL, at its newest version.
    ///
    /// # Errors
    /// There is no table, the store cannot be asked, or the table needs a feature that is not known here.
    pub async fn open(url: &str, options: &OpenOptions) -> Result<Self, TableError> {
        let store = options.open_store(url)?;
        let shared = sharing(&by_url(&*store, options), options);
        let table = Self::open_at(Place::new(store, shared, options), options).await?;
        table.below_its_table(url, options)
    }

    /// Opens the table in a store of the caller's.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub async fn open_store(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Self, TableError> {
        let shared = sharing(&by_store(&store), options);
        let store = options.seen(store)?;
        Self::open_at(Place::new(store, shared, options), options).await
    }

    pub(crate) async fn open_at(mut place: Place, options: &OpenOptions) -> Result<Self, TableError> {
        if let Some(tail) = &options.log_tail {
            // Another answer of the catalog is another view of the log, so nothing is shared with handles that have none.
            place.store = Arc::new(Tailed::new(place.store, tail.clone()));
            place.shared = Arc::default();
            place.tail = Some(tail.clone());
        }
        place.lance_files = place.lance_files.or_else(|| options.lance_files.clone());
        place.metrics = place.metrics.or_else(|| options.metrics.clone());
        let asked_ms = place.clock.now_ms();
        let Some(snapshot) = newest(&*place.store, options.format, place.tail.as_ref()).await? else {
            let looked_for =
                options.format.map_or("Delta or Lance table".to_owned(), |format| format!("{format} table"));
            return Err(TableError::NotATable {
                root: place.store.root().to_owned(),
                looked_for,
                found: found(&*place.store),
            });
        };
        let table = Self { place: Arc::new(place), snapshot, asked_ms };
        table.place.shared.found(table.version(), asked_ms);
        Ok(table)
    }

    /// The format.
    #[must_use]
    pub const fn format(&self) -> TableFormat {
        self.snapshot.format()
    }

    /// The newest version that this handle knows.
    #[must_use]
    pub fn version(&self) -> Version {
        self.snapshot.version()
    }

    /// The newest version that this handle knows, loaded.
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.place.store
    }

    /// Looks for newer versions; whether there was one. One request when there is none.
    ///
    /// # Errors
    /// The store cannot be asked, or a newer version cannot be read.
    pub async fn refresh(&mut self) -> Result<bool, TableError> {
        let asked_ms = self.place.clock.now_ms();
        let newer = match &self.snapshot {
            Snapshot::Delta(held) => {
                load::delta::newer(&*self.place.store, held, self.place.tail.as_ref()).await?.map(Snapshot::Delta)
            }
            Snapshot::Lance(held) => self.newer_lance(held).await?.map(Snapshot::Lance),
        };
        let changed = newer.is_some();
        if let Some(newer) = newer {
            self.snapshot = newer;
        }
        self.asked_ms = asked_ms;
        self.place.shared.saw_newest(self.version(), asked_ms);
        Ok(changed)
    }

    async fn newer_lance(&self, held: &LanceVersion) -> Result<Option<LanceVersion>, TableError> {
        let (store, look) = (&*self.place.store, load::Look::begin());
        match load::lance::newest(store).await? {
            Some(found) if migrate::is_other(&found, held) => {
                let loaded = load::lance::load_found(store, found).await?;
                if look.is_late() { load::lance::load(store, None).await } else { Ok(Some(loaded)) }
            }
            Some(_) => Ok(None),
            None => Err(self.vanished()),
        }
    }

    pub(crate) fn vanished(&self) -> TableError {
        TableError::NotATable {
            root: self.place.store.root().to_owned(),
            looked_for: "table any more".to_owned(),
            found: found(&*self.place.store),
        }
    }

    /// The version asked for, loaded.
    ///
    /// # Errors
    /// The version is not there (any more), or cannot be read.
    pub async fn at(&self, spec: VersionSpec) -> Result<Snapshot, TableError> {
        let version = match spec {
            VersionSpec::Newest => {
                let mut newest = self.clone();
                newest.refresh().await?;
                return Ok(newest.snapshot);
            }
            VersionSpec::Number(number) => Version::new(number),
            VersionSpec::AtMs(at_ms) => self.version_at(at_ms, Late::Refused).await?,
            VersionSpec::UpToMs(at_ms) => self.version_at(at_ms, Late::Newest).await?,
        };
        self.load(version).await
    }

    pub(crate) async fn load(&self, version: Version) -> Result<Snapshot, TableError> {
        match &self.snapshot {
            snapshot if snapshot.version() == version => Ok(snapshot.clone()),
            Snapshot::Delta(newest) => {
                let found = load::delta::load(&*self.place.store, Some(version), self.place.tail.as_ref()).await?;
                let mut found = found.ok_or_else(|| self.vanished())?;
                found.by_file_time =
                    stamped_from(newest.snapshot.metadata()).is_none_or(|from| found.snapshot.version() < from);
                Ok(Snapshot::Delta(found))
            }
            Snapshot::Lance(held) => {
                let mut loaded = load::lance::load_version(&*self.place.store, held.scheme, version).await?;
                loaded.migrating |= held.migrating;
                Ok(Snapshot::Lance(loaded))
            }
        }
    }

    /// Since when this handle knows that nothing followed `version`; 0 when that is not its snapshot.
    pub(crate) fn known_ms(&self, version: Version) -> u64 {
        if self.version() == version { self.asked_ms } else { 0 }
    }
}

/// What handles share, by the identity of the place.
pub(crate) fn sharing(identity: &str, options: &OpenOptions) -> Arc<Shared> {
    if options.isolated {
        return Arc::default();
    }
    sweep();
    shared(identity)
}

/// The identity of a place that was opened by its URL: the same URL with other options may be another place.
pub(crate) fn by_url(store: &dyn Store, options: &OpenOptions) -> String {
    format!("{} with {}", store.root(), options.identity())
}

/// The identity of a store of the caller's: the store object itself. It lives as long as a handle does, so no other can
/// take its address meanwhile.
pub(crate) fn by_store(store: &Arc<dyn Store>) -> String {
    format!("store {:p}", Arc::as_ptr(store).cast::<()>())
}

/// The newest version of whichever format is there. The format that the place's name suggests is looked for first.
async fn newest(
    store: &dyn Store,
    format: Option<TableFormat>,
    tail: Option<&LogTail>,
) -> Result<Option<Snapshot>, TableError> {
    let lance_first = store.root().trim_end_matches('/').ends_with(".lance");
    let order = match format {
        Some(format) => vec![format],
        None if lance_first => vec![TableFormat::Lance, TableFormat::Delta],
        None => vec![TableFormat::Delta, TableFormat::Lance],
    };
    for format in order {
        let found = match format {
            TableFormat::Delta => load::delta::load(store, None, tail).await?.map(Snapshot::Delta),
            TableFormat::Lance => load::lance::load(store, None).await?.map(Snapshot::Lance),
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What stands on local disk where no table is, for a message.
fn found(store: &dyn Store) -> String {
    let Some(folder) = store.local_folder() else { return String::new() };
    let log = folder.join(lakebed_naming::delta::LOG_FOLDER);
    let what = match std::fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "the folder does not exist".to_owned(),
        Err(error) => format!("the folder cannot be read: {error}"),
        Ok(what) if !what.is_dir() => "this is a file, not a folder".to_owned(),
        Ok(_) if log.is_dir() => format!("the folder {} has no commit", lakebed_naming::delta::LOG_FOLDER),
        Ok(_) => "the folder holds neither _delta_log nor _versions".to_owned(),
    };
    format!(" ({what})")
}
