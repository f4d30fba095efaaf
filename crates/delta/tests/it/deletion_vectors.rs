//! Deletion vectors that the real clients wrote.

use crate::support::{conformance, load};
use lakebed_delta::action::DeletionVector;
use lakebed_delta::deletion_vector::{VectorPlace, decode, decode_framed, place};
use lakebed_transaction::RowSet;
use std::path::Path;

/// The vector's rows; `None` where its file is not there (some tables came without).
fn rows(table: &Path, vector: &DeletionVector) -> Option<RowSet> {
    match place(vector).unwrap() {
        VectorPlace::Inline(bytes) => Some(decode(vector, &bytes).unwrap()),
        VectorPlace::Object { object, range } => {
            let file = std::fs::read(table.join(object)).ok()?;
            let framed = &file[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
            let mut broken = framed.to_vec();
            broken[framed.len() / 2] ^= 1;
            assert!(decode_framed(vector, &broken).is_err(), "a flipped bit is found");
            assert!(decode_framed(vector, &framed[..framed.len() - 1]).is_err(), "a missing byte is found");
            Some(decode_framed(vector, framed).unwrap())
        }
        VectorPlace::Elsewhere { uri, .. } => {
            assert!(uri.contains(":/") || uri.starts_with("file:"), "{uri} is absolute");
            None
        }
    }
}

#[test]
fn every_vector_file_of_the_conformance_tables_fits_its_descriptor() {
    let mut read = 0;
    for part in ["delta", "delta-spark", "delta-commands/bases"] {
        let Some(root) = conformance(part) else { return };
        let mut folders = vec![root];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap().filter_map(Result::ok) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                }
            }
            if !folder.join("_delta_log").is_dir() {
                continue;
            }
            let Ok(snapshot) = load(&folder, None) else { continue };
            for add in snapshot.files() {
                let Some(rows) = add.deletion_vector.as_ref().and_then(|vector| rows(&folder, vector)) else {
                    continue;
                };
                assert_eq!(rows.len(), add.deleted_rows(), "{}", folder.display());
                assert!(add.num_records().is_none_or(|count| rows.iter().all(|row| row < count)));
                read += 1;
            }
        }
    }
    println!("{read} deletion vectors");
    assert!(read >= 15, "only {read} vectors");
}
