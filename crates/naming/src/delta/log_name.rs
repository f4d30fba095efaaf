//! What one name in `_delta_log/` is.

use super::checkpoint::CheckpointName;
use super::temporary::TemporaryName;
use crate::digits;
use crate::{Uuid, Version, VersionRange};

/// The folder of the log, relative to the table's root.
pub const LOG_FOLDER: &str = "_delta_log";

/// The hint at the newest checkpoint, in [`LOG_FOLDER`]. It may be stale, damaged or absent.
pub const LAST_CHECKPOINT: &str = "_last_checkpoint";

/// The hint of Spark's `VACUUM LITE`, in [`LOG_FOLDER`].
pub const LAST_VACUUM_INFO: &str = "_last_vacuum_info";

const STAGED_FOLDER: &str = "_staged_commits";
const SIDECAR_FOLDER: &str = "_sidecars";
const VERSION_DIGITS: usize = 20;

/// What an object is, by its name relative to `_delta_log/`.
///
/// Only direct children of the log with an exact name count as commits, checkpoints and compacted logs.
///
/// **Digits.** The protocol pads a version to 20 digits, and everything here writes it so. Spark's recogniser also takes
/// `<digits>.json` of any other width for a commit. Such a name is told apart ([`LogName::UnpaddedCommit`]) and never counted
/// as a commit: next to the padded name of the same version it would be a second content for one version, and alone it
/// would be a version that other clients do not see and that a put-if-absent of the padded name does not collide with.
/// Where it stands in a gap, the error names it.
///
/// ```
/// use lakebed_naming::Version;
/// use lakebed_naming::delta::LogName;
///
/// assert_eq!(LogName::parse("00000000000000000003.crc"), LogName::Checksum(Version::new(3)));
/// assert_eq!(LogName::parse("0.json"), LogName::UnpaddedCommit(Version::new(0)));
/// assert_eq!(LogName::parse(".tmp/00000000000000000003.json"), LogName::InFolder);
/// // A staged commit counts only in its own folder.
/// assert_eq!(LogName::parse("00000000000000000002.0f2c6a1e-0000-4000-8000-000000000001.json"), LogName::Other);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LogName {
    /// `<version>.json`: the object whose creation is the commit.
    Commit(Version),
    /// `<version>.json` with other than 20 digits, which is not taken for a commit.
    UnpaddedCommit(Version),
    /// A file of a checkpoint.
    Checkpoint(CheckpointName),
    /// `<first>.<last>.compacted.json`, `last` above `first`: may replace those commits in replay.
    Compacted(VersionRange),
    /// `<version>.crc`: the version's totals, for checking.
    Checksum(Version),
    /// `_last_checkpoint`.
    LastCheckpoint,
    /// `_last_vacuum_info`.
    LastVacuumInfo,
    /// `_staged_commits/<version>.<uuid>.json`: a proposal on a catalog-managed table. Its existence proves nothing.
    StagedCommit {
        /// The version that it proposes.
        version: Version,
        /// The id that keeps rivals' proposals apart.
        id: Uuid,
    },
    /// `_sidecars/<file>`, a Parquet file of any name; checkpoints say which of them belong.
    Sidecar {
        /// The bare file name.
        file: String,
    },
    /// `.<name>.crc`, in the log or in a folder of it: Hadoop's own checksum of a file on a local disk, not a version's.
    HadoopChecksum {
        /// The folder and its slash; empty in the log itself.
        folder: String,
        /// The bare name of the file that it checks.
        of: String,
    },
    /// A write that did not finish.
    Temporary(TemporaryName),
    /// A folder, or something in a folder that none of the above describes.
    InFolder,
    /// None of these; ignored.
    Other,
}

impl LogName {
    /// Reads a name relative to `_delta_log/`.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        if let Some(temporary) = TemporaryName::parse(name) {
            return Self::Temporary(temporary);
        }
        if let Some(side_file) = parse_hadoop(name) {
            return side_file;
        }
        match name.split_once('/') {
            Some((folder, file)) => parse_in_folder(folder, file).unwrap_or(Self::InFolder),
            None => parse_direct(name).unwrap_or(Self::Other),
        }
    }

    /// The name relative to `_delta_log/`; `None` for [`LogName::InFolder`] and [`LogName::Other`], which stand for many.
    /// (An unpadded commit is printed without leading zeros, which need not be how it was spelled.)
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        match self {
            Self::Commit(version) => Some(commit_file(*version)),
            Self::UnpaddedCommit(version) => Some(format!("{version}.json")),
            Self::Checkpoint(name) => Some(name.to_string()),
            Self::Compacted(range) => {
                Some(format!("{:020}.{:020}.compacted.json", range.first().get(), range.last().get()))
            }
            Self::Checksum(version) => Some(format!("{:020}.crc", version.get())),
            Self::LastCheckpoint => Some(LAST_CHECKPOINT.to_owned()),
            Self::LastVacuumInfo => Some(LAST_VACUUM_INFO.to_owned()),
            Self::StagedCommit { version, id } => Some(format!("{STAGED_FOLDER}/{:020}.{id}.json", version.get())),
            Self::Sidecar { file } => Some(format!("{SIDECAR_FOLDER}/{file}")),
            Self::HadoopChecksum { folder, of } => Some(format!("{folder}.{of}.crc")),
            Self::Temporary(name) => Some(name.to_string()),
            Self::InFolder | Self::Other => None,
        }
    }

    /// The name relative to the table's root; `None` where [`LogName::file_name`] is.
    #[must_use]
    pub fn path(&self) -> Option<String> {
        self.file_name().map(|file| log_path(&file))
    }
}

