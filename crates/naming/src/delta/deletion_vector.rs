//! Names of deletion vector files.

use crate::{NameError, Uuid};

const STEM: &str = "deletion_vector_";
const SUFFIX: &str = ".bin";

/// Characters of a uuid in Z85.
const Z85_UUID_LEN: usize = 20;

const Z85: &[u8; 85] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// `[<prefix>/]deletion_vector_<uuid>.bin`: a file of deletion vectors, relative to the table's root.
///
/// A descriptor of storage type `u` holds it as the prefix followed by 20 characters of Z85.
///
/// ```
/// use lakebed_naming::delta::DeletionVectorName;
///
/// let name = DeletionVectorName::from_descriptor("ab^-aqEH.-t@S}K{vb[*k^").unwrap();
/// assert_eq!(name.path(), "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin");
/// assert_eq!(name.descriptor(), "ab^-aqEH.-t@S}K{vb[*k^");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeletionVectorName {
    prefix: String,
    id: Uuid,
}

impl DeletionVectorName {
    /// The name of a new file in the table's root.
    #[must_use]
    pub const fn new(id: Uuid) -> Self {
        Self { prefix: String::new(), id }
    }

    /// The same file in a folder of the root, which writers use to spread names over a store's key ranges.
    ///
    /// # Errors
    ///
    /// [`NameError::Path`] unless the prefix is one plain path segment.
    pub fn with_prefix(prefix: &str, id: Uuid) -> Result<Self, NameError> {
        let plain = !matches!(prefix, "." | "..") && !prefix.chars().any(|c| c == '/' || c == '\\' || c.is_control());
        if plain {
            Ok(Self { prefix: prefix.to_owned(), id })
        } else {
            Err(NameError::Path {
                path: prefix.to_owned(),
                reason: "a deletion vector's prefix is one plain folder name",
            })
        }
    }

    /// Reads `pathOrInlineDv` of a descriptor whose storage type is `u`.
    ///
    /// # Errors
    ///
    /// [`NameError::Path`] when its last 20 characters are not a uuid in Z85, or what stands before them is no folder's name.
    pub fn from_descriptor(text: &str) -> Result<Self, NameError> {
        let fault =
            || NameError::Path { path: text.to_owned(), reason: "its last 20 characters are not a uuid in Z85" };
        let split = text.len().checked_sub(Z85_UUID_LEN).ok_or_else(fault)?;
        let (prefix, encoded) = text.split_at_checked(split).ok_or_else(fault)?;
        let id = decode(encoded.as_bytes()).ok_or_else(fault)?;
        Self::with_prefix(prefix, id)
    }

    /// Reads a name relative to the table's root; `None` when it is not a deletion vector file's.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let (prefix, file) = match path.split_once('/') {
            Some(("", _)) => return None,
            Some(split) => split,
            None => ("", path),
        };
        let id = Uuid::parse(file.strip_prefix(STEM)?.strip_suffix(SUFFIX)?)?;
        Self::with_prefix(prefix, id).ok()
    }

    /// The file's id.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// The folder; empty in the table's root.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name relative to the table's root.
    #[must_use]
    pub fn path(&self) -> String {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        format!("{}{slash}{STEM}{}{SUFFIX}", self.prefix, self.id)
    }

    /// The text of `pathOrInlineDv` for storage type `u`.
    #[must_use]
    pub fn descriptor(&self) -> String {
        let mut text = self.prefix.clone();
        for chunk in self.id.as_bytes().chunks_exact(4) {
            let mut word = chunk.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
            let mut characters = [' '; 5];
            for character in characters.iter_mut().rev() {
                let digit = usize::try_from(word % 85).unwrap_or(0);
                *character = Z85.get(digit).copied().map_or(' ', char::from);
                word /= 85;
            }
            text.extend(characters);
        }
        text
    }
}

fn decode(encoded: &[u8]) -> Option<Uuid> {
    let mut bytes = [0_u8; 16];
    for (word, characters) in bytes.chunks_exact_mut(4).zip(encoded.chunks_exact(5)) {
        let mut value = 0_u32;
        for character in characters {
            let digit = Z85.iter().position(|known| known == character)?;
            value = value.checked_mul(85)?.checked_add(u32::try_from(digit).ok()?)?;
        }
        word.copy_from_slice(&value.to_be_bytes());
    }
    Some(Uuid::from_bytes(bytes))
}
