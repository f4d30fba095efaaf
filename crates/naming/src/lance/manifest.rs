//! Manifests: the objects whose creation is the commit.

use crate::digits;
use crate::{Uuid, Version};

/// The folder of all manifests, relative to the table's root.
pub const VERSIONS_FOLDER: &str = "_versions";

/// The file in [`VERSIONS_FOLDER`] that hints at the newest version on stores that do not list in order.
pub const HINT_FILE: &str = "latest_version_hint.json";

/// The file in [`VERSIONS_FOLDER`] that stands there while manifests are given names of another scheme. It sorts before all
/// of them, so that every look at the folder meets it first; other clients pass it over.
pub const MIGRATION_FILE: &str = ".migrate-naming";

const SUFFIX: &str = ".manifest";

/// Digits of a V2 name.
const V2_DIGITS: usize = 20;

/// The mark of detached versions; no version of the history has it.
const DETACHED_BIT: u64 = 1 << 63;

/// How a table spells the versions in the names of its manifests. A table uses one scheme only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scheme {
    /// `<version>.manifest`, decimal without padding: 10 sorts before 9.
    V1,
    /// `<u64::MAX − version>.manifest`, padded to 20 digits: the newest version sorts first.
    V2,
}

/// The number of a manifest outside the history: bit 63 is always set, the rest is random.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DetachedVersion(u64);

impl DetachedVersion {
    /// A detached number from 64 random bits; bit 63 is set whatever they are.
    ///
    /// ```
    /// use lakebed_naming::lance::{DetachedVersion, ManifestName};
    ///
    /// let name = ManifestName::Detached(DetachedVersion::from_random(42));
    /// assert_eq!(name.file_name().as_deref(), Some("d9223372036854775850.manifest"));
    /// ```
    #[must_use]
    pub const fn from_random(bits: u64) -> Self {
        Self(bits | DETACHED_BIT)
    }

    /// The detached number that `number` is; `None` without bit 63.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number & DETACHED_BIT == 0 { None } else { Some(Self(number)) }
    }

    /// The number, as the manifest and the names hold it.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The name that a staged manifest will get when it is published.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StagedTarget {
    /// A version of the history.
    Version {
        /// How the final name is spelled.
        scheme: Scheme,
        /// The version that it claims.
        version: Version,
    },
    /// A manifest outside the history.
    Detached(DetachedVersion),
}

/// What a file name in `_versions/` is.
///
/// ```
/// use lakebed_naming::Version;
/// use lakebed_naming::lance::{ManifestName, Scheme};
///
/// let version = Version::new(10);
/// assert_eq!(ManifestName::parse("10.manifest"), ManifestName::Version { scheme: Scheme::V1, version });
/// assert_eq!(
///     ManifestName::parse("18446744073709551605.manifest"),
///     ManifestName::Version { scheme: Scheme::V2, version },
/// );
/// assert_eq!(ManifestName::parse("4.manifest#1"), ManifestName::Temporary);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ManifestName {
    /// A version of the history.
    Version {
        /// How the name is spelled.
        scheme: Scheme,
        /// The version that it is.
        version: Version,
    },
    /// A manifest outside the history; it is never the newest and is not listed among the versions.
    Detached(DetachedVersion),
    /// `<final name>-<uuid>`: written by a rename or an external-index commit, not yet published. Its existence proves nothing.
    Staged {
        /// The name that it is meant for.
        target: StagedTarget,
        /// The id that keeps rivals' staged objects apart.
        id: Uuid,
    },
    /// `latest_version_hint.json`.
    Hint,
    /// Left by a local write that did not finish: `<final name>#<n>` or `.tmp…`.
    Temporary,
    /// None of these, or a number that no history can hold (see [`ManifestName::parse`]).
    Other,
}

impl ManifestName {
    /// Reads a bare file name of `_versions/`, without the folder.
    ///
    /// The scheme follows from the length alone, as in Lance: 29 bytes are V2. A number that would have bit 63 set is
    /// [`ManifestName::Other`], because a version of the history never has it: so a V1 number that somebody padded to 20
    /// digits is not taken for a version near 2⁶⁴. V1 numbers with leading zeros are `Other` too (no writer makes them).
    #[must_use]
    pub fn parse(file_name: &str) -> Self {
        if file_name == HINT_FILE {
            return Self::Hint;
        }
        if is_temporary(file_name) {
            return Self::Temporary;
        }
        if let Some(target) = parse_target(file_name) {
            return match target {
                StagedTarget::Version { scheme, version } => Self::Version { scheme, version },
                StagedTarget::Detached(number) => Self::Detached(number),
            };
        }
        parse_staged(file_name).unwrap_or(Self::Other)
    }

