//! Deletion vectors: which rows of a file are deleted.
//!
//! Facts: Delta transaction log protocol, "Deletion Vectors". A vector is the portable 64-bit Roaring format behind a magic
//! number, little-endian. In a file each vector stands behind its big-endian length and before a big-endian CRC-32; the
//! descriptor's offset points at the length.

use crate::DeltaError;
use crate::action::DeletionVector;
use bytes::Bytes;
use lakebed_naming::Uuid;
use lakebed_naming::delta::{DataPath, DeletionVectorName};
use lakebed_transaction::RowSet;
use roaring::RoaringTreemap;

/// First four bytes of the portable form, little-endian.
const MAGIC_PORTABLE: u32 = 1_681_511_377;
/// Bytes before a vector in a file (its length) and after it (its checksum).
const FRAME_BYTES: u64 = 4;

/// Where the bytes of a vector are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VectorPlace {
    /// In the log entry itself.
    Inline(Bytes),
    /// In an object of its own.
    Object {
        /// The object, relative to the table's root.
        object: String,
        /// The range to read: length, vector, checksum.
        range: std::ops::Range<u64>,
    },
    /// In an object that the log names absolutely.
    Elsewhere {
        /// The URI as it stands in the log, not decoded.
        uri: String,
        /// The range to read: length, vector, checksum.
        range: std::ops::Range<u64>,
    },
}

/// Where a vector is to be found.
///
/// # Errors
/// The descriptor is damaged, or of a kind that is not known.
pub fn place(vector: &DeletionVector) -> Result<VectorPlace, DeltaError> {
    let size = u64::try_from(vector.size_in_bytes).map_err(|_| damaged(vector, "its size is negative"))?;
    let offset = u64::try_from(vector.offset.unwrap_or(0)).map_err(|_| damaged(vector, "its offset is negative"))?;
    let end = offset.checked_add(size).and_then(|end| end.checked_add(2 * FRAME_BYTES));
    let range = offset..end.ok_or_else(|| damaged(vector, "its place is beyond any file"))?;
    match vector.storage_type.as_str() {
        "i" => {
            let bytes = z85::decode(&vector.path_or_inline_dv).map_err(|error| damaged(vector, &error.to_string()))?;
            let length = usize::try_from(size).ok().filter(|length| *length <= bytes.len());
            let length = length.ok_or_else(|| damaged(vector, "it is shorter than its size says"))?;
            Ok(VectorPlace::Inline(Bytes::from(bytes).slice(..length)))
        }
        "u" => {
            let name = DeletionVectorName::from_descriptor(&vector.path_or_inline_dv)?;
            Ok(VectorPlace::Object { object: name.path(), range })
        }
        "p" => match DataPath::decode(&vector.path_or_inline_dv)? {
            DataPath::Absolute(uri) => Ok(VectorPlace::Elsewhere { uri, range }),
            DataPath::Relative(_) => Err(damaged(vector, "its path is not absolute")),
        },
        other => Err(damaged(vector, &format!("storage type `{other}` is not known"))),
    }
}

/// The deleted rows, from the bytes of the range that [`place`] names.
///
/// # Errors
/// Length, checksum or bitmap do not fit.
pub fn decode_framed(vector: &DeletionVector, bytes: &[u8]) -> Result<RowSet, DeltaError> {
    let (length, rest) = bytes.split_at_checked(4).ok_or_else(|| damaged(vector, "the file ends before it"))?;
    let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]);
    if i64::from(length) != vector.size_in_bytes {
        return Err(damaged(vector, "its length in the file is not the one in the log"));
    }
    let length = usize::try_from(length).map_err(|_| damaged(vector, "it is too long"))?;
    let (body, rest) = rest.split_at_checked(length).ok_or_else(|| damaged(vector, "the file ends inside it"))?;
    let crc = rest.get(..4).ok_or_else(|| damaged(vector, "the file ends before its checksum"))?;
    if crc32fast::hash(body) != u32::from_be_bytes([crc[0], crc[1], crc[2], crc[3]]) {
        return Err(damaged(vector, "its checksum does not fit"));
    }
    decode(vector, body)
}

/// The deleted rows, from the vector's own bytes.
///
/// # Errors
/// The bytes are no vector, or it does not delete as many rows as the log says.
pub fn decode(vector: &DeletionVector, bytes: &[u8]) -> Result<RowSet, DeltaError> {
    let (magic, body) = bytes.split_at_checked(4).ok_or_else(|| damaged(vector, "it is too short"))?;
    let magic = u32::from_le_bytes([magic[0], magic[1], magic[2], magic[3]]);
    if magic != MAGIC_PORTABLE {
        return Err(damaged(vector, "it does not begin as the portable form does"));
    }
    let rows = RoaringTreemap::deserialize_from(body).map_err(|error| damaged(vector, &error.to_string()))?;
    if i64::try_from(rows.len()) != Ok(vector.cardinality) {
        return Err(damaged(vector, "it deletes another number of rows than the log says"));
    }
    Ok(RowSet::from(rows))
}

