//! What can be wrong with a name or with a set of names.

use std::fmt;

use thiserror::Error;

use crate::lance::MixedSchemes;
use crate::{Version, VersionRange};

/// Ranges and names that an error message shows before it only counts.
const SHOWN_MAX: usize = 8;

/// A name, or a listing of names, that cannot be used as asked.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is not a hyphenated uuid.
    #[error("{text:?} is not a uuid; give 32 hexadecimal digits in the form 8-4-4-4-12")]
    Uuid {
        /// What stood where a uuid belongs.
        text: String,
    },
    /// A tag or branch may not have this name.
    #[error("{name:?} cannot name a {kind}: {reason}; choose another name")]
    Ref {
        /// "tag" or "branch".
        kind: &'static str,
        /// The refused name.
        name: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// The `path` of a Delta action names no object.
    #[error("the path {path:?} in the log names no object: {reason}; check which program wrote it")]
    Path {
        /// The text as it stands in the log.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A Lance table holds manifests in both naming schemes.
    #[error(transparent)]
    MixedSchemes(#[from] MixedSchemes),
    /// The listing holds neither a commit nor a complete checkpoint.
    #[error("_delta_log holds no commit and no complete checkpoint; check the table's address, or create the table")]
    NoTable,
    /// The version asked for lies above the newest.
    #[error("version {at} does not exist; the newest version is {newest}")]
    NotReached {
        /// The version asked for.
        at: Version,
        /// The newest version of the listing.
        newest: Version,
    },
    /// Commits that the version needs are missing between others.
    #[error(
        "version {at} cannot be read: the log has no commit {}{}; restore those objects (or open the table through its catalog, which may hold them), or read a version below the gap",
        Short(missing),
        Strays(unpadded)
    )]
    Gap {
        /// The version asked for.
        at: Version,
        /// The commits that are missing, ascending.
        missing: Vec<VersionRange>,
        /// Names in the listing that would be missing commits if their digits were padded to 20.
        unpadded: Vec<String>,
    },
    /// Neither commit 0 nor a complete checkpoint gives the version a start.
    #[error(
        "version {at} cannot be read: {}, and there is no usable checkpoint at or below it; {}",
        Start(first_commit),
        Reach(oldest_readable)
    )]
    NoStart {
        /// The version asked for.
        at: Version,
        /// The lowest commit of the listing.
        first_commit: Option<Version>,
        /// The oldest version that the listing can rebuild.
        oldest_readable: Option<Version>,
    },
}

struct Short<'a>(&'a [VersionRange]);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, range) in self.0.iter().take(SHOWN_MAX).enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{range}")?;
        }
        match self.0.len().checked_sub(SHOWN_MAX) {
            Some(more) if more > 0 => write!(f, " and {more} more ranges"),
            Some(_) | None => Ok(()),
        }
    }
}

struct Strays<'a>(&'a [String]);

impl fmt::Display for Strays<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let shown: Vec<&str> = self.0.iter().take(SHOWN_MAX).map(String::as_str).collect();
        write!(f, " (there is {}, which is no commit because a commit's name has 20 digits)", shown.join(", "))
    }
}

struct Start<'a>(&'a Option<Version>);

impl fmt::Display for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(first) => write!(f, "the log starts at {first}"),
            None => f.write_str("the log has no commits"),
        }
    }
}

struct Reach<'a>(&'a Option<Version>);

impl fmt::Display for Reach<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(oldest) => write!(f, "the oldest version that can be read is {oldest}"),
            None => f.write_str("list the whole log, or restore an earlier checkpoint"),
        }
    }
}
