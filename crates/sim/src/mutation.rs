//! Deliberate faults in the machine, to see that the auditor finds them.
//!
//! Each stands where the machine meets its world: between it and the format, or between it and the store. None of them touches
//! the product.

use bytes::Bytes;
use lakebed_commit::{
    Answer, Fetched, Finished, Format, FormatError, Judged, Listed, Listing, ObjectName, Page, Parsed, Rebased,
    Rendered, Request,
};
use lakebed_naming::Version;
use lakebed_transaction::{Judgement, TransactionId, Verdict};
use std::cell::Cell;

/// One deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutation {
    /// *Exists* counts as somebody else's win: nothing is confirmed.
    ExistsIsForeign,
    /// *Exists* counts as our win: nothing is confirmed.
    ExistsIsOurs,
    /// An unanswered create counts as done.
    UnknownIsSuccess,
    /// An entry that is absent when it is looked for counts as failed.
    AbsentIsFailure,
    /// Every landed entry is accepted.
    JudgeNothing,
    /// Of the landed entries only the newest is judged.
    JudgeOnlyNewest,
    /// What the transaction names is deleted although the outcome is unknown.
    DeleteOnUnknown,
    /// The machine does not notice that time passed.
    TrustLateAnswer,
    /// Every attempt carries another transaction id.
    FreshIdPerAttempt,
    /// The create writes over what stands there.
    CreateOverwrites,
    /// A listing ends with its first page.
    FirstPageOnly,
    /// A landed entry is accepted, and ours is not moved behind it.
    RebaseSkipped,
    /// The machine never recognises its own entry by its content.
    IgnoreIsOurs,
    /// The machine takes anybody's entry for its own.
    ClaimAnyEntry,
    /// Missing versions in a window count as versions that did nothing.
    PadGaps,
    /// What must stand beside the entry is not written.
    SidePutSkipped,
    /// A withdrawn entry is not taken out.
    WithdrawNothing,
    /// Every version is tried at the next number, whatever stands between.
    HideWindow,
}

impl Mutation {
    /// Every mutation.
    pub const ALL: [Self; 18] = [
        Self::ExistsIsForeign,
        Self::ExistsIsOurs,
        Self::UnknownIsSuccess,
        Self::AbsentIsFailure,
        Self::JudgeNothing,
        Self::JudgeOnlyNewest,
        Self::DeleteOnUnknown,
        Self::TrustLateAnswer,
        Self::FreshIdPerAttempt,
        Self::CreateOverwrites,
        Self::FirstPageOnly,
        Self::RebaseSkipped,
        Self::IgnoreIsOurs,
        Self::ClaimAnyEntry,
        Self::PadGaps,
        Self::SidePutSkipped,
        Self::WithdrawNothing,
        Self::HideWindow,
    ];
}

/// How a mutated machine ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forced {
    Failed,
    CommittedAt(Option<Version>),
}

/// A format with small pages, and with the mutations that stand between the machine and its format.
#[derive(Clone, Debug)]
pub(crate) struct Tweaked<F> {
    pub(crate) inner: F,
    page: usize,
    pub(crate) mutation: Option<Mutation>,
    /// The newest version of the last listing.
    newest: Cell<Option<Version>>,
    attempts: Cell<u64>,
}

impl<F: Format> Tweaked<F> {
    pub(crate) const fn new(inner: F, page: usize, mutation: Option<Mutation>) -> Self {
        Self { inner, page, mutation, newest: Cell::new(None), attempts: Cell::new(0) }
    }

    /// What the mutated perform layer makes of requests before they go out.
    pub(crate) fn outgoing(&self, request: &Request) -> Option<Answer> {
        match (self.mutation, request) {
            (Some(Mutation::SidePutSkipped), Request::Put(..)) => Some(Answer::Stored),
            (Some(Mutation::WithdrawNothing), Request::Delete(_)) => Some(Answer::Deleted),
            _ => None,
        }
    }

