//! What the columns of a file of texts hold, from its first rows.

use super::text;
use lakebed_transaction::{Column, ColumnType};

/// Whether somebody who writes a value this way means the type.
type LooksLike = fn(&str) -> bool;

/// What a column may hold, in the order in which it is chosen; text is what is left.
const CANDIDATES: [(ColumnType, LooksLike); 5] = [
    (ColumnType::Boolean, is_truth),
    (ColumnType::Long, is_number),
    (ColumnType::Double, is_number),
    (ColumnType::Date, is_date),
    (ColumnType::Timestamp, begins_with_date),
];

/// A column, and which types all its values so far have.
pub(super) struct Guess {
    name: String,
    fits: [bool; CANDIDATES.len()],
    seen: bool,
}

impl Guess {
    pub(super) const fn new(name: String) -> Self {
        Self { name, fits: [true; CANDIDATES.len()], seen: false }
    }

    /// Takes a value in. Who writes quotes means text.
    pub(super) fn see(&mut self, value: &str, quoted: bool) {
        if value.is_empty() && !quoted {
            return;
        }
        self.seen = true;
        for (fits, (candidate, looks_like)) in self.fits.iter_mut().zip(&CANDIDATES) {
            *fits = *fits && !quoted && looks_like(value) && text::value(value, candidate).is_ok();
        }
    }

    /// The column; one without a value is text.
    pub(super) fn column(self) -> Column {
        let found = self.fits.iter().zip(&CANDIDATES).find(|(fits, _)| **fits && self.seen);
        let column_type = found.map_or(ColumnType::String, |(_, (candidate, _))| candidate.clone());
        Column::new(&self.name, column_type, true)
    }
}

/// `t` and `1` are words and numbers first.
fn is_truth(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
}

/// A code such as `007` or `+49` would lose characters as a number.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value).as_bytes();
    let is_digit_or_point = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let leads_with_zero = matches!(digits, [b'0', b'0'..=b'9', ..]);
    digits.first().is_some_and(u8::is_ascii_digit) && digits.iter().all(is_digit_or_point) && !leads_with_zero
}

fn is_date(value: &str) -> bool {
    value.len() == DATE_CHARS && begins_with_date(value)
}

/// As in `2024-01-15`; a year alone is a number.
fn begins_with_date(value: &str) -> bool {
    let date = value.as_bytes().get(..DATE_CHARS).unwrap_or_default();
    let fits = |(at, byte): (usize, &u8)| if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() };
    date.len() == DATE_CHARS && date.iter().enumerate().all(fits)
}

const DATE_CHARS: usize = 10;

#[cfg(test)]
mod tests {
    use super::Guess;
    use lakebed_transaction::ColumnType;

    fn guessed(values: &[&str]) -> ColumnType {
        let mut guess = Guess::new("c".to_owned());
        values.iter().for_each(|value| guess.see(value, false));
        guess.column().column_type
    }

    #[test]
    fn a_type_is_taken_when_all_values_have_it() {
        assert_eq!(guessed(&["1", "", "-20", "9223372036854775807"]), ColumnType::Long);
        assert_eq!(guessed(&["1", "2.5"]), ColumnType::Double);
        assert_eq!(guessed(&["true", "FALSE", ""]), ColumnType::Boolean);
        assert_eq!(guessed(&["2024-02-29"]), ColumnType::Date);
        assert_eq!(guessed(&["2024-02-29", "2024-03-01 10:00:00"]), ColumnType::Timestamp);
        assert_eq!(guessed(&["2024-03-01T10:00:00Z"]), ColumnType::Timestamp);
    }

    #[test]
    fn what_would_lose_something_stays_text() {
        for values in [
            &["007"][..],
            &["+49"],
            &["9223372036854775808123456789012345678901234567890.5", "x"],
            &["2024-02-30"],
            &["1", "true"],
            &["1e5"],
            &["NaN"],
            &[""],
            &[],
            &["1.2.3"],
        ] {
            assert_eq!(guessed(values), ColumnType::String, "{values:?}");
        }
        let mut quoted = Guess::new("c".to_owned());
        quoted.see("12", true);
        assert_eq!(quoted.column().column_type, ColumnType::String);
    }
}
