//! Which policies a format's tables take.

use crate::check::Promise;
use crate::{Arena, TrialError};
use lakebed_table::TableFormat;
use std::collections::BTreeMap;

/// Every policy there is.
pub const POLICIES: [&str; 7] = [
    "delta-serializable",
    "delta-write-serializable",
    "delta-snapshot",
    "lance",
    "maxcompute",
    "precise",
    "precise-reorder",
];

/// What a table promises, and how.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its name for people.
    pub name: String,
    /// The properties by which a table asks for it.
    pub properties: BTreeMap<String, String>,
    /// The policy that keeps it.
    pub policy: &'static str,
    /// The policy by which the format's own clients keep it.
    pub own: &'static str,
}

/// The policies that tables of a format take.
///
/// # Errors
/// No table can be made.
pub async fn policies(arena: &Arena) -> Result<Vec<&'static str>, TrialError> {
    let (table, _) = arena.table(&arena.memory(), BTreeMap::new(), &[]).await?;
    Ok(POLICIES.into_iter().filter(|policy| table.check_policy(policy).is_ok()).collect())
}

/// The levels that a table of a format may name.
///
/// # Errors
/// No table can be made.
pub async fn levels(arena: &Arena) -> Result<Vec<Level>, TrialError> {
    if arena.format == TableFormat::Lance {
        let level = |policy: &'static str| Level {
            name: policy.to_owned(),
            properties: BTreeMap::from([("lakebed.policy".to_owned(), policy.to_owned())]),
            policy,
            own: "lance",
        };
        let promising = policies(arena).await?.into_iter().filter(|policy| Promise::of(policy).is_some());
        return Ok(promising.map(level).collect());
    }
    let levels = [
        ("Serializable", "precise", "delta-serializable"),
        ("WriteSerializable", "precise-reorder", "delta-write-serializable"),
        ("SnapshotIsolation", "delta-snapshot", "delta-snapshot"),
    ];
    let level = |(name, policy, own): (&str, &'static str, &'static str)| {
        let mut properties = arena.properties();
        properties.insert("delta.isolationLevel".to_owned(), name.to_owned());
        Level { name: name.to_owned(), properties, policy, own }
    };
    Ok(levels.into_iter().map(level).collect())
}
