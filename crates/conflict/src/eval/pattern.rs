//! LIKE.

use super::Value;
use lakebed_transaction::Scalar;

/// One element of a pattern.
#[derive(Clone, Copy, PartialEq)]
enum Element {
    Exactly(char),
    AnyOne,
    AnyMany,
}

/// What a LIKE pattern asks of the beginning of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// What every match begins with.
    pub(crate) text: String,
    /// What comes after it.
    pub(crate) rest: Rest,
}

/// What a pattern asks after its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: the text is the prefix.
    Nothing,
    /// Anything may follow.
    Anything,
    /// More than a prefix can say.
    More,
}

/// The prefix of a LIKE pattern.
pub(crate) fn prefix(pattern: &str, escape: char) -> Prefix {
    let elements = elements(pattern, escape);
    let exact = |element: &Element| if let Element::Exactly(c) = element { Some(*c) } else { None };
    let text: String = elements.iter().map_while(exact).collect();
    let rest = match elements.get(text.chars().count()..).unwrap_or_default() {
        [] => Rest::Nothing,
        rest if rest.iter().all(|element| *element == Element::AnyMany) => Rest::Anything,
        _ => Rest::More,
    };
    Prefix { text, rest }
}

/// Whether a text matches a LIKE pattern; only texts are bounded.
pub(crate) fn like(text: &Scalar, pattern: &Scalar, escape: char) -> Value {
    let (Scalar::String(text), Scalar::String(pattern)) = (text, pattern) else { return Value::Unbounded };
    let text: Vec<char> = text.chars().collect();
    Value::boolean(matches(&text, &elements(pattern, escape)))
}

fn elements(pattern: &str, escape: char) -> Vec<Element> {
    let mut out = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            _ if c == escape => Element::Exactly(chars.next().unwrap_or(escape)),
            '%' => Element::AnyMany,
            '_' => Element::AnyOne,
            _ => Element::Exactly(c),
        });
    }
    out
}

/// Greedy matching that goes back to the last `%` only, so that time stays quadratic at worst.
fn matches(text: &[char], pattern: &[Element]) -> bool {
    let (mut t, mut p) = (0, 0);
    let mut last_many: Option<(usize, usize)> = None;
    while let Some(c) = text.get(t) {
        match pattern.get(p) {
            Some(Element::AnyMany) => {
                last_many = Some((p + 1, t));
                p += 1;
            }
            Some(Element::AnyOne) => (t, p) = (t + 1, p + 1),
            Some(Element::Exactly(wanted)) if wanted == c => (t, p) = (t + 1, p + 1),
            Some(Element::Exactly(_)) | None => {
                let Some((after, from)) = last_many else { return false };
                last_many = Some((after, from + 1));
                (t, p) = (from + 1, after);
            }
        }
    }
    pattern.get(p..).is_none_or(|rest| rest.iter().all(|element| *element == Element::AnyMany))
}
