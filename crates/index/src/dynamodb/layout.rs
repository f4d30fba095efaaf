//! The two layouts of rows that other clients have made.

use lakebed_naming::delta::{LOG_FOLDER, LogName};
use lakebed_naming::lance::{ManifestName, VERSIONS_FOLDER};
use lakebed_storage::{Entry, Keeps};
use serde_json::{Value, json};

/// How long Spark's store keeps a completed entry, in seconds.
const SPARK_KEEPS_S: u64 = 86_400;

/// The form of the rows in a DynamoDB table, which its key gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// pylance's: hash key `base_uri` (S), range key `version` (N); `path` (S, where the manifest is: staged or final), `size`
    /// (N), `committer` (S).
    ///
    /// **`base_uri` is the path without the bucket**, so two tables of one path in two buckets that share a DynamoDB table
    /// take each other's rows for their own. Give each bucket a DynamoDB table of its own.
    Lance,
    /// Spark's: hash key `tablePath` (S, the table's URL as Spark spells it), range key `fileName` (S); `tempPath` (S, relative to
    /// `_delta_log`), `complete` (S, `true` or `false`), `expireTime` (N, seconds since 1970, on complete entries).
    Delta,
}

/// A row's place in the table: the keys' values, and the folder that its names are relative to.
pub(super) struct Place {
    /// Hash and range key as DynamoDB takes them.
    pub(super) key: Value,
    /// The value of the hash key.
    pub(super) of: String,
    /// What comes before the names of the row: empty, or with its `/`.
    pub(super) folder: String,
}

impl Layout {
    /// Names of the hash and the range key.
    pub(super) const fn keys(self) -> (&'static str, &'static str) {
        match self {
            Self::Lance => ("base_uri", "version"),
            Self::Delta => ("tablePath", "fileName"),
        }
    }

    /// Which names it has a place for.
    pub(super) fn keeps(self, name: &str) -> Keeps {
        match (self, entry_of(name)) {
            (Self::Lance, Some((_, _, Row::Manifest(_)))) | (Self::Delta, Some((_, _, Row::Commit))) => Keeps::Name,
            (Self::Lance, Some((_, _, Row::Commit))) | (Self::Delta, Some((_, _, Row::Manifest(_)))) => Keeps::Unfit,
            (_, None) => Keeps::Aside,
        }
    }

    /// Where an object is staged.
    pub(super) fn staged(self, name: &str, id: &str) -> String {
        match (self, entry_of(name)) {
            (Self::Delta, Some((folder, file, _))) => format!("{folder}{LOG_FOLDER}/.tmp/{file}.{id}"),
            (Self::Delta | Self::Lance, _) => format!("{name}-{id}"),
        }
    }

    /// The name for which an object of this name may have been staged.
    pub(super) fn staged_for(self, staged: &str) -> Option<String> {
        match self {
            Self::Lance => final_name(staged),
            Self::Delta => {
                let (folder, file) = staged.rsplit_once("/.tmp/")?;
                let (file, _) = file.rsplit_once('.')?;
                folder.ends_with(LOG_FOLDER).then(|| format!("{folder}/{file}"))
            }
        }
    }

    /// The place of a name; `None` when the layout does not keep it.
    pub(super) fn place(self, table: &str, name: &str, scheme: &str) -> Option<Place> {
        let (folder, file, row) = entry_of(name)?;
        let of = self.hash_key(table, folder, scheme);
        let (hash, range) = self.keys();
        let range_value = match row {
            Row::Manifest(version) => json!({"N": version.to_string()}),
            Row::Commit => json!({"S": file}),
        };
        Some(Place { key: json!({hash: {"S": of}, range: range_value}), of, folder: folder.to_owned() })
    }

    /// The value of the hash key of a folder of the table.
    pub(super) fn hash_key(self, table: &str, folder: &str, scheme: &str) -> String {
        let url = format!("{table}/{folder}");
        let url = url.trim_end_matches('/');
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        match self {
            Self::Lance => rest.split_once('/').map_or("", |(_, path)| path).to_owned(),
            Self::Delta if url.starts_with("s3://") => format!("{scheme}://{rest}"),
            Self::Delta => url.to_owned(),
        }
    }