    /// What the mutated perform layer makes of answers before the machine sees them.
    pub(crate) fn incoming(&self, asked: &[Request], answers: &mut [Answer]) -> Option<Forced> {
        for (request, answer) in asked.iter().zip(answers) {
            match (self.mutation?, request, &*answer) {
                (Mutation::ExistsIsForeign, Request::Create(..), Answer::Exists)
                | (Mutation::AbsentIsFailure, Request::Get(_), Answer::Absent) => return Some(Forced::Failed),
                (Mutation::ExistsIsOurs, Request::Create(name, _), Answer::Exists)
                | (Mutation::UnknownIsSuccess, Request::Create(name, _), Answer::Unknown(_)) => {
                    return Some(Forced::CommittedAt(self.version_named(name)));
                }
                (Mutation::PadGaps, Request::Get(name), Answer::Absent) => {
                    let hidden = self.version_named(name).is_some_and(|version| Some(version) < self.newest.get());
                    if hidden {
                        *answer = Answer::Bytes(Bytes::from_static(b"{\"commitInfo\":{}}\n"));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The version whose entry has this name, among those that a run can reach.
    fn version_named(&self, name: &ObjectName) -> Option<Version> {
        (0..1_000).map(Version::new).find(|version| self.inner.entry_name(*version) == *name)
    }

    fn accepted() -> Judged {
        Judged::Verdict(Judgement { verdict: Verdict::Compatible, reason: None, evidence: None })
    }

    fn is(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}

impl<F: Format> Format for Tweaked<F> {
    type Pending = F::Pending;
    type Landed = (Version, F::Landed);

    fn transaction_id<'a>(&self, pending: &'a F::Pending) -> &'a TransactionId {
        self.inner.transaction_id(pending)
    }

    fn policy(&self, pending: &F::Pending) -> String {
        self.inner.policy(pending)
    }

    fn describe_ours(&self, pending: &F::Pending) -> String {
        self.inner.describe_ours(pending)
    }

    fn describe_landed(&self, landed: &Self::Landed) -> String {
        self.inner.describe_landed(&landed.1)
    }

    fn first_version(&self) -> Version {
        self.inner.first_version()
    }

    fn lists_first(&self) -> bool {
        self.inner.lists_first()
    }

    fn entry_name(&self, version: Version) -> ObjectName {
        self.inner.entry_name(version)
    }

    fn listing(&self, above: Option<Version>) -> Listing {
        let listing = self.inner.listing(above);
        Listing { limit: listing.limit.min(self.page), ..listing }
    }

    fn read_page(&self, above: Option<Version>, page: &[Listed], limit: usize) -> Result<Page, FormatError> {
        let mut read = self.inner.read_page(above, page, limit)?;
        self.newest.set(self.newest.get().max(read.entries.iter().map(|entry| entry.version).max()));
        if self.is(Mutation::FirstPageOnly) {
            read.complete = true;
        }
        if self.is(Mutation::HideWindow) {
            let first = above.and_then(Version::next);
            read.entries.retain(|entry| Some(entry.version) != first);
            read.entries.clear();
        }
        if self.is(Mutation::PadGaps)
            && read.complete
            && let (Some(above), Some(newest), Some(last)) = (above, self.newest.get(), read.entries.last().copied())
        {
            let mut version = above.next();
            while let Some(missing) = version.filter(|version| *version < newest) {
                read.entries.push(lakebed_commit::EntryRef { version: missing, ..last });
                version = missing.next();
            }
        }
        Ok(read)
    }

    fn render(&self, pending: &mut F::Pending, at: Version, now_ms: u64) -> Result<Rendered, FormatError> {
        let rendered = self.inner.render(pending, at, now_ms)?;
        if !self.is(Mutation::FreshIdPerAttempt) {
            return Ok(rendered);
        }
        self.attempts.set(self.attempts.get() + 1);
        let id = self.inner.transaction_id(pending).as_str();
        let fresh = format!("{:08x}{}", self.attempts.get() | 0xabcd_0000, id.get(8..).unwrap_or_default());
        Ok(Rendered {
            side: rendered
                .side
                .into_iter()
                .map(|(name, bytes)| {
                    (
                        ObjectName::new(name.as_str().replace(id, &fresh)),
                        replaced(&bytes, id.as_bytes(), fresh.as_bytes()),
                    )
                })
                .collect(),
            entry: replaced(&rendered.entry, id.as_bytes(), fresh.as_bytes()),
        })
    }

    fn parse(&self, at: Version, bytes: &Bytes, fetched: &Fetched) -> Result<Parsed<Self::Landed>, FormatError> {
        Ok(match self.inner.parse(at, bytes, fetched)? {
            Parsed::Done(landed) => Parsed::Done((at, landed)),
            Parsed::Needs(needs) => Parsed::Needs(needs),
        })
    }

    fn landed_transaction_id(&self, landed: &Self::Landed) -> Option<TransactionId> {
        self.inner.landed_transaction_id(&landed.1)
    }

    fn is_ours(&self, pending: &F::Pending, landed: &Self::Landed) -> bool {
        if self.is(Mutation::IgnoreIsOurs) {
            return false;
        }
        self.is(Mutation::ClaimAnyEntry) || self.inner.is_ours(pending, &landed.1)
    }

    fn judge(&self, pending: &F::Pending, landed: &Self::Landed, fetched: &Fetched) -> Result<Judged, FormatError> {
        let older = self.newest.get().is_some_and(|newest| landed.0 < newest);
        if self.is(Mutation::JudgeNothing) || self.is(Mutation::JudgeOnlyNewest) && older {
            return Ok(Self::accepted());
        }
        self.inner.judge(pending, &landed.1, fetched)
    }

    fn rebase(
        &self,
        pending: &mut F::Pending,
        landed: &Self::Landed,
        fetched: &Fetched,
    ) -> Result<Rebased, FormatError> {
        if self.is(Mutation::RebaseSkipped) {
            return Ok(Rebased::Done);
        }
        self.inner.rebase(pending, &landed.1, fetched)
    }

    fn finish(&self, pending: &mut F::Pending, fetched: &Fetched) -> Result<Finished, FormatError> {
        self.inner.finish(pending, fetched)
    }
}

/// The bytes with one text put in the place of another of the same length.
fn replaced(bytes: &Bytes, from: &[u8], to: &[u8]) -> Bytes {
    if from.is_empty() {
        return bytes.clone();
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(from) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.extend(rest.first());
            at += 1;
        }
    }
    Bytes::from(out)
}
