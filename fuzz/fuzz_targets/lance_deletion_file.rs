//! A deletion file of any bytes, in both forms.
#![no_main]

use bytes::Bytes;
use lakebed_lance::deletion;
use lakebed_naming::lance::DeletionKind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    for kind in [DeletionKind::Arrow, DeletionKind::Bitmap] {
        if let Ok(rows) = deletion::decode("fuzz", kind, &bytes, Some(1 << 20)) {
            let again = deletion::encode(kind, &rows).expect("rows of a file fit one");
            assert_eq!(deletion::decode("again", kind, &again, Some(1 << 20)).ok(), Some(rows));
        }
    }
});
