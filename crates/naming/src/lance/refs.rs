//! Tags and branches.

use std::fmt;

use crate::NameError;

const TAGS: &str = "_refs/tags/";
const BRANCHES: &str = "_refs/branches/";
const TREE: &str = "tree/";
const SUFFIX: &str = ".json";

/// The name of a tag, checked: alphanumerics, `.`, `-` and `_`; no dot at either end, no `..`, not ending in `.lock`.
///
/// ```
/// use lakebed_naming::lance::TagName;
///
/// assert_eq!(TagName::new("v1.0").unwrap().path(), "_refs/tags/v1.0.json");
/// assert_eq!(TagName::new("été").unwrap().path(), "_refs/tags/%C3%A9t%C3%A9.json");
/// assert!(TagName::new(".hidden").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TagName(String);

impl TagName {
    /// Checks a tag's name.
    ///
    /// # Errors
    ///
    /// [`NameError::Ref`] says which rule the name breaks.
    pub fn new(name: &str) -> Result<Self, NameError> {
        match tag_fault(name) {
            None => Ok(Self(name.to_owned())),
            Some(reason) => Err(NameError::Ref { kind: "tag", name: name.to_owned(), reason }),
        }
    }

    /// Reads the bare name of a file in `_refs/tags/`; `None` when it is not a tag's.
    #[must_use]
    pub fn parse(file_name: &str) -> Option<Self> {
        Self::new(&decoded(file_name.strip_suffix(SUFFIX)?)?).ok()
    }

    /// The tag's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of its file, relative to the root of the table (never of a branch).
    #[must_use]
    pub fn path(&self) -> String {
        format!("{TAGS}{}{SUFFIX}", encoded(&self.0))
    }
}

impl fmt::Display for TagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a branch, checked: segments of alphanumerics, `.`, `-` and `_` with single slashes between them; no `..`,
/// not ending in `.lock`, and not `main`, which is the table itself. A segment that is a lone dot is refused too, since
/// no path can hold it.
///
/// ```
/// use lakebed_naming::lance::BranchName;
///
/// let branch = BranchName::new("team/try-1").unwrap();
/// assert_eq!(branch.path(), "_refs/branches/team%2Ftry-1.json");
/// assert_eq!(BranchName::new("ä/ö").unwrap().path(), "_refs/branches/%C3%A4%2F%C3%B6.json");
/// assert_eq!(branch.tree(), "tree/team/try-1");
/// assert!(BranchName::new("main").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BranchName(String);

impl BranchName {
    /// Checks a branch's name.
    ///
    /// # Errors
    ///
    /// [`NameError::Ref`] says which rule the name breaks.
    pub fn new(name: &str) -> Result<Self, NameError> {
        match branch_fault(name) {
            None => Ok(Self(name.to_owned())),
            Some(reason) => Err(NameError::Ref { kind: "branch", name: name.to_owned(), reason }),
        }
    }

    /// Reads the bare name of a file in `_refs/branches/`; `None` when it is not a branch's.
    #[must_use]
    pub fn parse(file_name: &str) -> Option<Self> {
        Self::new(&decoded(file_name.strip_suffix(SUFFIX)?)?).ok()
    }

    /// The branch's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of its file, relative to the root of the table (never of a branch).
    #[must_use]
    pub fn path(&self) -> String {
        format!("{BRANCHES}{}{SUFFIX}", encoded(&self.0))
    }

    /// The folder that holds the branch: a whole table of its own, relative to the root of the table.
    #[must_use]
    pub fn tree(&self) -> String {
        format!("{TREE}{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name as it stands in the name of its file: slashes, and all that is not ASCII, are percent-encoded.
fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte == b'/' || !byte.is_ascii() {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

/// The name in the name of a file; `None` where no name is encoded like this.
fn decoded(file: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(file.len());
    let mut rest = file.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    // One name has one file.
    (encoded(&name) == file).then_some(name)
}

fn tag_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.starts_with('.') || name.ends_with('.') {
        Some("it starts or ends with a dot")
    } else if !name.chars().all(is_allowed) {
        Some("only letters, digits, '.', '-' and '_' are allowed")
    } else {
        common_fault(name)
    }
}

fn branch_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.starts_with('/') || name.ends_with('/') || name.contains("//") {
        Some("a slash may only stand between two segments")
    } else if name == "main" {
        Some("it is the table's own line of versions")
    } else if !name.chars().all(|c| c == '/' || is_allowed(c)) {
        Some("only letters, digits, '.', '-', '_' and single slashes are allowed")
    } else if name.split('/').any(|segment| segment == ".") {
        Some("a segment is a lone dot")
    } else {
        common_fault(name)
    }
}

fn common_fault(name: &str) -> Option<&'static str> {
    if name.contains("..") {
        Some("it contains '..'")
    } else if name.ends_with(".lock") {
        Some("it ends in '.lock'")
    } else {
        None
    }
}

fn is_allowed(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | '_')
}
