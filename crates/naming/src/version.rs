//! The number of one immutable table state.

use std::fmt;

/// The number of one immutable table state (Delta counts from 0, Lance from 1).
///
/// A version is a name, not a quantity: it can be compared and its successor asked for, and nothing else is offered.
///
/// ```
/// use lakebed_naming::Version;
///
/// let read = Version::new(41);
/// assert_eq!(read.next(), Some(Version::new(42)));
/// assert!(read < Version::new(42));
/// assert_eq!(Version::new(u64::MAX).next(), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version(u64);

impl Version {
    /// The version with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, for names and wire forms.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The version that a commit on top of this one would create; `None` after the last number there is.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The version before this one; `None` before version 0.
    #[must_use]
    pub const fn previous(self) -> Option<Self> {
        match self.0.checked_sub(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An unbroken run of versions, both ends included.
///
/// ```
/// use lakebed_naming::{Version, VersionRange};
///
/// let run = VersionRange::new(Version::new(3), Version::new(5)).unwrap();
/// assert!(run.contains(Version::new(4)));
/// assert_eq!(run.to_string(), "3 to 5");
/// assert_eq!(VersionRange::new(Version::new(5), Version::new(3)), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VersionRange {
    first: Version,
    last: Version,
}

impl VersionRange {
    /// The run from `first` to `last`; `None` when `last` lies before `first`.
    #[must_use]
    pub fn new(first: Version, last: Version) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// The lowest version of the run.
    #[must_use]
    pub const fn first(self) -> Version {
        self.first
    }

    /// The highest version of the run.
    #[must_use]
    pub const fn last(self) -> Version {
        self.last
    }

    /// Whether the run holds this version.
    #[must_use]
    pub fn contains(self, version: Version) -> bool {
        self.first <= version && version <= self.last
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{} to {}", self.first, self.last) }
    }
}
