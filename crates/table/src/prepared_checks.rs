//! Prepared Delta actions against the version that they are for: what a statement of ours could never produce is refused
//! before it can make the table unreadable to anybody.

use crate::TableError;
use futures::future::try_join_all;
use lakebed_delta::action::{Action, Add, Protocol, Remove};
use lakebed_delta::{Snapshot, partition};
use lakebed_naming::delta::DataPath;
use lakebed_storage::Store;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// The keys of Delta's actions.
pub(crate) const ACTIONS: [&str; 8] =
    ["add", "remove", "cdc", "metaData", "protocol", "txn", "domainMetadata", "commitInfo"];

/// The keys of a JSON object, and which of them have no value but null. What else the values are is not looked at.
pub(crate) struct Keys(pub(crate) Vec<(String, bool)>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Option<IgnoredAny>>()? {
                    keys.push((key, value.is_none()));
                }
                Ok(Keys(keys))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// Every line is an action that we know: a misspelled one would be a commit that silently does nothing.
pub(crate) fn lines(object: &str, bytes: &[u8], header: bool) -> Result<(), TableError> {
    let mut found = false;
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.is_empty()).skip(usize::from(header)) {
        let Keys(keys) = serde_json::from_slice(line).map_err(|error| {
            invalid(format!("line {} of {object} is no JSON object: {error}", at + 1), "give one action a line")
        })?;
        let known = keys.iter().any(|(key, is_null)| ACTIONS.contains(&key.as_str()) && !is_null);
        if !known {
            let names: Vec<_> = keys.iter().map(|(key, _)| key.as_str()).collect();
            return Err(invalid(
                format!("line {} of {object} holds no action (its keys: {})", at + 1, names.join(", ")),
                "give one of add, remove, cdc, metaData, protocol, txn, domainMetadata a line",
            ));
        }
        found = true;
    }
    if found || header { Ok(()) } else { Err(invalid(format!("{object} holds no action"), "write the actions first")) }
}

/// The actions fit the version that they are committed on.
pub(crate) fn actions(snapshot: &Snapshot, actions: &[Action]) -> Result<(), TableError> {
    let live: HashSet<Arc<str>> = if actions.iter().any(|action| matches!(action, Action::Remove(_))) {
        snapshot.files().map(|add| add.key()).collect()
    } else {
        HashSet::new()
    };
    for action in actions {
        match action {
            Action::Add(add) => file(snapshot, add)?,
            Action::Remove(remove) => removal(snapshot, &live, remove)?,
            Action::Protocol(protocol) => no_downgrade(snapshot.protocol(), protocol)?,
            Action::Cdc(_)
            | Action::Txn(_)
            | Action::Metadata(_)
            | Action::Domain(_)
            | Action::CommitInfo(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => {}
        }
    }
    Ok(())
}

/// Whether an application's transaction is one that the table has already: a batch that is given again writes nothing.
pub(crate) fn repeats(snapshot: &Snapshot, actions: &[Action]) -> bool {
    actions.iter().any(|action| {
        let Action::Txn(txn) = action else { return false };
        let last = snapshot.app_transactions().get(txn.app_id.as_str()).map(|known| known.version);
        last.is_some_and(|last| txn.version <= last)
    })
}

fn file(snapshot: &Snapshot, add: &Add) -> Result<(), TableError> {
    let unusable = |problem: String| invalid(format!("the added file `{}` {problem}", add.path), "correct the action");
    match DataPath::decode(&add.path) {
        Ok(DataPath::Relative(_) | DataPath::Absolute(_)) => {}
        Err(error) => return Err(unusable(format!("has a path that names no object: {error}"))),
    }
    if add.size < 0 {
        return Err(unusable(format!("has the size {}", add.size)));
    }
    for column in snapshot.core().partition_columns() {
        let text = add.partition_values.get(&column.physical_name);
        if let Err(error) = partition::parse(text, &column.column_type) {
            return Err(unusable(format!("has an unusable value for partition column {}: {error}", column.name)));
        }
    }
    Ok(())
}

fn removal(snapshot: &Snapshot, live: &HashSet<Arc<str>>, remove: &Remove) -> Result<(), TableError> {
    if live.contains(&remove.key()) {
        return Ok(());
    }
    Err(invalid(
        format!(
            "the removed file `{}` is not in version {} (with that deletion vector)",
            remove.path,
            snapshot.version()
        ),
        "name the version that was read in commitInfo.readVersion, or plan again on the newest version",
    ))
}

/// Files looked for at once.
const LOOKED_FOR_AT_ONCE: usize = 32;

/// Every file that comes in stands below the table's root as the action says; of one elsewhere the store does not know.
pub(crate) async fn files_are_there(store: &dyn Store, actions: &[Action]) -> Result<(), TableError> {
    let come: Vec<(&str, i64)> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Add(add) => Some((&*add.path, add.size)),
            Action::Cdc(cdc) => Some((&*cdc.path, cdc.size)),
            Action::Remove(_)
            | Action::Metadata(_)
            | Action::Protocol(_)
            | Action::Txn(_)
            | Action::Domain(_)
            | Action::CommitInfo(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => None,
        })
        .collect();
    for some in come.chunks(LOOKED_FOR_AT_ONCE) {
        try_join_all(some.iter().map(|(path, size)| is_there(store, path, *size))).await?;
    }
    Ok(())
}

async fn is_there(store: &dyn Store, path: &str, size: i64) -> Result<(), TableError> {
    let Ok(DataPath::Relative(name)) = DataPath::decode(path) else { return Ok(()) };
    match store.head(&name).await? {
        Some(found) if u64::try_from(size) == Ok(found.size_bytes) => Ok(()),
        Some(found) => Err(invalid(
            format!(
                "the added file `{path}` has {} bytes below {}, and the action says {size}",
                found.size_bytes,
                store.root()
            ),
            "write the file to its end before its action is prepared, and give its size there",
        )),
        None => Err(invalid(
            format!("the added file `{path}` is not below {}", store.root()),
            "write the data files there first; paths are relative to the table's root and percent-encoded",
        )),
    }
}

/// A protocol that says less than the table's would let readers in that read it wrongly.
fn no_downgrade(before: &Protocol, after: &Protocol) -> Result<(), TableError> {
    let (from, to) = (before.state(), after.state());
    let dropped = from.dropped_by(&to);
    let lower =
        after.min_reader_version < before.min_reader_version || after.min_writer_version < before.min_writer_version;
    if dropped.is_empty() && !lower {
        return Ok(());
    }
    Err(invalid(
        format!(
            "the protocol would go from {}/{} down to {}/{}",
            before.min_reader_version, before.min_writer_version, after.min_reader_version, after.min_writer_version
        ),
        "dropping a feature needs its traces removed first; leave the protocol as it is",
    ))
}

fn invalid(problem: String, advice: &str) -> TableError {
    TableError::Invalid { problem, advice: advice.to_owned() }
}

/// Committed again, a transaction says only what is known here: one that says more is left to who knows it.
pub(crate) fn known(transaction: &lakebed_lance::transaction::Transaction) -> Result<(), TableError> {
    if !transaction.holds_unknown_fields() {
        return Ok(());
    }
    Err(TableError::Invalid {
        problem: "the transaction holds fields that are not known here".to_owned(),
        advice: "commit it with the client that made it, or with a newer version".to_owned(),
    })
}
