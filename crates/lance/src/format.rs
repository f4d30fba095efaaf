//! Lance as the commit machine drives it.

use crate::build::{self, Inputs};
use crate::manifest::INLINE_TRANSACTION_BYTES_MAX;
use crate::precise::{self, Decided, LookAtRows};
use crate::transaction::{Transaction, describe, file_name};
use crate::{JudgedBy, Landed, Pending, Snapshot, VersionCache, application, facts_of, rebase};
use bytes::Bytes;
use lakebed_commit::{
    EntryRef, Fetched, Finished, Format, FormatError, Judged, Listed, Listing, ObjectName, Page, Parsed, Rebased,
    Rendered,
};
use lakebed_conflict::Policy;
use lakebed_conflict::lance::{LANCE, LanceFacts};
use lakebed_naming::Version;
use lakebed_naming::lance::{
    ListingOrder, MIGRATION_FILE, ManifestName, Page as Names, Scheme, VERSIONS_FOLDER, manifest_path,
};
use lakebed_transaction::{Evidence, Judgement, LanceKind, Reason, TransactionId, Verdict};
use std::sync::Arc;

/// The first version of a table.
const FIRST: Version = Version::new(1);

/// Names in a page: enough for any race, and short where the newest names come first.
const NEWEST_FIRST_PAGE: usize = 100;

/// Names in a page where all of them must be seen.
const WHOLE_PAGE: usize = 1000;

const TABLE_EXISTS: Reason = Reason {
    check: "table-exists",
    sentence: "ours creates the table, and the table exists",
    advice: "open the table, or choose another place",
    error_class: None,
};

/// Lance as the commit machine drives it: a table's naming scheme, and the policy that judges.
#[derive(Clone, Debug)]
pub struct LanceFormat {
    scheme: Scheme,
    policy: JudgedBy,
    looker: Option<Arc<dyn LookAtRows>>,
    first: Version,
    cache: Option<Arc<dyn VersionCache>>,
}

impl Default for LanceFormat {
    /// A new table's scheme, and Lance's own rules.
    fn default() -> Self {
        Self::new(Scheme::V2, &LANCE)
    }
}

impl LanceFormat {
    /// A table whose manifests have names of this scheme, judged by a table of Lance's operations. New tables have V2 names.
    #[must_use]
    pub const fn new(scheme: Scheme, policy: &'static Policy<LanceFacts, { LanceKind::COUNT }>) -> Self {
        Self::judged_by(scheme, JudgedBy::Operations(policy))
    }

    /// A table whose manifests have names of this scheme, judged by a policy of any kind.
    #[must_use]
    pub const fn judged_by(scheme: Scheme, policy: JudgedBy) -> Self {
        Self { scheme, policy, looker: None, first: FIRST, cache: None }
    }

    /// With somebody who looks at rows of data files where nothing else decides.
    #[must_use]
    pub fn with_looker(self, looker: Arc<dyn LookAtRows>) -> Self {
        Self { looker: Some(looker), ..self }
    }

    /// For a table whose first version has this number: a clone keeps the number of what it was made of.
    #[must_use]
    pub fn beginning_at(self, first: Version) -> Self {
        Self { first, ..self }
    }

    /// With versions that are already decoded.
    #[must_use]
    pub fn with_cache(self, cache: Arc<dyn VersionCache>) -> Self {
        Self { cache: Some(cache), ..self }
    }

    fn open(&self, at: Version, name: &ObjectName, bytes: &Bytes) -> Result<Arc<Snapshot>, FormatError> {
        if let Some(known) = self.cache.as_ref().and_then(|cache| cache.get(at, bytes)) {
            return Ok(known);
        }
        let opened = Arc::new(Snapshot::open(name.as_str(), bytes)?);
        if let Some(cache) = &self.cache {
            cache.put(at, bytes, &opened);
        }
        Ok(opened)
    }

    /// The scheme of the names.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }
}

impl Format for LanceFormat {
    type Pending = Pending;
    type Landed = Landed;

