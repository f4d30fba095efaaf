//! Feature flags: what a table needs of its readers and writers.
//!
//! A manifest has two sets of bits. An unknown reader bit means that the table must not be read, an unknown writer bit
//! that it must not be written.

use crate::LanceError;
use crate::fragments::Traits;
use crate::proto::table::Manifest;

/// Some fragment has a deletion file.
pub const DELETION_FILES: u64 = 1;
/// Rows keep their ids when they move.
pub const STABLE_ROW_IDS: u64 = 2;
/// The second data format; long without meaning.
const DATA_FORMAT_2: u64 = 4;
/// The table has configuration entries.
pub const TABLE_CONFIG: u64 = 8;
/// Some files lie under other base paths.
pub const BASE_PATHS: u64 = 16;
/// Writers leave the transaction file out.
const NO_TRANSACTION_FILE: u64 = 32;
/// Some fragment has cells that overlays replace.
pub const DATA_OVERLAYS: u64 = 64;
/// Some index carries columns beside its key.
const COVERING_INDICES: u64 = 128;
/// Data files of several versions of the data format.
const MIXED_FILE_VERSIONS: u64 = 256;
/// Fragment reuse is recorded with tagged transitions.
const TAGGED_FRAGMENT_REUSE: u64 = 1024;
/// Row ids or row versions stand in data files.
const SPILLED_ROW_LINEAGE: u64 = 2048;
/// Large values stand in objects that the table manages.
pub(crate) const MANAGED_BLOBS: u64 = 16384;

/// Bits under which the manifest can be understood as it stands.
const READABLE: u64 = DELETION_FILES
    | STABLE_ROW_IDS
    | DATA_FORMAT_2
    | TABLE_CONFIG
    | BASE_PATHS
    | NO_TRANSACTION_FILE
    | DATA_OVERLAYS
    | COVERING_INDICES
    | MIXED_FILE_VERSIONS
    | TAGGED_FRAGMENT_REUSE
    | SPILLED_ROW_LINEAGE
    | MANAGED_BLOBS;

/// Bits under which a commit keeps every promise that the table made.
const WRITABLE: u64 = DELETION_FILES | STABLE_ROW_IDS | DATA_FORMAT_2 | TABLE_CONFIG | BASE_PATHS | DATA_OVERLAYS;

/// Bits that mean nothing unless both sides carry them.
const PAIRED: u64 = STABLE_ROW_IDS | MIXED_FILE_VERSIONS | TAGGED_FRAGMENT_REUSE | MANAGED_BLOBS;

/// Whether rows keep their ids when they move.
#[must_use]
pub const fn has_stable_row_ids(manifest: &Manifest) -> bool {
    manifest.reader_feature_flags & STABLE_ROW_IDS != 0
}

/// Refuses a manifest that this version must not interpret.
///
/// # Errors
/// An unknown reader bit, or a bit that stands on one side only although it needs both.
pub fn check_readable(object: &str, manifest: &Manifest) -> Result<(), LanceError> {
    let unknown = manifest.reader_feature_flags & !READABLE;
    if unknown != 0 {
        return Err(LanceError::Unsupported {
            object: object.to_owned(),
            feature: format!("reader feature flags {}", list(unknown)),
            advice: "open the table with a newer version".to_owned(),
        });
    }
    let lone = (manifest.reader_feature_flags ^ manifest.writer_feature_flags) & PAIRED;
    if lone != 0 {
        return Err(LanceError::Damaged {
            object: object.to_owned(),
            problem: format!("feature flags {} stand for readers or for writers only", list(lone)),
            advice: "open an earlier version".to_owned(),
        });
    }
    if manifest.fragment_tree.is_some() {
        return Err(LanceError::Unsupported {
            object: object.to_owned(),
            feature: "fragments outside the manifest (fragment tree)".to_owned(),
            advice: "open the table with a newer version".to_owned(),
        });
    }
    Ok(())
}

/// Refuses to build on a manifest whose writers must know more than we do.
///
/// # Errors
/// A writer bit outside of what is derived or carried here.
pub fn check_writable(manifest: &Manifest) -> Result<(), LanceError> {
    let unknown = manifest.writer_feature_flags & !WRITABLE;
    if unknown == 0 {
        return Ok(());
    }
    Err(LanceError::Unsupported {
        object: format!("version {} of the table", manifest.version),
        feature: format!("writer feature flags {}", list(unknown)),
        advice: "write to the table with a client that has them, or with a newer version".to_owned(),
    })
}

/// Sets both sets of bits from what the manifest and its fragments hold; stable row ids are carried.
///
/// # Errors
/// Rows keep their ids, but a fragment has none.
pub(crate) fn recompute(manifest: &mut Manifest, fragments: &Traits) -> Result<(), LanceError> {
    let stable = has_stable_row_ids(manifest);
    if let Some(fragment) = fragments.without_row_ids.filter(|_| stable) {
        return Err(LanceError::Invalid {
            problem: format!("fragment {fragment} has no row ids although the table's rows keep theirs"),
            advice: "give the fragment its row ids".to_owned(),
        });
    }
    let both = [
        (fragments.deletion_files, DELETION_FILES),
        (stable, STABLE_ROW_IDS),
        (fragments.overlays, DATA_OVERLAYS),
        (fragments.spilled_lineage, SPILLED_ROW_LINEAGE),
        (!manifest.base_paths.is_empty(), BASE_PATHS),
    ];
    let reader = both.iter().filter(|(holds, _)| *holds).fold(0, |bits, (_, bit)| bits | bit);
    manifest.reader_feature_flags = reader;
    manifest.writer_feature_flags = if manifest.config.is_empty() { reader } else { reader | TABLE_CONFIG };
    Ok(())
}

/// The bits as numbers, for messages.
fn list(bits: u64) -> String {
    let bits: Vec<String> =
        (0..64).map(|at| 1_u64 << at).filter(|bit| bits & bit != 0).map(|bit| bit.to_string()).collect();
    bits.join(", ")
}