    /// The bare file name; `None` for [`ManifestName::Temporary`] and [`ManifestName::Other`], which stand for many.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        match *self {
            Self::Version { scheme, version } => Some(manifest_file(scheme, version)),
            Self::Detached(number) => Some(target_file(StagedTarget::Detached(number))),
            Self::Staged { target, id } => Some(format!("{}-{id}", target_file(target))),
            Self::Hint => Some(HINT_FILE.to_owned()),
            Self::Temporary | Self::Other => None,
        }
    }

    /// The name relative to the table's root; `None` where [`ManifestName::file_name`] is.
    #[must_use]
    pub fn path(&self) -> Option<String> {
        self.file_name().map(|file| format!("{VERSIONS_FOLDER}/{file}"))
    }
}

/// The bare file name of a version's manifest. Versions of a history are below 2⁶³; a larger one gets a name that
/// [`ManifestName::parse`] does not take for a version.
#[must_use]
pub fn manifest_file(scheme: Scheme, version: Version) -> String {
    match scheme {
        Scheme::V1 => format!("{version}{SUFFIX}"),
        Scheme::V2 => format!("{:020}{SUFFIX}", u64::MAX - version.get()),
    }
}

/// The name of a version's manifest relative to the table's root.
#[must_use]
pub fn manifest_path(scheme: Scheme, version: Version) -> String {
    format!("{VERSIONS_FOLDER}/{}", manifest_file(scheme, version))
}

/// The name, relative to the table's root, of a manifest that waits to be published under `target`'s name.
///
/// ```
/// use lakebed_naming::{Uuid, Version};
/// use lakebed_naming::lance::{Scheme, StagedTarget, staged_path};
///
/// let target = StagedTarget::Version { scheme: Scheme::V1, version: Version::new(7) };
/// let id: Uuid = "d2c639aa-8816-431a-aaf6-d3fe2512ff61".parse().unwrap();
/// assert_eq!(staged_path(target, id), "_versions/7.manifest-d2c639aa-8816-431a-aaf6-d3fe2512ff61");
/// ```
#[must_use]
pub fn staged_path(target: StagedTarget, id: Uuid) -> String {
    format!("{VERSIONS_FOLDER}/{}-{id}", target_file(target))
}

/// The name of the version hint relative to the table's root. Its body is `{"version":N}`, and it may be stale or absent.
#[must_use]
pub fn hint_path() -> String {
    format!("{VERSIONS_FOLDER}/{HINT_FILE}")
}

fn target_file(target: StagedTarget) -> String {
    match target {
        StagedTarget::Version { scheme, version } => manifest_file(scheme, version),
        StagedTarget::Detached(number) => format!("d{}{SUFFIX}", number.get()),
    }
}

fn parse_target(file_name: &str) -> Option<StagedTarget> {
    let stem = file_name.strip_suffix(SUFFIX)?;
    if let Some(number) = stem.strip_prefix('d') {
        return DetachedVersion::new(digits::plain(number)?).map(StagedTarget::Detached);
    }
    let (scheme, number) = if stem.len() == V2_DIGITS {
        (Scheme::V2, u64::MAX - digits::padded(stem, V2_DIGITS)?)
    } else {
        (Scheme::V1, digits::plain(stem)?)
    };
    (number & DETACHED_BIT == 0).then_some(StagedTarget::Version { scheme, version: Version::new(number) })
}

fn parse_staged(file_name: &str) -> Option<ManifestName> {
    let split = file_name.len().checked_sub(Uuid::TEXT_LEN)?;
    let (head, id) = file_name.split_at_checked(split)?;
    let target = parse_target(head.strip_suffix('-')?)?;
    Some(ManifestName::Staged { target, id: Uuid::parse(id)? })
}

fn is_temporary(file_name: &str) -> bool {
    let numbered = file_name.rsplit_once('#').is_some_and(|(head, n)| !head.is_empty() && digits::plain(n).is_some());
    numbered || file_name.starts_with(".tmp")
}
