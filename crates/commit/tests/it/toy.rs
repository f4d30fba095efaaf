//! A table format of a few lines: an entry is `id=…;parent=…;items=a,b`, the state is the union of all items, and two
//! transactions conflict when they add the same item.

use bytes::Bytes;
use lakebed_commit::{
    Answer, Budget, Commit, EntryRef, Fetched, Finished, Format, FormatError, Freshness, Judged, Listed, Listing,
    ObjectName, Page, Parsed, Rebased, Rendered, Request, Step,
};
use lakebed_naming::Version;
use lakebed_transaction::{Evidence, Judgement, Reason, TransactionId, Verdict};

#[derive(Clone, Debug)]
pub(crate) struct Toy {
    pub(crate) side_file: bool,
    pub(crate) lists_first: bool,
}

pub(crate) const PLAIN: Toy = Toy { side_file: false, lists_first: false };

#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) id: TransactionId,
    pub(crate) items: Vec<String>,
    /// The state that the next entry is built on, carried whole in each entry.
    pub(crate) state: Vec<String>,
    pub(crate) judged: Vec<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Landed {
    pub(crate) version: Version,
    pub(crate) id: String,
    pub(crate) items: Vec<String>,
    pub(crate) state: Vec<String>,
}

pub(crate) fn pending(id: &str, items: &[&str], state: &[&str]) -> Pending {
    let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    Pending { id: TransactionId::new(id), items: own(items), state: own(state), judged: Vec::new() }
}

pub(crate) fn entry(id: &str, items: &[String], state: &[String]) -> Bytes {
    Bytes::from(format!("id={id};items={};state={}", items.join(","), state.join(",")))
}

pub(crate) fn name(version: u64) -> ObjectName {
    ObjectName::new(format!("log/{version:04}"))
}

pub(crate) fn version_of(name: &ObjectName) -> Option<u64> {
    name.as_str().strip_prefix("log/")?.parse().ok()
}

fn words(text: &str) -> Vec<String> {
    text.split(',').filter(|s| !s.is_empty()).map(str::to_owned).collect()
}

impl Format for Toy {
    type Pending = Pending;
    type Landed = Landed;

    fn transaction_id<'a>(&self, pending: &'a Pending) -> &'a TransactionId {
        &pending.id
    }

    fn policy(&self, _: &Pending) -> String {
        "toy@1".to_owned()
    }

    fn describe_ours(&self, _: &Pending) -> String {
        "addition".to_owned()
    }

    fn describe_landed(&self, _: &Landed) -> String {
        "addition".to_owned()
    }

    fn first_version(&self) -> Version {
        Version::new(1)
    }

    fn lists_first(&self) -> bool {
        self.lists_first
    }

    fn entry_name(&self, version: Version) -> ObjectName {
        name(version.get())
    }

    fn listing(&self, above: Option<Version>) -> Listing {
        Listing { prefix: ObjectName::new("log"), after: above.map(|v| name(v.get())), limit: 3 }
    }

    fn read_page(&self, above: Option<Version>, page: &[Listed], limit: usize) -> Result<Page, FormatError> {
        let entries = page
            .iter()
            .filter_map(|listed| {
                Some(EntryRef { version: Version::new(version_of(&listed.name)?), modified_ms: listed.modified_ms })
            })
            .filter(|entry| above.is_none_or(|above| entry.version > above))
            .collect();
        Ok(Page { entries, complete: page.len() < limit })
    }

    fn render(&self, pending: &mut Pending, at: Version, _: u64) -> Result<Rendered, FormatError> {
        let mut state = pending.state.clone();
        state.extend(pending.items.iter().cloned());
        let side = if self.side_file {
            vec![(ObjectName::new(format!("side/{}-{at}", pending.id)), Bytes::from_static(b"intent"))]
        } else {
            Vec::new()
        };
        Ok(Rendered { side, entry: entry(pending.id.as_str(), &pending.items, &state) })
    }

    fn parse(&self, at: Version, bytes: &Bytes, _: &Fetched) -> Result<Parsed<Landed>, FormatError> {
        let text = std::str::from_utf8(bytes).map_err(|_| damaged(at))?;
        if text == "unsupported" {
            let (feature, advice) = ("rhyme".to_owned(), "use another program".to_owned());
            return Err(FormatError::Unsupported { object: self.entry_name(at).to_string(), feature, advice });
        }
        let mut parts = text.split(';').map(|part| part.split_once('=').map(|(_, value)| value));
        let mut part = || parts.next().flatten().ok_or_else(|| damaged(at));
        let (id, items, state) = (part()?, part()?, part()?);
        Ok(Parsed::Done(Landed { version: at, id: id.to_owned(), items: words(items), state: words(state) }))
    }

    fn landed_transaction_id(&self, landed: &Landed) -> Option<TransactionId> {
        Some(TransactionId::new(landed.id.as_str()))
    }

    fn is_ours(&self, pending: &Pending, landed: &Landed) -> bool {
        !landed.id.is_empty() && landed.id == pending.id.as_str() && landed.items == pending.items
    }

    fn judge(&self, pending: &Pending, landed: &Landed, _: &Fetched) -> Result<Judged, FormatError> {
        let both: Vec<_> = pending.items.iter().filter(|item| landed.items.contains(item)).cloned().collect();
        if both.is_empty() {
            return Ok(Judged::Verdict(Judgement::clear()));
        }
        let reason = Reason {
            check: "same-item",
            sentence: "both add the same item",
            advice: "read again and retry",
            error_class: None,
        };
        Ok(Judged::Verdict(Judgement::by(Verdict::Retryable, reason, Some(Evidence::text(both.join(", "))))))
    }

    fn rebase(&self, pending: &mut Pending, landed: &Landed, _: &Fetched) -> Result<Rebased, FormatError> {
        pending.judged.push(landed.version.get());
        pending.state.clone_from(&landed.state);
        Ok(Rebased::Done)
    }

    fn finish(&self, _: &mut Pending, _: &Fetched) -> Result<Finished, FormatError> {
        Ok(Finished::Ready)
    }
}

