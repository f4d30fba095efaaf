//! What the auditor knows of a Delta table: its own replay of the log, entry by entry.

use crate::family::{Seen, digest_of, digest_of_all};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_delta::action::{Action, parse_actions};
use lakebed_naming::Version;
use std::collections::{BTreeMap, BTreeSet};

/// What a transaction meant to do, and what it looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intent {
    pub(crate) operation: &'static str,
    pub(crate) read: Option<u64>,
    pub(crate) adds: BTreeMap<String, u64>,
    pub(crate) removes: BTreeSet<String>,
    /// It read this partition, and took all of it out.
    pub(crate) partition: Option<u64>,
    /// It read and took out everything.
    pub(crate) whole: bool,
    pub(crate) app: Option<(String, i64)>,
    pub(crate) property: Option<(String, String)>,
    /// It creates a table whose commits carry their own timestamps.
    pub(crate) stamps: bool,
}

/// A live file: its partition, and the version that added it.
type Files = BTreeMap<String, (u64, u64)>;

/// The table after the newest entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    live: Files,
    config: BTreeMap<String, Option<String>>,
    txns: BTreeMap<String, i64>,
    stamps: bool,
    last_stamp_ms: Option<i64>,
}

/// The transaction id in a commit, and its actions.
pub(crate) fn read(at: Version, bytes: &Bytes) -> Result<(String, Vec<Action>), String> {
    let actions = parse_actions(&format!("version {at}"), bytes).map_err(|error| error.to_string())?;
    let id = actions
        .iter()
        .find_map(|action| if let Action::CommitInfo(info) = action { info.transaction_id() } else { None })
        .map(str::to_owned)
        .ok_or_else(|| "it has no transaction id".to_owned())?;
    Ok((id, actions))
}

impl Model {
    /// Replays one commit and checks it against the state before it and against its intent.
    pub(crate) fn follow(&mut self, at: Version, actions: &[Action], intent: &Intent) -> Result<Seen, String> {
        let (mut adds, mut removes) = (BTreeMap::new(), BTreeSet::new());
        let config_before = self.config.clone();
        for action in actions {
            match action {
                Action::Add(add) => {
                    let partition = add.partition_values.get("p").and_then(|text| text.parse().ok());
                    adds.insert(add.path.to_string(), partition.unwrap_or(u64::MAX));
                }
                Action::Remove(remove) => {
                    removes.insert(remove.path.to_string());
                }
                Action::Metadata(metadata) => {
                    let entries = metadata.configuration.iter().filter(|(key, _)| key.starts_with("sim."));
                    self.config = entries.map(|(k, v)| (k.to_owned(), v.map(str::to_owned))).collect();
                }
                Action::Txn(txn) => self.transacts(&txn.app_id, txn.version, intent)?,
                Action::CommitInfo(info) => self.stamped(info.in_commit_timestamp_ms(), intent)?,
                Action::Protocol(_)
                | Action::Cdc(_)
                | Action::Domain(_)
                | Action::CheckpointMetadata(_)
                | Action::Sidecar(_) => {}
            }
        }
        if adds != intent.adds || removes != intent.removes {
            return Err(format!("it adds {adds:?} and removes {removes:?}, which is not what was meant ({intent:?})"));
        }
        self.check_config(config_before, intent)?;
        self.check_reads(intent)?;
        for path in &removes {
            if self.live.remove(path).is_none() {
                return Err(format!("it removes {path}, which is not in the table"));
            }
        }
        let names = adds.keys().map(ObjectName::new).collect();
        for (path, partition) in adds {
            if self.live.insert(path.clone(), (partition, at.get())).is_some() {
                return Err(format!("it adds {path}, which is in the table already"));
            }
        }
        if intent.whole && self.live.len() != intent.adds.len() {
            return Err("rows that an overwrite did not see are still there".to_owned());
        }
        Ok(Seen { names, digest: self.digest() })
    }

    fn digest(&self) -> u64 {
        let files = digest_of_all(self.live.iter().map(|(path, (partition, _))| (path.as_str(), *partition)));
        let config = digest_of_all(self.config.iter().map(|(key, value)| (key.as_str(), value.as_deref())));
        let txns = digest_of_all(self.txns.iter().map(|(app, version)| (app.as_str(), *version)));
        digest_of(&(self.live.len() as u64, files, config, txns))
    }

    fn transacts(&mut self, app: &str, version: i64, intent: &Intent) -> Result<(), String> {
        if intent.app.as_ref().map(|(app, version)| (app.as_str(), *version)) != Some((app, version)) {
            return Err(format!("it records {app} at {version}, which was not meant"));
        }
        let before = self.txns.insert(app.to_owned(), version).unwrap_or(0);
        if before + 1 == version { Ok(()) } else { Err(format!("{app} goes from {before} to {version}")) }
    }

    /// Timestamps that commits carry themselves rise without exception.
    fn stamped(&mut self, stamp_ms: Option<i64>, intent: &Intent) -> Result<(), String> {
        self.stamps |= intent.stamps;
        match (self.stamps, stamp_ms) {
            (false, _) => Ok(()),
            (true, None) => Err("it has no timestamp of its own".to_owned()),
            (true, Some(stamp)) if self.last_stamp_ms.is_some_and(|last| stamp <= last) => {
                Err(format!("its timestamp {stamp} does not lie above {:?}", self.last_stamp_ms))
            }
            (true, stamp) => {
                self.last_stamp_ms = stamp;
                Ok(())
            }
        }
    }

    /// A change of one property leaves all others as they were in the version before.
    fn check_config(&self, mut before: BTreeMap<String, Option<String>>, intent: &Intent) -> Result<(), String> {
        if let Some((key, value)) = &intent.property {
            before.insert(key.clone(), Some(value.clone()));
        }
        if before == self.config {
            Ok(())
        } else {
            Err(format!("it leaves the properties {:?} where {before:?} were due", self.config))
        }
    }

    /// Whoever read a partition, or all, has seen every file that is there when it commits.
    fn check_reads(&self, intent: &Intent) -> Result<(), String> {
        let Some(read) = intent.read else { return Ok(()) };
        let in_scope = |partition: u64| intent.whole || intent.partition == Some(partition);
        let unseen = self.live.iter().find(|(path, (partition, added))| {
            in_scope(*partition) && *added > read && !intent.removes.contains(*path)
        });
        match unseen {
            None => Ok(()),
            Some((path, (_, added))) => {
                Err(format!("it read its scope at version {read} and did not see {path} of version {added}"))
            }
        }
    }
}
