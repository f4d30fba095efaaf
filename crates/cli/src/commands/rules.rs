//! `lakebed rules`: the tables that decide.

use crate::args::RulesArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use lakebed_conflict::delta::{IsolationLevel, table_of};
use lakebed_conflict::lance::{DEFINITIONS, LANCE};
use lakebed_conflict::maxcompute::MAXCOMPUTE;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};
use lakebed_conflict::{Cell, Policy};
use lakebed_transaction::{DeltaKind, Kind, LanceKind, MaxComputeKind, PreciseKind, Reason, Verdict};
use serde_json::{Map, Value, json};

/// A policy that can be printed.
struct Entry {
    name: &'static str,
    summary: &'static str,
    markdown: fn() -> String,
    json: fn() -> Value,
}

fn entries() -> [Entry; 8] {
    const DELTA: fn(IsolationLevel) -> &'static Policy<lakebed_conflict::delta::DeltaFacts, { DeltaKind::COUNT }> =
        table_of;
    [
        Entry {
            name: LANCE.name,
            summary: "Lance tables, as pylance judges, sound or not",
            markdown: || LANCE.markdown::<LanceKind>(),
            json: || json_of::<_, LanceKind, _>(&LANCE),
        },
        Entry {
            name: DELTA(IsolationLevel::Serializable).name,
            summary: "Delta tables: everything added since the read counts (the level when a table names none)",
            markdown: || DELTA(IsolationLevel::Serializable).markdown::<DeltaKind>(),
            json: || json_of::<_, DeltaKind, _>(DELTA(IsolationLevel::Serializable)),
        },
        Entry {
            name: DELTA(IsolationLevel::WriteSerializable).name,
            summary: "Delta tables: blind appends do not count",
            markdown: || DELTA(IsolationLevel::WriteSerializable).markdown::<DeltaKind>(),
            json: || json_of::<_, DeltaKind, _>(DELTA(IsolationLevel::WriteSerializable)),
        },
        Entry {
            name: DELTA(IsolationLevel::SnapshotIsolation).name,
            summary: "Delta tables: nothing that was added counts",
            markdown: || DELTA(IsolationLevel::SnapshotIsolation).markdown::<DeltaKind>(),
            json: || json_of::<_, DeltaKind, _>(DELTA(IsolationLevel::SnapshotIsolation)),
        },
        Entry {
            name: MAXCOMPUTE.name,
            summary: "tables of either format: MaxCompute's matrix, by operation and partition",
            markdown: || MAXCOMPUTE.markdown::<MaxComputeKind>(),
            json: || json_of::<_, MaxComputeKind, _>(&MAXCOMPUTE),
        },
        Entry {
            name: PRECISE.name,
            summary: "tables of either format: log order, by rows and predicates",
            markdown: || PRECISE.markdown::<PreciseKind>(),
            json: || json_of::<_, PreciseKind, _>(&PRECISE),
        },
        Entry {
            name: PRECISE_REORDER.name,
            summary: "the same, and ours may go before what only inserted",
            markdown: || PRECISE_REORDER.markdown::<PreciseKind>(),
            json: || json_of::<_, PreciseKind, _>(&PRECISE_REORDER),
        },
        Entry {
            name: DEFINITIONS.name,
            summary: "what the two before ask of Lance tables beside rows: fields, indices, configuration; no policy by itself",
            markdown: || DEFINITIONS.markdown::<LanceKind>(),
            json: || json_of::<_, LanceKind, _>(&DEFINITIONS),
        },
    ]
}

pub(crate) fn run(args: &RulesArgs, json: bool) -> Result<Exit, CliError> {
    let entries = entries();
    let Some(wanted) = &args.policy else {
        return list(&entries, json);
    };
    let Some(entry) = entries.iter().find(|entry| entry.name == wanted) else {
        let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
        let advice = if wanted == "delta" {
            format!("it stands for the one that the table's own level names; choose among {}", names.join(", "))
        } else {
            format!("the policies with tables are: {}", names.join(", "))
        };
        return Err(CliError::usage(format!("policy `{wanted}` has no table of its own"), advice));
    };
    if json {
        output::document(&(entry.json)())?;
    } else if args.markdown {
        output::text(&(entry.markdown)())?;
    } else {
        output::text(&plain(&(entry.json)()))?;
    }
    Ok(Exit::Done)
}

fn list(entries: &[Entry], json: bool) -> Result<Exit, CliError> {
    if json {
        let list: Vec<Value> =
            entries.iter().map(|entry| json!({"policy": entry.name, "summary": entry.summary})).collect();
        output::document(&Value::Array(list))?;
    } else {
        let rows = entries.iter().map(|entry| [entry.name.to_owned(), entry.summary.to_owned()]);
        output::text(&output::table(["policy", "for"], rows))?;
        output::line("`lakebed rules POLICY` prints the table of one.")?;
    }
    Ok(Exit::Done)
}

