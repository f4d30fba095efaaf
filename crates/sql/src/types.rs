//! Column types and column lists as text, both ways.

use crate::error::{SqlError, excerpt, syntax};
use crate::print::print_identifier;
use crate::tokens::{tokenize_types, unquote_identifier};
use lakebed_transaction::{Column, ColumnType};
use sqlparser::tokenizer::Token;

/// How deep types may nest.
const NESTING_MAX: usize = 64;

/// Reads one column type: `decimal(10,2)`, `array<string>`, `struct<a: int, b: string not null>`, …
///
/// ```
/// use lakebed_transaction::ColumnType;
///
/// assert_eq!(lakebed_sql::parse_type("BIGINT").unwrap(), ColumnType::Long);
/// ```
///
/// # Errors
///
/// [`SqlError::Type`] for a name that is no type or bad parameters, [`SqlError::Syntax`] for malformed text,
/// [`SqlError::TooDeep`] beyond 64 levels.
pub fn parse_type(text: &str) -> Result<ColumnType, SqlError> {
    let tokens = tokenize_types(text)?;
    let mut reader = Reader { text, rest: &tokens, depth: 0 };
    let found = reader.column_type()?;
    reader.end()?;
    Ok(found)
}

/// Reads the columns of a table: `id long not null, day date, tags array<string>`.
///
/// # Errors
///
/// As [`parse_type`]; [`SqlError::DuplicateColumn`] for names that differ only by case.
pub fn parse_columns(text: &str) -> Result<Vec<Column>, SqlError> {
    let tokens = tokenize_types(text)?;
    let mut reader = Reader { text, rest: &tokens, depth: 0 };
    let columns = reader.fields(false)?;
    reader.end()?;
    Ok(columns)
}

/// The type that a cast function such as `double(x)` names.
pub(crate) fn simple_type(name: &str) -> Option<ColumnType> {
    Some(match name.to_ascii_lowercase().as_str() {
        "boolean" | "bool" => ColumnType::Boolean,
        "byte" | "tinyint" => ColumnType::Byte,
        "short" | "smallint" => ColumnType::Short,
        "int" | "integer" => ColumnType::Integer,
        "long" | "bigint" => ColumnType::Long,
        "float" | "real" => ColumnType::Float,
        "double" => ColumnType::Double,
        "decimal" | "numeric" | "dec" => ColumnType::Decimal { precision: 10, scale: 0 },
        "date" => ColumnType::Date,
        "timestamp" => ColumnType::Timestamp,
        "timestamp_ntz" => ColumnType::TimestampNtz,
        "string" | "varchar" | "text" => ColumnType::String,
        "binary" => ColumnType::Binary,
        _ => return None,
    })
}

/// The type as [`parse_type`] reads it, in Spark's spelling. [`ColumnType::Other`] gives its own text.
#[must_use]
pub fn print_type(column_type: &ColumnType) -> String {
    enum Piece<'a> {
        Text(String),
        Type(&'a ColumnType),
    }
    let field = |column: &Column| if column.nullable { String::new() } else { " not null".to_owned() };
    let mut out = String::new();
    let mut stack = vec![Piece::Type(column_type)];
    while let Some(piece) = stack.pop() {
        let mut pieces = Vec::new();
        match piece {
            Piece::Text(text) => out.push_str(&text),
            Piece::Type(ColumnType::Array(element)) => {
                out.push_str("array<");
                pieces.extend([Piece::Type(&element.column_type), Piece::Text(format!("{}>", field(element)))]);
            }
            Piece::Type(ColumnType::Map(key, value)) => {
                out.push_str("map<");
                let end = Piece::Text(format!("{}>", field(value)));
                pieces.extend([
                    Piece::Type(&key.column_type),
                    Piece::Text(", ".to_owned()),
                    Piece::Type(&value.column_type),
                    end,
                ]);
            }
            Piece::Type(ColumnType::Struct(fields)) => {
                out.push_str("struct<");
                for (index, column) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    pieces.push(Piece::Text(format!("{comma}{}: ", print_identifier(&column.name))));
                    pieces.push(Piece::Type(&column.column_type));
                    pieces.push(Piece::Text(field(column)));
                }
                pieces.push(Piece::Text(">".to_owned()));
            }
            Piece::Type(flat) => out.push_str(&print_flat(flat)),
        }
        stack.extend(pieces.into_iter().rev());
    }
    out
}

