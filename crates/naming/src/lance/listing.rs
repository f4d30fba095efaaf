//! Which manifest of a listing is the newest.

use std::collections::BTreeSet;

use thiserror::Error;

use super::manifest::{ManifestName, Scheme, manifest_file};
use crate::Version;

/// A version seen in a listing, and how its name is spelled there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Found {
    /// The scheme of the name, which the next commit to the table keeps.
    pub scheme: Scheme,
    /// The version.
    pub version: Version,
}

/// One folder holds manifests in both schemes: a migration stopped half-way, or a writer that missed one. Which of them is
/// the table's history cannot be told from names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error(
    "_versions/ holds manifests in both naming schemes (newest {} and {}); stop all writers and finish the migration to V2 names",
    manifest_file(Scheme::V1, *v1_newest), manifest_file(Scheme::V2, *v2_newest)
)]
pub struct MixedSchemes {
    /// The newest version among the V1 names.
    pub v1_newest: Version,
    /// The newest version among the V2 names.
    pub v2_newest: Version,
}

/// In which order a store lists names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ListingOrder {
    /// Ascending by bytes over all pages, as most object stores promise.
    Lexical,
    /// No order that can be relied on, as a local folder.
    Any,
}

/// The newest version among the file names of a **whole** listing of `_versions/`, in any order; `None` when no name is a
/// version. Detached, staged, temporary and strange names do not count.
///
/// # Errors
///
/// [`MixedSchemes`] when both schemes occur, whichever holds the larger number.
///
/// ```
/// use lakebed_naming::Version;
/// use lakebed_naming::lance::newest;
///
/// assert_eq!(newest(["10.manifest", "9.manifest"]).unwrap().unwrap().version, Version::new(10));
/// assert!(newest(["10.manifest", "18446744073709551603.manifest"]).is_err());
/// ```
pub fn newest<I>(file_names: I) -> Result<Option<Found>, MixedSchemes>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    Page::new(file_names, ListingOrder::Any, None).map(|page| page.newest)
}

/// What one page of a listing of `_versions/` says to somebody who holds a version already, or none yet.
///
/// A store that lists in order gives V2 names newest first, so one page usually tells everything: the open of a table and
/// the refresh of an open one each cost one short listing.
///
/// ```
/// use lakebed_naming::Version;
/// use lakebed_naming::lance::{ListingOrder, Page};
///
/// let names = ["18446744073709551610.manifest", "18446744073709551611.manifest"];
/// let page = Page::new(names, ListingOrder::Lexical, Some(Version::new(4))).unwrap();
/// assert_eq!(page.newer, [Version::new(5)]);
/// assert!(page.nothing_newer_follows);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The newest version in the page; `None` when no name of it is a version.
    pub newest: Option<Found>,
    /// The versions above the held one, ascending, each once; all versions of the page when none is held.
    pub newer: Vec<Version>,
    /// The page proves that no later page names a version above the held one (or, when none is held, above
    /// [`Page::newest`]): the listing is lexical and already went past that point among V2 names. `false` means unknown. The
    /// proof is about V2 names: a V1 name left in the folder could still follow, and only a whole listing finds it.
    pub nothing_newer_follows: bool,
}

impl Page {
    /// Reads the file names of one page, in the order in which the store gave them. Where several pages were fetched, their
    /// names may be passed one after the other.
    ///
    /// # Errors
    ///
    /// [`MixedSchemes`] when both schemes occur in the page.
    pub fn new<I>(file_names: I, order: ListingOrder, held: Option<Version>) -> Result<Self, MixedSchemes>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut newest_v1: Option<Version> = None;
        let mut newest_v2: Option<Version> = None;
        let mut newer = BTreeSet::new();
        let mut passed = false;
        let mut descending = true;
        let mut last_v2: Option<Version> = None;
        for name in file_names {
            let ManifestName::Version { scheme, version } = ManifestName::parse(name.as_ref()) else { continue };
            match scheme {
                Scheme::V1 => newest_v1 = newest_v1.max(Some(version)),
                Scheme::V2 => {
                    newest_v2 = newest_v2.max(Some(version));
                    passed |= held.is_none_or(|held| version <= held);
                    descending &= last_v2.is_none_or(|last| version <= last);
                    last_v2 = Some(version);
                }
            }
            if held.is_none_or(|held| version > held) {
                newer.insert(version);
            }
        }
        let newest = match (newest_v1, newest_v2) {
            (Some(v1_newest), Some(v2_newest)) => return Err(MixedSchemes { v1_newest, v2_newest }),
            (Some(version), None) => Some(Found { scheme: Scheme::V1, version }),
            (None, Some(version)) => Some(Found { scheme: Scheme::V2, version }),
            (None, None) => None,
        };
        // A page that is visibly out of order shows that the store does not keep the order it was said to keep.
        let nothing_newer_follows = order == ListingOrder::Lexical && passed && descending;
        Ok(Self { newest, newer: newer.into_iter().collect(), nothing_newer_follows })
    }
}
