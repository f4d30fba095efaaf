//! Any name below a Lance table's root.

use super::files::{DataFileName, DeletionFileName, TransactionFileName};
use super::manifest::ManifestName;
use super::refs::{BranchName, TagName};
use crate::Uuid;

/// What an object is, by its name relative to the table's root.
///
/// ```
/// use lakebed_naming::lance::{ManifestName, TableName};
///
/// assert_eq!(TableName::parse("_versions/latest_version_hint.json"), TableName::Manifest(ManifestName::Hint));
/// assert_eq!(TableName::parse("tree/dev/_versions/1.manifest"), TableName::InTree { rest: "dev/_versions/1.manifest" });
/// assert_eq!(TableName::parse("notes.txt"), TableName::Other);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableName<'a> {
    /// A direct child of `_versions/` (which may be a stray file: see [`ManifestName::Other`]).
    Manifest(ManifestName),
    /// A transaction file.
    Transaction(TransactionFileName),
    /// A deletion file.
    Deletion(DeletionFileName),
    /// Anything under `data/`: data files and their blob side files. Only the manifest says which of them belong.
    Data {
        /// The path below `data/`, as a manifest's `DataFile.path` holds it.
        path: &'a str,
        /// The id, where the name is spelled as Lance's own writers do.
        name: Option<DataFileName>,
    },
    /// A file of one index segment.
    Index {
        /// The segment.
        id: Uuid,
        /// The path below the segment's folder.
        path: &'a str,
    },
    /// The file of a tag.
    Tag(TagName),
    /// The file of a branch.
    Branch(BranchName),
    /// Something in a branch's own table. Where the branch's name ends cannot be told from the path alone, because a branch
    /// may hold slashes and may be called like a folder of a table: match against [`BranchName::tree`].
    InTree {
        /// The path below `tree/`.
        rest: &'a str,
    },
    /// Left by a write that did not finish.
    Temporary,
    /// None of these; ignored by readers and writers.
    Other,
}

impl<'a> TableName<'a> {
    /// Reads a name relative to the table's root.
    #[must_use]
    pub fn parse(path: &'a str) -> Self {
        let Some((folder, rest)) = path.split_once('/') else { return Self::Other };
        let found = match folder {
            "_transactions" | "_deletions" | "_indices" | "data" if is_hidden_temporary(rest) => Some(Self::Temporary),
            "_versions" => direct(rest).map(|file| match ManifestName::parse(file) {
                ManifestName::Temporary => Self::Temporary,
                name @ (ManifestName::Version { .. }
                | ManifestName::Detached(_)
                | ManifestName::Staged { .. }
                | ManifestName::Hint
                | ManifestName::Other) => Self::Manifest(name),
            }),
            "_transactions" => TransactionFileName::parse(rest).map(Self::Transaction),
            "_deletions" => DeletionFileName::parse(rest).map(Self::Deletion),
            "data" => (!rest.is_empty()).then(|| Self::Data { path: rest, name: DataFileName::parse(rest) }),
            "_indices" => parse_index(rest),
            "_refs" => parse_ref(rest),
            "tree" => (!rest.is_empty()).then_some(Self::InTree { rest }),
            _ => None,
        };
        match found {
            Some(name) => name,
            None if is_staging(path) => Self::Temporary,
            None => Self::Other,
        }
    }
}

fn direct(rest: &str) -> Option<&str> {
    (!rest.is_empty() && !rest.contains('/')).then_some(rest)
}

fn parse_index(rest: &str) -> Option<TableName<'_>> {
    let (id, path) = rest.split_once('/')?;
    let id = Uuid::parse(id)?;
    (!path.is_empty()).then_some(TableName::Index { id, path })
}

fn parse_ref(rest: &str) -> Option<TableName<'_>> {
    let (kind, file) = rest.split_once('/')?;
    match kind {
        "tags" => TagName::parse(file).map(TableName::Tag),
        "branches" => BranchName::parse(file).map(TableName::Branch),
        _ => None,
    }
}

/// `.tmp…`: what Lance's local writers and ours call a file until it is whole.
fn is_hidden_temporary(rest: &str) -> bool {
    rest.starts_with(".tmp") || rest.rsplit_once('/').is_some_and(|(_, file)| file.starts_with(".tmp"))
}

/// `<name>#<n>` of local puts and `<name>.tmp.<uuid>` of local renames.
fn is_staging(path: &str) -> bool {
    let numbered = path.rsplit_once('#').is_some_and(|(_, n)| crate::digits::plain(n).is_some());
    let renamed = path.rsplit_once(".tmp.").is_some_and(|(_, id)| Uuid::parse(id).is_some());
    numbered || renamed
}