    /// The whole row of an entry.
    pub(super) fn item(self, place: &Place, entry: &Entry, now_s: u64) -> Value {
        let mut item = place.key.clone();
        let object = if entry.confirmed { &entry.name } else { &entry.staged };
        let object = object.strip_prefix(&place.folder).unwrap_or(object);
        let fields = match self {
            Self::Lance => json!({
                "path": {"S": format!("{}/{object}", place.of)},
                "size": {"N": entry.size_bytes.to_string()},
                "committer": {"S": "lancedb"},
            }),
            Self::Delta => {
                let staged = entry.staged.strip_prefix(&place.folder).unwrap_or(&entry.staged);
                let temporary = staged.strip_prefix(LOG_FOLDER).map_or(staged, |rest| rest.trim_start_matches('/'));
                let mut fields = json!({
                    "tempPath": {"S": temporary},
                    "complete": {"S": entry.confirmed.to_string()},
                });
                if entry.confirmed {
                    fields["expireTime"] = json!({"N": (now_s + SPARK_KEEPS_S).to_string()});
                }
                fields
            }
        };
        if let (Value::Object(item), Value::Object(fields)) = (&mut item, fields) {
            item.extend(fields);
        }
        item
    }

    /// The field by which a row is told from another of the same key, and its value for this entry.
    pub(super) fn mark(self, place: &Place, entry: &Entry) -> (&'static str, Value) {
        let item = self.item(place, entry, 0);
        let field = match self {
            Self::Lance => "path",
            Self::Delta => "tempPath",
        };
        (field, item[field].clone())
    }

    /// The entry that a row is; `None` when the row is not one of this layout. `of` and `folder` are as in [`Place`].
    pub(super) fn entry(self, item: &Value, of: &str, folder: &str, name: Option<&str>) -> Option<Entry> {
        let text = |field: &str| item.get(field)?.get("S")?.as_str();
        match self {
            Self::Lance => {
                let path = text("path")?;
                let object = path.strip_prefix(of).unwrap_or(path).trim_start_matches('/');
                let object = format!("{folder}{object}");
                let size_bytes = item.get("size").and_then(|size| size.get("N")?.as_str()?.parse().ok()).unwrap_or(0);
                let confirmed = object.ends_with(".manifest");
                let target = if confirmed { object.clone() } else { final_name(&object)? };
                let name = name.map_or(target, str::to_owned);
                Some(Entry { name, staged: object, size_bytes, confirmed })
            }
            Self::Delta => {
                let file = text("fileName")?;
                let name = format!("{folder}{LOG_FOLDER}/{file}");
                let staged = format!("{folder}{LOG_FOLDER}/{}", text("tempPath")?);
                Some(Entry { name, staged, size_bytes: 0, confirmed: text("complete")? == "true" })
            }
        }
    }
}

/// A staged manifest's final name: `<final>-<uuid>`.
fn final_name(staged: &str) -> Option<String> {
    let (folder, file) = staged.rsplit_once('/')?;
    match ManifestName::parse(file) {
        ManifestName::Staged { .. } => {
            let (target, _) = file.split_once(".manifest-")?;
            Some(format!("{folder}/{target}.manifest"))
        }
        ManifestName::Version { .. }
        | ManifestName::Detached(_)
        | ManifestName::Hint
        | ManifestName::Temporary
        | ManifestName::Other => None,
    }
}

/// What a name is to a layout.
enum Row {
    /// A version of a Lance table.
    Manifest(u64),
    /// A version of a Delta table.
    Commit,
}

/// A log entry's folder (empty, or with its `/`), its file, and what it is; `None` for any other name.
fn entry_of(name: &str) -> Option<(&str, &str, Row)> {
    let (path, file) = name.rsplit_once('/')?;
    let folder = |log: &str| path.strip_suffix(log).filter(|folder| folder.is_empty() || folder.ends_with('/'));
    if let (Some(folder), ManifestName::Version { version, .. }) = (folder(VERSIONS_FOLDER), ManifestName::parse(file))
    {
        return Some((folder, file, Row::Manifest(version.get())));
    }
    if let (Some(folder), LogName::Commit(_)) = (folder(LOG_FOLDER), LogName::parse(file)) {
        return Some((folder, file, Row::Commit));
    }
    None
}
