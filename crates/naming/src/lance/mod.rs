//! Names inside a Lance table.
//!
//! Functions that make a name return it relative to the table's root; [`TableName::parse`] reads such names, and
//! [`ManifestName::parse`] the bare file names of one listing of `_versions/`.
//!
//! Which manifest is the newest: [`newest`] for a whole folder in any order, [`Page`] for one page of a listing.
//!
//! ```
//! use lakebed_naming::Version;
//! use lakebed_naming::lance::{self, ManifestName, Scheme};
//!
//! let name = lance::manifest_path(Scheme::V2, Version::new(1));
//! assert_eq!(name, "_versions/18446744073709551614.manifest");
//!
//! let listed = ["18446744073709551614.manifest", "18446744073709551613.manifest", "d9223372036854775850.manifest"];
//! let newest = lance::newest(listed).unwrap().unwrap();
//! assert_eq!((newest.scheme, newest.version), (Scheme::V2, Version::new(2)));
//! ```

mod files;
mod listing;
mod manifest;
mod refs;
mod table_name;

pub use files::{DataFileName, DeletionFileName, DeletionKind, TransactionFileName, index_folder};
pub use listing::{Found, ListingOrder, MixedSchemes, Page, newest};
pub use manifest::{
    DetachedVersion, HINT_FILE, MIGRATION_FILE, ManifestName, Scheme, StagedTarget, VERSIONS_FOLDER, hint_path,
    manifest_file, manifest_path, staged_path,
};
pub use refs::{BranchName, TagName};
pub use table_name::TableName;
