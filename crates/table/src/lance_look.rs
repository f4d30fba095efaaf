//! Looks at rows of Lance data files for rules that need to know them.

use lakebed_lance::{FragmentSeen, LookAtRows};
use lakebed_ops::LanceFiles;
use lakebed_ops::lance::look;
use lakebed_transaction::{Expr, SeenRow};
use std::sync::Arc;

/// Looks at rows by whoever reads Lance data files here.
#[derive(Debug)]
pub(crate) struct Looker {
    pub(crate) files: Arc<dyn LanceFiles>,
}

impl LookAtRows for Looker {
    /// The bytes are in memory, but their decoder runs as tasks of a runtime, which must not be the one that waits here.
    fn rows(&self, fragment: FragmentSeen<'_>, filters: &[Expr]) -> Option<Vec<SeenRow>> {
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
                runtime.block_on(look(&self.files, &fragment, filters))
            });
            looking.join().ok().flatten()
        })
    }
}