fn damaged(at: Version) -> FormatError {
    FormatError::Damaged {
        object: format!("version {at}"),
        problem: "not an entry".to_owned(),
        advice: "verify the table".to_owned(),
    }
}

/// A commit on `base` that trusts its snapshot until time 1,000 and later looks for 1,000 ms.
pub(crate) fn commit(format: Toy, pending: Pending, base: u64) -> Commit<Toy> {
    let budget = Budget { repeats_max: 20, ..Budget::default() };
    Commit::new(format, pending, Some(Version::new(base)), Freshness { until_ms: 1_000, for_ms: 1_000 }, budget)
}

/// The requests of a step; a step that ended is a failure of the test.
pub(crate) fn asked(step: Step) -> Vec<Request> {
    match step {
        Step::Ask(requests) => requests,
        Step::Done(answer) => panic!("ended with {answer:?}"),
    }
}

/// The end of a commit that waits (if it wants to) and then ends.
pub(crate) fn ended(step: Step) -> Result<lakebed_transaction::Outcome, lakebed_commit::CommitError> {
    match step {
        Step::Done(answer) => answer,
        Step::Ask(requests) => panic!("asks {requests:?}"),
    }
}

/// Lets a pause pass, if there is one, and gives the requests after it.
pub(crate) fn after_wait(commit: &mut Commit<Toy>, step: Step, now_ms: u64) -> Step {
    match step {
        Step::Ask(requests) if matches!(requests.as_slice(), [Request::Wait { .. }]) => {
            commit.answer(vec![Answer::Elapsed], now_ms)
        }
        other @ (Step::Ask(_) | Step::Done(_)) => other,
    }
}

pub(crate) fn listed(versions: &[u64]) -> Answer {
    Answer::Names(
        versions
            .iter()
            .map(|v| Listed { name: name(*v), size_bytes: 1, modified_ms: i64::try_from(*v).unwrap() })
            .collect(),
    )
}

/// The entry that a rival with these items would land on `state`.
pub(crate) fn rival(id: &str, items: &[&str], state: &[&str]) -> Answer {
    let own = |list: &[&str]| -> Vec<String> { list.iter().map(|s| (*s).to_owned()).collect() };
    let mut all = own(state);
    all.extend(own(items));
    Answer::Bytes(entry(id, &own(items), &all))
}