/// The bare name of a version's commit in `_delta_log/`.
#[must_use]
pub fn commit_file(version: Version) -> String {
    format!("{:020}.json", version.get())
}

/// The name of a version's commit relative to the table's root.
#[must_use]
pub fn commit_path(version: Version) -> String {
    log_path(&commit_file(version))
}

/// The name relative to the table's root of what is called `name` in `_delta_log/`.
#[must_use]
pub fn log_path(name: &str) -> String {
    format!("{LOG_FOLDER}/{name}")
}

/// The name, relative to the table's root, **after** which a lexical listing yields every object of `version` and above, and
/// of the log's numbered objects no other. It names no object itself, so it does not matter whether the store's offset is
/// exclusive.
///
/// ```
/// use lakebed_naming::Version;
/// use lakebed_naming::delta::{commit_path, list_after};
///
/// let after = list_after(Version::new(10));
/// assert!(commit_path(Version::new(9)) < after && after < commit_path(Version::new(10)));
/// ```
#[must_use]
pub fn list_after(version: Version) -> String {
    log_path(&format!("{:020}.", version.get()))
}

/// Whether a name sorts after every name in the log that begins with a version: a listing in byte order has nothing more of them
/// behind it. Folders of the log and what writers left that died sort there, and may be many.
///
/// ```
/// use lakebed_naming::Version;
/// use lakebed_naming::delta::{commit_path, is_past_versions};
///
/// assert!(is_past_versions("_delta_log/_commit_0f2c6a1e.json.tmp") && is_past_versions("_delta_log/_sidecars/a.parquet"));
/// assert!(!is_past_versions(&commit_path(Version::new(u64::MAX))) && !is_past_versions("_delta_log/.tmp/1.json"));
/// ```
#[must_use]
pub fn is_past_versions(path: &str) -> bool {
    path > log_path(":").as_str()
}

/// The version that a file name starts with, and what follows its dot.
pub(crate) fn split_version(file_name: &str) -> Option<(Version, &str)> {
    let (digits, rest) = file_name.split_at_checked(VERSION_DIGITS)?;
    Some((Version::new(digits::padded(digits, VERSION_DIGITS)?), rest.strip_prefix('.')?))
}

fn parse_direct(name: &str) -> Option<LogName> {
    match name {
        LAST_CHECKPOINT => return Some(LogName::LastCheckpoint),
        LAST_VACUUM_INFO => return Some(LogName::LastVacuumInfo),
        STAGED_FOLDER | SIDECAR_FOLDER => return Some(LogName::InFolder),
        _ => {}
    }
    let Some((version, rest)) = split_version(name) else { return parse_unpadded(name) };
    match rest {
        "json" => return Some(LogName::Commit(version)),
        "crc" => return Some(LogName::Checksum(version)),
        _ => {}
    }
    if let Some(checkpoint) = CheckpointName::parse(name) {
        return Some(LogName::Checkpoint(checkpoint));
    }
    let (last, "compacted.json") = split_version(rest)? else { return None };
    let range = VersionRange::new(version, last)?;
    (range.first() < range.last()).then_some(LogName::Compacted(range))
}

fn parse_unpadded(name: &str) -> Option<LogName> {
    let digits = name.strip_suffix(".json")?;
    let number = digits::any_width(digits)?;
    (digits.len() != VERSION_DIGITS).then_some(LogName::UnpaddedCommit(Version::new(number)))
}

fn parse_hadoop(name: &str) -> Option<LogName> {
    let split = name.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, file) = name.split_at_checked(split)?;
    let of = file.strip_prefix('.')?.strip_suffix(".crc")?;
    (!of.is_empty()).then(|| LogName::HadoopChecksum { folder: folder.to_owned(), of: of.to_owned() })
}

fn parse_in_folder(folder: &str, file: &str) -> Option<LogName> {
    match folder {
        STAGED_FOLDER => {
            let (version, rest) = split_version(file)?;
            let id = Uuid::parse(rest.strip_suffix(".json")?)?;
            Some(LogName::StagedCommit { version, id })
        }
        SIDECAR_FOLDER => {
            let stem = file.strip_suffix(".parquet")?;
            let visible = !stem.is_empty() && !stem.starts_with('.') && !stem.contains('/');
            visible.then(|| LogName::Sidecar { file: file.to_owned() })
        }
        _ => None,
    }
}
