//! Identity of the paths of data files.
//!
//! Names, encodings and partition folders are `lakebed_naming::delta`'s business; this is only about when two spellings
//! in a log mean one file.

use lakebed_naming::delta::without_idle_segments;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// The text by which two spellings of one file are the same: percent-decoded once, `file:` dropped, empty and `.` segments left
/// out, as Spark compares.
///
/// A path whose escapes are no UTF-8 is taken as it is.
///
/// ```
/// assert_eq!(lakebed_delta::path::identity("file:///a/b%20c"), "/a/b c");
/// assert_eq!(lakebed_delta::path::identity("/a/./b c"), "/a/b c");
/// ```
#[must_use]
pub fn identity(raw: &str) -> Cow<'_, str> {
    // Of most paths nothing has to be looked at twice.
    if memchr::memchr3(b'%', b'/', b':', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let decoded = decode(raw);
    let scheme = decoded.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:"));
    if let Some(rest) = scheme.and_then(|scheme| decoded.get(scheme.len()..)) {
        let local = rest.strip_prefix("//").filter(|local| local.starts_with('/')).unwrap_or(rest);
        return Cow::Owned(without_idle_segments(local).into_owned());
    }
    // In front of a name in another store stands what is no path.
    if decoded.contains("://") {
        return decoded;
    }
    match without_idle_segments(&decoded) {
        Cow::Owned(plain) => Cow::Owned(plain),
        Cow::Borrowed(_) => decoded,
    }
}

fn decode(raw: &str) -> Cow<'_, str> {
    if !raw.contains('%') {
        return Cow::Borrowed(raw);
    }
    percent_decode_str(raw).decode_utf8().unwrap_or(Cow::Borrowed(raw))
}
