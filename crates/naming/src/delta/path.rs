//! Paths of data files, in the log and in the store.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::uuid::hex_pairs;
use crate::{NameError, Uuid};

/// What stands for NULL in the name of a partition's folder.
pub const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// The object that the `path` of an add, remove or cdc action (or of a sidecar) names.
///
/// In the log a path is a URI reference, so it is percent-decoded, once. Two spellings of one path are the same file; an
/// action that refers to a file again copies the first spelling byte for byte.
///
/// ```
/// use lakebed_naming::delta::{DataPath, encode_path};
///
/// let relative = DataPath::decode("s=a%2520b%252F/part-0.parquet").unwrap();
/// assert_eq!(relative, DataPath::Relative("s=a%20b%2F/part-0.parquet".to_owned()));
/// assert_eq!(encode_path("s=a%20b%2F/part-0.parquet"), "s=a%2520b%252F/part-0.parquet");
/// assert_eq!(DataPath::decode("s3://b/x%20y").unwrap(), DataPath::Absolute("s3://b/x%20y".to_owned()));
/// assert!(DataPath::decode("../other/x.parquet").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DataPath {
    /// The name relative to the table's root, decoded, without the empty and `.` segments that say nothing.
    Relative(String),
    /// A URI or a path from the root of the store, as it stands in the log, **not** decoded: only the opener of its scheme
    /// knows which of it is a name. Shallow clones have these.
    Absolute(String),
}

impl DataPath {
    /// Reads a path of the log.
    ///
    /// # Errors
    ///
    /// [`NameError::Path`] when it is empty, has a broken percent escape, does not decode to UTF-8, or climbs out of the
    /// table with `..`.
    pub fn decode(path: &str) -> Result<Self, NameError> {
        let fault = |reason| NameError::Path { path: path.to_owned(), reason };
        if path.is_empty() {
            return Err(fault("it is empty"));
        }
        if path.starts_with('/') || has_scheme(path) {
            return Ok(Self::Absolute(path.to_owned()));
        }
        let mut bytes = Vec::with_capacity(path.len());
        let mut rest = path.as_bytes();
        while let Some((byte, tail)) = rest.split_first() {
            rest = tail;
            if *byte == b'%' {
                let (digits, tail) = rest.split_at_checked(2).ok_or_else(|| fault("a percent escape is cut short"))?;
                let [decoded] = hex_pairs(digits)
                    .ok_or_else(|| fault("a percent sign is not followed by two hexadecimal digits"))?;
                bytes.push(decoded);
                rest = tail;
            } else {
                bytes.push(*byte);
            }
        }
        let decoded = String::from_utf8(bytes).map_err(|_| fault("it does not decode to UTF-8"))?;
        if decoded.split('/').any(|segment| segment == "..") {
            return Err(fault("it climbs out of its folder with '..'"));
        }
        let plain = without_idle_segments(&decoded);
        if plain.is_empty() { Err(fault("it names no file")) } else { Ok(Self::Relative(plain.into_owned())) }
    }
}

/// A path without its empty and `.` segments, as a URI is normalised: `./a//b` is `a/b`. One that starts with `/` still does.
///
/// ```
/// use lakebed_naming::delta::without_idle_segments;
///
/// assert_eq!(without_idle_segments("./a//b/./c"), "a/b/c");
/// assert_eq!(without_idle_segments("/a/.b/c."), "/a/.b/c.");
/// ```
#[must_use]
pub fn without_idle_segments(path: &str) -> Cow<'_, str> {
    let is_idle = |segment: &str| matches!(segment, "" | ".");
    let (root, inside) = path.split_at(usize::from(path.starts_with('/')));
    if !inside.split('/').any(is_idle) {
        return Cow::Borrowed(path);
    }
    let says: Vec<&str> = inside.split('/').filter(|segment| !is_idle(segment)).collect();
    Cow::Owned(format!("{root}{}", says.join("/")))
}

/// The spelling in the log of a name relative to the table's root: what a URI could misread, and everything outside ASCII,
/// is percent-encoded; `/` and `=` stay.
#[must_use]
pub fn encode_path(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~=/!$&'()*+,;@".contains(&byte) {
            path.push(char::from(byte));
        } else {
            push_escape(&mut path, byte);
        }
    }
    path
}

/// The folder of one partition column's value, `<column>=<value>`, escaped as Hive does (and so does Spark): characters that
/// a path could misread become `%` and two hexadecimal digits, everything else stays. `None` is NULL. In the log the name is then
/// percent-encoded once more, by [`encode_path`].
///
/// ```
/// use lakebed_naming::delta::{encode_path, partition_folder};
///
/// assert_eq!(partition_folder("k", Some("a/b")), "k=a%2Fb");
/// assert_eq!(encode_path(&partition_folder("k", Some("with space"))), "k=with%20space");
/// assert_eq!(partition_folder("k", None), "k=__HIVE_DEFAULT_PARTITION__");
/// ```
#[must_use]
pub fn partition_folder(column: &str, value: Option<&str>) -> String {
    let mut folder = String::with_capacity(column.len() + 8);
    hive_escape(&mut folder, column);
    folder.push('=');
    match value {
        // NULL and the empty text are one partition value in Delta.
        None | Some("") => folder.push_str(NULL_PARTITION),
        Some(value) => hive_escape(&mut folder, value),
    }
    folder
}

/// The file name of a new data file: `part-<5 digits>-<uuid>-c000.<compression>.parquet`, with `compression` as in "snappy".
/// Readers take any name that starts with neither `_` nor `.`.
#[must_use]
pub fn data_file(part: u32, id: Uuid, compression: &str) -> String {
    format!("part-{part:05}-{id}-c000.{compression}.parquet")
}

fn hive_escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii_control() || b"\"#%'*/:=?\\{[]}^".contains(&byte) => push_escape(out, byte),
            Ok(_) | Err(_) => out.push(character),
        }
    }
}

fn push_escape(out: &mut String, byte: u8) {
    // Writing to a string cannot fail; the result carries nothing.
    let _ = write!(out, "%{byte:02X}");
}

/// A scheme as in RFC 3986: a letter, then letters, digits, `+`, `-` and `.`, then a colon.
fn has_scheme(path: &str) -> bool {
    path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}
