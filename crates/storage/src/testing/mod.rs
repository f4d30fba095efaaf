//! Wrappers that count, slow down and break a store, for tests of whatever stands on [`crate::Store`].
//!
//! Each wraps an `Arc<dyn Store>` and is one, so they stack. A [`Faulty`] one follows a [`Script`]:
//!
//! ```
//! use lakebed_storage::testing::{Counting, Fault, Faulty, Operation, Script};
//! use lakebed_storage::{Create, MemoryStore, Store};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), lakebed_storage::StoreError> {
//! // The second create stores its bytes, but the answer gets lost.
//! let lost = Fault::LostAnswer(Create::Unknown("timed out".to_owned()));
//! let faulty = Arc::new(Faulty::new(Arc::new(MemoryStore::new()), Script::nth(2, lost)));
//! let store = Counting::new(faulty);
//! assert_eq!(store.create("a", "1".into()).await?, Create::Created);
//! assert_eq!(store.create("b", "2".into()).await?, Create::Unknown("timed out".to_owned()));
//! assert_eq!(store.get("b").await?, Some("2".into()));
//! assert_eq!(store.take().count(Operation::Create), 2);
//! # Ok(())
//! # }
//! ```

mod aged;
mod counting;
mod delayed;
mod faulty;
mod script;

pub use aged::Aged;
pub use counting::{Counting, Operation, Request, Requests};
pub use delayed::Delayed;
pub use faulty::{Fault, Faulty};
pub use script::{Call, Script};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A test that panicked elsewhere must not hide what this one saw.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
