//! Real objects cut short and with flipped bits: an answer in words or the version that was asked for, never a panic.

use crate::support::conformance;
use bytes::Bytes;
use lakebed_delta::action::DeletionVector;
use lakebed_delta::deletion_vector::{VectorPlace, decode, decode_framed, place};
use lakebed_delta::{Hint, Load, LoadStep};
use lakebed_naming::Version;
use std::path::{Path, PathBuf};

/// Numbers that look random and are the same in every run.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap()
    }
}

/// The bytes with something wrong: cut short, a bit or some bytes changed, a piece doubled or left out.
fn mutated(bytes: &[u8], noise: &mut Noise) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=noise.below(3) {
        let at = noise.below(out.len());
        match noise.below(6) {
            0 => out.truncate(at),
            1 | 2 => out.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << noise.below(8)),
            3 => out.iter_mut().skip(at).take(4).for_each(|byte| *byte = [0, 0xff, 0x7f, b'9'][noise.below(4)]),
            4 => drop(out.drain(at..(at + noise.below(64)).min(out.len()))),
            _ => {
                let piece = out[at..(at + noise.below(64)).min(out.len())].to_vec();
                out.splice(at..at, piece);
            }
        }
    }
    out
}

/// Every object of a log, with its name relative to the table's root.
fn objects(table: &Path) -> Vec<(String, Bytes)> {
    let read = |path: &Path| Bytes::from(std::fs::read(table.join(path)).unwrap());
    crate::support::names(table).into_iter().map(|(name, _)| (name.clone(), read(&PathBuf::from(name)))).collect()
}

