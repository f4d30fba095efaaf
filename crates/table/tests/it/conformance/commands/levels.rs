//! The `delta-…` policies: outcome and rows as Spark's.

use super::{Case, Measured, Rows, each, runs_all};
use lakebed_table::Report;
use lakebed_transaction::Outcome;
use std::collections::BTreeMap;

/// Where ours differs from Spark, each with its reason: the pattern of an id, tab, reason.
const LISTED: &str = include_str!("../../../testdata/delta-commands.txt");

/// What came of one pair.
enum Found {
    /// Our program lacks one of the statements.
    Lacks,
    /// As measured.
    Agrees,
    /// Not so, and how.
    Differs(String),
}

#[test]
fn outcomes_and_rows_are_those_of_spark() {
    let Some(measured) = Measured::find() else { return };
    let found = each(
        &measured,
        |_| false,
        |measured, case| async move {
            let policy = if case.base.ends_with(".WriteSerializable") {
                "delta-write-serializable"
            } else {
                "delta-serializable"
            };
            match measured.raced(&case, policy).await {
                None => (case, Found::Lacks),
                Some((report, rows)) => {
                    let found = compared(&measured, &case, &report, &rows).map_or(Found::Agrees, Found::Differs);
                    (case, found)
                }
            }
        },
    );
    let reasons: Vec<(&str, &str)> = LISTED
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once('\t').unwrap())
        .collect();
    let (mut agree, mut lacks, mut wrong, mut listed) = (0, 0, Vec::new(), BTreeMap::<&str, usize>::new());
    for (case, found) in &found {
        let reason = reasons.iter().find(|(pattern, _)| matches(pattern, &case.id));
        match (found, reason) {
            (Found::Lacks, _) => lacks += 1,
            (Found::Agrees, _) => agree += 1,
            (Found::Differs(_), Some((pattern, _))) => *listed.entry(pattern).or_default() += 1,
            (Found::Differs(how), None) => wrong.push(format!("{}: {how}", case.id)),
        }
    }
    let differ: usize = listed.values().sum();
    println!(
        "of {} pairs {agree} agree with Spark, {differ} are listed, {} wrong; {lacks} have a statement that is not ours",
        found.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if !runs_all() {
        return;
    }
    let idle: Vec<_> = reasons.iter().filter(|(pattern, _)| !listed.contains_key(pattern)).collect();
    assert!(idle.is_empty(), "listed, but nothing differs: {idle:?}");
}

/// Whether a pattern is that of an id: `*` stands for any text.
fn matches(pattern: &str, id: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| id.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// How ours differs from what was measured.
fn compared(measured: &Measured, case: &Case, report: &Report, rows: &Rows) -> Option<String> {
    let (stands, class) = match &report.outcome {
        Outcome::Committed { .. } | Outcome::Nothing { .. } => (true, None),
        Outcome::Conflict(conflict) => (false, conflict.why.reason.and_then(|reason| reason.error_class)),
        Outcome::Exhausted { .. } | Outcome::Unknown { .. } => panic!("{}: {report:?}", case.id),
    };
    let wanted = case.expect.strip_prefix("refuse:");
    if case.expect == "either" && !(stands && case.stands()) {
        return None;
    }
    match (stands, wanted) {
        (true, Some(class)) => Some(format!("commits, Spark says {class}")),
        (false, None) => Some(format!("refused ({}), Spark commits", class.unwrap_or("no class"))),
        (false, Some(wanted)) if class != Some(wanted) => {
            Some(format!("refused as {}, Spark says {wanted}", class.unwrap_or("no class")))
        }
        (false, Some(_)) => None,
        (true, None) if *rows != measured.rows(&case.rows) => Some("the rows are others".to_owned()),
        (true, None) => None,
    }
}
