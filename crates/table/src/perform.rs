//! Carrying out what the commit machine asks for.

use bytes::Bytes;
use futures::future::join_all;
use lakebed_commit::{Answer, Commit, CommitError, Find, FindStep, Format, Found, Listed, ObjectName, Request, Step};
use lakebed_storage::{Create, Store, StoreError};
use lakebed_transaction::Outcome;
use std::time::Duration;
use tracing::Instrument as _;

use crate::clock::Clock;
use crate::traced;

/// Runs a commit to its answer. The future may be dropped at any await: the table is then as after a crash there.
pub(crate) async fn run<F: Format>(
    commit: &mut Commit<F>,
    store: &dyn Store,
    clock: &Clock,
) -> Result<Outcome, CommitError> {
    let mut step = commit.start(clock.now_ms());
    let mut asked = 0;
    loop {
        match step {
            Step::Done(answer) => {
                traced::asked(asked);
                return answer;
            }
            Step::Ask(requests) => {
                asked += requests.iter().filter(|request| !matches!(request, Request::Wait { .. })).count() as u64;
                let span = traced::step(commit.phase(), commit.attempts(), requests.len());
                let answers = perform(store, requests).instrument(span).await;
                step = commit.answer(answers, clock.now_ms());
            }
        }
    }
}

/// Runs a search to its answer.
pub(crate) async fn find<F: Format>(search: &mut Find<'_, F>, store: &dyn Store) -> Result<Found, CommitError> {
    let mut step = search.start();
    loop {
        match step {
            FindStep::Done(answer) => return answer,
            FindStep::Ask(requests) => step = search.answer(perform(store, requests).await),
        }
    }
}

/// Performs the requests of one step, several of them at once, and answers each in its place.
pub(crate) async fn perform(store: &dyn Store, requests: Vec<Request>) -> Vec<Answer> {
    match <[Request; 1]>::try_from(requests) {
        Ok([request]) => vec![one(store, request).await],
        Err(requests) => join_all(requests.into_iter().map(|request| one(store, request))).await,
    }
}

async fn one(store: &dyn Store, request: Request) -> Answer {
    match request {
        Request::Get(name) => read(store.get(name.as_str()).await),
        Request::GetRange(name, range) => read(store.get_range(name.as_str(), range).await),
        Request::List { prefix, after, limit } => {
            match store.list(prefix.as_str(), after.as_ref().map(ObjectName::as_str), limit).await {
                Ok(names) => Answer::Names(names.into_iter().map(listed).collect()),
                Err(error) => refused(&error),
            }
        }
        Request::Put(name, bytes) => match store.put(name.as_str(), bytes).await {
            Ok(()) => Answer::Stored,
            Err(error) => refused(&error),
        },
        Request::Create(name, bytes) => match store.create(name.as_str(), bytes).await {
            Ok(Create::Created) => Answer::Created,
            Ok(Create::Exists) => Answer::Exists,
            Ok(Create::Unknown(said)) => Answer::Unknown(said),
            Ok(Create::NotNow { after_ms }) => Answer::NotNow { after_ms },
            Err(error) => refused(&error),
        },
        Request::Delete(name) => match store.delete(name.as_str()).await {
            Ok(()) => Answer::Deleted,
            Err(error) => refused(&error),
        },
        Request::Wait { ms } => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Answer::Elapsed
        }
    }
}

fn read(answer: Result<Option<Bytes>, StoreError>) -> Answer {
    match answer {
        Ok(Some(bytes)) => Answer::Bytes(bytes),
        Ok(None) => Answer::Absent,
        Err(error) => refused(&error),
    }
}

fn listed(entry: lakebed_storage::Listed) -> Listed {
    Listed { name: ObjectName::new(entry.name), size_bytes: entry.size_bytes, modified_ms: entry.modified_ms }
}

fn refused(error: &StoreError) -> Answer {
    if matches!(error, StoreError::Busy { .. }) {
        return Answer::NotNow { after_ms: 0 };
    }
    Answer::Failed(error.to_string())
}
