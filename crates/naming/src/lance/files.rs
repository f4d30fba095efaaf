//! Transaction, deletion, data and index files.

use std::fmt::Write as _;

use crate::digits;
use crate::uuid::hex_pairs;
use crate::{Uuid, Version};

const TRANSACTIONS: &str = "_transactions/";
const DELETIONS: &str = "_deletions/";
const DATA: &str = "data/";
const INDICES: &str = "_indices/";

/// Bytes of a data file's id that are written bit by bit, so that names spread over a store's key ranges.
const DATA_BIT_BYTES: usize = 3;

/// `_transactions/<read version>-<uuid>.txn`: what a commit did, beside its manifest.
///
/// The uuid stays the same over all attempts of one commit; the read version is the one in the message, and follows it when
/// a rebase raises it. It may be a detached number.
///
/// ```
/// use lakebed_naming::{Uuid, Version};
/// use lakebed_naming::lance::TransactionFileName;
///
/// let id: Uuid = "d2c639aa-8816-431a-aaf6-d3fe2512ff61".parse().unwrap();
/// let name = TransactionFileName { read_version: Version::new(4), id };
/// assert_eq!(name.path(), "_transactions/4-d2c639aa-8816-431a-aaf6-d3fe2512ff61.txn");
/// assert_eq!(TransactionFileName::parse(&name.file_name()), Some(name));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransactionFileName {
    /// The version that the transaction was built on (0 when it creates the table).
    pub read_version: Version,
    /// The transaction's id.
    pub id: Uuid,
}

impl TransactionFileName {
    /// Reads a bare file name; `None` when it is not one of these.
    #[must_use]
    pub fn parse(file_name: &str) -> Option<Self> {
        let (read_version, id) = file_name.strip_suffix(".txn")?.split_once('-')?;
        Some(Self { read_version: Version::new(digits::plain(read_version)?), id: Uuid::parse(id)? })
    }

    /// The bare file name, as the manifest's `transaction_file` holds it.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}-{}.txn", self.read_version, self.id)
    }

    /// The name relative to the table's root.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{TRANSACTIONS}{}", self.file_name())
    }
}

/// How a deletion file holds the offsets of deleted rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DeletionKind {
    /// `.arrow`: an Arrow IPC file with one column.
    Arrow,
    /// `.bin`: a portable 32-bit Roaring bitmap.
    Bitmap,
}

impl DeletionKind {
    const fn extension(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            Self::Bitmap => "bin",
        }
    }

    fn of_extension(extension: &str) -> Option<Self> {
        [Self::Arrow, Self::Bitmap].into_iter().find(|kind| kind.extension() == extension)
    }
}

/// `_deletions/<fragment>-<read version>-<id>.arrow` or `.bin`: the deleted rows of one fragment.
///
/// ```
/// use lakebed_naming::Version;
/// use lakebed_naming::lance::{DeletionFileName, DeletionKind};
///
/// let name = DeletionFileName { fragment: 3, read_version: Version::new(7), id: 99, kind: DeletionKind::Bitmap };
/// assert_eq!(name.path(), "_deletions/3-7-99.bin");
/// assert_eq!(DeletionFileName::parse("3-7-99.bin"), Some(name));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeletionFileName {
    /// The id of the fragment whose rows it deletes.
    pub fragment: u64,
    /// The version that the deletion was built on.
    pub read_version: Version,
    /// 64 random bits that keep rivals' files apart.
    pub id: u64,
    /// The form of the content.
    pub kind: DeletionKind,
}

impl DeletionFileName {
    /// Reads a bare file name; `None` when it is not one of these.
    #[must_use]
    pub fn parse(file_name: &str) -> Option<Self> {
        let (stem, extension) = file_name.rsplit_once('.')?;
        let (fragment, rest) = stem.split_once('-')?;
        let (read_version, id) = rest.split_once('-')?;
        Some(Self {
            fragment: digits::plain(fragment)?,
            read_version: Version::new(digits::plain(read_version)?),
            id: digits::plain(id)?,
            kind: DeletionKind::of_extension(extension)?,
        })
    }

    /// The bare file name.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}-{}-{}.{}", self.fragment, self.read_version, self.id, self.kind.extension())
    }

    /// The name relative to the table's root (or to the base path that the manifest selects).
    #[must_use]
    pub fn path(&self) -> String {
        format!("{DELETIONS}{}", self.file_name())
    }
}

/// `data/<24 bits><26 hexadecimal digits>.lance`: the name that a writer gives a new data file.
///
/// Readers take the path in the manifest as it is: a data file of another name is as good, so a name that does not parse
/// says nothing against the file.
///
/// ```
/// use lakebed_naming::Uuid;
/// use lakebed_naming::lance::DataFileName;
///
/// let name = DataFileName { id: Uuid::from_bytes([0xfb, 0x3b, 0x53, 0x53, 0xda, 0x75, 0x29, 0x42, 0xd3, 0xac, 0x7f, 0x9e, 0xf1, 0xb9, 0x53, 0xf3]) };
/// assert_eq!(name.path(), "data/11111011001110110101001153da752942d3ac7f9ef1b953f3.lance");
/// assert_eq!(DataFileName::parse(&name.file_name()), Some(name));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DataFileName {
    /// The random id that the name spells.
    pub id: Uuid,
}

impl DataFileName {
    /// Reads a bare file name; `None` when it is not one of these.
    #[must_use]
    pub fn parse(file_name: &str) -> Option<Self> {
        let stem = file_name.strip_suffix(".lance")?;
        let (bits, hex) = stem.split_at_checked(8 * DATA_BIT_BYTES)?;
        if hex.bytes().any(|digit| digit.is_ascii_uppercase()) || bits.bytes().any(|bit| bit != b'0' && bit != b'1') {
            return None;
        }
        let high = u32::from_str_radix(bits, 2).ok()?.to_be_bytes();
        let low: [u8; 16 - DATA_BIT_BYTES] = hex_pairs(hex.as_bytes())?;
        let mut bytes = [0_u8; 16];
        for (byte, value) in bytes.iter_mut().zip(high.iter().skip(1).chain(low.iter())) {
            *byte = *value;
        }
        Some(Self { id: Uuid::from_bytes(bytes) })
    }

    /// The bare file name, as the manifest's `DataFile.path` holds it.
    #[must_use]
    pub fn file_name(&self) -> String {
        let mut name = String::with_capacity(56);
        for (position, byte) in self.id.as_bytes().iter().enumerate() {
            // Writing to a string cannot fail; the result carries nothing.
            let _ = if position < DATA_BIT_BYTES { write!(name, "{byte:08b}") } else { write!(name, "{byte:02x}") };
        }
        name.push_str(".lance");
        name
    }

    /// The name relative to the table's root.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{DATA}{}", self.file_name())
    }
}

/// The folder of one index segment's files relative to the table's root, without a slash at its end.
#[must_use]
pub fn index_folder(id: Uuid) -> String {
    format!("{INDICES}{id}")
}
