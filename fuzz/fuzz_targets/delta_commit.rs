//! A commit on top of a sound first one, alone, as the next entry, and as a compacted log.
#![no_main]

use lakebed_fuzz::{FIRST, load, look};
use libfuzzer_sys::fuzz_target;

const SECOND: &str = "_delta_log/00000000000000000001.json";

fuzz_target!(|bytes: &[u8]| {
    let first = ("_delta_log/00000000000000000000.json", FIRST.as_bytes());
    let second = load(&[first, (SECOND, bytes)]);
    if let Some(snapshot) = &second {
        look(snapshot);
    }
    // The next entry applied to a held version comes to the same as a load.
    if let Some(held) = load(&[first]) {
        let next = held.version().next().expect("version 0 has one");
        let advanced = held.advance(next, bytes).ok().filter(|next| next.check_catalog(false).is_ok());
        assert_eq!(advanced.map(|next| next.num_files()), second.as_ref().map(|next| next.num_files()));
    }
    let third = ("_delta_log/00000000000000000002.json", &b"{}"[..]);
    let compacted = ("_delta_log/00000000000000000001.00000000000000000002.compacted.json", bytes);
    // A compacted log that cannot be trusted never stands in the way.
    assert!(load(&[first, (SECOND, b"{}"), third, compacted]).is_some() || second.is_none());
});
