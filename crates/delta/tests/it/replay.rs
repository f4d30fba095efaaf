//! One version, however it is come by: from the whole log, from the version before, from any checkpoint and what follows it, with
//! its files and without.

use crate::support::{conformance, folders, is_checkpoint, load_names, names, snapshot_of, state};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_delta::schema::ColumnMapping;
use lakebed_delta::{CheckpointFile, Core, Head, Load, LoadStep, Snapshot, write_checkpoint, write_v2_checkpoint};
use lakebed_naming::delta::commit_path;
use lakebed_naming::{Uuid, Version};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Objects by name, as a store would have them.
type Objects = BTreeMap<String, Bytes>;

fn listed(objects: &Objects) -> Vec<(String, u64)> {
    objects.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect()
}

fn loaded(objects: &Objects) -> Snapshot {
    let mut load = Load::new(listed(objects), true, None);
    loop {
        match load.step().unwrap() {
            LoadStep::Done(snapshot) => return *snapshot,
            LoadStep::Relist => panic!("the listing is whole"),
            LoadStep::Needs(needs) => {
                needs.into_iter().for_each(|name| load.feed(name.clone(), objects.get(name.as_str()).cloned()));
            }
        }
    }
}

/// The version without its files, and what was read for it.
fn head(objects: &Objects) -> (Head, Vec<ObjectName>) {
    let mut load = Load::new(listed(objects), true, None).without_files();
    let mut read = Vec::new();
    loop {
        match load.step().unwrap() {
            LoadStep::Done(head) => return (*head, read),
            LoadStep::Relist => panic!("the listing is whole"),
            LoadStep::Needs(needs) => {
                for name in needs {
                    load.feed(name.clone(), objects.get(name.as_str()).cloned());
                    read.push(name);
                }
            }
        }
    }
}

/// Everything about a version but its files.
fn core_text(core: &Core) -> String {
    format!("{core:#?}")
}

/// As a checkpoint has it.
fn retained(snapshot: &Snapshot) -> Snapshot {
    snapshot.clone().retained(0)
}

fn put(objects: &mut Objects, file: &CheckpointFile) {
    objects.extend(file.sidecars.iter().map(|(name, bytes)| (name.to_string(), bytes.clone())));
    objects.insert(file.name.to_string(), file.bytes.clone());
}

/// A checkpoint of either kind, where the table takes it.
fn checkpoint(snapshot: &Snapshot, second: bool) -> CheckpointFile {
    if second && snapshot.protocol().supports("v2Checkpoint") {
        return write_v2_checkpoint(snapshot, 0, Uuid::from_random([7; 16])).unwrap();
    }
    write_checkpoint(snapshot, 0).unwrap()
}

/// Numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

const FIRST: &str = r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors","v2Checkpoint"],"writerFeatures":["deletionVectors","v2Checkpoint","domainMetadata"]}}
{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},{\"name\":\"p\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":["p"],"configuration":{}}}
"#;

