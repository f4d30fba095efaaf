//! Text to tokens, with the bounds that keep hostile text harmless, and Spark's printed forms made readable.

use crate::error::{SqlError, syntax, unsupported};
use sqlparser::dialect::DatabricksDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer, Word};
use std::collections::HashMap;

/// The longest text that is read, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// The longest chain of operators without brackets: the parser builds a tree as deep as that, and frees it recursively.
const CHAIN_MAX: usize = 4_000;

/// The dialect whose tokens and operators are Spark's.
pub(crate) static DIALECT: DatabricksDialect = DatabricksDialect;

/// Tokens, comments and blanks included, with string escapes left as they stand.
pub(crate) fn tokenize(text: &str) -> Result<Vec<Token>, SqlError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(SqlError::TooLong { bytes: text.len(), limit: TEXT_BYTES_MAX });
    }
    let tokens = Tokenizer::new(&DIALECT, text)
        .with_unescape(false)
        .tokenize()
        .map_err(|error| syntax(text, error.to_string()))?;
    let tokens = join_suffixes(tokens);
    bound_depth(&tokens)?;
    Ok(tokens)
}

/// Tokens without blanks and comments, with `>>` and `<>` taken apart, as column types need them.
pub(crate) fn tokenize_types(text: &str) -> Result<Vec<Token>, SqlError> {
    let mut out = Vec::new();
    for token in tokenize(text)? {
        if token == Token::ShiftRight {
            out.extend([Token::Gt, Token::Gt]);
        } else if token == Token::Neq {
            out.extend([Token::Lt, Token::Gt]);
        } else if !matches!(token, Token::Whitespace(_)) {
            out.push(token);
        }
    }
    Ok(out)
}

/// Puts `1E5` and a suffix that directly follows into one word, as the tokenizer does for numbers without exponents.
fn join_suffixes(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let (Some(Token::Number(digits, false)), Token::Word(word)) = (out.last(), &token)
            && word.quote_style.is_none()
        {
            let joined = format!("{digits}{}", word.value);
            out.pop();
            out.push(word_token(joined, None));
        } else {
            out.push(token);
        }
    }
    out
}

/// Refuses text whose syntax tree could be deeper than [`CHAIN_MAX`]. Every token that may be an operator counts; a comma
/// starts afresh; brackets add what they hold.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the tokenizer's enum is not ours; whatever is not listed may be an operator"
)]
fn bound_depth(tokens: &[Token]) -> Result<(), SqlError> {
    #[derive(Default)]
    struct Level {
        operators: usize,
        inner: usize,
        best: usize,
    }
    impl Level {
        fn close(&self) -> usize {
            self.best.max(self.operators + self.inner)
        }
    }
    let too_deep = || SqlError::TooDeep { limit: CHAIN_MAX };
    let mut stack = vec![Level::default()];
    for token in tokens {
        let Some(level) = stack.last_mut() else { break };
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => stack.push(Level::default()),
            Token::RParen | Token::RBracket | Token::RBrace => {
                let depth = level.close() + 1;
                stack.pop();
                let Some(parent) = stack.last_mut() else { return Ok(()) };
                parent.inner = parent.inner.max(depth);
                // `a[1][2]…` chains brackets themselves.
                parent.operators += usize::from(!matches!(token, Token::RParen));
            }
            Token::Comma => {
                level.best = level.close();
                level.operators = 0;
                level.inner = 0;
            }
            Token::Word(word) => {
                level.operators += usize::from(word.quote_style.is_none() && !is_plain_word(word.keyword))
            }
            Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_) => {}
            _ => level.operators += 1,
        }
        if stack.len() > CHAIN_MAX || stack.last().is_some_and(|level| level.close() > CHAIN_MAX) {
            return Err(too_deep());
        }
    }
    let depth = stack.iter().map(Level::close).fold(0_usize, usize::saturating_add);
    if depth > CHAIN_MAX { Err(too_deep()) } else { Ok(()) }
}

/// Words that are no keywords, and keywords that are everyday names of columns and never operators.
const fn is_plain_word(keyword: Keyword) -> bool {
    use Keyword::{
        DATA, DATE, DAY, HOUR, ID, KEY, MONTH, NAME, NoKeyword, PART, STATUS, TIMESTAMP, TYPE, VALUE, VERSION, YEAR,
    };
    matches!(
        keyword,
        NoKeyword
            | ID
            | NAME
            | VALUE
            | KEY
            | TYPE
            | YEAR
            | MONTH
            | DAY
            | HOUR
            | DATE
            | TIMESTAMP
            | PART
            | VERSION
            | DATA
            | STATUS
    )
}

