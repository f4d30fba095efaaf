//! Every verdict that Spark gave, judged again.

use super::reader;
use lakebed_conflict::delta::{DeltaFacts, DeltaPolicy, TableState};
use lakebed_transaction::Judgement;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The folder of conformance data, where there is one.
fn conformance(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let folder = std::env::var_os("LAKEBED_CONFORMANCE").map_or_else(beside, PathBuf::from).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no {}", folder.display());
    None
}

/// Reads each file once.
struct Cases {
    folder: PathBuf,
    tables: HashMap<String, TableState>,
    landed: HashMap<String, DeltaFacts>,
}

impl Cases {
    fn table(&mut self, base: &str) -> TableState {
        let folder = self.folder.join("bases").join(base).join("_delta_log");
        self.tables.entry(base.to_owned()).or_insert_with(|| reader::table(&folder)).clone()
    }

    /// Judges as the loop does, landed by landed; the first refusal is the answer.
    fn judge(&mut self, base: &str, ours: &str, landed: &str) -> (DeltaFacts, Judgement) {
        let table = self.table(base);
        let mut ours = reader::ours(&reader::lines(&self.folder.join("ours").join(ours)), table);
        let mut answer = DeltaPolicy::TableLevel.judge_alone(&ours);
        let before = ours.clone();
        for name in landed.split_whitespace() {
            if !answer.verdict.accepts() {
                break;
            }
            let path = self.folder.join("landed").join(name);
            let facts = self.landed.entry(name.to_owned()).or_insert_with(|| reader::landed(&reader::lines(&path)));
            answer = DeltaPolicy::TableLevel.judge(&ours, facts);
            ours.follow(facts);
        }
        (before, answer)
    }
}

fn agrees(expect: &str, answer: &Judgement) -> bool {
    let class = answer.reason.and_then(|reason| reason.error_class);
    match expect {
        "accept" => answer.verdict.accepts(),
        "reject" => !answer.verdict.accepts(),
        "either" | "skip" => true,
        other => !answer.verdict.accepts() && class == other.strip_prefix("refuse:"),
    }
}

#[test]
fn spark_verdicts_at_the_transaction_api() {
    let Some(folder) = conformance("delta-conflicts") else { return };
    let rows = std::fs::read_to_string(folder.join("verdicts.tsv")).unwrap();
    let mut cases = Cases { folder, tables: HashMap::new(), landed: HashMap::new() };
    let (mut wrong, mut hints, mut judged) = (Vec::new(), 0, BTreeMap::<&str, usize>::new());
    for row in rows.lines().skip(1) {
        let [id, base, ours, landed, expect, verdict, _, class, level, ..] = row.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("a short row: {row}");
        };
        *judged.entry(expect).or_default() += 1;
        let (facts, answer) = cases.judge(base, ours, landed);
        let effective = DeltaPolicy::TableLevel.effective_level(&facts).map_or("", |level| level.name());
        if !agrees(expect, &answer) {
            let check = answer.reason.map_or("", |reason| reason.check);
            wrong.push(format!("{id}: expected {expect}, answered {} {check}", answer.verdict));
        } else if verdict == "ok" && !level.is_empty() && level != effective {
            wrong.push(format!("{id}: checked at {effective}, Spark at {level}"));
        } else if expect.starts_with("refuse:") && class.contains("HINT") {
            // For what was read and removed Spark takes the partition from its own snapshot; here it comes from the landed
            // action, which may not name it.
            let evidence = answer.evidence.map(|evidence| evidence.to_string()).unwrap_or_default();
            let (hinted, named) = (class.ends_with("WITH_PARTITION_HINT"), evidence.contains(" ["));
            let unnamed = class.contains("DELETE_READ") && landed.contains("_bare");
            if hinted != named && !(hinted && unnamed) {
                wrong.push(format!("{id}: {class}, evidence {evidence}"));
            }
            hints += usize::from(hinted && named);
        }
    }
    println!("{judged:?}, {hints} with a partition");
    assert!(hints > 1_000, "only {hints} refusals name a partition");
    assert!(wrong.is_empty(), "{} of {} rows differ:\n{}", wrong.len(), rows.lines().count() - 1, wrong.join("\n"));
}

#[test]
fn spark_verdicts_of_commands() {
    let Some(folder) = conformance("delta-commands") else { return };
    let rows = std::fs::read_to_string(folder.join("cases.tsv")).unwrap();
    let mut lines = rows.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let (id, base, ours, landed, expect) = (at("id"), at("base"), at("ours"), at("landed"), at("expect"));
    let effective_level = at("effective_level");
    let mut cases = Cases { folder, tables: HashMap::new(), landed: HashMap::new() };
    let (mut wrong, mut judged) = (Vec::new(), 0);
    for row in lines {
        let cells: Vec<&str> = row.split('\t').collect();
        if cells[expect] == "skip" {
            continue;
        }
        judged += 1;
        let (facts, answer) = cases.judge(cells[base], &format!("{}.{}.json", cells[base], cells[ours]), cells[landed]);
        if !agrees(cells[expect], &answer) {
            let check = answer.reason.map_or("", |reason| reason.check);
            wrong.push(format!("{}: expected {}, answered {} {check}", cells[id], cells[expect], answer.verdict));
        }
        let effective = DeltaPolicy::TableLevel.effective_level(&facts).map_or("", |level| level.name());
        if answer.verdict.accepts() && !cells[effective_level].is_empty() && cells[effective_level] != effective {
            wrong.push(format!("{}: checked at {effective}, Spark at {}", cells[id], cells[effective_level]));
        }
    }
    println!("{judged} judged");
    assert!(wrong.is_empty(), "{} of {} rows differ:\n{}", wrong.len(), rows.lines().count() - 1, wrong.join("\n"));
}
