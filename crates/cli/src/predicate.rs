//! Predicates as they were typed.

use crate::error::CliError;
use lakebed_sql::parse_expression;
use lakebed_transaction::Expr;

/// Refuses a predicate that is no expression or calls a function that nothing here can compute, before anything is read for
/// it: on a large table the answer would come late, and on an empty one not at all. What a person types is SQL; the printed forms of
/// Spark's log entries, in which an apostrophe without its partner begins a name, are not taken from them.
pub(crate) fn check(text: Option<&str>) -> Result<(), CliError> {
    let Some(text) = text else { return Ok(()) };
    let parsed = parse_expression(text)?;
    let mut stack = vec![&parsed];
    while let Some(expr) = stack.pop() {
        if let Expr::Unknown { name, .. } = expr {
            return Err(CliError::usage(
                format!("function {name} is not known here"),
                "compute the value before and give it as a literal",
            ));
        }
        stack.extend(expr.children());
    }
    Ok(())
}
