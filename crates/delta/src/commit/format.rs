//! Delta's part in the commit machine.

use super::pending::Pending;
use super::policy::JudgedBy;
use super::precise::{self, Decided, LookAtRows, Settled};
use super::{facts, rebase, render, vectors};
use crate::action::{Action, CommitInfo, parse_actions};
use bytes::Bytes;
use lakebed_commit::{
    EntryRef, Fetched, Finished, Format, FormatError, Judged, Listed, Listing, Need, ObjectName, Page, Parsed, Rebased,
    Rendered,
};
use lakebed_conflict::delta::{DeltaFacts, DeltaPolicy};
use lakebed_naming::Version;
use lakebed_naming::delta::{LOG_FOLDER, LogName, commit_path, is_past_versions, list_after};
use lakebed_transaction::{Judgement, Reason, TransactionId, Verdict};

/// Names per page of a listing: what object stores give at most.
const PAGE_LIMIT: usize = 1000;

/// Creating a table that is there.
const TABLE_EXISTS: Reason = Reason {
    check: "table-exists",
    sentence: "ours creates the table, and the table exists",
    advice: "open it, or choose another address",
    error_class: Some("DELTA_TABLE_ALREADY_EXISTS"),
};

/// Delta's part in the commit machine. One value serves any number of commits under one policy.
#[derive(Clone, Copy, Debug)]
pub struct DeltaFormat {
    policy: JudgedBy,
    looker: Option<&'static dyn LookAtRows>,
}

impl DeltaFormat {
    /// The format under a policy.
    #[must_use]
    pub const fn new(policy: DeltaPolicy) -> Self {
        Self::judged_by(JudgedBy::Files(policy))
    }

    /// The format under a policy of either kind. One that judges rows asks for [`Pending::with_table`].
    #[must_use]
    pub const fn judged_by(policy: JudgedBy) -> Self {
        Self { policy, looker: None }
    }

    /// The format with somebody who looks at rows of data files where nothing else decides.
    #[must_use]
    pub const fn with_looker(mut self, looker: &'static dyn LookAtRows) -> Self {
        self.looker = Some(looker);
        self
    }
}

/// One commit that somebody landed, decoded.
#[derive(Clone, Debug)]
pub struct Landed {
    version: Version,
    actions: Vec<Action>,
    facts: DeltaFacts,
}

impl Landed {
    /// Decodes a commit.
    ///
    /// # Errors
    /// The bytes are no commit.
    pub fn parse(version: Version, bytes: &[u8]) -> Result<Self, crate::DeltaError> {
        let actions = parse_actions(&commit_path(version), bytes)?;
        let facts = facts::landed(&actions);
        Ok(Self { version, actions, facts })
    }

    /// Its version.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Its actions, in order.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// What the rules see of it.
    #[must_use]
    pub const fn facts(&self) -> &DeltaFacts {
        &self.facts
    }

    /// Its provenance; with two of them, the first counts.
    #[must_use]
    pub fn info(&self) -> Option<&CommitInfo> {
        self.actions.iter().find_map(|action| if let Action::CommitInfo(info) = action { Some(info) } else { None })
    }
}

fn describe(facts: &DeltaFacts) -> String {
    let name = if facts.operation.is_empty() { facts.kind.to_string() } else { facts.operation.to_string() };
    let (added, removed) = (facts.added.len(), facts.removed.len());
    match (added, removed) {
        (0, 0) => name,
        (_, _) => format!("{name} (+{added} −{removed} files)"),
    }
}

impl Format for DeltaFormat {
    type Pending = Pending;
    type Landed = Landed;

