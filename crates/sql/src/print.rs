//! Expressions to text.

use crate::calendar::{print_date, print_timestamp, print_timestamp_ntz};
use crate::convert::CHAIN_LINEAR_MAX;
use crate::number::special_float;
use crate::types::print_type;
use lakebed_transaction::{BinaryOp, ColumnType, Expr, Function, Scalar, UnaryOp};
use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, Keyword};

/// How tightly an expression holds together; a looser one inside a tighter one stands in brackets.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const PREDICATE: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const SIGN: u8 = 7;
const ATOM: u8 = 8;
const BRACKETED: u8 = 9;

/// A part of the text still to be written. The printer keeps these on a stack of its own, so no tree is too deep for it.
enum Piece<'a> {
    Text(String),
    /// An expression, the looseness that its place allows, and how many operands of its chain have been opened before it.
    Node(&'a Expr, u8, usize),
}

/// The expression as SQL text that [`parse_expression`](crate::parse_expression) reads back to the same tree.
///
/// Three kinds of tree have no text of their own, since no text gives them: an empty IN list prints as FALSE (negated:
/// TRUE), a CASE without arms as its ELSE, a row of one value as that value.
///
/// ```
/// let expr = lakebed_sql::parse_expression("(p = 1 OR p = 2) and not q").unwrap();
/// assert_eq!(lakebed_sql::print(&expr), "(p = 1 OR p = 2) AND NOT q");
/// ```
#[must_use]
pub fn print(expr: &Expr) -> String {
    let mut out = String::new();
    let mut stack = vec![Piece::Node(expr, 0, 0)];
    let mut pieces = Vec::new();
    while let Some(piece) = stack.pop() {
        match piece {
            Piece::Text(text) => out.push_str(&text),
            Piece::Node(node, least, chained) => {
                if level(node) < least || chained + 2 > CHAIN_LINEAR_MAX {
                    out.push('(');
                    expand(node, 0, &mut pieces);
                    pieces.push(text(")"));
                } else {
                    expand(node, chained, &mut pieces);
                }
                stack.extend(pieces.drain(..).rev());
            }
        }
    }
    out
}

/// A name as SQL text, in backquotes where it needs them.
#[must_use]
pub fn print_identifier(name: &str) -> String {
    let mut characters = name.chars();
    let starts = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let plain = starts && characters.all(|c| c.is_ascii_alphanumeric() || c == '_') && !needs_quotes(name);
    if plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

/// Keywords are quoted, but for some that are everyday names and that nothing in an expression starts with.
fn needs_quotes(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let Ok(at) = ALL_KEYWORDS.binary_search(&upper.as_str()) else { return false };
    !matches!(
        ALL_KEYWORDS_INDEX.get(at),
        Some(
            Keyword::ID
                | Keyword::NAME
                | Keyword::VALUE
                | Keyword::KEY
                | Keyword::TYPE
                | Keyword::YEAR
                | Keyword::MONTH
                | Keyword::DAY
                | Keyword::HOUR
                | Keyword::PART
                | Keyword::VERSION
                | Keyword::DATA
                | Keyword::STATUS
                | Keyword::ABS
                | Keyword::UPPER
                | Keyword::LOWER
        )
    )
}

fn text(text: &str) -> Piece<'static> {
    Piece::Text(text.to_owned())
}

const fn node(expr: &Expr, least: u8) -> Piece<'_> {
    Piece::Node(expr, least, 0)
}

