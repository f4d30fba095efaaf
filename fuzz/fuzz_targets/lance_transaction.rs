//! A transaction message of any bytes.
#![no_main]

use bytes::Bytes;
use lakebed_lance::transaction::Transaction;
use lakebed_lance::{TransactionHead, facts_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let head = TransactionHead::decode(&bytes);
    let Ok(transaction) = Transaction::decode("fuzz", &bytes) else { return };
    if let Some(head) = head {
        assert_eq!(head.read_version, transaction.read_version());
    }
    let _ = facts_of(transaction.message(), None, None);
    let again = Transaction::new(transaction.message().clone());
    assert_eq!(Transaction::decode("again", again.encoded()).ok().as_ref().map(Transaction::message), Some(again.message()));
});
