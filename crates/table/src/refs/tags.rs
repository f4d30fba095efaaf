//! Tags: names for versions.

use super::{bad_name, branch_of, damaged, document, files, put_new};
use crate::load::lance::other_scheme;
use crate::{Table, TableError};
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_naming::lance::{BranchName, TagName, manifest_path};
use lakebed_storage::{Listed, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The folder of tags.
const FOLDER: &str = "_refs/tags";

/// A name for a version. While it stands, no cleanup takes the version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tag {
    /// The name.
    #[serde(skip)]
    pub name: String,
    /// The branch of the version; `None` for the table's own line of versions.
    pub branch: Option<String>,
    /// The version.
    pub version: u64,
    /// When it was made, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it was last moved, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Bytes of the version's manifest.
    #[serde(default)]
    pub manifest_size: u64,
    /// Free texts.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// What else stands in its file.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Tag {
    fn decode(store: &dyn Store, name: &TagName, bytes: &Bytes) -> Result<Self, TableError> {
        let mut tag: Self = serde_json::from_slice(bytes).map_err(|error| damaged(store, &name.path(), &error))?;
        name.as_str().clone_into(&mut tag.name);
        Ok(tag)
    }
}

impl Table {
    /// The tags of the table, by name, those of versions on branches among them.
    ///
    /// # Errors
    /// The table is no Lance table, a tag cannot be read, or the store cannot be asked.
    pub async fn tags(&self) -> Result<Vec<Tag>, TableError> {
        self.lance_for_refs()?;
        let store = &**self.root_store();
        let mut tags = Vec::new();
        for (file, bytes) in files(store, FOLDER).await? {
            if let Some(name) = TagName::parse(&file) {
                tags.push(Tag::decode(store, &name, &bytes)?);
            }
        }
        Ok(tags)
    }

    /// The tag of this name.
    ///
    /// # Errors
    /// There is none, it cannot be read, or the store cannot be asked.
    pub async fn tag(&self, name: &str) -> Result<Tag, TableError> {
        self.lance_for_refs()?;
        self.read_tag(&TagName::new(name).map_err(bad_name)?).await.map(|(tag, _)| tag)
    }

    /// Gives a version of this handle's branch a name that is free.
    ///
    /// # Errors
    /// The name cannot be a tag's or is taken, the version is not there, or the store cannot be asked.
    pub async fn create_tag(&self, name: &str, version: u64) -> Result<Tag, TableError> {
        self.lance_for_refs()?;
        let name = TagName::new(name).map_err(bad_name)?;
        let branch = self.place.branch.as_ref().map(|(branch, _)| branch.clone());
        let now = self.now_text();
        let tag = Tag {
            name: name.as_str().to_owned(),
            manifest_size: self.manifest_of(branch.as_ref(), version).await?.size_bytes,
            branch: branch.map(|branch| branch.as_str().to_owned()),
            version,
            created_at: Some(now.clone()),
            updated_at: Some(now),
            metadata: BTreeMap::new(),
            other: Map::new(),
        };
        if put_new(&**self.root_store(), &name.path(), document(&tag)?).await? {
            // A cleanup that did not see the tag may have taken the version meanwhile.
            let branch = branch_of(tag.branch.as_deref())?;
            if let Err(gone) = self.manifest_of(branch.as_ref(), version).await {
                self.root_store().delete(&name.path()).await?;
                return Err(gone);
            }
            return Ok(tag);
        }
        Err(TableError::Invalid {
            problem: format!("there is a tag {name} already"),
            advice: "move it, or choose another name".to_owned(),
        })
    }

    /// Moves a tag to another version of its branch. Where the store can write on condition, a rival's move in between is seen.
    ///
    /// # Errors
    /// There is no such tag, somebody else moved it meanwhile, the version is not there, or the store cannot be asked.
    pub async fn move_tag(&self, name: &str, version: u64) -> Result<Tag, TableError> {
        self.lance_for_refs()?;
        let name = TagName::new(name).map_err(bad_name)?;
        let (mut tag, before) = self.read_tag(&name).await?;
        let branch = branch_of(tag.branch.as_deref())?;
        tag.manifest_size = self.manifest_of(branch.as_ref(), version).await?.size_bytes;
        tag.version = version;
        tag.updated_at = Some(self.now_text());
        if self.root_store().swap(&name.path(), &before, document(&tag)?).await? {
            return Ok(tag);
        }
        Err(TableError::Unavailable {
            root: self.root_store().root().to_owned(),
            problem: format!("somebody else moved or removed the tag {name} meanwhile"),
            advice: "look where it stands, and move it again".to_owned(),
        })
    }

    /// Removes a tag.
    ///
    /// # Errors
    /// There is no such tag, or the store cannot be asked.
    pub async fn remove_tag(&self, name: &str) -> Result<(), TableError> {
        self.lance_for_refs()?;
        let name = TagName::new(name).map_err(bad_name)?;
        let store = self.root_store();
        if store.head(&name.path()).await?.is_none() {
            return Err(no_tag(&**store, &name));
        }
        Ok(store.delete(&name.path()).await?)
    }

    async fn read_tag(&self, name: &TagName) -> Result<(Tag, Bytes), TableError> {
        let store = &**self.root_store();
        let bytes = store.get(&name.path()).await?.ok_or_else(|| no_tag(store, name))?;
        Ok((Tag::decode(store, name, &bytes)?, bytes))
    }

    /// The manifest of a version of a branch, as the store lists it.
    async fn manifest_of(&self, branch: Option<&BranchName>, version: u64) -> Result<Listed, TableError> {
        let store = &**self.root_store();
        let scheme = self.lance_for_refs()?.scheme;
        let version = Version::new(version);
        for scheme in [scheme, other_scheme(scheme)] {
            let path = manifest_path(scheme, version);
            let path = branch.map_or_else(|| path.clone(), |branch| format!("{}/{path}", branch.tree()));
            if let Some(listed) = store.head(&path).await? {
                return Ok(listed);
            }
        }
        Err(TableError::Unavailable {
            root: store.root().to_owned(),
            problem: match branch {
                Some(branch) => format!("branch {branch} has no version {version}"),
                None => format!("version {version} is not there"),
            },
            advice: "choose a version that `history` lists".to_owned(),
        })
    }

    fn now_text(&self) -> String {
        let micros = i64::try_from(self.place.clock.now_ms()).unwrap_or(i64::MAX).saturating_mul(1_000);
        lakebed_sql::print_timestamp(micros)
    }
}

fn no_tag(store: &dyn Store, name: &TagName) -> TableError {
    TableError::Unavailable {
        root: store.root().to_owned(),
        problem: format!("there is no tag {name}"),
        advice: "list the tags that there are".to_owned(),
    }
}
