//! What pylance accepts and should not: every measured pair of commands whose end equals no serial run, or only ours before the winner.
//! Under `precise` ours is refused, or follows so that the end is the winner's and then ours.

use crate::common::{conformance, manifests, read};
use bytes::Bytes;
use lakebed_commit::{Fetched, Finished, Format, Judged, Need, ObjectName, Parsed, Rebased};
use lakebed_conflict::precise::PRECISE;
use lakebed_lance::transaction::Transaction;
use lakebed_lance::{JudgedBy, LanceFormat, Landed, Pending, Snapshot};
use lakebed_transaction::{Judgement, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A pair as it is named in the data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    base: String,
    ours: String,
    winner: String,
}

/// Pairs that pylance accepted, with whether each end was as after a serial run with the winner first.
fn accepted_by_pylance(root: &Path) -> BTreeMap<Pair, bool> {
    let text = String::from_utf8(read(&root.join("cases.tsv")).to_vec()).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let at = |name: &str| names.iter().position(|one| *one == name).unwrap();
    let in_order = |cell: &str| matches!(cell, "both" | "equals winner-then-ours");
    let mut found = BTreeMap::new();
    for row in lines.filter(|row| row[at("verdict")] == "ok") {
        let cell = |name: &str| row[at(name)].to_owned();
        let pair = Pair { base: cell("base"), ours: cell("ours"), winner: cell("winner") };
        let sound = in_order(row[at("serial")]) && in_order(row[at("state_serial")]);
        *found.entry(pair).or_insert(true) &= sound;
    }
    found
}

/// The objects of a pair: of the base, of the winner, and those that ours wrote.
struct Objects(Vec<PathBuf>);

impl Objects {
    fn get(&self, name: &ObjectName) -> Option<Bytes> {
        self.0.iter().map(|folder| folder.join(name.as_str())).find(|path| path.is_file()).map(|path| read(&path))
    }
}

/// What became of ours over the winner; `None` where the data has no whole window, or no transaction of ours.
fn run(root: &Path, pair: &Pair) -> Option<Result<(Pending, LanceFormat), Judgement>> {
    let base = root.join("bases").join(&pair.base);
    let winner = root.join("landed").join(format!("{}.{}", pair.base, pair.winner));
    let ours = root.join("ours").join(format!("{}.{}", pair.base, pair.ours));
    let message = PathBuf::from(format!("{}.txn", ours.display()));
    if !message.is_file() || !winner.is_dir() || winner.join("REMOVED.txt").exists() {
        return None;
    }
    let objects = Objects(vec![base.clone(), winner.clone(), ours]);
    let (at, (scheme, path)) = manifests(&base).pop_last().unwrap();
    let held = Arc::new(Snapshot::open("base", &read(&path)).unwrap());
    let message = Transaction::decode("ours", &read(&message)).unwrap().message().clone();
    // A restore needs the version that it makes current; the second half of a compaction the ids that the first reserved.
    let mut pending = Pending::new(held, message, 7).ok()?;
    let format = LanceFormat::judged_by(scheme, JudgedBy::Rows(&PRECISE));
    let mut fetched = Fetched::default();
    let fetch = |names: Vec<ObjectName>, fetched: &mut Fetched| {
        names.into_iter().for_each(|name| fetched.insert(name.clone(), objects.get(&name)));
    };
    let mut next = at.next()?;
    for (version, (_, path)) in manifests(&winner) {
        if version != next {
            return None;
        }
        next = version.next()?;
        let landed = landed(&format, version, &read(&path), &objects);
        let judgement = loop {
            match format.judge(&pending, &landed, &fetched).unwrap() {
                Judged::Verdict(judgement) => break judgement,
                Judged::Needs(names) => fetch(names, &mut fetched),
            }
        };
        if !judgement.verdict.accepts() {
            return Some(Err(judgement));
        }
        while let Rebased::Needs(names) = format.rebase(&mut pending, &landed, &fetched).unwrap() {
            fetch(names, &mut fetched);
        }
    }
    loop {
        match format.finish(&mut pending, &fetched).unwrap() {
            Finished::Ready => return Some(Ok((pending, format))),
            Finished::Conflict { why, .. } => return Some(Err(why)),
            Finished::Needs(needs) => {
                for need in needs {
                    match need {
                        Need::Read(name) => fetch(vec![name], &mut fetched),
                        Need::Write(name, _) => fetched.mark_written(name),
                    }
                }
            }
        }
    }
}

