//! Running one commit: in turn with the other writers of this process, on what they already know.

use crate::create::Place;
use crate::metrics::Told;
use crate::traced::{self, Traced};
use crate::{CommitOptions, TableError, perform};
use bytes::Bytes;
use lakebed_commit::{Backoff, Budget, Commit, Format, Freshness};
use lakebed_naming::Version;
use lakebed_transaction::Outcome;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tracing::Instrument as _;

/// How long a writer waits for its turn before it goes ahead without; the store decides in any case.
const TURN_WAIT: Duration = Duration::from_secs(10);

/// Who may have tried to commit the same transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Givers {
    /// This call alone: the id was drawn for it.
    One,
    /// Others before it: the transaction was prepared elsewhere.
    Several,
}

/// A commit that ended: the answer, and the entry if it landed.
pub(crate) struct Ended<P> {
    pub(crate) outcome: Outcome,
    /// The bytes of our entry, after `Committed`.
    pub(crate) entry: Option<Bytes>,
    /// The landed entries that ours was rebased over, ascending.
    pub(crate) followed: Vec<(Version, Bytes)>,
    /// When the commit began, so that its version is known to be the newest since then.
    pub(crate) asked_ms: u64,
    /// The transaction as it stands after all its rebases.
    pub(crate) pending: P,
}

impl Place {
    /// Runs a commit of `pending`, which was built on `base`: a version, and since when it is known that nothing follows it.
    pub(crate) async fn run<F: Format>(
        &self,
        format: F,
        pending: F::Pending,
        base: Option<(Version, u64)>,
        givers: Givers,
        options: &CommitOptions,
    ) -> Result<Ended<F::Pending>, TableError> {
        let turn = tokio::time::timeout(TURN_WAIT.min(options.timeout), self.shared.turn.lock()).await.ok();
        let (base, base_known_ms) = base.map_or((None, 0), |(version, known_ms)| (Some(version), known_ms));
        let trust_ms = u64::try_from(options.trust.as_millis()).unwrap_or(u64::MAX);
        let known = base.and_then(|base| self.known_newest(base, base_known_ms));
        let budget = Budget {
            rebases_max: options.rebases_max,
            elapsed_ms_max: u64::try_from(options.timeout.as_millis()).unwrap_or(u64::MAX),
            backoff: Backoff { seed: jitter_seed(), ..Backoff::default() },
            ..Budget::default()
        };
        let until_ms = known.map_or(0, |known_ms| known_ms.saturating_add(trust_ms));
        let held = base.map(|base| self.shared.entries_above(base)).unwrap_or_default();
        let told = self.metrics.as_ref().map(|metrics| {
            Told::begin(metrics, self.store.root(), format.policy(&pending), format.describe_ours(&pending))
        });
        let span = traced::commit(self.store.root(), &format, &pending, base);
        let mut commit = Commit::new(Traced(format), pending, base, Freshness { until_ms, for_ms: trust_ms }, budget)
            .with_landed(held);
        let asked_ms = self.clock.now_ms();
        let answer = perform::run(&mut commit, &*self.store, &self.clock).instrument(span.clone()).await;
        traced::ended(&span, &answer, commit.rebases());
        if let Some(told) = told {
            told.ended(&answer, commit.attempts(), commit.rebases());
        }
        drop(span);
        if let Ok(Outcome::Committed { version, .. }) = &answer {
            if base.is_none() {
                // What is known here is of a table that stood in this place before.
                self.shared.forget();
            }
            self.shared.landed(commit.followed(), commit.offered().map(|entry| (*version, entry)));
            self.shared.saw_newest(*version, asked_ms);
        }
        drop(turn);
        // Objects beside entries that certainly did not land. Who fails to remove them leaves them to a cleanup. A
        // transaction that may have been given before shares them with an entry of that earlier try, which may still land.
        if givers == Givers::One || matches!(answer, Ok(Outcome::Committed { .. })) {
            for name in commit.leftovers(&answer) {
                let _ = self.store.delete(name.as_str()).await;
            }
        }
        let outcome = answer.map_err(|source| TableError::Commit { root: self.store.root().to_owned(), source })?;
        let entry = match &outcome {
            Outcome::Committed { .. } => commit.offered().cloned(),
            Outcome::Nothing { .. } | Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Unknown { .. } => {
                None
            }
        };
        let followed = commit.followed().to_vec();
        let (_, pending) = commit.into_parts();
        Ok(Ended { outcome, entry, followed, asked_ms, pending })
    }

    /// Since when the version after `base` is known to be free: from the caller, or from what the neighbours saw when
    /// everything in between is held here.
    fn known_newest(&self, base: Version, known_ms: u64) -> Option<u64> {
        match self.shared.newest() {
            Some((newest, at_ms)) if newest > base => (!self.shared.entries_above(base).is_empty()).then_some(at_ms),
            Some((newest, at_ms)) if newest == base => Some(at_ms.max(known_ms)),
            Some(_) | None => Some(known_ms),
        }
    }

    /// A seed for the names of files.
    #[expect(clippy::disallowed_methods, reason = "the facade is where randomness enters")]
    pub(crate) fn draw_seed(&self) -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().1
    }
}

/// A seed for jitter: another one for each commit, and in each process; random once.
#[expect(clippy::disallowed_methods, reason = "the facade is where randomness enters")]
fn jitter_seed() -> u64 {
    static FIRST: LazyLock<u64> = LazyLock::new(|| uuid::Uuid::new_v4().as_u64_pair().1);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    FIRST.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
