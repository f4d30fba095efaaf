//! Keeping secrets out of messages.
//!
//! Scheme, host, path and status stay, because a message without them helps nobody; user information, query strings and
//! fragments of URLs go, and so does every value that was handed in as a secret.

use std::fmt;

const TEXT_CHARS_MAX: usize = 1_000;
const AZURE: [&str; 3] = ["az", "abfs", "abfss"];
const HIDDEN: &str = "…";

/// A URL without user information, query string and fragment (the container of an Azure URL stays). Works on text that is no URL too (and then leaves it alone).
pub(crate) fn url(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    let Some(scheme) = scheme else {
        return rest.to_owned();
    };
    let body = rest.split(['?', '#']).next().unwrap_or_default();
    let authority_end = body.find('/').unwrap_or(body.len());
    let (authority, path) = body.split_at(authority_end);
    // Azure's schemes name the container where others have a user.
    let host = match authority.rsplit_once('@') {
        Some((container, _)) if AZURE.contains(&scheme) && !container.contains(':') => authority,
        Some((_, host)) => host,
        None => authority,
    };
    let mut clean = format!("{scheme}://{host}{path}");
    if body.len() < rest.len() {
        clean.push('?');
        clean.push_str(HIDDEN);
    }
    clean
}

/// Values that must never be shown, for whoever repeats what a server or a library said: [`crate::CommitIndex`]es and stores of your own.
///
/// ```
/// let secrets = lakebed_storage::Secrets::new(["hunter22".to_owned()]);
/// let said = "unknown command AUTH hunter22 at redis://me:x@host/0?sig=y";
/// assert_eq!(secrets.clean(said), "unknown command AUTH … at redis://host/0?…");
/// ```
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Takes the values; empty and very short ones are dropped, because hiding them would blank out ordinary words.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.len() >= 4).collect();
        // A secret that holds another one has to go first.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// Text of a foreign error, fit to be shown: URLs cleaned, secrets replaced, at most about a thousand characters.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("://") {
            let end = rest[at..]
                .find(|c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | ')' | '\'' | '`'))
                .map_or(rest.len(), |length| at + length);
            let start = rest[..at]
                .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
                .map_or(0, |before| before + rest[before..].chars().next().map_or(1, char::len_utf8));
            clean.push_str(&rest[..start]);
            clean.push_str(&url(&rest[start..end]));
            rest = &rest[end..];
        }
        clean.push_str(rest);
        for secret in &self.0 {
            if clean.contains(secret.as_str()) {
                clean = clean.replace(secret.as_str(), HIDDEN);
            }
        }
        if let Some((cut, _)) = clean.char_indices().nth(TEXT_CHARS_MAX) {
            clean.truncate(cut);
            clean.push_str(HIDDEN);
        }
        clean
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} hidden)", self.0.len())
    }
}

/// A foreign error reduced to its cleaned text. The original is dropped on purpose: its `Debug` and its sources may hold
/// what the text was cleaned of.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Told(pub(crate) String);

#[cfg(test)]
mod tests {
    use super::{Secrets, url};

    #[test]
    fn urls_keep_what_helps_and_lose_what_is_secret() {
        assert_eq!(url("https://u:SECRET@h.example:1/p/q?sig=SECRET#f"), "https://h.example:1/p/q?…");
        assert_eq!(url("s3://bucket/a b"), "s3://bucket/a b");
        assert_eq!(url("/plain/p@th"), "/plain/p@th");
        assert_eq!(url("abfss://box@me.dfs.core.windows.net/p"), "abfss://box@me.dfs.core.windows.net/p");
        assert_eq!(url("abfss://box:SECRET@me.dfs.core.windows.net/p"), "abfss://me.dfs.core.windows.net/p");
    }

    #[test]
    fn foreign_text_is_cleaned_in_every_place() {
        let secrets = Secrets::new(["SECRET1".to_owned(), "SECRET1LONGER".to_owned(), String::new()]);
        let text = "PUT \u{fc}https://me:SECRET2@host/p/x?X-Sig=SECRET3 in 3ms - <Key>SECRET1LONGER</Key> (http://h/?t=SECRET4)";
        let clean = secrets.clean(text);
        assert!(!clean.contains("SECRET"), "{clean}");
        assert!(clean.contains("https://host/p/x?… in 3ms"), "{clean}");
        assert!(clean.contains("(http://h/?…)"), "{clean}");
        assert_eq!(format!("{secrets:?}"), "Secrets(2 hidden)");
    }

    #[test]
    fn foreign_text_is_bounded() {
        assert!(Secrets::default().clean(&"ü".repeat(100_000)).chars().count() <= 1_001);
    }
}
