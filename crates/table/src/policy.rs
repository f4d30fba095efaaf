//! Which policy judges a commit.

use crate::snapshot::Snapshot;
use crate::{Table, TableError, TableFormat};
use lakebed_conflict::delta::{DeltaPolicy, InvalidLevel, IsolationLevel, LEVEL_PROPERTY};
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};
use lakebed_delta::JudgedBy;
use lakebed_delta::action::Metadata;
use lakebed_lance::JudgedBy as ByLance;
use std::collections::BTreeMap;

/// The property by which a table names its policy.
const PROPERTY: &str = "lakebed.policy";

impl Table {
    /// Whether commits to this table may be judged under the policy of this name (see [`crate::CommitOptions::policy`]).
    ///
    /// # Errors
    /// [`TableError::Invalid`]: there is no such policy for the table's format, or it is weaker than what the table promises.
    pub fn check_policy(&self, name: &str) -> Result<(), TableError> {
        match &self.snapshot {
            Snapshot::Delta(held) => delta(Some(name), Some(held.snapshot.metadata())).map(drop),
            Snapshot::Lance(held) => lance(Some(name), Some(held.snapshot.config())).map(drop),
        }
    }
}

/// The policy of a Delta table: the caller's, else the property `lakebed.policy`, else what the level comes to that the table names.
/// A caller may not take a weaker one than a property of the table names.
pub(crate) fn delta(argument: Option<&str>, metadata: Option<&Metadata>) -> Result<JudgedBy, TableError> {
    let property = |key: &str| metadata.and_then(|metadata| metadata.configuration.get(key));
    let by_property = property(PROPERTY).map(|text| named(text, PROPERTY)).transpose()?;
    let level = property(LEVEL_PROPERTY);
    let Some(argument) = argument else {
        return Ok(by_property.unwrap_or_else(|| of_level(IsolationLevel::of_property(level))));
    };
    let chosen = named(argument, "the policy")?;
    // A text that names no level is answered by its own refusal.
    let by_level = level.and_then(|text| IsolationLevel::of_property(Some(text)).ok()).map(|level| of_level(Ok(level)));
    if let Some(promised) = by_property.or(by_level)
        && !chosen.is_as_strong_as(promised)
    {
        return Err(weaker(chosen.name(), promised.name(), &format!("{PROPERTY} or {LEVEL_PROPERTY}")));
    }
    Ok(chosen)
}

fn named(text: &str, place: &str) -> Result<JudgedBy, TableError> {
    JudgedBy::named(text).ok_or_else(|| {
        let names: Vec<_> = JudgedBy::ALL.iter().map(|policy| policy.name()).collect();
        TableError::Invalid {
            problem: format!("{place} is `{text}`, which is no policy for Delta tables here"),
            advice: format!("choose one of {}", names.join(", ")),
        }
    })
}

/// What a level promises, by the policy that keeps the promise and refuses least.
fn of_level(level: Result<IsolationLevel, InvalidLevel>) -> JudgedBy {
    match level {
        Ok(IsolationLevel::Serializable) => JudgedBy::Rows(&PRECISE),
        Ok(IsolationLevel::WriteSerializable) => JudgedBy::Rows(&PRECISE_REORDER),
        Ok(IsolationLevel::SnapshotIsolation) => JudgedBy::Files(DeltaPolicy::Snapshot),
        // Every commit is refused under it, by the level's text.
        Err(_) => JudgedBy::Files(DeltaPolicy::TableLevel),
    }
}

/// The policy of a Lance table: the caller's, else the one that its configuration names, else `precise`. A caller may not take a weaker
/// one than the configuration names.
pub(crate) fn lance(argument: Option<&str>, config: Option<&BTreeMap<String, String>>) -> Result<ByLance, TableError> {
    let promised =
        config.and_then(|config| config.get(PROPERTY)).map(|text| named_lance(text, PROPERTY)).transpose()?;
    let Some(argument) = argument else { return Ok(promised.unwrap_or(ByLance::DEFAULT)) };
    let chosen = named_lance(argument, "the policy")?;
    match promised {
        Some(promised) if !chosen.is_as_strong_as(promised) => Err(weaker(chosen.name(), promised.name(), PROPERTY)),
        Some(_) | None => Ok(chosen),
    }
}

fn weaker(chosen: &str, promised: &str, properties: &str) -> TableError {
    TableError::Invalid {
        problem: format!("policy {chosen} is weaker than {promised}, which the table promises"),
        advice: format!("leave the policy out, or change {properties} of the table"),
    }
}

fn named_lance(text: &str, place: &str) -> Result<ByLance, TableError> {
    ByLance::named(text).ok_or_else(|| {
        let names: Vec<_> = ByLance::ALL.iter().map(|policy| policy.name()).collect();
        TableError::Invalid {
            problem: format!("{place} is `{text}`, which is no policy for Lance tables here"),
            advice: format!("choose one of {}", names.join(", ")),
        }
    })
}

/// Refuses properties that name a policy under which no later commit could be judged, not even one that takes it back.
pub(crate) fn check(format: TableFormat, properties: &BTreeMap<String, String>) -> Result<(), TableError> {
    match (properties.get(PROPERTY), format) {
        (None, _) => Ok(()),
        (Some(name), TableFormat::Delta) => named(name, PROPERTY).map(drop),
        (Some(name), TableFormat::Lance) => named_lance(name, PROPERTY).map(drop),
    }
}
