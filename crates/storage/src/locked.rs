//! Create-if-absent out of a lock.

use crate::name::check_name;
use crate::task::to_the_end;
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often the put under a held lock is sent before the answer is *unknown*.
const PUTS_MAX: u32 = 3;

/// What a lock answers.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locked {
    /// The key is the caller's until it gives this token back.
    Held {
        /// What tells this holder from every other.
        token: String,
    },
    /// Another one holds the key; ask again, not before `after_ms` milliseconds.
    Busy {
        /// How long to wait, in milliseconds.
        after_ms: u64,
    },
}

/// A lock that the user brings, for a store that cannot create atomically and where there is no database for a
/// [`crate::CommitIndex`] either (ZooKeeper, etcd, Consul, a file server's own locks, …).
///
/// # What it has to promise
/// - Of all clients of the store, one at a time holds a key.
/// - A key is held until its holder gives it back, or is *certainly* dead, its requests included. **A lease that runs out by the clock
///   promises less**: a holder that was paused, or whose put is still on its way, writes over what the next holder wrote. Who takes such
///   a lock anyway makes the lease far longer than any request lives (client timeouts and the server's together), and renews it.
/// - [`CommitLock::unlock`] with a token that is not the holder's changes nothing.
///
/// An external index ([`crate::Indexed`]) needs no such promise about time, because there the row that is inserted decides; prefer
/// it where there is a choice.
#[async_trait]
pub trait CommitLock: Send + Sync + fmt::Debug {
    /// Takes the key, if nobody holds it. Keys are the root of the store, `/`, and the name of the object.
    ///
    /// # Errors
    /// The lock could not be asked; the key may be held for nobody until whoever keeps the lock frees it.
    async fn try_lock(&self, key: &str) -> Result<Locked, StoreError>;

    /// Gives the key back.
    ///
    /// # Errors
    /// The lock could not be asked; the key may still be held.
    async fn unlock(&self, key: &str, token: &str) -> Result<(), StoreError>;
}

/// A lock for writers that all live in this process: the reference implementation, and the one for tests.
#[derive(Clone, Debug, Default)]
pub struct ProcessLock {
    held: Arc<Mutex<(u64, HashMap<String, u64>)>>,
}

impl ProcessLock {
    /// A lock of which no key is held.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn held(&self) -> MutexGuard<'_, (u64, HashMap<String, u64>)> {
        // A panic while the lock was held cannot leave the map half changed.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl CommitLock for ProcessLock {
    async fn try_lock(&self, key: &str) -> Result<Locked, StoreError> {
        let mut held = self.held();
        if held.1.contains_key(key) {
            return Ok(Locked::Busy { after_ms: 1 });
        }
        held.0 += 1;
        let token = held.0;
        held.1.insert(key.to_owned(), token);
        Ok(Locked::Held { token: token.to_string() })
    }

    async fn unlock(&self, key: &str, token: &str) -> Result<(), StoreError> {
        let mut held = self.held();
        if held.1.get(key).is_some_and(|holder| holder.to_string() == token) {
            held.1.remove(key);
        }
        Ok(())
    }
}

/// A [`Store`] whose creates look and put under a lock.
///
/// # How an object is created
/// 1. *Lock* the object's name; where another one holds it, the answer is [`Create::NotNow`].
/// 2. *Look*: where an object stands, the answer is [`Create::Exists`].
/// 3. *Put*, up to three times where that is not answered.
/// 4. *Unlock*.
///
/// The steps run to their end even if the caller is dropped. Where the put stays unanswered the answer is [`Create::Unknown`] and
/// **the lock stays held**, because the put may still land and must not land over what another one wrote. A create of the same
/// bytes under the same name looks what stands there by now, and takes up where that one stopped; any other is told *not now*.
///
/// # Guarantee
/// That of the lock, which says what it has to promise, and only among writers that take it. Of the store it asks for whole objects,
/// and that what was put is seen by every later look. Writers that do not take the lock are neither held off nor seen.
#[derive(Clone, Debug)]
pub struct LockedCreate {
    store: Arc<dyn Store>,
    lock: Arc<dyn CommitLock>,
    unsettled: Unsettled,
}

/// Names whose put was not answered: the token of the lock, and the bytes.
type Unsettled = Arc<Mutex<HashMap<String, (String, Bytes)>>>;

