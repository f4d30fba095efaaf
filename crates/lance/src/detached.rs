//! Versions outside of the history.

use crate::build::{self, Inputs};
use crate::transaction::{Transaction, file_name};
use crate::{LanceError, Pending};
use lakebed_commit::{ObjectName, Rendered};
use lakebed_naming::Version;
use lakebed_naming::lance::DetachedVersion;

/// The manifest of a version outside of the history, made of the version that ours read and of nothing that landed since, and
/// the transaction file beside it. Nobody meets such a version unless he is told its number.
///
/// # Errors
/// Ours creates a table, or the operation does not fit the version that it read.
pub fn render_detached(pending: &Pending, number: DetachedVersion, now_ms: u64) -> Result<Rendered, LanceError> {
    if pending.base.is_none() {
        return Err(LanceError::Invalid {
            problem: "a table does not begin with a detached version".to_owned(),
            advice: "create the table first".to_owned(),
        });
    }
    let name = file_name(&pending.message)?;
    let message = Transaction::new(pending.message.clone()).encoded().clone();
    let mut next = build::build(&Inputs {
        base: pending.base.as_deref(),
        creation: &pending.creation,
        restored: pending.restored.as_deref(),
        cloned: None,
        moved: None,
        transaction: &pending.message,
        transaction_file: &name.file_name(),
        at: Version::new(number.get()),
        now_ms,
    })?;
    let entry = next.encode(Some(&message))?.bytes;
    Ok(Rendered { side: vec![(ObjectName::new(name.path()), message)], entry })
}
