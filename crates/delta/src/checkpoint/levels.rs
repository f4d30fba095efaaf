//! Whether pages hold as many repetition levels as they say.
//!
//! The Parquet reader skips the rows of a list or a map by counting levels, and never ends where a damaged page has too few of
//! them. The levels of a page of nothing are a single run, so that counting them beforehand costs next to nothing.

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// Whether every page of the columns in `mask` that repeat holds the levels of its values.
pub(super) fn are_whole(
    metadata: &ParquetMetaData,
    bytes: &Bytes,
    mask: &ProjectionMask,
) -> Result<bool, ParquetError> {
    let source = Arc::new(bytes.clone());
    for group in metadata.row_groups() {
        let num_rows = usize::try_from(group.num_rows()).unwrap_or(0);
        for (leaf, column) in group.columns().iter().enumerate() {
            let max = column.column_descr().max_rep_level();
            if max <= 0 || !mask.leaf_included(leaf) {
                continue;
            }
            for page in SerializedPageReader::new(Arc::clone(&source), column, num_rows, None)? {
                if !holds_its_levels(&page?, bits(max)) {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// How many bits a level of at most `max` takes.
const fn bits(max: i16) -> usize {
    (i16::BITS - max.leading_zeros()) as usize
}

fn holds_its_levels(page: &Page, bits: usize) -> bool {
    match page {
        Page::DictionaryPage { .. } => true,
        Page::DataPage { buf, num_values, rep_level_encoding, .. } => {
            let wanted = *num_values as usize;
            if *rep_level_encoding != Encoding::RLE {
                return buf.len().saturating_mul(8) / bits >= wanted;
            }
            let Some((length, rest)) = buf.split_first_chunk::<4>() else { return false };
            rest.get(..u32::from_le_bytes(*length) as usize).is_some_and(|levels| count(levels, bits) >= wanted)
        }
        Page::DataPageV2 { buf, num_values, rep_levels_byte_len, .. } => {
            let wanted = *num_values as usize;
            buf.get(..*rep_levels_byte_len as usize).is_some_and(|levels| count(levels, bits) >= wanted)
        }
    }
}

/// How many values a run-length encoded and bit-packed mixture holds.
fn count(mut data: &[u8], bits: usize) -> usize {
    let mut values = 0_usize;
    while let Some(header) = varint(&mut data) {
        // Some writers fill up with zeroes, and the reader ends there.
        if header == 0 {
            break;
        }
        let many = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        let (held, length) = if header & 1 == 1 {
            let length = many.saturating_mul(bits).min(data.len());
            (length * 8 / bits, length)
        } else {
            let length = bits.div_ceil(8);
            if data.len() < length {
                break;
            }
            (many, length)
        };
        values = values.saturating_add(held);
        data = data.get(length..).unwrap_or_default();
    }
    values
}

fn varint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = data.split_first()?;
        *data = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{bits, count};

    #[test]
    fn runs_and_packed_groups_are_counted() {
        assert_eq!((bits(1), bits(2), bits(3), bits(4)), (1, 2, 2, 3));
        // 200 times 0, then one group of eight.
        assert_eq!(count(&[0x90, 0x03, 0x00, 0x03, 0xff], 1), 208);
        // A group that is cut, a run without its value, zeroes at the end, a number without an end.
        assert_eq!(count(&[0x05, 0xff], 1), 8);
        assert_eq!(count(&[0x90, 0x03], 1), 0);
        assert_eq!(count(&[0x02, 0x00, 0x00, 0x00], 1), 1);
        assert_eq!(count(&[0xff; 11], 1), 0);
        assert_eq!(count(&[], 1), 0);
    }
}
