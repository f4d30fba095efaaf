//! Bounds of strings, shortened so that they stay bounds.

/// Characters that a bound keeps.
const LENGTH: usize = 32;

/// UTF-16 units up to which a maximum may grow where greatest characters stand at the cut.
const LENGTH_MAX: usize = 2 * LENGTH;

/// The lower bound of a string in Spark's form: its first 32 code points.
///
/// ```
/// assert_eq!(lakebed_data::truncate_min(&"a".repeat(40)), "a".repeat(32));
/// ```
#[must_use]
pub fn truncate_min(text: &str) -> &str {
    text.char_indices().nth(LENGTH).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// The upper bound of a string in Spark's form: cut at 32 UTF-16 units (33 where that would split a character), followed
/// by a character that is greater than what was cut off. `None` where there is no such string within 64 units.
///
/// ```
/// let bound = lakebed_data::truncate_max(&"a".repeat(40)).unwrap();
/// assert_eq!(bound, format!("{}\u{7f}", "a".repeat(32)));
/// ```
#[must_use]
pub fn truncate_max(text: &str) -> Option<String> {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        // Nothing is greater than the greatest character, so it stays and the cut comes after it.
        if units >= LENGTH && character != char::MAX {
            let tie_breaker = if character < '\u{7f}' { '\u{7f}' } else { char::MAX };
            return Some(format!("{}{tie_breaker}", text.get(..at)?));
        }
        units += character.len_utf16();
        if units > LENGTH_MAX {
            return None;
        }
    }
    Some(text.to_owned())
}