fn print_flat(column_type: &ColumnType) -> String {
    match column_type {
        ColumnType::Boolean => "boolean".to_owned(),
        ColumnType::Byte => "byte".to_owned(),
        ColumnType::Short => "short".to_owned(),
        ColumnType::Integer => "int".to_owned(),
        ColumnType::Long => "long".to_owned(),
        ColumnType::Float => "float".to_owned(),
        ColumnType::Double => "double".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Timestamp => "timestamp".to_owned(),
        ColumnType::TimestampNtz => "timestamp_ntz".to_owned(),
        ColumnType::String => "string".to_owned(),
        ColumnType::Binary => "binary".to_owned(),
        ColumnType::Other(text) => text.clone(),
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Struct(_) => String::new(),
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a [Token],
    depth: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<&Token> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn take(&mut self, wanted: &Token) -> bool {
        let found = self.rest.first() == Some(wanted);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, wanted: &Token) -> Result<(), SqlError> {
        if self.take(wanted) { Ok(()) } else { Err(self.wanted(&format!("`{wanted}`"))) }
    }

    fn wanted(&self, what: &str) -> SqlError {
        let found = self.rest.first().map_or_else(|| "the end".to_owned(), |token| format!("`{token}`"));
        syntax(self.text, format!("expected {what}, found {found}"))
    }

    fn end(&self) -> Result<(), SqlError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.wanted("the end")) }
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let found = matches!(self.rest.first(), Some(Token::Word(word)) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted));
        if found {
            self.next();
        }
        found
    }

    fn name(&mut self) -> Result<String, SqlError> {
        if let Some(Token::Word(word)) = self.rest.first() {
            let name = if word.quote_style.is_some() { unquote_identifier(&word.value) } else { word.value.clone() };
            self.next();
            if !name.is_empty() {
                return Ok(name);
            }
        }
        Err(self.wanted("a column name"))
    }

    /// `name type [NOT NULL]` or `name: type [NOT NULL]`, separated by commas.
    fn fields(&mut self, may_be_empty: bool) -> Result<Vec<Column>, SqlError> {
        let mut columns: Vec<Column> = Vec::new();
        let mut names = std::collections::HashSet::new();
        if may_be_empty && self.rest.first() == Some(&Token::Gt) {
            return Ok(columns);
        }
        loop {
            let name = self.name()?;
            self.take(&Token::Colon);
            let column_type = self.column_type()?;
            let nullable = self.nullable()?;
            if !names.insert(name.to_lowercase()) {
                return Err(SqlError::DuplicateColumn { name });
            }
            columns.push(Column { name, column_type, nullable });
            if !self.take(&Token::Comma) {
                return Ok(columns);
            }
        }
    }

    fn nullable(&mut self) -> Result<bool, SqlError> {
        if self.take_word("not") {
            return if self.take_word("null") { Ok(false) } else { Err(self.wanted("NULL")) };
        }
        self.take_word("null");
        Ok(true)
    }

    fn column_type(&mut self) -> Result<ColumnType, SqlError> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(SqlError::TooDeep { limit: NESTING_MAX });
        }
        let found = self.column_type_here();
        self.depth -= 1;
        found
    }

    fn column_type_here(&mut self) -> Result<ColumnType, SqlError> {
        let Some(Token::Word(word)) = self.rest.first() else { return Err(self.wanted("a type")) };
        let name = word.value.to_ascii_lowercase();
        if word.quote_style.is_some() {
            return Err(self.wanted("a type"));
        }
        self.next();
        match name.as_str() {
            "array" => {
                self.expect(&Token::Lt)?;
                let element = self.part("element")?;
                self.expect(&Token::Gt)?;
                Ok(ColumnType::Array(Box::new(element)))
            }
            "map" => {
                self.expect(&Token::Lt)?;
                let key = Column::new("key", self.column_type()?, false);
                self.expect(&Token::Comma)?;
                let value = self.part("value")?;
                self.expect(&Token::Gt)?;
                Ok(ColumnType::Map(Box::new(key), Box::new(value)))
            }
            "struct" => {
                self.expect(&Token::Lt)?;
                let fields = self.fields(true)?;
                self.expect(&Token::Gt)?;
                Ok(ColumnType::Struct(fields))
            }
            "decimal" | "numeric" | "dec" => self.decimal(),
            "double" => {
                self.take_word("precision");
                Ok(ColumnType::Double)
            }
            // A length would be a promise that no table here keeps.
            _ if self.rest.first() == Some(&Token::LParen) => {
                Err(SqlError::Type { text: excerpt(&format!("{name}(…)")) })
            }
            _ => simple_type(&name).ok_or_else(|| SqlError::Type { text: excerpt(&name) }),
        }
    }

    fn part(&mut self, name: &str) -> Result<Column, SqlError> {
        let column_type = self.column_type()?;
        Ok(Column::new(name, column_type, self.nullable()?))
    }

    fn decimal(&mut self) -> Result<ColumnType, SqlError> {
        let (mut precision, mut scale) = (10, 0);
        if self.take(&Token::LParen) {
            precision = self.small_number()?;
            if self.take(&Token::Comma) {
                scale = self.small_number()?;
            }
            self.expect(&Token::RParen)?;
        }
        if precision == 0 || precision > 38 || scale > precision {
            return Err(SqlError::Type { text: format!("decimal({precision},{scale})") });
        }
        Ok(ColumnType::Decimal { precision, scale })
    }

    fn small_number(&mut self) -> Result<u8, SqlError> {
        if let Some(Token::Number(digits, false)) = self.rest.first()
            && let Ok(number) = digits.parse()
        {
            self.next();
            return Ok(number);
        }
        Err(self.wanted("a number of digits"))
    }
}
