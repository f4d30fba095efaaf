//! A deletion vector: inline, framed as it is, and framed with a checksum that fits.
#![no_main]

use lakebed_delta::action::DeletionVector;
use lakebed_delta::deletion_vector::{decode, decode_framed, place};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (count, bytes) = bytes.split_at(bytes.len().min(2));
    let cardinality = count.iter().fold(0_i64, |sum, byte| sum << 8 | i64::from(*byte));
    let vector = |storage_type: &str, text: &str, size: usize| DeletionVector {
        storage_type: storage_type.to_owned(),
        path_or_inline_dv: text.to_owned(),
        offset: Some(1),
        size_in_bytes: i64::try_from(size).unwrap_or(0),
        cardinality,
    };
    if let Ok(text) = std::str::from_utf8(bytes) {
        for kind in ["i", "u", "p", "r"] {
            let _ = place(&vector(kind, text, bytes.len() / 5 * 4));
        }
    }
    let descriptor = vector("u", "", bytes.len());
    let _ = decode_framed(&descriptor, bytes);
    if let Ok(rows) = decode(&descriptor, bytes) {
        assert_eq!(i64::try_from(rows.len()), Ok(cardinality));
    }
});