fn level(expr: &Expr) -> u8 {
    match expr {
        Expr::Unary(UnaryOp::Not, _) => NOT,
        Expr::Unary(UnaryOp::Negate, _) => SIGN,
        Expr::Binary(op, ..) => operator(*op).1,
        Expr::In { list, .. } if list.is_empty() => ATOM,
        Expr::IsNull { .. } | Expr::In { .. } | Expr::Between { .. } | Expr::Like { .. } => PREDICATE,
        Expr::Literal(Scalar::Int(value)) if *value < 0 => SIGN,
        Expr::Literal(Scalar::Decimal { unscaled, .. }) if *unscaled < 0 => SIGN,
        Expr::Literal(Scalar::Float(value)) if value.is_sign_negative() && value.is_finite() => SIGN,
        Expr::Case { arms, otherwise: Some(otherwise), .. } if arms.is_empty() => {
            // The ELSE stands alone then; brackets are always right.
            if matches!(**otherwise, Expr::Column(_)) { ATOM } else { 0 }
        }
        Expr::Column(_)
        | Expr::Literal(_)
        | Expr::Cast(..)
        | Expr::Case { .. }
        | Expr::Call(..)
        | Expr::Unknown { .. }
        | Expr::Row(_) => ATOM,
    }
}

const fn operator(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Add => (" + ", SUM),
        BinaryOp::Subtract => (" - ", SUM),
        BinaryOp::Multiply => (" * ", PRODUCT),
        BinaryOp::Divide => (" / ", PRODUCT),
        BinaryOp::Modulo => (" % ", PRODUCT),
        BinaryOp::Equal => (" = ", PREDICATE),
        BinaryOp::NotEqual => (" <> ", PREDICATE),
        BinaryOp::Less => (" < ", PREDICATE),
        BinaryOp::LessOrEqual => (" <= ", PREDICATE),
        BinaryOp::Greater => (" > ", PREDICATE),
        BinaryOp::GreaterOrEqual => (" >= ", PREDICATE),
        BinaryOp::NullSafeEqual => (" <=> ", PREDICATE),
        BinaryOp::And => (" AND ", AND),
        BinaryOp::Or => (" OR ", OR),
    }
}

fn expand<'a>(expr: &'a Expr, chained: usize, out: &mut Vec<Piece<'a>>) {
    match expr {
        Expr::Column(path) => {
            out.push(Piece::Text(path.iter().map(|part| print_identifier(part)).collect::<Vec<_>>().join(".")));
        }
        Expr::Literal(value) => out.push(Piece::Text(print_scalar(value))),
        Expr::Unary(UnaryOp::Not, operand) => out.extend([text("NOT "), node(operand, NOT)]),
        Expr::Unary(UnaryOp::Negate, operand) => {
            // A minus before digits would become part of the number.
            let least = if matches!(**operand, Expr::Literal(_)) { BRACKETED } else { ATOM };
            out.extend([text("-"), node(operand, least)]);
        }
        Expr::Binary(op, left, right) => binary(*op, left, right, chained, out),
        Expr::IsNull { operand, negated } => {
            out.extend([node(operand, SUM), text(if *negated { " IS NOT NULL" } else { " IS NULL" })]);
        }
        Expr::In { list, negated, .. } if list.is_empty() => out.push(text(if *negated { "TRUE" } else { "FALSE" })),
        Expr::In { operand, list, negated } => {
            out.extend([node(operand, SUM), text(not(*negated)), text("IN (")]);
            comma_separated(list, out);
            out.push(text(")"));
        }
        Expr::Between { operand, low, high, negated } => {
            out.extend([node(operand, SUM), text(not(*negated)), text("BETWEEN ")]);
            out.extend([node(low, SUM), text(" AND "), node(high, SUM)]);
        }
        Expr::Like { operand, pattern, escape, negated } => {
            out.extend([node(operand, SUM), text(not(*negated)), text("LIKE "), node(pattern, SUM)]);
            if let Some(escape) = escape {
                out.push(Piece::Text(format!(" ESCAPE {}", print_string(&escape.to_string()))));
            }
        }
        Expr::Cast(operand, column_type) => {
            // Without the brackets this would be the spelling of the float itself.
            let float = matches!(column_type, ColumnType::Double | ColumnType::Float);
            let special = matches!(&**operand, Expr::Literal(Scalar::String(text)) if special_float(text).is_some());
            let least = if float && special { BRACKETED } else { 0 };
            out.extend([text("CAST("), node(operand, least), Piece::Text(format!(" AS {})", print_type(column_type)))]);
        }
        Expr::Case { operand, arms, otherwise } => case(operand.as_deref(), arms, otherwise.as_deref(), out),
        Expr::Call(function, arguments) => call(function_name(*function).to_owned(), arguments, out),
        Expr::Unknown { name, arguments } => call(print_identifier(name), arguments, out),
        Expr::Row(values) => call(String::new(), values, out),
    }
}

