//! What the handles of one table in one process share: whose turn it is, and the log entries seen lately.

use crate::TableError;
use bytes::Bytes;
use dashmap::DashMap;
use lakebed_lance::{Snapshot, VersionCache};
use lakebed_naming::Version;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Bytes of log entries kept for each table; older ones are read from the store again.
const ENTRIES_KEPT_BYTES_MAX: usize = 16 << 20;

/// Bytes of the entries whose decoded form is kept as well, which takes several times as much memory; the newest is always kept.
const DECODED_BYTES_MAX: usize = 4 << 20;

/// Finished work that is kept for who settles.
const WORK_KEPT_MAX: usize = 64;

/// Tables that are open in this process, by the root of their store.
static OPEN: LazyLock<DashMap<String, Weak<Shared>>> = LazyLock::new(DashMap::new);

/// Shared by all handles of one table in one process.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Writers of this process take turns: the log is written one entry at a time anyway, and who waits here neither
    /// sends a create that must fail nor lists the log to learn what its neighbour did.
    pub(crate) turn: tokio::sync::Mutex<()>,
    recent: Mutex<Recent>,
    /// Versions of a Lance table, decoded.
    decoded: Mutex<Decoded>,
    /// Work that follows commits and is still running.
    work: Mutex<Vec<Work>>,
}

/// Work that follows a commit.
pub(crate) type Work = tokio::task::JoinHandle<Result<(), TableError>>;

#[derive(Debug, Default)]
struct Decoded {
    versions: BTreeMap<Version, (Bytes, Arc<Snapshot>)>,
    size_bytes: usize,
}

#[derive(Debug, Default)]
struct Recent {
    entries: BTreeMap<Version, Bytes>,
    size_bytes: usize,
    /// The newest version known, and when the request that showed it was sent.
    newest: Option<(Version, u64)>,
}

/// The shared state of the table at this root; a new one where nobody has it open.
pub(crate) fn shared(root: &str) -> Arc<Shared> {
    let mut slot = OPEN.entry(root.to_owned()).or_default();
    slot.upgrade().unwrap_or_else(|| {
        let fresh = Arc::new(Shared::default());
        *slot = Arc::downgrade(&fresh);
        fresh
    })
}

/// Forgets tables that nobody has open any more.
pub(crate) fn sweep() {
    OPEN.retain(|_, shared| shared.strong_count() > 0);
}

impl Shared {
    /// Keeps an eye on work that follows a commit.
    pub(crate) fn keep(&self, work: Work) {
        let mut running = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        // What ended well needs no more attention; what failed is told to who settles.
        if running.len() > WORK_KEPT_MAX {
            running.retain(|work| !work.is_finished());
        }
        running.push(work);
    }

    /// Hands over the work that was kept.
    pub(crate) fn take_work(&self) -> Vec<Work> {
        std::mem::take(&mut *self.work.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers a log entry that stands in the history.
    pub(crate) fn remember(&self, version: Version, entry: Bytes) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.size_bytes += entry.len();
        if let Some(old) = recent.entries.insert(version, entry) {
            recent.size_bytes -= old.len();
        }
        while recent.size_bytes > ENTRIES_KEPT_BYTES_MAX {
            let Some((_, oldest)) = recent.entries.pop_first() else { break };
            recent.size_bytes -= oldest.len();
        }
    }

    /// Remembers the entries that a commit followed, and its own.
    pub(crate) fn landed(&self, followed: &[(Version, Bytes)], own: Option<(Version, &Bytes)>) {
        let followed = followed.iter().map(|(version, entry)| (*version, entry));
        for (version, entry) in followed.chain(own) {
            self.remember(version, entry.clone());
        }
    }

    /// Remembers that a version was the newest when a request sent at `asked_ms` was answered.
    pub(crate) fn saw_newest(&self, version: Version, asked_ms: u64) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.newest.is_none_or(|(known, at_ms)| (version, asked_ms) > (known, at_ms)) {
            recent.newest = Some((version, asked_ms));
        }
    }

    /// Takes in what a look at the whole place showed. Where it ends below what was known, the table may have been removed and
    /// made anew, and nothing of the old one's log may be taken for the new one's. (Forgetting is always safe.)
    pub(crate) fn found(&self, version: Version, asked_ms: u64) {
        if self.newest().is_some_and(|(known, _)| known > version) {
            self.forget();
        }
        self.saw_newest(version, asked_ms);
    }

    /// Forgets what was seen of the log.
    pub(crate) fn forget(&self) {
        *self.recent.lock().unwrap_or_else(PoisonError::into_inner) = Recent::default();
    }

    /// The newest version known in this process, and when it was known to be that.
    pub(crate) fn newest(&self) -> Option<(Version, u64)> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).newest
    }

    /// The entries above `base` up to the newest known version, when every one of them is held.
    pub(crate) fn entries_above(&self, base: Version) -> Vec<(Version, Bytes)> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((newest, _)) = recent.newest else { return Vec::new() };
        let mut held = Vec::new();
        let mut next = base.next();
        while let Some(version) = next.filter(|version| *version <= newest) {
            let Some(entry) = recent.entries.get(&version) else { return Vec::new() };
            held.push((version, entry.clone()));
            next = version.next();
        }
        held
    }
}

impl VersionCache for Shared {
    fn get(&self, at: Version, entry: &Bytes) -> Option<Arc<Snapshot>> {
        let decoded = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        decoded.versions.get(&at).filter(|(bytes, _)| bytes == entry).map(|(_, snapshot)| Arc::clone(snapshot))
    }

    fn put(&self, at: Version, entry: &Bytes, snapshot: &Arc<Snapshot>) {
        let mut decoded = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        decoded.size_bytes += entry.len();
        if let Some((old, _)) = decoded.versions.insert(at, (entry.clone(), Arc::clone(snapshot))) {
            decoded.size_bytes -= old.len();
        }
        while decoded.size_bytes > DECODED_BYTES_MAX && decoded.versions.len() > 1 {
            let Some((_, (oldest, _))) = decoded.versions.pop_first() else { break };
            decoded.size_bytes -= oldest.len();
        }
    }
}
