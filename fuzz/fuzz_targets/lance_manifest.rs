//! A manifest file of any bytes: opened, asked everything, and committed to.
#![no_main]

use bytes::Bytes;
use lakebed_lance::build::{Inputs, next};
use lakebed_lance::manifest::encode;
use lakebed_lance::proto::table::{DataFragment, Transaction};
use lakebed_lance::proto::table::transaction::{Delete, Operation};
use lakebed_lance::{Creation, Snapshot, VersionHead, facts_of};
use lakebed_naming::Version;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let _ = VersionHead::decode("fuzz", &bytes);
    let half = bytes.slice(bytes.len() / 2..);
    let _ = Snapshot::open_tail("fuzz", &half, bytes.len() as u64);
    let Ok(snapshot) = Snapshot::open("fuzz", &bytes) else { return };
    let _ = (snapshot.columns(), snapshot.counts(), snapshot.timestamp_ms(), snapshot.transaction_file());
    for fragment in snapshot.fragments() {
        let _ = snapshot.deletion_object(fragment);
        let _ = fragment.files.iter().map(|file| snapshot.data_object(file)).count();
    }
    if let Some(transaction) = snapshot.transaction() {
        let _ = facts_of(transaction.message(), Some(&snapshot), Some(&snapshot));
    }
    // Every fragment updated as it is: what the version holds is copied, checked and written again.
    let delete = Delete { updated_fragments: snapshot.fragments().to_vec(), ..Delete::default() };
    let transaction = Transaction {
        read_version: snapshot.version().get(),
        operation: Some(Operation::Delete(delete)),
        ..Transaction::default()
    };
    let _: Option<&DataFragment> = snapshot.fragment(0);
    let built = next(&Inputs {
        base: Some(&snapshot),
        creation: &Creation::default(),
        restored: None,
        cloned: None,
        moved: None,
        transaction: &transaction,
        transaction_file: "1-x.txn",
        at: Version::new(snapshot.version().get().wrapping_add(1)),
        now_ms: 1,
    });
    if let Ok(mut file) = built {
        let again = encode(&mut file).expect("what was read can be written");
        assert!(Snapshot::open("again", &again).is_ok(), "what was written can be read");
    }
});