/// Writes several vectors into one new file.
///
/// ```
/// use lakebed_delta::deletion_vector::{VectorFile, VectorPlace, decode_framed, place};
/// use lakebed_naming::Uuid;
///
/// let mut file = VectorFile::new(Uuid::from_bytes([7; 16]));
/// let rows = [3, 4, 1 << 40].into_iter().collect();
/// let first = file.push(&rows)?;
/// let second = file.push(&[0].into_iter().collect())?;
/// assert_eq!((first.offset, first.cardinality, second.cardinality), (Some(1), 3, 1));
/// let (_, bytes) = file.finish();
/// let VectorPlace::Object { range, .. } = place(&first)? else { unreachable!() };
/// let range = range.start as usize..range.end as usize;
/// assert_eq!(decode_framed(&first, &bytes[range])?, rows);
/// # Ok::<(), lakebed_delta::DeltaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct VectorFile {
    name: DeletionVectorName,
    bytes: Vec<u8>,
}

/// First byte of a file of vectors: the version of its layout.
const FILE_VERSION: u8 = 1;

impl VectorFile {
    /// A file of this id in the table's root, without vectors yet.
    #[must_use]
    pub fn new(id: Uuid) -> Self {
        Self { name: DeletionVectorName::new(id), bytes: vec![FILE_VERSION] }
    }

    /// Adds a vector that deletes these rows; the descriptor by which the log names it.
    ///
    /// # Errors
    /// [`DeltaError::Invalid`] when the file would grow beyond 2 GiB, where offsets end.
    pub fn push(&mut self, rows: &RowSet) -> Result<DeletionVector, DeltaError> {
        let mut body = MAGIC_PORTABLE.to_le_bytes().to_vec();
        let mut optimal = rows.bitmap().clone();
        optimal.optimize();
        let unwritable = |problem: String| DeltaError::invalid(problem, "delete fewer rows in one statement");
        optimal.serialize_into(&mut body).map_err(|error| unwritable(error.to_string()))?;
        let too_long = |_| unwritable("the deletion vectors of this commit fill more than 2 GiB".to_owned());
        let offset = i32::try_from(self.bytes.len()).map_err(too_long)?;
        let size = i32::try_from(body.len()).map_err(too_long)?;
        self.bytes.extend_from_slice(&size.to_be_bytes());
        self.bytes.extend_from_slice(&body);
        self.bytes.extend_from_slice(&crc32fast::hash(&body).to_be_bytes());
        Ok(DeletionVector {
            storage_type: "u".to_owned(),
            path_or_inline_dv: self.name.descriptor(),
            offset: Some(offset.into()),
            size_in_bytes: size.into(),
            cardinality: i64::try_from(rows.len()).unwrap_or(i64::MAX),
        })
    }

    /// The object, relative to the table's root, and its bytes.
    #[must_use]
    pub fn finish(self) -> (String, Bytes) {
        (self.name.path(), Bytes::from(self.bytes))
    }
}

fn damaged(vector: &DeletionVector, problem: &str) -> DeltaError {
    DeltaError::Damaged {
        object: format!("deletion vector {}", vector.unique_id()),
        problem: problem.to_owned(),
        advice: "read an earlier version, or restore the file".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inline(text: &str, size: i64, cardinality: i64) -> DeletionVector {
        DeletionVector {
            storage_type: "i".to_owned(),
            path_or_inline_dv: text.to_owned(),
            offset: None,
            size_in_bytes: size,
            cardinality,
        }
    }

    #[test]
    fn an_inline_vector_of_the_kernels_tests_decodes() {
        let vector = inline("^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44, 6);
        let Ok(VectorPlace::Inline(bytes)) = place(&vector) else { panic!("not inline") };
        let rows = decode(&vector, &bytes).unwrap();
        assert_eq!(rows.iter().collect::<Vec<_>>(), [3, 4, 7, 11, 18, 29]);
    }

    #[test]
    fn the_example_of_the_protocol_text_is_refused_because_it_is_in_another_form() {
        let vector = inline("wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40, 6);
        let Ok(VectorPlace::Inline(bytes)) = place(&vector) else { panic!("not inline") };
        assert!(decode(&vector, &bytes).unwrap_err().to_string().contains("portable"));
    }
}