    fn transaction_id<'a>(&self, pending: &'a Pending) -> &'a TransactionId {
        &pending.id
    }

    fn landed_transaction_id(&self, landed: &Landed) -> Option<TransactionId> {
        landed.transaction.as_ref().map(Transaction::id).filter(|id| !id.as_str().is_empty())
    }

    fn policy(&self, _pending: &Pending) -> String {
        self.policy.label()
    }

    fn describe_ours(&self, pending: &Pending) -> String {
        describe(pending.kind())
    }

    fn describe_landed(&self, landed: &Landed) -> String {
        landed.describe()
    }

    fn first_version(&self) -> Version {
        self.first
    }

    fn lists_first(&self) -> bool {
        match self.scheme {
            // A migration to V2 names may be under way; a name of the old scheme put beside them makes the table unreadable.
            Scheme::V1 => true,
            Scheme::V2 => false,
        }
    }

    fn entry_name(&self, version: Version) -> ObjectName {
        ObjectName::new(manifest_path(self.scheme, version))
    }

    fn listing(&self, above: Option<Version>) -> Listing {
        let newest_first = self.scheme == Scheme::V2 && above.is_some();
        Listing {
            prefix: ObjectName::new(VERSIONS_FOLDER),
            after: None,
            limit: if newest_first { NEWEST_FIRST_PAGE } else { WHOLE_PAGE },
        }
    }

    fn read_page(&self, above: Option<Version>, page: &[Listed], limit: usize) -> Result<Page, FormatError> {
        let file = |listed: &'_ Listed| -> Option<String> {
            let rest = listed.name.as_str().strip_prefix(VERSIONS_FOLDER)?.strip_prefix('/')?;
            (!rest.contains('/')).then(|| rest.to_owned())
        };
        if page.iter().filter_map(file).any(|name| name == MIGRATION_FILE) {
            return Err(migrating("its manifests are being given names of another scheme, or that stopped half-way"));
        }
        let names = Names::new(page.iter().filter_map(file), ListingOrder::Lexical, above)
            .map_err(|mixed| migrating(&mixed.to_string()))?;
        if names.newest.is_some_and(|newest| newest.scheme != self.scheme) {
            return Err(migrating("manifests have names of another scheme than when the table was opened"));
        }
        let mut entries = Vec::new();
        for listed in page {
            let Some(name) = file(listed) else { continue };
            if let ManifestName::Version { version, .. } = ManifestName::parse(&name)
                && above.is_none_or(|above| version > above)
            {
                entries.push(EntryRef { version, modified_ms: listed.modified_ms });
            }
        }
        let complete = page.len() < limit || (above.is_some() && names.nothing_newer_follows);
        Ok(Page { entries, complete })
    }

    fn render(&self, pending: &mut Pending, at: Version, now_ms: u64) -> Result<Rendered, FormatError> {
        check_next(pending, at)?;
        let name = file_name(&pending.message)?;
        let transaction = Transaction::new(pending.message.clone());
        let message = transaction.encoded().clone();
        // A clock that went back must not make a version look older than the one that it follows.
        let floor = pending.base.as_ref().and_then(|base| base.timestamp_ms()).and_then(|ms| u64::try_from(ms).ok());
        let mut next = build::build(&Inputs {
            base: pending.base.as_deref(),
            creation: &pending.creation,
            restored: pending.restored.as_deref(),
            cloned: pending.cloned.as_deref(),
            moved: pending.moved.as_deref(),
            transaction: &pending.message,
            transaction_file: &name.file_name(),
            at,
            now_ms: now_ms.max(floor.map_or(0, |ms| ms.saturating_add(1))),
        })?;
        let inline = Some(transaction).filter(|_| message.len() <= INLINE_TRANSACTION_BYTES_MAX);
        let entry = next.encode(inline.as_ref().map(Transaction::encoded))?;
        let built = Arc::new(Snapshot::built(next, inline, entry.fragments)?);
        let entry = entry.bytes;
        if let Some(cache) = &self.cache {
            cache.put(at, &entry, &built);
        }
        pending.built = Some((entry.clone(), built));
        if !pending.rendered.contains(&message) {
            pending.rendered.push(message.clone());
        }
        Ok(Rendered { side: vec![(ObjectName::new(name.path()), message)], entry })
    }

    fn parse(&self, at: Version, bytes: &Bytes, fetched: &Fetched) -> Result<Parsed<Landed>, FormatError> {
        let name = self.entry_name(at);
        let snapshot = self.open(at, &name, bytes)?;
        if snapshot.version() != at {
            return Err(FormatError::Damaged {
                object: name.to_string(),
                problem: format!("it says that it is version {}", snapshot.version()),
                advice: "find out who renamed it; open another version meanwhile".to_owned(),
            });
        }
        let transaction = match (snapshot.transaction(), snapshot.transaction_file()) {
            (Some(inline), _) => Some(inline.clone()),
            (None, Some(file)) => match fetched.get(&file) {
                None => return Ok(Parsed::Needs(vec![file])),
                // A transaction that is gone or cannot be read is one that we do not know: nothing is rebased over it.
                Some(answer) => answer.and_then(|bytes| Transaction::decode(file.as_str(), bytes).ok()),
            },
            (None, None) => None,
        };
        Ok(Parsed::Done(Landed::new(snapshot, transaction)))
    }

    fn is_ours(&self, pending: &Pending, landed: &Landed) -> bool {
        let Some(transaction) = &landed.transaction else { return false };
        !pending.id.as_str().is_empty()
            && transaction.id() == pending.id
            && pending.rendered.contains(transaction.encoded())
    }

    fn judge(&self, pending: &Pending, landed: &Landed, fetched: &Fetched) -> Result<Judged, FormatError> {
        let Some(base) = &pending.base else {
            let evidence = Some(Evidence::text(format!("version {} stands", landed.version())));
            return Ok(Judged::Verdict(Judgement::by(Verdict::Incompatible, TABLE_EXISTS, evidence)));
        };
        if let Some(conflict) = application::conflict(&pending.message, base, landed)? {
            return Ok(Judged::Verdict(conflict));
        }
        if let JudgedBy::Operations(policy) = self.policy {
            let theirs = match &landed.transaction {
                Some(transaction) => facts_of(transaction.message(), Some(base), Some(&landed.snapshot)),
                None => LanceFacts::default(),
            };
            let judgement = policy.judge((pending.kind().at(), &pending.facts), (landed.kind().at(), &theirs));
            return Ok(Judged::Verdict(judgement));
        }
        Ok(match precise::decide(self.policy, pending, landed, fetched, self.looker.as_deref())? {
            Decided::Needs(names) => Judged::Needs(names),
            Decided::Verdict(judgement, _) => Judged::Verdict(judgement),
        })
    }

    fn rebase(&self, pending: &mut Pending, landed: &Landed, fetched: &Fetched) -> Result<Rebased, FormatError> {
        if let JudgedBy::Operations(_) = self.policy {
            rebase::follow(pending, landed)?;
            return Ok(Rebased::Done);
        }
        let needs = precise::follow(self.policy, pending, landed, fetched, self.looker.as_deref())?;
        if !needs.is_empty() {
            return Ok(Rebased::Needs(needs));
        }
        rebase::move_on(pending, landed)?;
        Ok(Rebased::Done)
    }

    fn finish(&self, pending: &mut Pending, fetched: &Fetched) -> Result<Finished, FormatError> {
        match self.policy {
            JudgedBy::Operations(_) => rebase::finish(pending, fetched),
            JudgedBy::Rows(_) | JudgedBy::Matrix => precise::settle(pending, fetched),
        }
    }
}

/// The entry must be the very next after the state that it is built on.
fn check_next(pending: &Pending, at: Version) -> Result<(), FormatError> {
    // A clone keeps the number of the version that it was made of.
    let first = pending.cloned.as_ref().map_or(FIRST, |source| source.version());
    let next = pending.base.as_ref().map_or(Some(first), |base| base.version().next());
    if next == Some(at) {
        return Ok(());
    }
    Err(FormatError::Invalid {
        problem: format!("version {at} is not the next after the state that it follows"),
        advice: "take in the versions between first".to_owned(),
    })
}

fn migrating(problem: &str) -> FormatError {
    FormatError::Invalid {
        problem: problem.to_owned(),
        advice: "resume migrate-naming (lakebed migrate-naming TABLE), then open the table again".to_owned(),
    }
}