/// A commit of anything that a log may say, on files that come, go, come again, and lose rows.
fn commit(dice: &mut Dice, live: &mut BTreeMap<u64, Option<u64>>, at: u64) -> String {
    let mut out = format!("{{\"commitInfo\":{{\"operation\":\"WRITE\",\"timestamp\":{at}}}}}\n");
    let vector = |mark: Option<u64>| {
        mark.map_or(String::new(), |mark| {
            format!(r#","deletionVector":{{"storageType":"u","pathOrInlineDv":"vBn[lx{{q8@P<9BNH/isA","offset":{mark},"sizeInBytes":36,"cardinality":2}}"#)
        })
    };
    // A commit says one thing of a file, or takes it out and puts it in with another vector.
    let start = dice.below(12);
    for file in (0..=dice.below(4)).map(|step| (start + 5 * step) % 12) {
        // Two spellings of one name, and a partition without a value.
        let path = if file.is_multiple_of(3) { format!("a%20{file}.parquet") } else { format!("f{file}.parquet") };
        let partition = if file.is_multiple_of(4) { "null".to_owned() } else { format!("\"p{file}\"") };
        if let Some(mark) = live.remove(&file) {
            let gone = vector(mark);
            let _ = writeln!(
                out,
                r#"{{"remove":{{"path":"{path}","deletionTimestamp":{},"dataChange":true,"partitionValues":{{"p":{partition}}},"size":9{gone}}}}}"#,
                at + 1
            );
            if dice.below(2) == 0 {
                continue;
            }
        }
        let mark = (dice.below(3) == 0).then_some(at * 16 + file);
        let stats = format!(r#"{{\"numRecords\":{},\"minValues\":{{\"id\":{at}}},\"tightBounds\":false}}"#, 10 + file);
        let _ = writeln!(
            out,
            r#"{{"add":{{"path":"{path}","partitionValues":{{"p":{partition}}},"size":{},"modificationTime":{at},"dataChange":true,"stats":"{stats}"{}}}}}"#,
            100 + file,
            vector(mark)
        );
        live.insert(file, mark);
        if dice.below(3) == 0 {
            break;
        }
    }
    match dice.below(6) {
        0 => {
            let app = dice.below(3);
            let _ = writeln!(out, r#"{{"txn":{{"appId":"a{app}","version":{at},"lastUpdated":{at}}}}}"#);
        }
        1 => {
            let (name, removed) = (dice.below(3), dice.below(2) == 0);
            let _ = writeln!(
                out,
                r#"{{"domainMetadata":{{"domain":"d{name}","configuration":"{at}","removed":{removed}}}}}"#
            );
        }
        2 => {
            let metadata = FIRST.lines().nth(1).unwrap().replace(
                r#""configuration":{}"#,
                &format!(r#""configuration":{{"at":"{at}","delta.enableDeletionVectors":"true"}}"#),
            );
            let _ = writeln!(out, "{metadata}");
        }
        _ => {}
    }
    out
}

/// Histories, and commits of each.
const SEEDS: u64 = 6;
const COMMITS: u64 = 20;

/// After every commit of random histories.
#[test]
fn every_way_to_a_version_of_a_random_history_gives_the_same() {
    let mut ways = 0;
    for seed in 0..SEEDS {
        let (mut dice, mut live) = (Dice(seed), BTreeMap::new());
        let mut log = Objects::from([(commit_path(Version::new(0)), Bytes::from(FIRST))]);
        let mut versions = vec![loaded(&log)];
        let mut ahead = head(&log).0;
        for at in 1..=COMMITS {
            let version = Version::new(at);
            let bytes = Bytes::from(commit(&mut dice, &mut live, at));
            log.insert(commit_path(version), bytes.clone());
            let full = loaded(&log);
            assert_eq!(full.version(), version);
            assert_eq!(full.num_files(), live.len() as u64, "seed {seed} at {at}");
            let stepped = versions.last().unwrap().advance(version, &bytes).unwrap();
            assert_eq!(state(&stepped), state(&full), "seed {seed} at {at}");
            ahead = ahead.advance(version, &bytes).unwrap();
            assert_eq!(core_text(ahead.core()), core_text(full.core()), "seed {seed} at {at}");
            versions.push(stepped);
            let (base, second) = (dice.below(at + 1), dice.below(2) == 0);
            let mut short = log.clone();
            short.retain(|name, _| *name > commit_path(Version::new(base)));
            // Of the newest version the provenance stands in its commit alone.
            short.insert(commit_path(version), bytes.clone());
            put(&mut short, &checkpoint(&versions[usize::try_from(base).unwrap()], second));
            let label = format!("seed {seed} at {at}, from the checkpoint of {base} ({second})");
            assert_eq!(state(&loaded(&short)), state(&full), "{label}");
            let (head, read) = head(&short);
            assert_eq!(core_text(head.core()), core_text(full.core()), "{label}");
            assert!(read.iter().all(|name| !name.as_str().contains("_sidecars")), "{label}: {read:?}");
            ways += 1;
        }
    }
    assert_eq!(ways, SEEDS * COMMITS);
}

/// On every table of the conformance data: the newest version from a checkpoint of any version of its log, and without its files.
#[test]
fn every_checkpoint_and_its_tail_equal_the_whole_log_on_every_table() {
    let (mut tables, mut ways, mut heads) = (0, 0, 0);
    for folder in folders() {
        let all = names(&folder);
        let own = |name: &str| std::fs::read(folder.join(name)).map(Bytes::from).unwrap();
        let everything: Objects = all.iter().map(|(name, _)| (name.clone(), own(name))).collect();
        let label = folder.display();
        let Ok(newest) = load_names(&folder, &all, None) else { continue };
        assert_eq!(core_text(head(&everything).0.core()), core_text(newest.core()), "{label}");
        heads += 1;
        let mut log = everything;
        log.retain(|name, _| !is_checkpoint(name) && !name.contains("compacted"));
        let whole: Vec<(String, u64)> = listed(&log);
        let Ok(full) = load_names(&folder, &whole, None) else { continue };
        tables += 1;
        let last = full.version().get();
        for at in last.saturating_sub(2)..=last {
            let Ok(base) = load_names(&folder, &whole, Some(Version::new(at))) else { continue };
            // What a checkpoint of this table leaves out by its properties is no difference of state.
            if base.properties().get("delta.checkpoint.writeStatsAsJson") == Some("false") {
                continue;
            }
            let second = at % 2 == 0;
            let mut short = log.clone();
            short.retain(|name, _| *name > commit_path(Version::new(at)) || *name == commit_path(full.version()));
            put(&mut short, &checkpoint(&base, second));
            let label = format!("{label} at {last}, from the checkpoint of {at} ({second})");
            let again = loaded(&short);
            let (read, known) = (retained(&again), retained(&full));
            assert_eq!(state(&read), state(&known), "{label}");
            assert_eq!(core_text(read.core()), core_text(known.core()), "{label}");
            assert_eq!(core_text(head(&short).0.core()), core_text(again.core()), "{label}");
            ways += 1;
        }
    }
    println!("{tables} tables, {ways} checkpoints, {heads} heads");
    assert!(conformance("delta").is_none() || (tables >= 300 && ways >= 600), "{tables} tables, {ways} ways");
}

/// A property stands in the metadata before the protocol has the feature that gives it effect.
#[test]
fn a_protocol_that_comes_later_gives_effect_to_the_metadata_before_it() {
    let first = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{\"delta.columnMapping.id\":1,\"delta.columnMapping.physicalName\":\"p\"}}]}","partitionColumns":[],"configuration":{"delta.columnMapping.mode":"name"}}}"#;
    let second = r#"{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}"#;
    let before = snapshot_of(&[first]);
    assert_eq!(before.column_mapping(), ColumnMapping::None);
    let whole = snapshot_of(&[first, second]);
    assert_eq!(whole.column_mapping(), ColumnMapping::Name);
    let stepped = before.advance(Version::new(1), second.as_bytes()).unwrap();
    assert_eq!(core_text(stepped.core()), core_text(whole.core()));
}

/// All sidecars stand in one folder; writers spell that out or not.
#[test]
fn a_sidecar_is_found_however_its_path_is_spelled() {
    let add = r#"{"add":{"path":"a","partitionValues":{"p":"1"},"size":1,"modificationTime":1,"dataChange":true}}"#;
    let whole = snapshot_of(&[FIRST, add]);
    let file = write_v2_checkpoint(&whole, 0, Uuid::from_random([7; 16])).unwrap();
    let text = String::from_utf8(file.bytes.to_vec()).unwrap();
    let [(sidecar, _)] = file.sidecars.as_slice() else { panic!("{} sidecars", file.sidecars.len()) };
    let name = sidecar.as_str().rsplit('/').next().unwrap();
    for place in
        ["", "_delta_log/_sidecars/", "file:///somewhere/_delta_log/_sidecars/", "s3://b/t/_delta_log/_sidecars/"]
    {
        let spelled = text.replace(&format!("\"{name}\""), &format!("\"{place}{name}\""));
        assert!(spelled.contains(&format!("{place}{name}")));
        let mut objects = Objects::from([(file.name.to_string(), Bytes::from(spelled))]);
        objects.extend(file.sidecars.iter().map(|(name, bytes)| (name.to_string(), bytes.clone())));
        assert_eq!(state(&loaded(&objects)), state(&whole), "{place}");
    }
}
