//! Row ids and row versions, against sequences that pylance wrote and by a plain list.

use bytes::Bytes;
use lakebed_lance::row_ids::{RowIds, RowVersions, consecutive, one_version};
use proptest::prelude::*;
use roaring::RoaringBitmap;

fn hex(text: &str) -> Bytes {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn sequences_of_pylance_are_read_and_written() {
    // Ten new rows, then the next ten; both as a fresh append has them.
    assert_eq!(consecutive(0, 10).unwrap(), hex("0a040a02100a"));
    assert_eq!(consecutive(10, 10).unwrap(), hex("0a060a04080a1014"));
    assert_eq!(one_version(1, 10), hex("0a080a040a02100a1001"));
    // An update moved rows 5 and 15: a range from 5 to 16 with bits 0 and 10, the lowest bit first.
    let moved = RowIds::decode(&hex("0a0a1a08080510101a020104")).unwrap();
    assert_eq!(moved.iter().collect::<Vec<_>>(), [5, 15]);
    assert_eq!((moved.position(5), moved.position(15), moved.position(6)), (Some(0), Some(1), None));
    let created = RowVersions::decode(&hex("0a080a040a02100110010a0a0a060a04080110021002")).unwrap();
    assert_eq!((created.at(0), created.at(1), created.at(2)), (Some(1), Some(2), None));
    assert_eq!(created.encode(), hex("0a080a040a02100110010a0a0a060a04080110021002"));
    // Row 4 of ten was rewritten in version 5.
    let touched = RowVersions::of(1, 10).with(&RoaringBitmap::from([4]), 5);
    assert_eq!(touched.encode(), hex("0a080a040a02100410010a0a0a060a040804100510050a0a0a060a040805100a1001"));
}

#[test]
fn huge_ranges_are_not_unfolded() {
    let ids = RowIds::decode(&consecutive(1, u64::MAX - 1).unwrap()).unwrap();
    assert_eq!(ids.len(), u64::MAX - 1);
    assert_eq!(ids.position(1 << 60), Some((1 << 60) - 1));
    assert!(consecutive(2, u64::MAX).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ids_are_where_a_list_has_them(parts in prop::collection::vec((0_u64..50, 1_u64..20), 0..8)) {
        let mut ids = RowIds::default();
        let mut list = Vec::new();
        for (at, (gap, rows)) in parts.into_iter().enumerate() {
            let first = at as u64 * 100 + gap;
            ids.extend(first, rows).unwrap();
            list.extend(first..first + rows);
        }
        let ids = RowIds::decode(&ids.encode()).unwrap();
        prop_assert_eq!(ids.iter().collect::<Vec<_>>(), list.clone());
        prop_assert_eq!(ids.len(), list.len() as u64);
        for id in 0..900 {
            prop_assert_eq!(ids.position(id), list.iter().position(|listed| *listed == id).map(|at| at as u64));
        }
    }

    #[test]
    fn versions_are_where_a_list_has_them(
        runs in prop::collection::vec((1_u64..5, 1_u64..9), 0..8),
        rows in prop::collection::btree_set(0_u32..70, 0..12),
    ) {
        let mut versions = RowVersions::default();
        let mut list = Vec::new();
        for (version, count) in runs {
            versions.push(version, count);
            list.extend((0..count).map(|_| version));
        }
        let changed: RoaringBitmap = rows.iter().copied().collect();
        let after = RowVersions::decode(&versions.with(&changed, 77).encode()).unwrap();
        for (at, version) in list.iter().enumerate() {
            let expected = if rows.contains(&u32::try_from(at).unwrap()) { 77 } else { *version };
            prop_assert_eq!(after.at(at as u64), Some(expected));
        }
        prop_assert_eq!(after.at(list.len() as u64), None);
    }

    #[test]
    fn any_bytes_are_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let bytes = Bytes::from(bytes);
        if let Some(ids) = RowIds::decode(&bytes) {
            let _ = (ids.len(), ids.position(3), ids.iter().take(100).count());
        }
        if let Some(versions) = RowVersions::decode(&bytes) {
            let _ = versions.with(&RoaringBitmap::from([0, 9]), 3).at(5);
        }
    }
}
