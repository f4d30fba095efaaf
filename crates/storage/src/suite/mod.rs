//! The behaviour suite: what [`crate::Store`] promises, checked against any backend.
//!
//! For a backend of your own, add this crate with feature `test-util` to the dev-dependencies and run both parts on a
//! multi-threaded runtime:
//!
//! ```
//! use lakebed_storage::{MemoryStore, Store, suite};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "multi_thread")]
//! # async fn main() -> Result<(), suite::Violation> {
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
//! let report = suite::run(&store).await?;
//! println!("{} checks held", report.checks.len());
//! let race = suite::race(&store, 32, 20).await?;
//! assert_eq!(race.unclear, 0, "a healthy store on a healthy network names a winner each time");
//! # Ok(())
//! # }
//! ```
//!
//! Everything happens in a folder `suite-<random>` of its own, which is emptied at the end if nothing was violated.
//! [`run`] alone does not prove a backend: a store that looks first and writes then passes it. Race it.

mod checks;
mod listing;
mod race;

pub use race::{RaceReport, race};

use crate::{Create, Store, StoreError};
use bytes::Bytes;
use std::fmt::Debug;
use std::sync::Arc;

/// A promise that the store broke.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("{root}: the store breaks `{check}`: {detail}")]
pub struct Violation {
    /// The store's root.
    pub root: String,
    /// The check, by the name it has in a [`Report`].
    pub check: &'static str,
    /// What was expected and what came.
    pub detail: String,
}

/// What [`run`] looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The names of the checks that held, in order.
    pub checks: Vec<&'static str>,
}

/// Checks every method of `store`: absence, whole and ranged reads, sizes, creates that keep what stands, overwriting,
/// copying, removal of what is not there, names with odd characters, and listings (order, paging, bounds, folders).
///
/// # Errors
/// The first promise that does not hold; what was stored stays for a look.
pub async fn run(store: &Arc<dyn Store>) -> Result<Report, Violation> {
    let mut bench = Bench::new(store);
    checks::run(&mut bench).await?;
    listing::run(&mut bench).await?;
    bench.check = "clean up";
    bench.clear().await?;
    Ok(bench.report)
}

/// A store under test, a folder in it, and the check that is running.
struct Bench {
    store: Arc<dyn Store>,
    folder: String,
    check: &'static str,
    report: Report,
}

impl Bench {
    #[expect(clippy::disallowed_methods, reason = "every run takes a folder of its own in a store that may be shared")]
    fn new(store: &Arc<dyn Store>) -> Self {
        let folder = format!("suite-{}", uuid::Uuid::new_v4().simple());
        Self { store: Arc::clone(store), folder, check: "start", report: Report::default() }
    }

    /// Ends the check before and names the next.
    fn check(&mut self, check: &'static str) {
        self.check = check;
        self.report.checks.push(check);
    }

    fn name(&self, rest: &str) -> String {
        format!("{}/{rest}", self.folder)
    }

    fn broken(&self, detail: impl Into<String>) -> Violation {
        Violation { root: self.store.root().to_owned(), check: self.check, detail: detail.into() }
    }

    /// An error where the contract allows none.
    fn ok<T>(&self, what: &str, answer: Result<T, StoreError>) -> Result<T, Violation> {
        answer.map_err(|error| self.broken(format!("{what} failed: {error}")))
    }

    fn same<T: PartialEq + Debug>(&self, what: &str, got: &T, wanted: &T) -> Result<(), Violation> {
        if got == wanted {
            return Ok(());
        }
        Err(self.broken(format!("{what}: expected {wanted:?}, got {got:?}")))
    }

    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Violation> {
        self.ok(&format!("put {name}"), self.store.put(name, Bytes::copy_from_slice(bytes)).await)
    }

    async fn reads(&self, name: &str, wanted: Option<&[u8]>) -> Result<(), Violation> {
        let what = format!("get {name}");
        let got = self.ok(&what, self.store.get(name).await)?;
        self.same(&what, &got.as_deref(), &wanted)
    }

    async fn creates(&self, name: &str, bytes: &[u8], wanted: Create) -> Result<(), Violation> {
        let what = format!("create {name}");
        let got = self.ok(&what, self.store.create(name, Bytes::copy_from_slice(bytes)).await)?;
        self.same(&what, &got, &wanted)
    }

    /// Removes what this bench stored, and checks that it is gone.
    async fn clear(&self) -> Result<(), Violation> {
        const PAGE: usize = 1_000;
        loop {
            let page = self.ok("list", self.store.list(&self.folder, None, PAGE).await)?;
            let names: Vec<String> = page.into_iter().map(|listed| listed.name).collect();
            if names.is_empty() {
                return Ok(());
            }
            self.ok("delete_all", self.store.delete_all(&names).await)?;
            if let Some(name) = names.first() {
                self.reads(name, None).await?;
            }
        }
    }
}
