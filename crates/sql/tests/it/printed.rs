//! The forms in which Spark prints predicates into commit logs.

use lakebed_sql::{parse_predicate, print};

#[track_caller]
fn check(printed: &str, plain: &str) {
    assert_eq!(parse_predicate(printed), parse_predicate(plain), "{printed}");
    assert!(parse_predicate(plain).is_ok(), "{plain}");
}

#[test]
fn expression_ids_and_bare_literals() {
    check("((id#1L > 3) AND (name#2 = x))", "id > 3 AND name = 'x'");
    check("((id#1L > 3) AND (name#2 = 'x'))", "id > 3 AND name = 'x'");
    check("id#39 IN (5,6,7)", "id IN (5, 6, 7)");
    check("p#39 IN (a,b)", "p IN ('a', 'b')");
    check("((id#697L % cast(2 as bigint)) = cast(0 as bigint))", "id % CAST(2 AS BIGINT) = CAST(0 AS BIGINT)");
    check("(k#5140 AND (id#5139 = 0))", "k AND id = 0");
    check("(name#2 = 5S)", "name = '5S'");
    check("isnotnull(p#1)", "p IS NOT NULL");
    check("NOT (p#1 = -5)", "NOT p = -5");
    check("(a#6L = b#9L)", "a = b");
}

#[test]
fn apostrophes() {
    check("'p = 1", "p = 1");
    check("('p = 1)", "p = 1");
    check("('p = a)", "p = 'a'");
    check("(('p = 'a') AND ('q > 2))", "p = 'a' AND q > 2");
}

#[test]
fn lists_hold_together() {
    check(r#"["(id > 3)"]"#, "id > 3");
    check(r#"["(id#1L > 3)","(p#2 = a)"]"#, "id > 3 AND p = 'a'");
    check("[]", "TRUE");
    check(r#"["true"]"#, "TRUE");
    check(r#"["`col2` LIKE 'data-2-%'"]"#, "col2 LIKE 'data-2-%'");
}

#[test]
fn what_could_be_misread_is_refused() {
    for printed in [
        "(day#5 = 2024-01-15)",
        "day#5 IN (2024-01-15,2024-01-16)",
        "(ts#5 = 2024-01-15 10:00:00)",
        "(name#5 = x AND y)",
        "(par t#92065 = p2)",
        "(name#5 = )",
        "(id#522L = id#527L)",
        "(name#5 = a.b)",
        "(name#5 = null)",
        "(name#5 = 0x1F)",
        "[\"a = 1\"",
        "[1]",
    ] {
        assert!(parse_predicate(printed).is_err(), "{printed}: {}", print(&parse_predicate(printed).unwrap()));
    }
}
