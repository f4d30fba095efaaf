//! Does a store keep the promise of [`Store::create`] at all?

mod first_write;

pub use first_write::Probed;

use crate::task::to_the_end;
use crate::{Create, Store, StoreError};
use bytes::Bytes;
use futures::future::join_all;
use std::sync::Arc;

/// The folder in which [`probe_name`] puts the objects of probes: hidden to whoever reads tables, and removed at once.
pub const PROBE_FOLDER: &str = "_lakebed_probe";

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

/// What [`probe_race`] saw.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeRace {
    /// How many were told that they created the object: 1 on a store that keeps the promise, unless an answer got lost.
    pub winners: usize,
    /// How many had no clear answer.
    pub unclear: usize,
    /// Whether the bytes that stand there afterwards are those of the winner, or where nobody was told, of one who asked.
    pub kept: bool,
}

impl ProbeRace {
    /// What that says of the store.
    pub const fn verdict(&self) -> CreateProbe {
        if self.winners > 1 || !self.kept {
            CreateProbe::Broken
        } else if self.winners == 1 {
            CreateProbe::Kept
        } else {
            CreateProbe::Unclear
        }
    }
}

/// A name for the object of a probe that nobody else uses.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this crate is the edge where names for temporary objects are drawn")]
pub fn probe_name() -> String {
    format!("{PROBE_FOLDER}/{}", uuid::Uuid::new_v4())
}

/// Creates one object twice, compares, and removes it. Writes to the store: for opening to write, not for reading.
///
/// `name` must be one that nobody else uses, such as [`probe_name`] gives. A store that checks the condition but not
/// atomically passes; [`probe_race`] finds most of those.
///
/// # Errors
/// The store could not be asked, or refused.
pub async fn probe_create(store: &dyn Store, name: &str) -> Result<CreateProbe, StoreError> {
    let (first, second) = (Bytes::from_static(b"first"), Bytes::from_static(b"second"));
    let answer = store.create(name, first.clone()).await?;
    if matches!(answer, Create::NotNow { .. }) {
        return Ok(CreateProbe::Unclear);
    }
    let answers = (answer, store.create(name, second).await?);
    let bytes = store.get(name).await?;
    store.delete(name).await?;
    Ok(match answers {
        (Create::Created, Create::Exists) if bytes == Some(first) => CreateProbe::Kept,
        (Create::Created, Create::Exists | Create::Created) => CreateProbe::Broken,
        (Create::Created, Create::Unknown(_) | Create::NotNow { .. }) => CreateProbe::Unclear,
        (Create::Exists | Create::Unknown(_) | Create::NotNow { .. }, _) => CreateProbe::Unclear,
    })
}

/// Lets so many clients create one object at once, compares, and removes it. Writes to the store, as [`probe_create`] does.
///
/// A store that looks first and writes then lets several win in most races. One race that goes well proves nothing; for a backend of
/// your own run many, as `suite::race` does (feature `test-util`).
///
/// # Errors
/// The store could not be asked, or refused.
pub async fn probe_race(store: &Arc<dyn Store>, name: &str, clients: usize) -> Result<ProbeRace, StoreError> {
    let asked = (0..clients).map(|client| {
        let (store, name) = (Arc::clone(store), name.to_owned());
        to_the_end(async move { store.create(&name, bytes_of(client)).await })
    });
    let mut winner = None;
    // Who is told *exists* may have met its own object.
    let (mut winners, mut unclear, mut others, mut failed) = (0, 0, Vec::new(), None);
    for (client, answer) in join_all(asked).await.into_iter().enumerate() {
        match answer.map_err(|gone| gone.of(store.root(), name)).flatten() {
            Ok(Create::Created) => {
                winners += 1;
                winner = Some(client);
            }
            Ok(Create::Unknown(_) | Create::NotNow { .. }) => {
                unclear += 1;
                others.push(client);
            }
            Ok(Create::Exists) => others.push(client),
            Err(error) => failed = Some(error),
        }
    }
    let bytes = store.get(name).await?;
    store.delete(name).await?;
    if let Some(error) = failed {
        return Err(error);
    }
    let kept = match winner {
        Some(winner) => bytes == Some(bytes_of(winner)),
        None => bytes.is_none_or(|bytes| others.iter().any(|client| bytes == bytes_of(*client))),
    };
    Ok(ProbeRace { winners, unclear, kept })
}

fn bytes_of(client: usize) -> Bytes {
    format!("client {client}").into()
}