impl LockedCreate {
    /// `store` with creates under `lock`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, lock: Arc<dyn CommitLock>) -> Self {
        Self { store, lock, unsettled: Unsettled::default() }
    }

    /// The names whose lock stays held because a put was not answered.
    #[must_use]
    pub fn unsettled(&self) -> HashSet<String> {
        self.pending().keys().cloned().collect()
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<String, (String, Bytes)>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.store.root().trim_end_matches('/'))
    }

    /// Whether this object holds the lock of the name for these bytes already.
    fn taken_up(&self, name: &str, bytes: &Bytes) -> Option<String> {
        let mut pending = self.pending();
        let fits = pending.get(name).is_some_and(|(_, unanswered)| unanswered == bytes);
        if fits { pending.remove(name).map(|(token, _)| token) } else { None }
    }

    async fn steps(self, name: String, bytes: Bytes) -> Result<Create, StoreError> {
        let key = self.key(&name);
        if let Some(token) = self.taken_up(&name, &bytes) {
            return self.take_up(&key, token, name, bytes).await;
        }
        let token = match self.lock.try_lock(&key).await {
            Ok(Locked::Held { token }) => token,
            Ok(Locked::Busy { after_ms }) => return Ok(Create::NotNow { after_ms }),
            Err(StoreError::Busy { .. }) => return Ok(Create::NotNow { after_ms: 0 }),
            Err(error) => return Err(error),
        };
        match self.store.head(&name).await {
            Ok(None) => self.put_and_unlock(&key, token, name, bytes).await,
            Ok(Some(_)) => {
                self.unlock(&key, &token).await;
                Ok(Create::Exists)
            }
            Err(error) => {
                self.unlock(&key, &token).await;
                Err(error)
            }
        }
    }

    /// Looks once more: the put may have landed meanwhile, and so may another one's where the lock kept less than it promised.
    async fn take_up(&self, key: &str, token: String, name: String, bytes: Bytes) -> Result<Create, StoreError> {
        let answer = match self.store.get(&name).await {
            Ok(None) => return self.put_and_unlock(key, token, name, bytes).await,
            Ok(Some(found)) if found == bytes => Create::Created,
            Ok(Some(_)) => Create::Exists,
            Err(error) => {
                self.pending().insert(name, (token, bytes));
                return Ok(Create::Unknown(error.to_string()));
            }
        };
        self.unlock(key, &token).await;
        Ok(answer)
    }

    async fn put_and_unlock(&self, key: &str, token: String, name: String, bytes: Bytes) -> Result<Create, StoreError> {
        let (mut said, mut was_sent) = (String::new(), false);
        for _ in 0..PUTS_MAX {
            let error = match self.store.put(&name, bytes.clone()).await {
                Ok(()) => {
                    self.unlock(key, &token).await;
                    return Ok(Create::Created);
                }
                Err(error) => error,
            };
            if !was_sent && matches!(error, StoreError::Denied { .. } | StoreError::Unusable { .. }) {
                self.unlock(key, &token).await;
                return Err(error);
            }
            was_sent |= !matches!(error, StoreError::Busy { .. });
            said = error.to_string();
        }
        if !was_sent {
            self.unlock(key, &token).await;
            return Ok(Create::NotNow { after_ms: 0 });
        }
        self.pending().insert(name, (token, bytes));
        Ok(Create::Unknown(said))
    }

    /// Who cannot give a lock back leaves it to whoever keeps it; the object is decided.
    async fn unlock(&self, key: &str, token: &str) {
        let _ = self.lock.unlock(key, token).await;
    }
}

#[async_trait]
impl Store for LockedCreate {
    fn root(&self) -> &str {
        self.store.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.store.get(name).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.store.get_range(name, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.store.head(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.store.list(prefix, after, limit).await
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.store.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        check_name(name)?;
        match to_the_end(self.clone().steps(name.to_owned(), bytes)).await {
            Ok(answer) => answer,
            Err(gone) => Ok(Create::Unknown(gone.of(self.root(), name).to_string())),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.store.copy(from, to).await
    }

    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        self.store.swap(name, old, new).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.store.delete(name).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.store.delete_all(names).await
    }

    fn local_folder(&self) -> Option<&Path> {
        self.store.local_folder()
    }

    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        self.store.strays().await
    }
}
