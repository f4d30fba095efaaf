//! The files that list a fragment's deleted rows.
//!
//! There are two forms. A bitmap (`.bin`) is one portable 32-bit Roaring bitmap and nothing else. An Arrow file (`.arrow`)
//! has one batch of one column `row_id`, UInt32 and not null, in any order. Both hold physical offsets in the fragment.

mod arrow;

use crate::LanceError;
use crate::proto::table::{DeletionFile, deletion_file::DeletionFileType};
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_naming::lance::{DeletionFileName, DeletionKind};
use lakebed_transaction::RowSet;
use roaring::{RoaringBitmap, RoaringTreemap};

/// From so many rows on, released clients give a fresh list the form of a bitmap.
const BITMAP_ROWS_MIN: u64 = 5000;

/// The form that released clients give a fresh list of so many rows. A list that grew is always a bitmap, and readers take
/// either form at any size.
#[must_use]
pub const fn fresh_kind(rows: u64) -> DeletionKind {
    if rows < BITMAP_ROWS_MIN { DeletionKind::Arrow } else { DeletionKind::Bitmap }
}

/// The form that a manifest names.
///
/// # Errors
/// The number is neither.
pub fn kind_of(object: &str, file: &DeletionFile) -> Result<DeletionKind, LanceError> {
    match DeletionFileType::try_from(file.file_type) {
        Ok(DeletionFileType::ArrowArray) => Ok(DeletionKind::Arrow),
        Ok(DeletionFileType::Bitmap) => Ok(DeletionKind::Bitmap),
        Err(_) => Err(LanceError::Unsupported {
            object: object.to_owned(),
            feature: format!("deletion files of form {}", file.file_type),
            advice: "open the table with a newer version".to_owned(),
        }),
    }
}

/// The name of a fragment's deletion file.
///
/// # Errors
/// Its form is not known.
pub fn name_of(object: &str, fragment: u64, file: &DeletionFile) -> Result<DeletionFileName, LanceError> {
    let kind = kind_of(object, file)?;
    Ok(DeletionFileName { fragment, read_version: Version::new(file.read_version), id: file.id, kind })
}

/// The entry of a manifest for a deletion file of this name with so many rows.
#[must_use]
pub fn entry(name: &DeletionFileName, rows: u64) -> DeletionFile {
    let form = match name.kind {
        DeletionKind::Arrow => DeletionFileType::ArrowArray,
        DeletionKind::Bitmap => DeletionFileType::Bitmap,
    };
    DeletionFile {
        file_type: form as i32,
        read_version: name.read_version.get(),
        id: name.id,
        num_deleted_rows: rows,
        base_id: None,
    }
}

/// The rows that a deletion file lists. With `physical_rows`, every row must be one of the fragment's.
///
/// # Errors
/// The bytes are not a file of this form, or name a row that the fragment does not have.
pub fn decode(
    object: &str,
    kind: DeletionKind,
    bytes: &Bytes,
    physical_rows: Option<u64>,
) -> Result<RowSet, LanceError> {
    let bitmap = match kind {
        DeletionKind::Arrow => arrow::decode(bytes).map_err(|problem| damaged(object, &problem))?,
        DeletionKind::Bitmap => bitmap(bytes).map_err(|problem| damaged(object, &problem))?,
    };
    if let (Some(last), Some(rows)) = (bitmap.max(), physical_rows)
        && u64::from(last) >= rows
    {
        return Err(damaged(object, &format!("it names row {last} of a fragment with {rows} rows")));
    }
    Ok(RowSet::from(RoaringTreemap::from_bitmaps([(0, bitmap)])))
}

/// The deletion file that lists these rows.
///
/// # Errors
/// A row's offset does not fit 32 bits.
pub fn encode(kind: DeletionKind, rows: &RowSet) -> Result<Bytes, LanceError> {
    let invalid =
        |problem: String| LanceError::Invalid { problem, advice: "delete rows that the fragment has".to_owned() };
    let bitmap =
        narrow(rows).ok_or_else(|| invalid("a deleted row lies beyond the 2³²th of its fragment".to_owned()))?;
    match kind {
        DeletionKind::Arrow => arrow::encode(&bitmap).map_err(invalid),
        DeletionKind::Bitmap => {
            let mut bytes = Vec::with_capacity(bitmap.serialized_size());
            bitmap.serialize_into(&mut bytes).map_err(|error| invalid(error.to_string()))?;
            Ok(Bytes::from(bytes))
        }
    }
}

fn narrow(rows: &RowSet) -> Option<RoaringBitmap> {
    let mut parts = rows.bitmap().bitmaps();
    let low = match parts.next() {
        None => return Some(RoaringBitmap::new()),
        Some((0, low)) => low.clone(),
        Some(_) => return None,
    };
    parts.next().is_none().then_some(low)
}

fn bitmap(bytes: &Bytes) -> Result<RoaringBitmap, String> {
    let mut rest: &[u8] = bytes;
    let bitmap = RoaringBitmap::deserialize_from(&mut rest)
        .map_err(|error| format!("it is not a portable Roaring bitmap ({error})"))?;
    if rest.is_empty() { Ok(bitmap) } else { Err(format!("{} bytes follow the bitmap", rest.len())) }
}

fn damaged(object: &str, problem: &str) -> LanceError {
    LanceError::Damaged {
        object: object.to_owned(),
        problem: problem.to_owned(),
        advice: "restore the object, or open a version that does not name it".to_owned(),
    }
}
