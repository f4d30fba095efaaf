//! Every verdict other than compatible says by what, why, where, and what would have helped; and so does its JSON.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, like the tests")]

use crate::lance::facts::facts;
use lakebed_conflict::delta::{DeltaFacts, DeltaFile, DeltaPolicy};
use lakebed_conflict::lance::{LanceFacts, judge};
use lakebed_conflict::maxcompute::{self, MaxComputeFacts, PartitionSet};
use lakebed_transaction::{
    Evidence, Held, Judgement, Kind, LanceKind, MaxComputeKind, Register, RowSet, Scalar, UnitId, Verdict,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

fn explained(answer: &Judgement) -> bool {
    let said = |text: &str| text.len() > 8 && !text.ends_with('.');
    answer.verdict == Verdict::Compatible
        || answer.reason.is_some_and(|reason| said(reason.sentence) && said(reason.advice) && !reason.check.is_empty())
            && answer.evidence.as_ref().is_some_and(|evidence| !evidence.to_string().is_empty())
}

#[test]
fn every_pair_of_lance_and_of_the_matrix_is_explained() {
    let nothing = LanceFacts::default();
    for ours in LanceKind::ALL {
        for landed in LanceKind::ALL {
            let answer = judge((*ours, &nothing), (*landed, &nothing));
            assert!(explained(&answer), "{ours} over {landed}: {answer:?}");
        }
    }
    for ours in MaxComputeKind::ALL {
        for landed in MaxComputeKind::ALL {
            let whole = |kind| MaxComputeFacts::new(kind, PartitionSet::whole_table());
            let answer = maxcompute::judge(&whole(*ours), &whole(*landed));
            assert!(explained(&answer), "{ours} over {landed}: {answer:?}");
        }
    }
}

#[test]
fn a_fixed_verdict_names_the_operations() {
    let (ours, landed) = (facts("Append added=1"), facts("Overwrite added=1"));
    let answer = judge((ours.0, &ours.1), (landed.0, &landed.1));
    assert_eq!(answer.evidence, Some(Evidence::Operations));
    assert_eq!(answer.evidence.unwrap().to_string(), "the two operations as such");
}

fn json_of(answer: &Judgement) -> Json {
    serde_json::to_value(answer).unwrap()
}

#[test]
fn judgements_serialise() {
    assert_eq!(json_of(&Judgement::clear()), json!({"verdict": "compatible", "reason": null, "evidence": null}));
    let (ours, landed) = (facts("Delete updated=0"), facts("Rewrite group=0+1>7"));
    let answer = json_of(&judge((ours.0, &ours.1), (landed.0, &landed.1)));
    assert_eq!(answer["verdict"], "retryable");
    assert_eq!(answer["reason"]["check"], "fragment-overlap");
    assert_eq!(answer["reason"]["error_class"], Json::Null);
    assert!(answer["reason"]["advice"].as_str().unwrap().contains("newest version"));
    assert_eq!(answer["evidence"], json!({"kind": "units", "units": [0]}));
    let file = |path| DeltaFile { unit: UnitId::file(path), partition: None, data_change: true };
    let commit = |path| {
        let mut facts = DeltaFacts { removed: vec![file(path)], data_change: true, ..DeltaFacts::default() };
        facts.footprint.removed_units.insert(UnitId::file(path));
        facts
    };
    let answer = json_of(&DeltaPolicy::Serializable.judge(&commit("a.parquet"), &commit("a.parquet")));
    assert_eq!(answer["reason"]["error_class"], "DELTA_CONCURRENT_DELETE_DELETE");
    assert_eq!(answer["evidence"], json!({"kind": "units", "units": ["a.parquet"]}));
}

#[test]
fn every_kind_of_evidence_serialises() {
    let rows: RowSet = (0..200).collect();
    let listed: Vec<u64> = (0..100).collect();
    let column = Arc::<str>::from("x");
    let decimal = Scalar::Decimal { unscaled: 150, scale: 2 };
    for (evidence, expected) in [
        (
            Evidence::Rows(UnitId::Fragment(3), rows),
            json!({"kind": "rows", "unit": 3, "rows": {"count": 200, "first": listed}}),
        ),
        (
            Evidence::Register(Register::Property(Arc::from("k"))),
            json!({"kind": "register", "in": {"register": "property", "name": "k"}}),
        ),
        (Evidence::Register(Register::Schema), json!({"kind": "register", "in": {"register": "schema"}})),
        (Evidence::Fields(vec![1, 2]), json!({"kind": "fields", "fields": [1, 2]})),
        (Evidence::Key { fields: vec![1], hash: Some(9) }, json!({"kind": "key", "fields": [1], "hash": 9})),
        (
            Evidence::Column { unit: Some(UnitId::file("f")), column: Arc::clone(&column), held: Held::Value(decimal) },
            json!({"kind": "column", "unit": "f", "column": "x", "held": {"value": "1.50"}}),
        ),
        (
            Evidence::Column { unit: None, column, held: Held::Between(Some(Scalar::Int(1)), None) },
            json!({"kind": "column", "unit": null, "column": "x", "held": {"low": 1, "high": null}}),
        ),
        (
            Evidence::Partition(vec![(Arc::from("p"), Scalar::Null), (Arc::from("q"), Scalar::string("a"))]),
            json!({"kind": "partition", "values": {"p": null, "q": "a"}}),
        ),
        (Evidence::Operations, json!({"kind": "operations"})),
        (Evidence::text("there"), json!({"kind": "text", "text": "there"})),
    ] {
        assert_eq!(serde_json::to_value(&evidence).unwrap(), expected, "{evidence}");
    }
}
