//! Stanzas: ours, landed, verdict.

use super::facts::facts;
use lakebed_conflict::Cell;
use lakebed_conflict::lance::{LANCE, judge};
use std::collections::BTreeSet;

const FILES: &[(&str, &str)] = &[
    ("first", include_str!("../../testdata/lance/first.txt")),
    ("rows", include_str!("../../testdata/lance/rows.txt")),
    ("indices", include_str!("../../testdata/lance/indices.txt")),
    ("maps", include_str!("../../testdata/lance/maps.txt")),
    ("fixed", include_str!("../../testdata/lance/fixed.txt")),
];

/// Runs every stanza of a file; the names of the checks that decided.
fn check(file: &str) -> BTreeSet<String> {
    let text = FILES.iter().find(|(name, _)| *name == file).map(|(_, text)| *text).expect("a file");
    let mut decided = BTreeSet::new();
    let mut failures = Vec::new();
    let mut stanzas = 0;
    for stanza in text.split("\n\n") {
        let lines: Vec<&str> = stanza.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        if lines.is_empty() {
            continue;
        }
        let &[ours, landed, expected] = lines.as_slice() else { panic!("{file}: three lines, not\n{stanza}") };
        let ours_facts = facts(ours.strip_prefix("ours ").expect("ours first"));
        let landed_facts = facts(landed.strip_prefix("landed ").expect("landed second"));
        let judgement = judge((ours_facts.0, &ours_facts.1), (landed_facts.0, &landed_facts.1));
        let name = judgement.reason.map_or("-", |reason| reason.check);
        let answer = format!("{} {name}", judgement.verdict);
        if answer != expected {
            failures.push(format!("{ours}\n{landed}\nexpected {expected}\nanswered {answer}"));
        }
        decided.insert(name.to_owned());
        stanzas += 1;
    }
    assert!(stanzas > 5, "{file} holds {stanzas} stanzas");
    assert!(failures.is_empty(), "{file}:\n{}", failures.join("\n\n"));
    decided
}

#[test]
fn first_rules() {
    check("first");
}

#[test]
fn rows_and_keys() {
    check("rows");
}

#[test]
fn indices() {
    check("indices");
}

#[test]
fn maps_shards_and_bases() {
    check("maps");
}

#[test]
fn fixed_cells_and_asymmetries() {
    check("fixed");
}

#[test]
fn every_check_of_the_table_decides_a_stanza() {
    let decided: BTreeSet<String> = FILES.iter().flat_map(|(name, _)| check(name)).collect();
    let mut named = BTreeSet::new();
    named.extend(LANCE.first.iter().map(|check| check.reason.check));
    for cell in LANCE.rows.iter().flat_map(|row| &row.cells) {
        match cell {
            Cell::Clear => {}
            Cell::Always(_, reason) => {
                named.insert(reason.check);
            }
            Cell::If(checks) => named.extend(checks.iter().map(|check| check.reason.check)),
            Cell::Else(checks, _, reason) => {
                named.extend(checks.iter().map(|check| check.reason.check));
                named.insert(reason.check);
            }
            Cell::Unspecified => panic!("the policy leaves no cell open"),
        }
    }
    let idle: Vec<&&str> = named.iter().filter(|name| !decided.contains(**name)).collect();
    assert!(idle.is_empty(), "no stanza is decided by {idle:?}");
}
