//! Application transactions: the last batch that each streaming writer committed, so that a batch given twice is written once.
//!
//! The format has no place of its own for them. A writer names application and batch in the properties of its transaction; the
//! manifest's configuration, which every client carries from version to version, holds the last batch of each application.

use crate::proto::table::{Manifest, Transaction as Message};
use crate::{LanceError, Landed, Snapshot};
use lakebed_transaction::{Evidence, Judgement, Reason, Register, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The transaction property that names the application.
pub const ID_KEY: &str = "lakebed.app.id";

/// The transaction property with the batch's number, which grows.
pub const VERSION_KEY: &str = "lakebed.app.version";

/// What the configuration key of an application begins with; its name follows.
const LAST_PREFIX: &str = "lakebed.app.last.";

const SAME_APPLICATION: Reason = Reason {
    check: "same-application",
    sentence: "landed committed a batch of an application whose last one ours looked up",
    advice: "give the batch again: it is skipped where the table has it; run one writer for each application",
    error_class: None,
};

/// A batch of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppTransaction {
    /// The application's name.
    pub app_id: String,
    /// The batch's number.
    pub version: i64,
}

impl AppTransaction {
    /// The batch that a transaction says it is.
    ///
    /// # Errors
    /// It names an application and no number, or a number and no application.
    pub fn of(message: &Message) -> Result<Option<Self>, LanceError> {
        let property = |key: &str| message.transaction_properties.get(key);
        let (app_id, version) = match (property(ID_KEY), property(VERSION_KEY)) {
            (None, None) => return Ok(None),
            (Some(app_id), Some(version)) if !app_id.is_empty() => (app_id, version),
            (Some(_) | None, Some(_) | None) => {
                return Err(invalid(&format!("of {ID_KEY} and {VERSION_KEY} one is missing or empty")));
            }
        };
        let version =
            version.parse().map_err(|_| invalid(&format!("{VERSION_KEY} is {version}, which is no number")))?;
        Ok(Some(Self { app_id: app_id.clone(), version }))
    }

    /// Says in a transaction that it is this batch.
    pub fn mark(&self, message: &mut Message) {
        message.transaction_properties.insert(ID_KEY.to_owned(), self.app_id.clone());
        message.transaction_properties.insert(VERSION_KEY.to_owned(), self.version.to_string());
    }
}

fn invalid(problem: &str) -> LanceError {
    LanceError::Invalid {
        problem: format!("in the properties of the transaction {problem}"),
        advice: "name the application and the number of its batch, or neither".to_owned(),
    }
}

/// The last batch of each application that a version of the table has.
#[must_use]
pub fn last_of_each(snapshot: &Snapshot) -> BTreeMap<String, i64> {
    let entry =
        |(key, value): (&String, &String)| Some((key.strip_prefix(LAST_PREFIX)?.to_owned(), value.parse().ok()?));
    snapshot.config().iter().filter_map(entry).collect()
}

/// The last batch of an application that a version of the table has.
#[must_use]
pub fn last(snapshot: &Snapshot, app_id: &str) -> Option<i64> {
    snapshot.config().get(&format!("{LAST_PREFIX}{app_id}"))?.parse().ok()
}

/// Writes the batch of a transaction down in the version that it makes.
pub(crate) fn record(manifest: &mut Manifest, message: &Message) -> Result<(), LanceError> {
    if let Some(batch) = AppTransaction::of(message)? {
        manifest.config.insert(format!("{LAST_PREFIX}{}", batch.app_id), batch.version.to_string());
    }
    Ok(())
}

/// Carries the batches of the version before into one whose configuration is older: a batch stays committed, whatever becomes of
/// its rows.
pub(crate) fn carry(manifest: &mut Manifest, before: &Manifest) {
    let batches = before.config.iter().filter(|(key, _)| key.starts_with(LAST_PREFIX));
    manifest.config.extend(batches.map(|(key, value)| (key.clone(), value.clone())));
}

/// A conflict of ours, a batch of an application, with a landed one of the same: the application's last batch is another than
/// in the version before.
pub(crate) fn conflict(ours: &Message, before: &Snapshot, landed: &Landed) -> Result<Option<Judgement>, LanceError> {
    let Some(batch) = AppTransaction::of(ours)? else { return Ok(None) };
    if last(before, &batch.app_id) == last(landed.snapshot(), &batch.app_id) {
        return Ok(None);
    }
    let evidence = Evidence::Register(Register::Application(Arc::from(batch.app_id)));
    Ok(Some(Judgement::by(Verdict::Retryable, SAME_APPLICATION, Some(evidence))))
}
