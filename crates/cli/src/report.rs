//! The answer of a committing command.

use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use lakebed_table::Report;
use lakebed_transaction::{Exhaustion, Outcome};
use serde_json::{Map, Value, json};

/// Prints the answer; the exit status goes by it.
pub(crate) fn print(what: &str, report: &Report, json: bool) -> Result<Exit, CliError> {
    let reason = reason(&report.outcome);
    let answered = if json {
        output::document(&document(report, reason.as_deref()))
    } else if let Outcome::Committed { version, .. } = &report.outcome {
        output::line(format!("{what}: version {version}{}", counted(report)))
    } else if let Outcome::Nothing { version } = &report.outcome {
        output::line(format!("{what}: nothing to do, version {version} stands"))
    } else {
        Ok(())
    };
    let exit = Exit::of(&report.outcome);
    match (answered, &report.outcome) {
        (Err(CliError::Output(source)), Outcome::Committed { version, .. }) => {
            return Err(CliError::Unanswered { version: *version, source });
        }
        (Err(error), _) if exit == Exit::Done => return Err(error),
        // The status and what is said below tell how it ended.
        (Err(error), _) => output::note(&format!("lakebed: {error}")),
        (Ok(()), _) => {}
    }
    if let (Some(reason), true) = (reason, exit != Exit::Done) {
        output::note(&format!("lakebed: {reason}"));
        if matches!(report.outcome, Outcome::Unknown { .. }) {
            output::note(&format!("lakebed: ask later with: lakebed outcome TABLE {}", report.transaction_id));
        }
    }
    Ok(exit)
}

/// The answer as JSON.
pub(crate) fn document(report: &Report, reason: Option<&str>) -> Value {
    let (outcome, version, attempts) = match &report.outcome {
        Outcome::Committed { version, attempts } => ("committed", Some(version.get()), Some(*attempts)),
        Outcome::Nothing { version } => ("nothing", Some(version.get()), None),
        Outcome::Conflict(_) => ("conflict", None, None),
        Outcome::Exhausted { attempts, .. } => ("exhausted", None, Some(*attempts)),
        Outcome::Unknown { attempts, .. } => ("unknown", None, Some(*attempts)),
    };
    let mut document = json!({
        "outcome": outcome,
        "version": version,
        "attempts": attempts,
        "transaction_id": report.transaction_id.as_str(),
        "reason": reason,
        "plannings": report.plannings,
        "metrics": report.metrics,
    });
    if let (Outcome::Conflict(conflict), Some(document)) = (&report.outcome, document.as_object_mut()) {
        document.extend(conflict_keys(conflict));
    }
    document
}

fn conflict_keys(conflict: &lakebed_transaction::Conflict) -> Map<String, Value> {
    let reason = conflict.why.reason;
    [
        ("with_version", json!(conflict.with.get())),
        ("ours", json!(conflict.ours)),
        ("landed", json!(conflict.landed)),
        ("policy", json!(conflict.policy)),
        ("verdict", json!(conflict.why.verdict.name())),
        ("check", json!(reason.map(|reason| reason.check))),
        ("overlap", json!(conflict.why.evidence.as_ref().map(ToString::to_string))),
        ("advice", json!(reason.map(|reason| reason.advice))),
        ("error_class", json!(reason.and_then(|reason| reason.error_class))),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// Why nothing was committed, or why that is not known; `None` after a commit.
pub(crate) fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Committed { .. } => None,
        Outcome::Nothing { .. } => Some("there was nothing to write".to_owned()),
        Outcome::Conflict(conflict) => Some(format!("nothing was committed: {conflict}")),
        Outcome::Exhausted { what, attempts, newest } => {
            let what = match what {
                Exhaustion::Attempts => "the allowed retries ran out",
                Exhaustion::Time => "the allowed time ran out",
            };
            Some(format!(
                "nothing was committed: {what} after {} while others went on to version {newest}; try again, or allow more \
                 with --retries or --timeout",
                output::count(u64::from(*attempts), "attempt")
            ))
        }
        Outcome::Unknown { tried, last_answer, .. } => Some(format!(
            "it is not known whether version {tried} was committed: the store did not answer ({last_answer}); delete \
             nothing, and ask again later"
        )),
    }
}

fn counted(report: &Report) -> String {
    let counted: Vec<String> = report
        .metrics
        .iter()
        .filter(|(_, number)| **number > 0)
        .map(|(name, number)| format!("{} {number}", name.replace('_', " ")))
        .collect();
    let mut text = if counted.is_empty() { String::new() } else { format!(" ({})", counted.join(", ")) };
    if let Outcome::Committed { attempts, .. } = &report.outcome {
        if report.plannings > 1 {
            let lost = output::count(u64::from(report.plannings - 1), "time");
            text.push_str(&format!("; it lost {lost} and was planned again"));
        }
        if *attempts > 1 {
            text.push_str(&format!("; others were faster, it landed at attempt {attempts}"));
        }
    }
    text
}
