//! Damaged bytes are an error, never a panic.

use crate::common::{all_manifests, conformance, files, folders, read};
use bytes::Bytes;
use lakebed_lance::transaction::Transaction;
use lakebed_lance::{Snapshot, deletion, facts_of};
use lakebed_naming::lance::DeletionKind;

/// Opens the bytes and walks everything that can be asked.
fn walk(bytes: &Bytes) -> bool {
    let Ok(snapshot) = Snapshot::open("test", bytes) else { return false };
    let _ = (snapshot.columns(), snapshot.counts(), snapshot.timestamp_ms(), snapshot.transaction_file());
    for fragment in snapshot.fragments() {
        let _ = snapshot.deletion_object(fragment);
        let _ = snapshot.fragment(fragment.id);
    }
    if let Some(transaction) = snapshot.transaction() {
        let _ = facts_of(transaction.message(), Some(&snapshot), Some(&snapshot));
    }
    true
}

#[test]
fn truncated_manifests_do_not_open() {
    for path in all_manifests().into_iter().step_by(53) {
        let bytes = read(&path);
        assert!(walk(&bytes));
        for end in 0..bytes.len() {
            assert!(!walk(&bytes.slice(..end)), "{} cut at {end}", path.display());
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    for path in all_manifests().into_iter().step_by(83) {
        let bytes = read(&path);
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= flip;
                let _ = walk(&Bytes::from(damaged));
            }
        }
    }
}

#[test]
fn hostile_footers_are_refused() {
    for position in [i64::MIN, -1, 0, 4, 15, 16, i64::MAX] {
        let mut bytes = vec![0xff; 20];
        bytes.extend(position.to_le_bytes());
        bytes.extend([0, 0, 2, 0]);
        bytes.extend(b"LANC");
        assert!(Snapshot::open("test", &Bytes::from(bytes)).is_err());
    }
}

#[test]
fn damaged_transactions_never_panic() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let base = Snapshot::open("base", &read(&folder.join("base.manifest"))).unwrap();
    for path in files(&folder.join("landed")) {
        let bytes = read(&path);
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0x55;
            for bytes in [Bytes::from(damaged), bytes.slice(..at)] {
                if let Ok(transaction) = Transaction::decode("test", &bytes) {
                    let _ = facts_of(transaction.message(), Some(&base), Some(&base));
                }
            }
        }
    }
}

#[test]
fn damaged_deletion_files_never_panic() {
    let Some(lance) = conformance("lance") else { return };
    let mut seen = 0;
    for set in folders(&lance) {
        for path in files(&set.join("table.lance/_deletions")) {
            let kind = if path.extension().unwrap() == "arrow" { DeletionKind::Arrow } else { DeletionKind::Bitmap };
            let bytes = read(&path);
            assert!(deletion::decode("test", kind, &bytes, None).is_ok());
            seen += 1;
            let step = (bytes.len() / 300).max(1);
            for at in (0..bytes.len()).step_by(step) {
                assert!(deletion::decode("test", kind, &bytes.slice(..at), None).is_err(), "cut at {at}");
                for flip in [0x01, 0x10, 0x80, 0xff] {
                    let mut damaged = bytes.to_vec();
                    damaged[at] ^= flip;
                    let _ = deletion::decode("test", kind, &Bytes::from(damaged), Some(6000));
                }
            }
        }
    }
    assert!(seen >= 10);
}