fn word_token(value: String, quote_style: Option<char>) -> Token {
    Token::Word(Word { value, quote_style, keyword: Keyword::NoKeyword })
}

/// Takes Spark's expression ids (`id#12L`) off the names, which become quoted identifiers.
///
/// Answers `None` where there is none. Such text prints string literals without quotes, so whoever reads it takes bare
/// words as literals.
///
/// # Errors
///
/// One name with two ids: the text compares two relations, which a predicate over one table cannot say.
pub(crate) fn strip_expression_ids(tokens: &[Token]) -> Result<Option<Vec<Token>>, SqlError> {
    let mut ids: HashMap<String, String> = HashMap::new();
    let mut out = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let Some(token) = rest.first() {
        if let [Token::Word(word), Token::Sharp, id, ..] = rest
            && let Some(id) = expression_id(id)
        {
            let known = ids.entry(word.value.to_lowercase()).or_insert_with(|| id.clone());
            if *known != id {
                return Err(unsupported(format!("a comparison of two relations that both have `{}`", word.value)));
            }
            out.push(word_token(word.value.clone(), Some('`')));
            rest = rest.get(3..).unwrap_or_default();
        } else {
            out.push(token.clone());
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    Ok(if ids.is_empty() { None } else { Some(out) })
}

fn expression_id(token: &Token) -> Option<String> {
    let text = if let Token::Number(digits, _) = token {
        digits.as_str()
    } else if let Token::Word(word) = token
        && word.quote_style.is_none()
    {
        word.value.strip_suffix('L').unwrap_or(&word.value)
    } else {
        return None;
    };
    if text.bytes().all(|byte| byte.is_ascii_digit()) { Some(text.to_owned()) } else { None }
}

/// Turns Spark's unresolved names (`'p = 1`, one apostrophe in front) into quoted identifiers; `None` where there is none.
pub(crate) fn quote_apostrophe_names(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut found = false;
    let mut rest = text;
    while let Some(at) = rest.find('\'') {
        let (before, after) = rest.split_at_checked(at)?;
        let after = after.get(1..)?;
        out.push_str(before);
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
        let (name, tail) = after.split_at_checked(end)?;
        let opens = out.chars().next_back().is_none_or(|c| c.is_whitespace() || "(,=<>!+-*/%".contains(c));
        let starts_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if opens && starts_name && !tail.starts_with('\'') {
            found = true;
            out.push('`');
            out.push_str(name);
            out.push('`');
            rest = tail;
        } else {
            let close = after.find('\'')? + 1;
            let (quoted, tail) = after.split_at_checked(close)?;
            out.push('\'');
            out.push_str(quoted);
            rest = tail;
        }
    }
    out.push_str(rest);
    if found { Some(out) } else { None }
}

/// The text of a string literal, with Spark's escapes: `\n`, `\t`, `\r`, `\0`, `\b`, `\Z`, `\uXXXX`; `\%` and `\_` keep
/// their backslash for LIKE; before any other character the backslash goes. A doubled quote is one quote.
pub(crate) fn unescape(raw: &str, quote: char) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut characters = raw.chars().peekable();
    while let Some(character) = characters.next() {
        if character == quote {
            if characters.peek() == Some(&quote) {
                characters.next();
            }
            out.push(quote);
        } else if character == '\\' {
            match characters.next() {
                None => out.push('\\'),
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('0') => out.push('\0'),
                Some('b') => out.push('\u{8}'),
                Some('Z') => out.push('\u{1a}'),
                Some(kept @ ('%' | '_')) => out.extend(['\\', kept]),
                Some('u') => out.push(unicode_escape(&mut characters)),
                Some(other) => out.push(other),
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// The character of the four hexadecimal digits that follow; where they are not there, the plain letter `u`.
fn unicode_escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> char {
    let mut ahead = characters.clone();
    let code = (0..4).try_fold(0_u32, |code, _| Some(code * 16 + ahead.next()?.to_digit(16)?));
    match code.and_then(char::from_u32) {
        Some(character) => {
            *characters = ahead;
            character
        }
        None => 'u',
    }
}

/// The name in a quoted identifier.
pub(crate) fn unquote_identifier(raw: &str) -> String {
    raw.replace("``", "`")
}
