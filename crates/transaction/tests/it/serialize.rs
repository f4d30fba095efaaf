//! Outcomes as JSON.

use lakebed_naming::Version;
use lakebed_transaction::{Conflict, Exhaustion, Judgement, Outcome, Reason, TransactionId, Verdict};
use serde_json::{Value, json};

fn json_of(outcome: &Outcome) -> Value {
    serde_json::to_value(outcome).unwrap_or_default()
}

#[test]
fn outcomes_serialise() {
    let version = Version::new(7);
    assert_eq!(
        json_of(&Outcome::Committed { version, attempts: 2 }),
        json!({"outcome": "committed", "version": 7, "attempts": 2})
    );
    assert_eq!(json_of(&Outcome::Nothing { version }), json!({"outcome": "nothing", "version": 7}));
    assert_eq!(
        json_of(&Outcome::Exhausted { what: Exhaustion::Time, attempts: 3, newest: version }),
        json!({"outcome": "exhausted", "what": "time", "attempts": 3, "newest": 7})
    );
    assert_eq!(
        json_of(&Outcome::Unknown { tried: version, attempts: 1, last_answer: "timeout".to_owned() }),
        json!({"outcome": "unknown", "tried": 7, "attempts": 1, "last_answer": "timeout"})
    );
    assert_eq!(serde_json::to_value(TransactionId::new("t")).unwrap(), json!("t"));
}

#[test]
fn conflicts_serialise_with_both_sides_and_the_reason() {
    let reason = Reason { check: "c", sentence: "both did", advice: "do less", error_class: Some("CLASS") };
    let conflict = Conflict {
        with: Version::new(7),
        ours: "Delete".to_owned(),
        landed: "Append".to_owned(),
        policy: "toy@1".to_owned(),
        why: Judgement::by(Verdict::Retryable, reason, None),
    };
    assert_eq!(
        json_of(&Outcome::Conflict(Box::new(conflict))),
        json!({"outcome": "conflict", "conflict": {
            "with": 7, "ours": "Delete", "landed": "Append", "policy": "toy@1",
            "why": {
                "verdict": "retryable", "evidence": null,
                "reason": {"check": "c", "sentence": "both did", "advice": "do less", "error_class": "CLASS"},
            },
        }})
    );
}