/// A policy as JSON: checks that run first, then for each pair of kinds what decides.
fn json_of<F: 'static, K: Kind, const N: usize>(policy: &Policy<F, N>) -> Value {
    let first: Vec<Value> = policy.first.iter().map(|check| decision(check.verdict, &check.reason)).collect();
    let rows: Vec<Value> = K::ALL
        .iter()
        .zip(&policy.rows)
        .map(|(ours, row)| {
            let cells: Map<String, Value> = K::ALL
                .iter()
                .zip(&row.cells)
                .map(|(landed, cell)| (landed.name().to_owned(), cell_json(cell)))
                .collect();
            json!({"ours": ours.name(), "landed": cells})
        })
        .collect();
    json!({"policy": policy.name, "revision": policy.revision, "first": first, "rows": rows})
}

fn decision(verdict: Verdict, reason: &Reason) -> Value {
    json!({
        "check": reason.check, "verdict": verdict.name(), "reason": reason.sentence, "advice": reason.advice,
        "error_class": reason.error_class,
    })
}

/// What decides about one pair: conditions in order, and what holds where none does.
fn cell_json<F>(cell: &Cell<F>) -> Value {
    let conditions = |checks: &[&'static lakebed_conflict::Check<F>]| {
        checks.iter().map(|check| decision(check.verdict, &check.reason)).collect::<Vec<_>>()
    };
    let (when, otherwise) = match cell {
        Cell::Clear => (Vec::new(), json!({"verdict": Verdict::Compatible.name()})),
        Cell::Always(verdict, reason) => (Vec::new(), decision(*verdict, reason)),
        Cell::If(checks) => (conditions(checks), json!({"verdict": Verdict::Compatible.name()})),
        Cell::Else(checks, verdict, reason) => (conditions(checks), decision(*verdict, reason)),
        Cell::Unspecified => (Vec::new(), json!({"verdict": Verdict::Unspecified.name()})),
    };
    json!({"when": when, "otherwise": otherwise})
}

/// The rules in lines: what runs first, then every pair of kinds that is not simply compatible.
fn plain(policy: &Value) -> String {
    let texts = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or("–").to_owned();
    let mut out = format!("{}@{}\n\n", texts(policy, "policy"), policy.get("revision").unwrap_or(&Value::Null));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let first = list(policy.get("first").unwrap_or(&Value::Null));
    if !first.is_empty() {
        out.push_str("Checked first, whatever the operations, in this order:\n");
        let rows = first.iter().map(|rule| [texts(rule, "check"), texts(rule, "verdict"), texts(rule, "reason")]);
        out.push_str(&output::table(["check", "verdict", "when"], rows));
        out.push('\n');
    }
    let all = list(policy.get("rows").unwrap_or(&Value::Null));
    let mut pairs: Vec<Pair> = Vec::new();
    for row in &all {
        for (landed, cell) in row.get("landed").and_then(Value::as_object).into_iter().flatten() {
            let mut rules = list(cell.get("when").unwrap_or(&Value::Null));
            let otherwise = cell.get("otherwise").cloned().unwrap_or_default();
            if otherwise.get("verdict").and_then(Value::as_str) != Some(Verdict::Compatible.name()) {
                rules.push(otherwise);
            }
            let rules: Vec<_> = rules.iter().map(|rule| (texts(rule, "verdict"), texts(rule, "reason"))).collect();
            if !rules.is_empty() {
                pairs.push(Pair { ours: vec![texts(row, "ours")], landed: vec![landed.clone()], rules });
            }
        }
    }
    let rows = joined(pairs).into_iter().flat_map(|pair| pair.lines(all.len()));
    out.push_str("Then by what ours does and what landed: the first that holds decides; where none does, the pair is compatible.\n");
    out.push_str(&output::table(["ours", "landed", "verdict", "when"], rows));
    out
}

/// Pairs of kinds about which the same rules decide, in order: verdict and condition.
struct Pair {
    ours: Vec<String>,
    landed: Vec<String>,
    rules: Vec<(String, String)>,
}

impl Pair {
    /// A line for each rule; the kinds stand in the first.
    fn lines(self, kinds: usize) -> Vec<[String; 4]> {
        let names = |names: &[String]| if names.len() == kinds { "anything".to_owned() } else { names.join(", ") };
        let mut heads = Some((names(&self.ours), names(&self.landed)));
        let line = |(verdict, when)| {
            let (ours, landed) = heads.take().unwrap_or_default();
            [ours, landed, verdict, when]
        };
        self.rules.into_iter().map(line).collect()
    }
}

/// Joins pairs with the same rules: first over what landed, then over ours.
fn joined(pairs: Vec<Pair>) -> Vec<Pair> {
    let mut by_ours: Vec<Pair> = Vec::new();
    for pair in pairs {
        match by_ours.iter_mut().find(|known| known.ours == pair.ours && known.rules == pair.rules) {
            Some(known) => known.landed.extend(pair.landed),
            None => by_ours.push(pair),
        }
    }
    let mut out: Vec<Pair> = Vec::new();
    for pair in by_ours {
        match out.iter_mut().find(|known| known.landed == pair.landed && known.rules == pair.rules) {
            Some(known) => known.ours.extend(pair.ours),
            None => out.push(pair),
        }
    }
    out
}
