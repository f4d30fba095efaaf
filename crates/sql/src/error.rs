//! What can be wrong with a text.

/// Why a text was refused, or an expression does not fit a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// The text is not SQL.
    #[error("cannot read `{text}`: {reason}")]
    Syntax {
        /// The text, shortened.
        text: String,
        /// What the parser expected.
        reason: String,
    },
    /// Nesting or chaining beyond what is read.
    #[error("the text nests or chains deeper than {limit} levels; split it, or use IN for long lists of values")]
    TooDeep {
        /// The bound that was passed.
        limit: usize,
    },
    /// The text is longer than what is read.
    #[error("the text has {bytes} bytes, more than {limit}; split it")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The bound in bytes.
        limit: usize,
    },
    /// SQL, but outside the grammar of expressions.
    #[error(
        "{what} is not part of the expression grammar; rewrite it with operators, CASE, CAST or the known functions"
    )]
    Unsupported {
        /// The construct.
        what: String,
    },
    /// A known function with the wrong number of arguments.
    #[error("{function} takes {wanted} argument(s), not {given}")]
    Arguments {
        /// The function as written.
        function: String,
        /// How many it takes.
        wanted: String,
        /// How many there were.
        given: usize,
    },
    /// A literal, or a string that meets a typed value, cannot be read as its type.
    #[error("`{text}` is not a valid {wanted}")]
    Literal {
        /// The literal, shortened.
        text: String,
        /// The type.
        wanted: String,
    },
    /// No such type.
    #[error(
        "`{text}` is not a column type; use boolean, byte, short, int, long, float, double, decimal(p,s), date, timestamp, \
         timestamp_ntz, string, binary, array<…>, map<…,…> or struct<name: type, …>"
    )]
    Type {
        /// The type as written.
        text: String,
    },
    /// Two columns or fields of one name.
    #[error("column `{name}` is given twice; names differ by more than case")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// No such column.
    #[error("unknown column `{name}`; the columns are: {columns} (a text stands in single quotes)")]
    UnknownColumn {
        /// The path as written.
        name: String,
        /// The columns there are, separated by commas.
        columns: String,
    },
    /// More than one column matches without regard to case, and none exactly.
    #[error("column `{name}` is ambiguous between {columns}; write it in the case that is stored")]
    AmbiguousColumn {
        /// The path as written.
        name: String,
        /// The candidates, separated by commas.
        columns: String,
    },
    /// Not a point in time, or outside the range of microseconds.
    #[error(
        "`{text}` is not a time; use 2024-01-15T10:30:00Z, 2024-01-15 10:30:00 (local), -10m, -2h, -7d (before now), or milliseconds since 1970"
    )]
    Time {
        /// The text.
        text: String,
    },
    /// Not a length of time.
    #[error("`{text}` is not a duration; use a number with ms, s, m, h, d or w, such as 7d")]
    Duration {
        /// The text.
        text: String,
    },
}

/// The start of a text, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARACTERS_MAX: usize = 120;
    if text.chars().nth(CHARACTERS_MAX).is_none() {
        return text.to_owned();
    }
    text.chars().take(CHARACTERS_MAX).chain(std::iter::once('…')).collect()
}

pub(crate) fn syntax(text: &str, reason: impl Into<String>) -> SqlError {
    SqlError::Syntax { text: excerpt(text), reason: reason.into() }
}

pub(crate) fn unsupported(what: impl Into<String>) -> SqlError {
    SqlError::Unsupported { what: what.into() }
}

pub(crate) fn literal(text: &str, wanted: impl Into<String>) -> SqlError {
    SqlError::Literal { text: excerpt(text), wanted: wanted.into() }
}
