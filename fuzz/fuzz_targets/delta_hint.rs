//! The hint and a checksum file: neither ever changes what a version is.
#![no_main]

use lakebed_delta::Hint;
use lakebed_fuzz::{FIRST, load};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(hint) = Hint::parse(bytes) {
        let _ = hint.list_after();
    }
    let first = ("_delta_log/00000000000000000000.json", FIRST.as_bytes());
    let checksum = ("_delta_log/00000000000000000000.crc", bytes);
    assert_eq!(load(&[first, checksum]).map(|snapshot| snapshot.num_files()), Some(0));
});
