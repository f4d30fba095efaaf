//! Steps as the worker is asked for them.

use super::state::Fill;
use super::step::Step;
use crate::support::Rows;
use serde_json::{Value, json};

/// A backslash in a text of SQL.
const BACKSLASH: &str = r"\";

/// The command that carries a step out.
pub(crate) fn command(step: &Step) -> Value {
    match step {
        Step::Append(rows) => json!({"do": "append", "rows": listed(rows)}),
        Step::Overwrite(rows) => json!({"do": "overwrite", "rows": listed(rows)}),
        Step::Delete(predicate) => json!({"do": "delete", "where": predicate.sql(BACKSLASH)}),
        Step::Truncate => json!({"do": "truncate"}),
        Step::Update(assignment, predicate) => {
            let (column, value) = assignment.sql();
            json!({"do": "update", "set": {column: value}, "where": predicate.sql(BACKSLASH)})
        }
        Step::Merge(rows, matched, insert, gone) => {
            let gone = gone.as_ref().map(|gone| gone.sql(BACKSLASH));
            json!({
                "do": "merge", "rows": listed(rows), "matched": matched.theirs(), "insert": insert, "gone": gone,
            })
        }
        Step::Compact(rows) => json!({"do": "compact", "below": rows}),
        Step::AddColumn(name, fill) => match fill {
            Fill::Times(by) => json!({"do": "add", "name": name, "sql": format!("id * {by}")}),
            Fill::Copy => json!({"do": "add", "name": name, "sql": "s"}),
            Fill::NoNumber => json!({"do": "add", "name": name, "type": "int64"}),
            Fill::NoText => json!({"do": "add", "name": name, "type": "string"}),
        },
        Step::DropColumn(name) => json!({"do": "drop", "name": name}),
        Step::RenameColumn(from, to) => json!({"do": "rename", "name": from, "to": to}),
        Step::Set(map, key, value) => json!({"do": "set", "map": map, "key": key, "value": value}),
        Step::Describe(column, text) => json!({"do": "describe", "name": column, "value": text}),
        Step::CreateIndex(name, column) => json!({"do": "index", "name": name, "column": column}),
        Step::DropIndex(name) => json!({"do": "drop_index", "name": name}),
        Step::OptimizeIndices => json!({"do": "optimize_indices"}),
        Step::Restore(to) => json!({"do": "restore", "to": to}),
        Step::Tag(name, version) => json!({"do": "tag", "name": name, "version": version}),
        Step::Untag(name) => json!({"do": "untag", "name": name}),
        Step::Branch(name, version) => json!({"do": "branch", "name": name, "version": version}),
        Step::BranchAppend(name, rows) => json!({"do": "append", "branch": name, "rows": listed(rows)}),
        Step::BranchDelete(name, predicate) => {
            json!({"do": "delete", "branch": name, "where": predicate.sql(BACKSLASH)})
        }
        Step::Unbranch(name) => json!({"do": "unbranch", "name": name}),
    }
}

/// Rows as the worker takes them.
pub(crate) fn listed(rows: &Rows) -> Value {
    rows.values().cloned().collect()
}
