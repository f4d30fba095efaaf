//! The `precise` tables: printed, explained, and case by case.

use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER, PreciseTable};
use lakebed_transaction::{Kind, PreciseKind};

#[test]
fn prints_as_markdown() {
    let text = PRECISE.markdown::<PreciseKind>();
    expect_test::expect_file!["../../../../docs/rules/precise.md"].assert_eq(&text);
    assert!(text.starts_with("# Policy `precise@1`\n"), "{text}");
    let text = PRECISE_REORDER.markdown::<PreciseKind>();
    expect_test::expect_file!["../../../../docs/rules/precise-reorder.md"].assert_eq(&text);
}

/// Property 10: every pair of kinds has a cell, and none is left open.
#[test]
fn no_pair_is_unspecified() {
    let open = |table: &PreciseTable| {
        table
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .filter(|cell| matches!(cell, lakebed_conflict::Cell::Unspecified))
            .count()
    };
    assert_eq!((open(&PRECISE), open(&PRECISE_REORDER)), (0, 0));
    assert_eq!(PreciseKind::ALL.len(), PRECISE.rows.len());
}
