//! Expressions in messages.

use lakebed_transaction::{BinaryOp, Expr, Function, UnaryOp};
use std::fmt::Write;

/// Characters after which a text is cut.
const LENGTH_MAX: usize = 200;

/// An expression as SQL, cut where it is long. Only for messages: `lakebed-sql` prints SQL that reads back.
pub(super) fn describe(expr: &Expr) -> String {
    let mut out = String::new();
    write(expr, &mut out);
    match out.char_indices().nth(LENGTH_MAX) {
        None => out,
        Some((at, _)) => format!("{}…", out.get(..at).unwrap_or(&out)),
    }
}

fn write(expr: &Expr, out: &mut String) {
    if out.len() > 4 * LENGTH_MAX {
        return;
    }
    let not = |negated: bool| if negated { "NOT " } else { "" };
    match expr {
        Expr::Column(path) => out.push_str(&path.join(".")),
        Expr::Literal(scalar) => {
            let _ = write!(out, "{scalar}");
        }
        Expr::Unary(UnaryOp::Not, x) => around(out, "NOT ", &[x], ""),
        Expr::Unary(UnaryOp::Negate, x) => around(out, "-", &[x], ""),
        Expr::Binary(op, a, b) => {
            out.push('(');
            write(a, out);
            let _ = write!(out, " {} ", symbol(*op));
            write(b, out);
            out.push(')');
        }
        Expr::IsNull { operand, negated } => around(out, "", &[operand], &format!(" IS {}NULL", not(*negated))),
        Expr::In { operand, list, negated } => {
            write(operand, out);
            let list: Vec<&Expr> = list.iter().collect();
            around(out, &format!(" {}IN (", not(*negated)), &list, ")");
        }
        Expr::Between { operand, low, high, negated } => {
            write(operand, out);
            let _ = write!(out, " {}BETWEEN ", not(*negated));
            write(low, out);
            around(out, " AND ", &[high], "");
        }
        Expr::Like { operand, pattern, negated, .. } => {
            write(operand, out);
            around(out, &format!(" {}LIKE ", not(*negated)), &[pattern], "");
        }
        Expr::Cast(x, to) => around(out, "CAST(", &[x], &format!(" AS {to:?})")),
        Expr::Case { .. } => around(out, "CASE(", &expr.children(), ")"),
        Expr::Call(function, arguments) => {
            let arguments: Vec<&Expr> = arguments.iter().collect();
            around(out, &format!("{}(", name(*function)), &arguments, ")");
        }
        Expr::Unknown { name, arguments } => {
            let arguments: Vec<&Expr> = arguments.iter().collect();
            around(out, &format!("{name}("), &arguments, ")");
        }
        Expr::Row(parts) => around(out, "(", &parts.iter().collect::<Vec<_>>(), ")"),
    }
}

fn around(out: &mut String, before: &str, parts: &[&Expr], after: &str) {
    out.push_str(before);
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write(part, out);
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
