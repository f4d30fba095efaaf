//! Does a store keep the promise of [`Store::create`] at all?

use crate::{Create, Store, StoreError};
use bytes::Bytes;

/// What a probe found.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateProbe {
    /// The second create was refused and the first one's bytes stayed.
    Kept,
    /// The second create was taken for the first, or its bytes replaced the first one's: two writers of one version would
    /// both be told that they committed. Such a store is fit for a single writer only.
    Broken,
    /// The store did not answer clearly.
    Unclear,
}

/// Creates one object twice, compares, and removes it. Writes to the store: for opening to write, not for reading.
///
/// `name` must be one that nobody else uses, for instance with a random part. A store that checks the condition but not
/// atomically passes; only racing it (`suite::race`, feature `test-util`) shows that.
///
/// # Errors
/// The store could not be asked, or refused.
pub async fn probe_create(store: &dyn Store, name: &str) -> Result<CreateProbe, StoreError> {
    let (first, second) = (Bytes::from_static(b"first"), Bytes::from_static(b"second"));
    let answers = (store.create(name, first.clone()).await?, store.create(name, second).await?);
    let bytes = store.get(name).await?;
    store.delete(name).await?;
    Ok(match answers {
        (Create::Created, Create::Exists) if bytes == Some(first) => CreateProbe::Kept,
        (Create::Created, Create::Exists | Create::Created) => CreateProbe::Broken,
        (Create::Created, Create::Unknown(_) | Create::NotNow { .. }) => CreateProbe::Unclear,
        (Create::Exists | Create::Unknown(_) | Create::NotNow { .. }, _) => CreateProbe::Unclear,
    })
}