    fn transaction_id<'a>(&self, pending: &'a Pending) -> &'a TransactionId {
        &pending.transaction.id
    }

    fn policy(&self, pending: &Pending) -> String {
        self.policy.label(&pending.facts)
    }

    fn describe_ours(&self, pending: &Pending) -> String {
        describe(&pending.facts)
    }

    fn describe_landed(&self, landed: &Landed) -> String {
        describe(&landed.facts)
    }

    fn first_version(&self) -> Version {
        Version::new(0)
    }

    fn lists_first(&self) -> bool {
        false
    }

    fn entry_name(&self, version: Version) -> ObjectName {
        ObjectName::new(commit_path(version))
    }

    fn listing(&self, above: Option<Version>) -> Listing {
        let after = above.and_then(Version::next).map(|next| ObjectName::new(list_after(next)));
        Listing { prefix: ObjectName::new(LOG_FOLDER), after, limit: PAGE_LIMIT }
    }

    fn read_page(&self, above: Option<Version>, page: &[Listed], limit: usize) -> Result<Page, FormatError> {
        let entry = |listed: &Listed| {
            let name = listed.name.as_str().strip_prefix(LOG_FOLDER)?.strip_prefix('/')?;
            let LogName::Commit(version) = LogName::parse(name) else { return None };
            above.is_none_or(|above| version > above).then_some(EntryRef { version, modified_ms: listed.modified_ms })
        };
        let is_last = page.len() < limit || page.last().is_some_and(|last| is_past_versions(last.name.as_str()));
        Ok(Page { entries: page.iter().filter_map(entry).collect(), complete: is_last })
    }

    fn render(&self, pending: &mut Pending, at: Version, now_ms: u64) -> Result<Rendered, FormatError> {
        pending.attempts = pending.attempts.saturating_add(1);
        Ok(Rendered { side: Vec::new(), entry: render::render(pending, self.policy, at, now_ms)? })
    }

    fn parse(&self, at: Version, bytes: &Bytes, _fetched: &Fetched) -> Result<Parsed<Landed>, FormatError> {
        Ok(Parsed::Done(Landed::parse(at, bytes)?))
    }

    fn landed_transaction_id(&self, landed: &Landed) -> Option<TransactionId> {
        landed.info().and_then(CommitInfo::transaction_id).filter(|id| !id.is_empty()).map(TransactionId::new)
    }

    fn is_ours(&self, pending: &Pending, landed: &Landed) -> bool {
        rebase::is_ours(pending, landed)
    }

    fn judge(&self, pending: &Pending, landed: &Landed, fetched: &Fetched) -> Result<Judged, FormatError> {
        if pending.core.is_none() {
            return Ok(Judged::Verdict(Judgement::by(Verdict::Incompatible, TABLE_EXISTS, None)));
        }
        match self.policy {
            JudgedBy::Files(policy) => Ok(Judged::Verdict(policy.judge(&pending.facts, &landed.facts))),
            JudgedBy::Rows(_) | JudgedBy::Matrix => {
                Ok(match precise::decide(self.policy, pending, landed, fetched, self.looker)? {
                    Decided::Needs(names) => Judged::Needs(names),
                    Decided::Verdict(judgement, _) => Judged::Verdict(judgement),
                })
            }
        }
    }

    fn rebase(&self, pending: &mut Pending, landed: &Landed, fetched: &Fetched) -> Result<Rebased, FormatError> {
        pending.checked = false;
        let needs = match self.policy {
            JudgedBy::Files(_) => vectors::follow(pending, landed, fetched)?,
            JudgedBy::Rows(_) | JudgedBy::Matrix => {
                precise::follow(self.policy, pending, landed, fetched, self.looker)?
            }
        };
        if !needs.is_empty() {
            return Ok(Rebased::Needs(needs));
        }
        rebase::follow(pending, landed)?;
        Ok(Rebased::Done)
    }

    fn finish(&self, pending: &mut Pending, fetched: &Fetched) -> Result<Finished, FormatError> {
        let obstacle = pending.merging.obstacle.as_ref().or(pending.rows.obstacle());
        if let Some(obstacle) = obstacle {
            let (with, why) = (obstacle.with, obstacle.why.clone());
            return Ok(Finished::Conflict { with, landed: "a commit that touched the same file".to_owned(), why });
        }
        match precise::settle(pending, fetched)? {
            Settled::Done => {}
            Settled::Needs(needs) => return Ok(Finished::Needs(needs)),
        }
        if let Some((name, bytes)) = vectors::merged_file(pending)? {
            if !fetched.is_written(&name) {
                return Ok(Finished::Needs(vec![Need::Write(name, bytes)]));
            }
            vectors::apply(pending)?;
        }
        // What landed may have brought a protocol or properties under which ours cannot be written.
        pending.checked = false;
        pending.check_once()?;
        Ok(Finished::Ready)
    }
}
