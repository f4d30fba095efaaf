//! `docs/failures.md` names a test for each field case; every test that it names is there.

use super::Finding;
use crate::workspace::Workspace;
use std::collections::BTreeSet;

/// The page.
const PAGE: &str = "docs/failures.md";

/// The list of cases, where it lies beside the workspace.
const CASES: &str = "../shared/cases/field-cases.md";

/// Checks the page against the tests, and against the list of cases where that is there.
pub(super) fn check(workspace: &Workspace, files: &[(String, String)]) -> Vec<Finding> {
    let Some((_, page)) = files.iter().find(|(path, _)| path == PAGE) else {
        return vec![Finding::new(PAGE, "is missing; it says which test covers which field case")];
    };
    let mut findings =
        missing_tests(page, |path| files.iter().find(|(one, _)| one == path).map(|(_, text)| text.as_str()));
    if let Ok(cases) = std::fs::read_to_string(workspace.path(CASES)) {
        let covered: BTreeSet<u32> = page.lines().filter_map(row).map(|(case, _)| case).collect();
        let missing = numbers(&cases).into_iter().filter(|case| !covered.contains(case));
        findings.extend(missing.map(|case| Finding::new(PAGE, format!("says nothing of case {case}"))));
    }
    findings
}

/// The tests that the page names and that are not there; a case with neither a test nor a word about what is missing counts too.
pub(super) fn missing_tests<'a>(page: &str, text_of: impl Fn(&str) -> Option<&'a str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in page.lines().enumerate() {
        let Some((case, covered)) = row(line) else { continue };
        let place = format!("{PAGE}:{}", index + 1);
        let mut named = 0;
        for (path, test) in covered.split('`').filter_map(|word| word.split_once("::")) {
            named += 1;
            let is_there = text_of(path).is_some_and(|text| {
                [format!("fn {test}("), format!("fn {test}<")].iter().any(|start| text.contains(start.as_str()))
            });
            if !is_there {
                findings.push(Finding::new(&place, format!("case {case}: there is no test `{test}` in `{path}`")));
            }
        }
        if named == 0 && !covered.contains("To come:") && !covered.contains("Not here:") {
            findings.push(Finding::new(
                &place,
                format!("case {case} has no test; name one, or say `To come:` or `Not here:`"),
            ));
        }
    }
    findings
}

/// A row of the table: the case and what covers it.
fn row(line: &str) -> Option<(u32, &str)> {
    let mut cells = line.strip_prefix('|')?.splitn(2, '|');
    let case = cells.next()?.trim().parse().ok()?;
    Some((case, cells.next()?))
}

/// The numbers of the cases in the list.
fn numbers(cases: &str) -> Vec<u32> {
    cases.lines().filter_map(|line| line.strip_prefix("#### ")?.split_once('.')?.0.parse().ok()).collect()
}
