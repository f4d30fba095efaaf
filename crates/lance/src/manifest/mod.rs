//! The file of one version.
//!
//! ```text
//! [IndexSection]   only where the version has indices
//! [Transaction]    only where it is small enough to stand inline
//! [Manifest]
//! footer: position of the Manifest (i64), major 0 and minor 2 (i16 each), "LANC"
//! ```
//!
//! Every message has its length before it (u32). All numbers are little endian. The positions of the two optional messages
//! stand in the Manifest as offsets into the file, where 0 is a place like any other.

mod decode;
mod encode;
mod unknown;

pub(crate) use decode::{Opened, manifest_message, open, section_at};
pub use decode::{TailRead, decode, decode_tail};
pub use encode::encode;
pub(crate) use encode::{Entry, Parts};
pub use unknown::UnknownFields;
pub(crate) use unknown::field_numbers;

use crate::proto::table::{IndexMetadata, Manifest};
use bytes::Bytes;

/// Bytes of the footer.
pub(crate) const FOOTER_BYTES: usize = 16;

/// The last four bytes of the file.
pub(crate) const MAGIC: &[u8; 4] = b"LANC";

/// A transaction of more encoded bytes than this stands in its own file only.
pub const INLINE_TRANSACTION_BYTES_MAX: usize = 20 * 1024 * 1024;

/// The file of one version, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestFile {
    /// The manifest itself. Encoding sets its two section positions anew.
    pub manifest: Manifest,
    /// The indices, in order.
    pub indices: Vec<IndexMetadata>,
    /// The encoded transaction, where it stands inline.
    pub transaction: Option<Bytes>,
    /// Fields of the manifest and of its fragments that this version does not know, kept for the next manifest.
    pub unknown: UnknownFields,
}
