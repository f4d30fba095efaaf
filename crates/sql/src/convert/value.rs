//! Literals.

use crate::calendar::{parse_date, parse_timestamp, parse_timestamp_ntz};
use crate::error::{SqlError, literal, unsupported};
use crate::number::{literal_number, special_float};
use crate::tokens::unescape;
use crate::types::print_type;
use jiff::tz::TimeZone;
use lakebed_transaction::{ColumnType, Expr, Scalar};
use sqlparser::ast::{Expr as Ast, Ident, Value};

/// A literal; `negative` is a minus sign directly in front, which the smallest 64-bit integer needs.
#[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum is not ours; what is not listed is refused")]
pub(super) fn literal_value(value: &Value, negative: bool) -> Result<Scalar, SqlError> {
    match value {
        Value::Number(digits, long) => {
            let text = if *long { format!("{digits}L") } else { digits.clone() };
            literal_number(&text, negative)
        }
        other if negative => Err(unsupported(format!("a minus sign before {other}"))),
        Value::Null => Ok(Scalar::Null),
        Value::Boolean(value) => Ok(Scalar::Boolean(*value)),
        Value::HexStringLiteral(digits) => binary(digits),
        other => {
            string(other).map(|text| Scalar::string(&text)).ok_or_else(|| unsupported(format!("the literal {other}")))
        }
    }
}

/// Whether a bare word is a number with a suffix, such as `1L`.
pub(super) fn is_number_word(name: &Ident) -> bool {
    name.quote_style.is_none() && name.value.starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// The one character that ESCAPE names.
pub(super) fn escape_character(ast: &Ast) -> Result<char, SqlError> {
    if let Ast::Value(value) = ast
        && let Some(text) = string(&value.value)
    {
        let mut characters = text.chars();
        if let (Some(character), None) = (characters.next(), characters.next()) {
            return Ok(character);
        }
    }
    Err(unsupported("an ESCAPE of other than one character"))
}

/// `CAST('NaN' AS DOUBLE)` and the infinities: the way to spell those constants.
pub(super) fn special_float_cast(value: &Value, column_type: &ColumnType) -> Option<Expr> {
    let float = matches!(column_type, ColumnType::Double | ColumnType::Float);
    string(value)
        .filter(|_| float)
        .and_then(|text| special_float(&text))
        .map(|value| Expr::Literal(Scalar::Float(value)))
}

/// `DATE '…'`, `TIMESTAMP '…'`, `TIMESTAMP_NTZ '…'`; another type before a string is a cast.
pub(super) fn typed_literal(column_type: &ColumnType, value: &Value, zone: &TimeZone) -> Result<Expr, SqlError> {
    let Some(text) = string(value) else { return Err(unsupported(format!("a type before {value}"))) };
    let found = if *column_type == ColumnType::Date {
        parse_date(&text).map(Scalar::Date)
    } else if *column_type == ColumnType::Timestamp {
        parse_timestamp(&text, zone).map(Scalar::Timestamp)
    } else if *column_type == ColumnType::TimestampNtz {
        parse_timestamp_ntz(&text).map(Scalar::TimestampNtz)
    } else if let Some(float) = special_float_cast(value, column_type) {
        return Ok(float);
    } else {
        return Ok(Expr::Cast(Box::new(Expr::Literal(Scalar::string(&text))), column_type.clone()));
    };
    found.map(Expr::Literal).ok_or_else(|| literal(&text, print_type(column_type)))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enum is not ours; Spark has these two kinds of strings"
)]
fn string(value: &Value) -> Option<String> {
    match value {
        Value::SingleQuotedString(raw) => Some(unescape(raw, '\'')),
        Value::DoubleQuotedString(raw) => Some(unescape(raw, '"')),
        _ => None,
    }
}

/// An odd number of digits has a zero in front, as in Spark.
fn binary(digits: &str) -> Result<Scalar, SqlError> {
    let padded = if digits.len().is_multiple_of(2) { digits.to_owned() } else { format!("0{digits}") };
    let nibble = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
        _ => None,
    };
    let bytes = padded.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    bytes.map(|bytes| Scalar::Binary(bytes.into())).ok_or_else(|| literal(digits, "hexadecimal number"))
}