fn landed(format: &LanceFormat, version: lakebed_naming::Version, bytes: &Bytes, objects: &Objects) -> Landed {
    let mut fetched = Fetched::default();
    loop {
        match format.parse(version, bytes, &fetched).unwrap() {
            Parsed::Done(landed) => return landed,
            Parsed::Needs(names) => {
                names.into_iter().for_each(|name| fetched.insert(name.clone(), objects.get(&name)));
            }
        }
    }
}

/// The checks that refuse, by what goes wrong where nobody does.
const EXPLAINED: [(&str, &str, &str); 10] = [
    ("mi_ins200", "mi_ins200b", "rows-meet"),
    ("mi_ups200", "mi_ins200", "rows-meet"),
    ("app_v30", "cast_v", "field-changed"),
    ("app200", "cast_v", "field-changed"),
    ("app", "dropc_v", "field-changed"),
    ("idx_v", "dropc_v", "field-changed"),
    ("idx_v", "cast_v", "field-changed"),
    ("idx_v", "ren_v", "field-changed"),
    ("ren_v", "fmeta_v", "metadata-would-be-lost"),
    ("cast_v", "idx_v", "landed-index-lost"),
];

#[test]
fn nothing_unsound_that_pylance_accepts_is_accepted() {
    let Some(root) = conformance("lance-commands") else { return };
    let (mut refused, mut in_order) = (BTreeMap::new(), BTreeSet::new());
    // What the caller of an append had read is in no transaction.
    let pairs = accepted_by_pylance(&root).into_iter().filter(|(pair, sound)| !sound && pair.ours != "app_read");
    for (pair, _) in pairs {
        match run(&root, &pair) {
            None => {}
            Some(Err(judgement)) => {
                assert!(
                    judgement.reason.is_some() && judgement.verdict != Verdict::NeedFacts,
                    "{pair:?}: {judgement:?}"
                );
                refused.insert(pair, judgement);
            }
            Some(Ok((mut pending, format))) => {
                // A drop takes out the entry that a compaction put in the place of the one it knew.
                assert_eq!(pair.ours, "drop_idx", "{pair:?} was accepted");
                let next = pending.follows().and_then(lakebed_naming::Version::next).unwrap();
                let entry = format.render(&mut pending, next, 2_000_000_000_000).unwrap().entry;
                let after = Snapshot::open("after", &entry).unwrap();
                assert!(after.indices().iter().all(|index| index.name != "id_idx"), "{pair:?}");
                in_order.insert(pair.winner);
            }
        }
    }
    println!("{} pairs refused, {} kinds of winners followed in order", refused.len(), in_order.len());
    assert!(refused.len() >= 100, "{} refused", refused.len());
    assert!(["cmp", "cmp_2ph"].iter().all(|winner| in_order.contains(*winner)), "{in_order:?}");
    for (ours, winner, check) in EXPLAINED {
        let told: BTreeSet<&str> = refused
            .iter()
            .filter(|(pair, _)| pair.ours == ours && pair.winner == winner)
            .filter_map(|(_, judgement)| judgement.reason.map(|reason| reason.check))
            .collect();
        assert_eq!(told, BTreeSet::from([check]), "{ours} over {winner}");
    }
    let drops = refused.iter().filter(|(pair, _)| pair.ours == "drop_idx" && pair.winner == "drop_idx");
    assert!(drops.into_iter().all(|(_, judgement)| judgement.reason.unwrap().check == "index-name-written"));
}
