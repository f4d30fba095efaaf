//! What a Rust file of ours must hold, and what it must not.

use super::Finding;

/// Longest file of the product, in lines.
const LINES_MAX: usize = 600;

/// What may stand in no Rust file, and what to do instead. Each is cut in two, or this file would break its own rule.
const BANNED: &[(&str, &str)] = &[
    (concat!("#[al", "low("), "use `#[expect(…, reason = \"…\")]`"),
    (concat!("#![al", "low("), "use `#[expect(…, reason = \"…\")]` on the item"),
    (concat!("to", "do!"), "write the code, or return an error that says what is missing"),
    (concat!("unimple", "mented!"), "write the code, or return an error that says what is missing"),
    (concat!("#[ign", "ore"), "let the test run, or delete it"),
    (concat!("```ign", "ore"), "let the example compile"),
    (concat!("TO", "DO"), "do it, or leave the remark out"),
    (concat!("FIX", "ME"), "fix it, or leave the remark out"),
];

/// Checks one file; anything but our own Rust passes.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    if !path.ends_with(".rs") || is_generated(text) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if is_product(path) {
        if !has_module_doc(text) {
            findings.push(Finding::new(path, "has no module doc; begin it with `//!` and say what it is for"));
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            findings.push(Finding::new(path, format!("has {lines} lines, more than {LINES_MAX}; split it")));
        }
    }
    for (index, line) in text.lines().enumerate() {
        for (banned, instead) in BANNED.iter().filter(|(banned, _)| line.contains(banned)) {
            findings
                .push(Finding::new(format!("{path}:{}", index + 1), format!("`{banned}` is not allowed: {instead}")));
        }
    }
    findings
}

/// Whether the file is part of what is shipped, rather than a test.
fn is_product(path: &str) -> bool {
    !path.split('/').any(|part| matches!(part, "tests" | "tests.rs"))
}

/// Whether a tool wrote the file and says so in its first line.
fn is_generated(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with(concat!("// @gene", "rated")))
}

/// Whether the first thing in the file, attributes and remarks aside, is its documentation.
fn has_module_doc(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|line| {
            let remark = line.starts_with("//") && !line.starts_with("//!") && !line.starts_with("///");
            !line.is_empty() && !remark && !line.starts_with("#![")
        })
        .is_some_and(|line| line.starts_with("//!"))
}
