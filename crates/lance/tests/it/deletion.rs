//! Deletion files.

use lakebed_lance::deletion::{decode, encode, fresh_kind};
use lakebed_naming::lance::DeletionKind;
use lakebed_transaction::RowSet;
use proptest::prelude::*;

#[test]
fn the_form_of_a_fresh_list_changes_at_5000_rows() {
    assert_eq!(fresh_kind(1), DeletionKind::Arrow);
    assert_eq!(fresh_kind(4999), DeletionKind::Arrow);
    assert_eq!(fresh_kind(5000), DeletionKind::Bitmap);
}

#[test]
fn a_small_bitmap_has_the_size_that_the_form_prescribes() {
    // Cookie and count of containers, key and cardinality, offset, seven 16-bit values.
    let rows: RowSet = (0..7).map(|row| row * 3).collect();
    let bytes = encode(DeletionKind::Bitmap, &rows).unwrap();
    assert_eq!(bytes.len(), 8 + 4 + 4 + 14);
    assert_eq!(bytes[..4], 12346_u32.to_le_bytes());
}

#[test]
fn rows_beyond_the_fragment_are_damage() {
    let rows: RowSet = [1, 9].into_iter().collect();
    for kind in [DeletionKind::Arrow, DeletionKind::Bitmap] {
        let bytes = encode(kind, &rows).unwrap();
        assert!(decode("test", kind, &bytes, Some(10)).is_ok());
        assert!(decode("test", kind, &bytes, Some(9)).is_err());
    }
}

#[test]
fn rows_beyond_32_bits_cannot_be_written() {
    let rows: RowSet = [1, 1 << 32].into_iter().collect();
    assert!(encode(DeletionKind::Bitmap, &rows).is_err());
    assert!(encode(DeletionKind::Arrow, &rows).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_forms_give_the_rows_back(rows in prop::collection::btree_set(0_u64..300_000, 0..600)) {
        let rows: RowSet = rows.into_iter().collect();
        for kind in [DeletionKind::Arrow, DeletionKind::Bitmap] {
            let bytes = encode(kind, &rows).unwrap();
            prop_assert_eq!(&decode("test", kind, &bytes, Some(300_000)).unwrap(), &rows);
        }
    }

    #[test]
    fn any_bytes_are_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for kind in [DeletionKind::Arrow, DeletionKind::Bitmap] {
            let _ = decode("test", kind, &bytes::Bytes::from(bytes.clone()), Some(1000));
        }
    }
}