/// A number that the environment holds: more rounds than every run takes, or others.
fn told(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// As [`load`], without the files.
fn head(objects: &[(String, Bytes)], at: Version) -> Result<Version, String> {
    let sizes = objects.iter().map(|(name, bytes)| (name.as_str(), bytes.len() as u64));
    let mut load = Load::new(sizes, true, Some(at)).without_files();
    for _ in 0..12 {
        match load.step().map_err(|error| error.to_string())? {
            LoadStep::Relist => return Err("the listing was whole".to_owned()),
            LoadStep::Done(head) => return Ok(head.version()),
            LoadStep::Needs(needs) => {
                for name in needs {
                    let found = objects.iter().find(|(own, _)| *own == name.as_str());
                    load.feed(name, found.map(|(_, bytes)| bytes.clone()));
                }
            }
        }
    }
    panic!("a load never ends")
}

/// Loads a version of these objects, whichever of them is broken.
fn load(objects: &[(String, Bytes)], at: Version) -> Result<Version, String> {
    let sizes = objects.iter().map(|(name, bytes)| (name.as_str(), bytes.len() as u64));
    let mut load = Load::new(sizes, true, Some(at));
    for _ in 0..12 {
        match load.step().map_err(|error| error.to_string())? {
            LoadStep::Relist => return Err("the listing was whole".to_owned()),
            LoadStep::Needs(needs) => {
                for name in needs {
                    let found = objects.iter().find(|(own, _)| *own == name.as_str());
                    load.feed(name, found.map(|(_, bytes)| bytes.clone()));
                }
            }
            LoadStep::Done(snapshot) => {
                // What is read only when asked for must hold, too.
                let _ = (snapshot.num_rows(), snapshot.num_deleted_rows(), snapshot.files().count());
                return Ok(snapshot.version());
            }
        }
    }
    panic!("a load never ends")
}

const TABLES: &[(&str, u64)] = &[
    ("ckpt_v2_json", 9),
    ("ckpt_v2_parquet", 9),
    ("ckpt_multipart", 11),
    ("ckpt_struct_stats", 4),
    ("dv_delete", 6),
    ("rt_basic", 9),
    ("nested", 4),
    ("ict_from_start", 5),
];

#[test]
fn mutated_objects_of_a_log_are_refused_or_read_and_nothing_else() {
    let Some(root) = conformance("delta-spark") else { return };
    let (rounds, seed) = (told("LAKEBED_MUTATIONS").unwrap_or(80), told("LAKEBED_MUTATIONS_SEED"));
    let (mut noise, mut read, mut refused) = (Noise(seed.unwrap_or(0x1234_5678_9abc_def1)), 0, 0);
    for (table, version) in TABLES {
        let sound = objects(&root.join(table));
        for round in 0..rounds {
            let mut broken = sound.clone();
            // One object, now and then two: a damaged checkpoint, and a damaged commit where its place is taken.
            for _ in 0..=round % 2 {
                let at = noise.below(broken.len());
                broken[at].1 = Bytes::from(mutated(&broken[at].1, &mut noise));
            }
            // Who does not want the files meets the same bytes, and no other version either.
            if let Ok(found) = head(&broken, Version::new(*version)) {
                assert_eq!(found, Version::new(*version), "{table}: never another version");
            }
            match load(&broken, Version::new(*version)) {
                Ok(found) => {
                    assert_eq!(found, Version::new(*version), "{table}: never another version");
                    read += 1;
                }
                Err(text) => {
                    assert!(text.len() > 20, "{table}: {text}");
                    refused += 1;
                }
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(read > 200 && refused > 40, "{read} read, {refused} refused");
}

#[test]
fn every_cut_of_a_commit_and_of_a_hint_has_an_answer() {
    let Some(root) = conformance("delta-spark") else { return };
    let commit = std::fs::read(root.join("rt_basic/_delta_log/00000000000000000000.json")).unwrap();
    for length in 0..commit.len() {
        let cut = vec![("_delta_log/00000000000000000000.json".to_owned(), Bytes::copy_from_slice(&commit[..length]))];
        assert!(load(&cut, Version::new(0)).is_err() || commit[length] == b'\n', "cut at {length}");
    }
    let hint = std::fs::read(root.join("ckpt_v2_json/_delta_log/_last_checkpoint")).unwrap();
    let sound = Hint::parse(&hint).unwrap();
    assert!((0..hint.trim_ascii_end().len()).all(|length| Hint::parse(&hint[..length]).is_none()));
    let mut noise = Noise(7);
    for _ in 0..2_000 {
        let broken = Hint::parse(&mutated(&hint, &mut noise));
        assert!(broken.is_none_or(|hint| hint == sound || hint.list_after().as_str().starts_with("_delta_log/")));
    }
}

/// A vector of a real table with the bytes of its frame.
fn framed(root: &Path) -> (DeletionVector, Vec<u8>) {
    let table = root.join("dv_delete");
    let snapshot = crate::support::load(&table, None).unwrap();
    let vector = snapshot.files().find_map(|add| add.deletion_vector.clone()).unwrap();
    let VectorPlace::Object { object, range } = place(&vector).unwrap() else { panic!("it has a file") };
    let file = std::fs::read(table.join(object)).unwrap();
    let frame = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
    (vector, file[frame].to_vec())
}

#[test]
fn every_flipped_bit_of_a_deletion_vector_is_found() {
    let Some(root) = conformance("delta-spark") else { return };
    let (vector, sound) = framed(&root);
    assert!(decode_framed(&vector, &sound).is_ok());
    for bit in 0..sound.len() * 8 {
        let mut broken = sound.clone();
        broken[bit / 8] ^= 1 << (bit % 8);
        assert!(decode_framed(&vector, &broken).is_err(), "bit {bit}");
    }
    assert!((0..sound.len()).all(|length| decode_framed(&vector, &sound[..length]).is_err()));
}

#[test]
fn a_deletion_vector_that_its_checksum_vouches_for_still_has_to_make_sense() {
    let Some(root) = conformance("delta-spark") else { return };
    let (vector, sound) = framed(&root);
    let body = &sound[4..sound.len() - 4];
    let mut noise = Noise(99);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..8_000 {
        let broken = mutated(body, &mut noise);
        let mut claimed = vector.clone();
        claimed.size_in_bytes = i64::try_from(broken.len()).unwrap();
        match decode(&claimed, &broken) {
            Ok(rows) => {
                assert_eq!(i64::try_from(rows.len()), Ok(vector.cardinality));
                read += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("deletion vector"), "{error}");
                refused += 1;
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(refused > 4_000);
}

#[test]
fn no_descriptor_leads_out_of_the_table_unless_it_is_absolute() {
    let mut noise = Noise(3);
    let alphabet: Vec<char> = "ab/.\\%^-~:#@}{$09 é\0".chars().collect();
    for _ in 0..8_000 {
        let length = noise.below(40);
        let text: String = (0..length).map(|_| alphabet[noise.below(alphabet.len())]).collect();
        let descriptor = |kind: &str| DeletionVector {
            storage_type: kind.to_owned(),
            path_or_inline_dv: text.clone(),
            offset: Some(i64::MAX - noise_offset(length)),
            size_in_bytes: i64::try_from(length).unwrap() - 3,
            cardinality: 1,
        };
        for kind in ["u", "i", "p", "r", ""] {
            match place(&descriptor(kind)) {
                Ok(VectorPlace::Object { object, .. }) => {
                    assert!(!object.starts_with('/') && object.split('/').all(|part| part != ".." && part != "."));
                }
                Ok(VectorPlace::Elsewhere { uri, .. }) => {
                    assert!(kind == "p" && (uri.contains(':') || uri.starts_with('/')))
                }
                Ok(VectorPlace::Inline(_)) => assert_eq!(kind, "i"),
                Err(_) => {}
            }
        }
    }
}

fn noise_offset(length: usize) -> i64 {
    if length.is_multiple_of(2) { i64::MAX - 1 } else { 0 }
}
