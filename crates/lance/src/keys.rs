//! The filter over the keys of rows that an Update inserts: two writers that insert one key meet in it.
//!
//! A split-block Bloom filter (Putze, Sanders, Singler 2007; the layout of Apache Parquet's) over xxHash64 of the key's bytes, of one
//! size for all writers, since filters of two sizes cannot be compared.

use crate::proto::file::Field;
use crate::proto::table::transaction::{BloomFilter, KeyExistenceFilter, key_existence_filter};
use bytes::Bytes;
use twox_hash::XxHash64;

/// Rows and rate of false positives that the filter is made for.
const ITEMS: u64 = 8192;
const PROBABILITY: f64 = 0.00057;

/// Words of a block, each of 32 bits.
const WORDS: usize = 8;

/// One odd multiplier for each word of a block, from the definition of the filter.
const SALTS: [u32; WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// Bytes of the blocks: those that the two numbers above ask for, rounded up to a power of two.
const BYTES: usize = 32 << 10;

/// Bits as released clients state them.
const BITS: u32 = 8 * BYTES as u32;

/// The keys of inserted rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertedKeys {
    fields: Vec<i32>,
    blocks: Vec<u8>,
}

/// A value of a key, as its bytes are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPart<'a> {
    /// A whole number, of any width.
    Number(i64),
    /// Text, or bytes.
    Bytes(&'a [u8]),
}

impl InsertedKeys {
    /// No keys yet, of these fields in the key's order.
    #[must_use]
    pub fn of(fields: Vec<i32>) -> Self {
        Self { fields, blocks: vec![0; BYTES] }
    }

    /// Adds a key, one part for each field.
    pub fn insert(&mut self, key: &[KeyPart<'_>]) {
        let mut bytes = Vec::new();
        for part in key {
            match part {
                KeyPart::Number(number) => bytes.extend(number.to_le_bytes()),
                KeyPart::Bytes(part) => bytes.extend(*part),
            }
            // Between the parts of a longer key stands a zero, behind the last one too.
            if key.len() > 1 {
                bytes.push(0);
            }
        }
        let hash = XxHash64::oneshot(0, &bytes);
        let blocks = (BYTES / (4 * WORDS)) as u64;
        let block = usize::try_from(((hash >> 32) * blocks) >> 32).unwrap_or_default();
        let low = (hash & u64::from(u32::MAX)) as u32;
        for (word, salt) in SALTS.iter().enumerate() {
            let bit = low.wrapping_mul(*salt) >> 27;
            let at = 4 * (block * WORDS + word) + (bit / 8) as usize;
            if let Some(byte) = self.blocks.get_mut(at) {
                *byte |= 1 << (bit % 8);
            }
        }
    }

    /// As it stands in an Update.
    #[must_use]
    pub fn filter(self) -> KeyExistenceFilter {
        let bloom = BloomFilter {
            bitmap: Bytes::from(self.blocks),
            num_bits: BITS,
            number_of_items: ITEMS,
            probability: PROBABILITY,
        };
        KeyExistenceFilter { field_ids: self.fields, data: Some(key_existence_filter::Data::Bloom(bloom)) }
    }
}

/// The fields at the top that are part of the table's primary key, in the key's order; none where it has no key.
#[must_use]
pub fn primary_key(fields: &[Field]) -> Vec<&Field> {
    let mut key: Vec<&Field> = fields.iter().filter(|field| field.unenforced_primary_key).collect();
    key.sort_by_key(|field| field.unenforced_primary_key_position);
    key
}
