//! LIKE.

/// A pattern, taken apart once for all rows.
#[derive(Debug)]
pub(super) struct Pattern(Vec<Token>);

#[derive(Debug, PartialEq)]
enum Token {
    /// `%`
    Any,
    /// `_`
    One,
    Is(char),
}

impl Pattern {
    /// `None` where the escape character stands before something that needs no escape, or at the end, as in Spark.
    pub(super) fn new(text: &str, escape: char) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            tokens.push(if character == escape {
                let next = characters.next()?;
                if next != '%' && next != '_' && next != escape {
                    return None;
                }
                Token::Is(next)
            } else if character == '%' {
                Token::Any
            } else if character == '_' {
                Token::One
            } else {
                Token::Is(character)
            });
        }
        Some(Self(tokens))
    }

    /// Whether the whole text matches. Where a `%` took too little it takes one more character; only the last `%` needs to
    /// be tried again, so the work is at most length times length.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut rest = text;
        let mut at = 0;
        let mut retry: Option<(usize, &str)> = None;
        loop {
            match (self.0.get(at), rest.chars().next()) {
                (Some(Token::Any), _) => {
                    at += 1;
                    retry = Some((at, rest));
                    continue;
                }
                (None, None) => return true,
                (Some(Token::One), Some(character)) => {
                    at += 1;
                    rest = skip(rest, character);
                    continue;
                }
                (Some(Token::Is(wanted)), Some(character)) if *wanted == character => {
                    at += 1;
                    rest = skip(rest, character);
                    continue;
                }
                (Some(Token::One | Token::Is(_)), _) | (None, Some(_)) => {}
            }
            let Some((from, taken)) = retry else { return false };
            let Some(character) = taken.chars().next() else { return false };
            rest = skip(taken, character);
            at = from;
            retry = Some((from, rest));
        }
    }
}

fn skip(text: &str, character: char) -> &str {
    text.get(character.len_utf8()..).unwrap_or("")
}
