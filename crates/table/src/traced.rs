//! Spans around what a commit and a load do: `commit`, in it `list`, `publish`, `confirm` and `withdraw` for requests and `judge` and
//! `rebase` for decisions, and `replay` for the loading of a version. All of target `lakebed`, so that one filter selects them.
//!
//! Fields hold names, numbers and the table's root as messages show it; never options, keys or the text of a URL as it was given.

use bytes::Bytes;
use lakebed_commit::{
    Fetched, Finished, Format, FormatError, Judged, Listed, Listing, ObjectName, Page, Parsed, Phase, Rebased, Rendered,
};
use lakebed_naming::Version;
use lakebed_transaction::{Outcome, TransactionId};
use std::future::Future;
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, debug_span, info_span};

/// The span of one commit; what is not known yet is recorded by [`ended`] and [`asked`].
pub(crate) fn commit<F: Format>(root: &str, format: &F, pending: &F::Pending, read_version: Option<Version>) -> Span {
    let read_version = read_version.map(Version::get);
    info_span!(target: "lakebed", "commit", root, policy = %format.policy(pending), ours = %format.describe_ours(pending), read_version, outcome = Empty, version = Empty, attempts = Empty, rebases = Empty, requests = Empty)
}

/// Records in the span of a commit how often it asked the store.
pub(crate) fn asked(requests: u64) {
    Span::current().record("requests", requests);
}

/// Records in the span of a commit how it ended.
pub(crate) fn ended<E>(span: &Span, answer: &Result<Outcome, E>, rebases: u32) {
    span.record("rebases", rebases);
    match answer {
        Ok(Outcome::Committed { version, attempts }) => {
            span.record("outcome", "committed").record("version", version.get()).record("attempts", *attempts);
        }
        Ok(Outcome::Nothing { .. }) => {
            span.record("outcome", "nothing");
        }
        Ok(Outcome::Conflict(_)) => {
            span.record("outcome", "conflict");
        }
        Ok(Outcome::Exhausted { .. }) => {
            span.record("outcome", "exhausted");
        }
        Ok(Outcome::Unknown { .. }) => {
            span.record("outcome", "unknown");
        }
        Err(_) => {
            span.record("outcome", "error");
        }
    }
}

/// The span of the requests that the machine hands out in one step.
pub(crate) fn step(phase: Phase, attempt: u32, requests: usize) -> Span {
    match phase {
        Phase::Listing => debug_span!(target: "lakebed", "list", attempt, requests),
        Phase::Following => debug_span!(target: "lakebed", "follow", attempt, requests),
        Phase::Publishing => debug_span!(target: "lakebed", "publish", attempt, requests),
        Phase::Confirming => debug_span!(target: "lakebed", "confirm", attempt, requests),
        Phase::Withdrawing => debug_span!(target: "lakebed", "withdraw", attempt, requests),
        Phase::Waiting => debug_span!(target: "lakebed", "wait", attempt),
    }
}

/// Runs the loading of a version in its span; [`replayed`] says what it came to.
pub(crate) fn replay<T>(format: &'static str, load: impl Future<Output = T>) -> impl Future<Output = T> {
    load.instrument(debug_span!(target: "lakebed", "replay", format, version = Empty, requests = Empty))
}

/// Records in the span of a loading the version and how many objects and pages were asked for.
pub(crate) fn replayed(version: Version, requests: usize) {
    Span::current().record("version", version.get()).record("requests", requests);
}

/// A format whose decisions have spans.
pub(crate) struct Traced<F>(pub(crate) F);

impl<F: Format> Format for Traced<F> {
    type Pending = F::Pending;
    type Landed = F::Landed;

    fn transaction_id<'a>(&self, pending: &'a Self::Pending) -> &'a TransactionId {
        self.0.transaction_id(pending)
    }

    fn policy(&self, pending: &Self::Pending) -> String {
        self.0.policy(pending)
    }

    fn describe_ours(&self, pending: &Self::Pending) -> String {
        self.0.describe_ours(pending)
    }

    fn describe_landed(&self, landed: &Self::Landed) -> String {
        self.0.describe_landed(landed)
    }

    fn first_version(&self) -> Version {
        self.0.first_version()
    }

    fn lists_first(&self) -> bool {
        self.0.lists_first()
    }

    fn entry_name(&self, version: Version) -> ObjectName {
        self.0.entry_name(version)
    }

    fn listing(&self, above: Option<Version>) -> Listing {
        self.0.listing(above)
    }

    fn read_page(&self, above: Option<Version>, page: &[Listed], limit: usize) -> Result<Page, FormatError> {
        self.0.read_page(above, page, limit)
    }

    fn render(&self, pending: &mut Self::Pending, at: Version, now_ms: u64) -> Result<Rendered, FormatError> {
        self.0.render(pending, at, now_ms)
    }

    fn parse(&self, at: Version, bytes: &Bytes, fetched: &Fetched) -> Result<Parsed<Self::Landed>, FormatError> {
        self.0.parse(at, bytes, fetched)
    }

    fn landed_transaction_id(&self, landed: &Self::Landed) -> Option<TransactionId> {
        self.0.landed_transaction_id(landed)
    }

    fn is_ours(&self, pending: &Self::Pending, landed: &Self::Landed) -> bool {
        self.0.is_ours(pending, landed)
    }

    fn judge(&self, pending: &Self::Pending, landed: &Self::Landed, fetched: &Fetched) -> Result<Judged, FormatError> {
        let span = debug_span!(target: "lakebed", "judge", landed = %self.0.describe_landed(landed), verdict = Empty);
        let _in = span.enter();
        let judged = self.0.judge(pending, landed, fetched)?;
        match &judged {
            Judged::Verdict(judgement) => span.record("verdict", display(&judgement.verdict)),
            Judged::Needs(_) => span.record("verdict", "needs more objects"),
        };
        Ok(judged)
    }

    fn rebase(
        &self,
        pending: &mut Self::Pending,
        landed: &Self::Landed,
        fetched: &Fetched,
    ) -> Result<Rebased, FormatError> {
        let _in = debug_span!(target: "lakebed", "rebase", over = %self.0.describe_landed(landed)).entered();
        self.0.rebase(pending, landed, fetched)
    }

    fn finish(&self, pending: &mut Self::Pending, fetched: &Fetched) -> Result<Finished, FormatError> {
        self.0.finish(pending, fetched)
    }
}
