//! The entry points from text to expressions.

use crate::convert::{Converter, DEPTH_MAX, Mode};
use crate::error::{SqlError, syntax, unsupported};
use crate::tokens::{DIALECT, quote_apostrophe_names, strip_expression_ids, tokenize};
use jiff::tz::TimeZone;
use lakebed_transaction::Expr;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// How deep brackets and operators may nest in a text, as the parser counts: up to twice for one level of the tree.
const NESTING_MAX: usize = 2 * DEPTH_MAX;

/// `column = value`, as `--set` takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The path of the column that gets the value.
    pub column: Vec<Arc<str>>,
    /// The value.
    pub value: Expr,
}

/// Reads an expression; times without a zone are UTC.
///
/// ```
/// use lakebed_transaction::{BinaryOp, Expr, Scalar};
///
/// let expr = lakebed_sql::parse_expression("p + 1").unwrap();
/// assert_eq!(expr, Expr::column("p").binary(BinaryOp::Add, Expr::Literal(Scalar::Int(1))));
/// ```
///
/// # Errors
///
/// A text that is not SQL, is outside the grammar, holds a malformed literal, or nests too deep.
pub fn parse_expression(text: &str) -> Result<Expr, SqlError> {
    parse_expression_in(text, &TimeZone::UTC)
}

/// As [`parse_expression`], with the zone that `TIMESTAMP` literals without one are in.
///
/// # Errors
///
/// As [`parse_expression`].
pub fn parse_expression_in(text: &str, zone: &TimeZone) -> Result<Expr, SqlError> {
    let tokens = tokenize(text)?;
    parse_tokens(text, tokens, zone, Mode::Sql)
}

/// Reads a predicate: SQL text, or the form in which Spark prints predicates into commit logs.
///
/// Spark's forms: expression ids (`id#12L`), apostrophes before names (`'p`), and a JSON list of texts that hold together.
/// There string literals stand without quotes, so a bare word is a literal; text in which that could be misread (a bare
/// date looks like a subtraction, two relations share a column name) is an error, and the caller takes TRUE instead.
///
/// ```
/// use lakebed_sql::parse_predicate;
///
/// let printed = parse_predicate(r#"["((id#1L > 3) AND (name#2 = Dennis))"]"#).unwrap();
/// assert_eq!(printed, parse_predicate("id > 3 AND name = 'Dennis'").unwrap());
/// ```
///
/// # Errors
///
/// As [`parse_expression`].
pub fn parse_predicate(text: &str) -> Result<Expr, SqlError> {
    parse_predicate_in(text, &TimeZone::UTC)
}

/// As [`parse_predicate`], with the zone that `TIMESTAMP` literals without one are in.
///
/// # Errors
///
/// As [`parse_expression`].
pub fn parse_predicate_in(text: &str, zone: &TimeZone) -> Result<Expr, SqlError> {
    if !text.trim_start().starts_with('[') {
        return parse_one_predicate(text, zone);
    }
    let texts: Vec<String> = serde_json::from_str(text).map_err(|error| syntax(text, error.to_string()))?;
    let parts = texts.iter().map(|part| parse_one_predicate(part, zone)).collect::<Result<Vec<_>, _>>()?;
    Ok(crate::convert::conjunction(parts))
}

/// Reads `column = expression`.
///
/// # Errors
///
/// [`SqlError::Syntax`] where there is no column and `=` in front; else as [`parse_expression`].
pub fn parse_assignment(text: &str) -> Result<Assignment, SqlError> {
    let tokens = tokenize(text)?;
    let missing = || syntax(text, "expected `column = expression`");
    let at = tokens.iter().position(|token| *token == Token::Eq).ok_or_else(missing)?;
    let (left, right) = tokens.split_at_checked(at).ok_or_else(missing)?;
    let Expr::Column(column) = parse_tokens(text, left.to_vec(), &TimeZone::UTC, Mode::Sql)? else {
        return Err(missing());
    };
    let value = parse_tokens(text, right.get(1..).unwrap_or_default().to_vec(), &TimeZone::UTC, Mode::Sql)?;
    Ok(Assignment { column, value })
}

fn parse_one_predicate(text: &str, zone: &TimeZone) -> Result<Expr, SqlError> {
    let plain = match tokenize(text) {
        Ok(tokens) => match strip_expression_ids(&tokens)? {
            Some(stripped) => return parse_tokens(text, stripped, zone, Mode::Printed),
            None => parse_tokens(text, tokens, zone, Mode::Sql),
        },
        Err(error) => Err(error),
    };
    match (plain, quote_apostrophe_names(text)) {
        (Err(SqlError::Syntax { .. }), Some(quoted)) => {
            let tokens = tokenize(&quoted)?;
            let tokens = strip_expression_ids(&tokens)?.unwrap_or(tokens);
            parse_tokens(text, tokens, zone, Mode::Printed)
        }
        (result, _) => result,
    }
}

fn parse_tokens(text: &str, tokens: Vec<Token>, zone: &TimeZone, mode: Mode) -> Result<Expr, SqlError> {
    // The parser has arms for whole queries; they only cost time and are refused in the end.
    if tokens.iter().any(|token| matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("select"))) {
        return Err(unsupported("a subquery"));
    }
    let mut parser = Parser::new(&DIALECT).with_recursion_limit(NESTING_MAX).with_tokens(tokens);
    let tree = parser.parse_expr().map_err(|error| match error {
        ParserError::RecursionLimitExceeded => SqlError::TooDeep { limit: NESTING_MAX },
        ParserError::TokenizerError(reason) | ParserError::ParserError(reason) => syntax(text, reason),
    })?;
    let next = parser.next_token();
    if next.token != Token::EOF {
        return Err(syntax(text, format!("expected an operator or the end, found `{}`", next.token)));
    }
    Converter::new(zone, mode).top(&tree)
}
