//! Verdicts measured on Spark, judged on the real bytes of both sides through the format's own door.
//!
//! Predicates are SQL text, which this crate does not read; the cases whose predicates are comparisons of one column
//! with a number are enough here.

use crate::support::{conformance, load};
use bytes::Bytes;
use lakebed_commit::{Fetched, Format, Judged};
use lakebed_conflict::delta::{DeltaPolicy, PartitionColumn, split_read};
use lakebed_delta::action::{Action, parse_actions};
use lakebed_delta::{DeltaError, DeltaFormat, Landed, Pending, Transaction};
use lakebed_naming::Version;
use lakebed_transaction::{BinaryOp, Expr, Judgement, Scalar, TransactionId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn filter(text: &str) -> Option<Expr> {
    if let Ok(flag) = text.parse::<bool>() {
        return Some(Expr::Literal(Scalar::Boolean(flag)));
    }
    let words: Vec<&str> = text.split(' ').collect();
    let [column, op, number] = words.as_slice() else { return None };
    if !column.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let op = match *op {
        "=" => BinaryOp::Equal,
        "<" => BinaryOp::Less,
        ">" => BinaryOp::Greater,
        ">=" => BinaryOp::GreaterOrEqual,
        _ => return None,
    };
    Some(Expr::column(column).binary(op, Expr::Literal(Scalar::Int(number.parse().ok()?))))
}

/// Ours, as the conformance data describes it; `None` where its predicates are more than this test reads.
fn ours(path: &Path, columns: &[PartitionColumn]) -> Option<Transaction> {
    let text = std::fs::read_to_string(path).unwrap();
    let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let actions = parse_actions("ours", text.as_bytes()).unwrap();
    let mut actions: Vec<Action> =
        actions.into_iter().filter(|action| !matches!(action, Action::CommitInfo(_))).collect();
    if let Some(metadata) = head.get("updateMetadata") {
        actions.push(Action::Metadata(serde_json::from_value(metadata.clone()).unwrap()));
    }
    let operation = head["operation"].as_str().unwrap();
    let mut transaction = Transaction::new(TransactionId::new("ours"), operation, actions);
    let reads = &head["reads"];
    for read in reads["predicates"].as_array().unwrap() {
        let filters: Option<Vec<Expr>> =
            read.as_array().unwrap().iter().map(|text| text.as_str().and_then(filter)).collect();
        transaction.reads.predicates.push(split_read(filters?, columns));
    }
    let texts = |value: &Value| -> Vec<Arc<str>> {
        value.as_array().unwrap().iter().map(|text| Arc::from(text.as_str().unwrap())).collect()
    };
    transaction.reads.files = texts(&reads["files"]);
    transaction.reads.app_ids = texts(&reads["app_ids"]).into_iter().collect();
    transaction.reads.whole_table = reads["whole_table"].as_bool().unwrap();
    if let Some(flag) = head["changes_data"].as_bool() {
        transaction.changes_data = flag;
    }
    transaction.large |= head["large"].as_bool().unwrap_or(false);
    transaction.skip_if_empty = head["ifNeeded"].as_bool().unwrap_or(false);
    Some(transaction)
}

const FORMAT: DeltaFormat = DeltaFormat::new(DeltaPolicy::TableLevel);

/// Follows the landed commits in order; the first refusal is the answer.
fn verdict(mut pending: Pending, landed: &[Landed]) -> Result<Option<Judgement>, String> {
    let alone = DeltaPolicy::TableLevel.judge_alone(pending.facts());
    if !alone.verdict.accepts() {
        return Ok(Some(alone));
    }
    for one in landed {
        match FORMAT.judge(&pending, one, &Fetched::default()).map_err(|error| error.to_string())? {
            Judged::Verdict(judgement) if !judgement.verdict.accepts() => return Ok(Some(judgement)),
            Judged::Verdict(_) => {}
            Judged::Needs(names) => panic!("{names:?}"),
        }
        FORMAT.rebase(&mut pending, one, &Fetched::default()).map_err(|error| error.to_string())?;
    }
    Ok(None)
}

#[test]
fn verdicts_on_real_bytes_are_those_of_spark() {
    let Some(root) = conformance("delta-conflicts") else { return };
    let verdicts = std::fs::read_to_string(root.join("verdicts.tsv")).unwrap();
    let mut bases = BTreeMap::new();
    let (mut agree, mut unwritable, mut wrong) = (0, 0, Vec::new());
    for line in verdicts.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (id, base, expect) = (cells[0], cells[1], cells[4]);
        if expect == "skip" || expect == "either" {
            continue;
        }
        let snapshot = bases
            .entry(base.to_owned())
            .or_insert_with(|| load(&root.join("bases").join(base), None).unwrap_or_else(|e| panic!("{base}: {e}")));
        let columns = snapshot.core().partition_columns();
        let Some(transaction) = ours(&root.join("ours").join(cells[2]), &columns) else { continue };
        let pending = match Pending::on(snapshot.core(), transaction) {
            Ok(pending) => pending,
            // What we cannot write at all is no verdict.
            Err(DeltaError::Unsupported { .. } | DeltaError::Invalid { .. }) => {
                unwritable += 1;
                continue;
            }
            Err(error) => panic!("{id}: {error}"),
        };
        let mut at = snapshot.version();
        let landed: Vec<Landed> = cells[3]
            .split_whitespace()
            .filter(|name| *name != "none")
            .map(|name| {
                at = at.next().unwrap();
                parse(at, &std::fs::read(root.join("landed").join(name)).unwrap())
            })
            .collect();
        let answer = verdict(pending, &landed);
        let same = match (&answer, expect.split_once(':')) {
            (Ok(None), None) => expect == "accept",
            (Ok(Some(judgement)), Some((_, class))) => judgement.reason.and_then(|r| r.error_class) == Some(class),
            (Ok(Some(_)) | Err(_), None) => expect == "reject",
            (Ok(None) | Err(_), Some(_)) => false,
        };
        if same {
            agree += 1;
        } else {
            wrong.push(format!("{id}: expected {expect}, ours {answer:?}"));
        }
    }
    println!("{agree} verdicts agree, {unwritable} cannot be written here, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(agree > 8_000, "only {agree} were judged");
}

fn parse(at: Version, bytes: &[u8]) -> Landed {
    Landed::parse(at, &Bytes::copy_from_slice(bytes)).unwrap()
}
