//! The filter over inserted keys against what pylance 14.0.2 writes for the same keys.

use lakebed_lance::keys::{InsertedKeys, KeyPart};
use lakebed_lance::proto::table::transaction::key_existence_filter::Data;

/// The number of the only block with bits, and its words.
fn block(key: &[KeyPart<'_>]) -> (usize, Vec<u32>) {
    let mut keys = InsertedKeys::of(vec![0]);
    keys.insert(key);
    let Some(Data::Bloom(bloom)) = keys.filter().data else { panic!("no filter") };
    assert_eq!((bloom.bitmap.len(), bloom.num_bits, bloom.number_of_items), (32_768, 262_144, 8_192));
    assert_eq!(bloom.probability.to_bits(), 0.00057_f64.to_bits());
    let words = |block: &[u8]| -> Vec<u32> {
        block.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let found: Vec<(usize, Vec<u32>)> = bloom
        .bitmap
        .chunks(32)
        .map(words)
        .enumerate()
        .filter(|(_, words)| words.iter().any(|word| *word != 0))
        .collect();
    <[_; 1]>::try_from(found).unwrap().into_iter().next().unwrap()
}

#[test]
fn keys_set_the_bits_that_pylance_sets() {
    // From the transactions of merge_insert on tables with these keys, each of which inserts one row.
    let three = [0x8_0000, 0x4, 0x2, 0x20_0000, 0x40, 0x2_0000, 0x40, 0x800];
    assert_eq!(block(&[KeyPart::Number(3)]), (542, three.to_vec()));
    let minus_three = [0x20_0000, 0x4, 0x1, 0x4, 0x2, 0x400, 0x10, 0x8000_0000];
    assert_eq!(block(&[KeyPart::Number(-3)]), (894, minus_three.to_vec()));
    let abc = [0x2000, 0x800, 0x80_0000, 0x20_0000, 0x40, 0x4000, 0x2000_0000, 0x2000_0000];
    assert_eq!(block(&[KeyPart::Bytes(b"abc")]), (274, abc.to_vec()));
    let both = [0x1000, 0x1, 0x1000, 0x2000_0000, 0x1, 0x100, 0x1000_0000, 0x40];
    assert_eq!(block(&[KeyPart::Number(7), KeyPart::Bytes(b"abc")]), (767, both.to_vec()));
}