fn binary<'a>(op: BinaryOp, left: &'a Expr, right: &'a Expr, chained: usize, out: &mut Vec<Piece<'a>>) {
    let (symbol, level) = operator(op);
    let associates = level != PREDICATE;
    // The parser balances longer chains of AND and OR, so a longer one is cut by brackets to keep its shape.
    let chains = matches!(op, BinaryOp::And | BinaryOp::Or) && matches!(left, Expr::Binary(inner, ..) if *inner == op);
    let chained = if chains { chained + 1 } else { 0 };
    out.push(Piece::Node(left, if associates { level } else { level + 1 }, chained));
    out.extend([text(symbol), node(right, level + 1)]);
}

fn case<'a>(
    operand: Option<&'a Expr>,
    arms: &'a [lakebed_transaction::CaseArm],
    otherwise: Option<&'a Expr>,
    out: &mut Vec<Piece<'a>>,
) {
    if arms.is_empty() {
        out.push(otherwise.map_or_else(|| text("NULL"), |expr| node(expr, 0)));
        return;
    }
    out.push(text("CASE"));
    if let Some(operand) = operand {
        out.extend([text(" "), node(operand, 0)]);
    }
    for arm in arms {
        out.extend([text(" WHEN "), node(&arm.when, 0), text(" THEN "), node(&arm.then, 0)]);
    }
    if let Some(otherwise) = otherwise {
        out.extend([text(" ELSE "), node(otherwise, 0)]);
    }
    out.push(text(" END"));
}

fn call<'a>(name: String, arguments: &'a [Expr], out: &mut Vec<Piece<'a>>) {
    out.push(Piece::Text(name + "("));
    comma_separated(arguments, out);
    out.push(text(")"));
}

fn comma_separated<'a>(items: &'a [Expr], out: &mut Vec<Piece<'a>>) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(text(", "));
        }
        out.push(node(item, 0));
    }
}

const fn not(negated: bool) -> &'static str {
    if negated { " NOT " } else { " " }
}

const fn function_name(function: Function) -> &'static str {
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

/// A value as a SQL literal that reads back to the same value: floats with an exponent, decimals with a point or the
/// suffix `BD`, instants in UTC.
#[must_use]
pub fn print_scalar(value: &Scalar) -> String {
    match value {
        Scalar::Null => "NULL".to_owned(),
        Scalar::Boolean(true) => "TRUE".to_owned(),
        Scalar::Boolean(false) => "FALSE".to_owned(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Float(value) if value.is_nan() => "CAST('NaN' AS double)".to_owned(),
        Scalar::Float(f64::INFINITY) => "CAST('Infinity' AS double)".to_owned(),
        Scalar::Float(f64::NEG_INFINITY) => "CAST('-Infinity' AS double)".to_owned(),
        Scalar::Float(value) => format!("{value:E}"),
        Scalar::Decimal { scale: 0, .. } => format!("{value}BD"),
        Scalar::Decimal { .. } | Scalar::Binary(_) => value.to_string(),
        Scalar::Date(days) => format!("DATE '{}'", print_date(*days)),
        Scalar::Timestamp(micros) => format!("TIMESTAMP '{}'", print_timestamp(*micros)),
        Scalar::TimestampNtz(micros) => format!("TIMESTAMP_NTZ '{}'", print_timestamp_ntz(*micros)),
        Scalar::String(text) => print_string(text),
    }
}

fn print_string(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
