//! The table as a whole.

use lakebed_conflict::Cell;
use lakebed_conflict::lance::{DEFINITIONS, LANCE, LanceFacts, judge};
use lakebed_transaction::{Kind, LanceKind, Verdict};
use std::collections::BTreeSet;

#[test]
fn is_total_over_seventeen_kinds() {
    assert_eq!(LanceKind::COUNT, 17);
    assert_eq!(LanceKind::ALL.len(), LANCE.rows.len());
    let facts = LanceFacts::default();
    for ours in LanceKind::ALL {
        for landed in LanceKind::ALL {
            let judgement = judge((*ours, &facts), (*landed, &facts));
            assert!(judgement.verdict != Verdict::Unspecified, "{ours} over {landed}");
        }
    }
}

#[test]
fn an_unknown_operation_fails_closed_on_either_side() {
    let facts = LanceFacts::default();
    for kind in LanceKind::ALL {
        for (ours, landed) in [(*kind, LanceKind::Unknown), (LanceKind::Unknown, *kind)] {
            assert_eq!(judge((ours, &facts), (landed, &facts)).verdict, Verdict::Incompatible, "{ours} over {landed}");
        }
    }
}

/// The cells whose letter depends on nothing, row by row as the reference has them: C, R, I; `.` where conditions decide.
const PLAIN: [&str; 16] = [
    "CCCICCCC.ICCCICC",
    "C..IC..CRICCCICC",
    "...IC...RIC.C.CC",
    "CCC.CCCCCCCC.ICC",
    "CC.I...C.IC.C.CC",
    "C..I....RICCCCCC",
    "C..I...CRIC.CICC",
    "C..IC.CCRICCCICC",
    "RRRI.RRRRICICICC",
    "CCCCCCCCCCCCCICC",
    "CCCICCCCCICCCCCC",
    "CCCICCCCRICR.ICC",
    "CCC.CCCCCCCC.CCC",
    "II.I.CIIIICIC.CI",
    "CCCCCCCCCCCCCC.C",
    "CCCCCCCCCCCCCCCC",
];

#[test]
fn plain_cells_are_those_of_the_reference() {
    for (row, line) in LANCE.rows.iter().zip(PLAIN) {
        assert_eq!(line.len(), 16, "{line}");
        for (at, (cell, letter)) in row.cells.iter().zip(line.chars()).enumerate() {
            let found = match cell {
                Cell::Clear | Cell::Always(Verdict::Compatible, _) => 'C',
                Cell::Always(Verdict::Retryable, _) => 'R',
                Cell::Always(Verdict::Incompatible, _) => 'I',
                Cell::Always(other, _) => panic!("{other}"),
                Cell::If(_) | Cell::Else(..) => '.',
                Cell::Unspecified => '?',
            };
            assert_eq!(found, letter, "row {} column {at}", row.ours);
        }
    }
}

#[test]
fn names_mean_one_thing() {
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for cell in LANCE.rows.iter().flat_map(|row| &row.cells) {
        match cell {
            Cell::Clear | Cell::Unspecified => {}
            Cell::Always(_, reason) => {
                seen.insert((reason.check, reason.sentence));
            }
            Cell::If(checks) => seen.extend(checks.iter().map(|check| (check.reason.check, check.reason.sentence))),
            Cell::Else(checks, _, reason) => {
                seen.extend(checks.iter().map(|check| (check.reason.check, check.reason.sentence)));
                seen.insert((reason.check, reason.sentence));
            }
        }
    }
    let names: BTreeSet<&str> = seen.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), seen.len(), "two sentences under one name");
    assert!(seen.iter().all(|(_, sentence)| !sentence.ends_with('.') && sentence.len() > 20));
}

#[test]
fn prints_as_markdown() {
    expect_test::expect_file!["../../../../../docs/rules/lance.md"].assert_eq(&LANCE.markdown::<LanceKind>());
    expect_test::expect_file!["../../../../../docs/rules/lance-definitions.md"]
        .assert_eq(&DEFINITIONS.markdown::<LanceKind>());
    let text = LANCE.markdown::<LanceKind>();
    assert!(text.starts_with("# Policy `lance@14`\n"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| **")).collect();
    assert_eq!(rows.len(), 17);
    assert!(rows.iter().all(|row| row.matches('|').count() == 19), "{rows:#?}");
    for name in ["fragment-overlap", "rows-compared", "nullability-may-tighten", "config-key-clash", "ours-unknown"] {
        assert_eq!(text.matches(&format!("`{name}`")).count(), 1, "{name}");
    }
}
