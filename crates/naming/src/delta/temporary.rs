//! Names of writes that did not finish.

use std::fmt;

use crate::digits;
use crate::{Uuid, Version};

const DYNAMO_FOLDER: &str = ".tmp/";

/// An unfinished write in `_delta_log/`. Readers ignore it; cleanup may remove it after a grace period, but for
/// [`TemporaryName::DynamoCommit`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TemporaryName {
    /// `.<name>.<uuid>.tmp`: Spark's checkpoints, and its stores that commit by rename.
    Renamed {
        /// The final name.
        of: String,
        /// The id that keeps rivals' files apart.
        id: Uuid,
    },
    /// `.tmp/<version>.json.<uuid>`: Spark's DynamoDB store. While the index says that this commit is incomplete, the file
    /// *is* the commit, so it must not be removed without asking the index.
    DynamoCommit {
        /// The version that it claims.
        version: Version,
        /// The id that keeps rivals' files apart.
        id: Uuid,
    },
    /// `_commit_<uuid>.json.tmp`: old versions of delta-rs.
    DeltaRs(Uuid),
    /// `<name>#<n>`: a put on a local disk.
    LocalPut {
        /// The final name.
        of: String,
        /// The number that keeps rivals' files apart.
        number: u64,
    },
}

impl TemporaryName {
    /// Reads a name relative to `_delta_log/`; `None` when it is not one of these.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(file) = name.strip_prefix(DYNAMO_FOLDER) {
            let (version, rest) = super::log_name::split_version(file)?;
            return Some(Self::DynamoCommit { version, id: Uuid::parse(rest.strip_prefix("json.")?)? });
        }
        if name.contains('/') {
            return None;
        }
        let numbered = name.rsplit_once('#').and_then(|(of, number)| Some((of, digits::plain(number)?)));
        if let Some((of, number)) = numbered {
            return (!of.is_empty()).then(|| Self::LocalPut { of: of.to_owned(), number });
        }
        let head = name.strip_suffix(".tmp")?;
        if let Some(id) = head.strip_prefix("_commit_").and_then(|rest| rest.strip_suffix(".json")) {
            return Uuid::parse(id).map(Self::DeltaRs);
        }
        let (of, id) = head.strip_prefix('.')?.rsplit_once('.')?;
        let id = Uuid::parse(id)?;
        (!of.is_empty()).then(|| Self::Renamed { of: of.to_owned(), id })
    }
}

impl fmt::Display for TemporaryName {
    /// The name relative to `_delta_log/`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renamed { of, id } => write!(f, ".{of}.{id}.tmp"),
            Self::DynamoCommit { version, id } => write!(f, "{DYNAMO_FOLDER}{:020}.json.{id}", version.get()),
            Self::DeltaRs(id) => write!(f, "_commit_{id}.json.tmp"),
            Self::LocalPut { of, number } => write!(f, "{of}#{number}"),
        }
    }
}
