//! Work that ends even when nobody waits for it any more.

use crate::StoreError;
use std::future::Future;

/// The task that did the work is gone; how far it came is not known.
#[derive(Debug)]
pub(crate) struct Gone(tokio::task::JoinError);

impl Gone {
    /// As the error of a request for that object.
    pub(crate) fn of(self, root: &str, name: &str) -> StoreError {
        let source = format!("the task that did it ended early: {}", self.0).into();
        StoreError::Failed { root: root.to_owned(), name: name.to_owned(), source }
    }
}

/// Runs the work to its end on the runtime, whether or not the caller is dropped meanwhile; right here where there is no runtime.
pub(crate) async fn to_the_end<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T, Gone> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn(work).await.map_err(Gone),
        Err(_) => Ok(work.await),
    }
}
