//! Expressions in messages.

use lakebed_transaction::{BinaryOp, Expr, Function, UnaryOp};
use std::fmt::Write;

/// Characters after which a text is cut.
const LENGTH_MAX: usize = 200;

/// Levels that are written out.
const DEPTH_MAX: usize = 20;

/// An expression as SQL, cut where it is long. Only for messages: `lakebed-sql` prints SQL that reads back.
pub(super) fn describe(expr: &Expr) -> String {
    let mut out = String::new();
    write(expr, &mut out, 0);
    match out.char_indices().nth(LENGTH_MAX) {
        None => out,
        Some((at, _)) => format!("{}…", out.get(..at).unwrap_or(&out)),
    }
}

fn write(expr: &Expr, out: &mut String, depth: usize) {
    if out.len() > 4 * LENGTH_MAX || depth > DEPTH_MAX {
        out.push('…');
        return;
    }
    let depth = depth + 1;
    let not = |negated: bool| if negated { "NOT " } else { "" };
    match expr {
        Expr::Column(path) => out.push_str(&path.join(".")),
        Expr::Literal(scalar) => {
            let _ = write!(out, "{scalar}");
        }
        Expr::Unary(UnaryOp::Not, x) => around(out, depth, "NOT ", &[x], ""),
        Expr::Unary(UnaryOp::Negate, x) => around(out, depth, "-", &[x], ""),
        Expr::Binary(op, a, b) => {
            out.push('(');
            write(a, out, depth);
            let _ = write!(out, " {} ", symbol(*op));
            write(b, out, depth);
            out.push(')');
        }
        Expr::IsNull { operand, negated } => around(out, depth, "", &[operand], &format!(" IS {}NULL", not(*negated))),
        Expr::In { operand, list, negated } => {
            write(operand, out, depth);
            let list: Vec<&Expr> = list.iter().collect();
            around(out, depth, &format!(" {}IN (", not(*negated)), &list, ")");
        }
        Expr::Between { operand, low, high, negated } => {
            write(operand, out, depth);
            let _ = write!(out, " {}BETWEEN ", not(*negated));
            write(low, out, depth);
            around(out, depth, " AND ", &[high], "");
        }
        Expr::Like { operand, pattern, negated, .. } => {
            write(operand, out, depth);
            around(out, depth, &format!(" {}LIKE ", not(*negated)), &[pattern], "");
        }
        Expr::Cast(x, to) => around(out, depth, "CAST(", &[x], &format!(" AS {to:?})")),
        Expr::Case { .. } => around(out, depth, "CASE(", &expr.children(), ")"),
        Expr::Call(function, arguments) => {
            let arguments: Vec<&Expr> = arguments.iter().collect();
            around(out, depth, &format!("{}(", name(*function)), &arguments, ")");
        }
        Expr::Unknown { name, arguments } => {
            let arguments: Vec<&Expr> = arguments.iter().collect();
            around(out, depth, &format!("{name}("), &arguments, ")");
        }
        Expr::Row(parts) => around(out, depth, "(", &parts.iter().collect::<Vec<_>>(), ")"),
    }
}

fn around(out: &mut String, depth: usize, before: &str, parts: &[&Expr], after: &str) {
    out.push_str(before);
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write(part, out, depth);
    }
    out.push_str(after);
}

const fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::Equal => "=",
        BinaryOp::NotEqual => "<>",
        BinaryOp::Less => "<",
        BinaryOp::LessOrEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterOrEqual => ">=",
        BinaryOp::NullSafeEqual => "<=>",
        BinaryOp::And => "AND",
        BinaryOp::Or => "OR",
    }
}

const fn name(function: Function) -> &'static str {
    match function {
        Function::Coalesce => "COALESCE",
        Function::Upper => "UPPER",
        Function::Lower => "LOWER",
        Function::Length => "LENGTH",
        Function::StartsWith => "STARTSWITH",
        Function::Abs => "ABS",
        Function::If => "IF",
        Function::Year => "YEAR",
        Function::Month => "MONTH",
        Function::Day => "DAY",
        Function::IsNan => "ISNAN",
    }
}
