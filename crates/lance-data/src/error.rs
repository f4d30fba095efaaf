//! Lance's errors as ours.

use futures::FutureExt;
use lakebed_data::DataError;
use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

/// What Lance's crates say of a file. Their messages end with a place in their own sources, which is left out.
pub(crate) fn wrong(file: &str) -> impl Fn(lance_core::Error) -> DataError + '_ {
    move |error| {
        let text = error.to_string();
        let said = text.rsplit_once(", /").map_or(text.as_str(), |(said, _)| said);
        failed(file, said)
    }
}

pub(crate) fn failed(file: &str, reason: &str) -> DataError {
    DataError::Lance { file: file.to_owned(), reason: reason.to_owned() }
}

/// Runs a decoder or encoder. Bytes that make it panic are bytes that are no such file.
pub(crate) async fn guarded<T>(
    file: &str,
    work: impl Future<Output = Result<T, lance_core::Error>> + Send,
) -> Result<T, DataError> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result.map_err(wrong(file)),
        Err(panic) => Err(failed(file, &format!("the decoder gave up ({})", said(&*panic)))),
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
