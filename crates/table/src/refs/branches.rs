//! Branches: further lines of versions, each a whole table below `tree/` whose first version is a clone.

use super::{bad_name, branch_of, damaged, document, files, put_new};
use crate::clock::Clock;
use crate::commit::Givers;
use crate::create::{Place, fresh_id};
use crate::load::list_all;
use crate::snapshot::{LanceVersion, Snapshot};
use crate::{CommitOptions, OpenOptions, Table, TableError, TableFormat, VersionSpec};
use lakebed_lance::transaction::{CloneSource, Head, shallow_clone};
use lakebed_lance::{LanceFormat, Pending};
use lakebed_naming::lance::{BranchName, Scheme, VERSIONS_FOLDER, manifest_path};
use lakebed_storage::{Below, Store};
use lakebed_transaction::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The folder of branches.
const FOLDER: &str = "_refs/branches";

/// Objects removed by one request, where a store removes several at once.
const REMOVED_AT_ONCE: usize = 1_000;

/// A further line of versions beside the table's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Branch {
    /// The name.
    #[serde(skip)]
    pub name: String,
    /// The branch that it was made of; `None` for the table's own line of versions.
    pub parent_branch: Option<String>,
    /// Where it and its parents left their parents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<Identifier>,
    /// The version that it was made of, which is its first.
    pub parent_version: u64,
    /// When it was made, in seconds since 1970.
    #[serde(default)]
    pub create_at: u64,
    /// Bytes of its first manifest.
    #[serde(default)]
    pub manifest_size: u64,
    /// Free texts.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// What else stands in its file.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Where a branch and its parents left their parents, from the table on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identifier {
    /// The version that was left, and an id for the branch that began there (a UUID without hyphens).
    pub version_mapping: Vec<(u64, String)>,
}

impl Table {
    /// The branches of the table, by name.
    ///
    /// # Errors
    /// The table is no Lance table, the file of a branch cannot be read, or the store cannot be asked.
    pub async fn branches(&self) -> Result<Vec<Branch>, TableError> {
        self.lance_for_refs()?;
        branches(&**self.root_store()).await
    }

    /// The table's own line of versions (`main`), or the branch of this name, opened at its newest version.
    ///
    /// # Errors
    /// There is no such branch, or what lies there is another, or it cannot be read.
    pub async fn checkout(&self, branch: &str) -> Result<Self, TableError> {
        self.lance_for_refs()?;
        let root = Arc::clone(self.root_store());
        let options = OpenOptions {
            format: Some(TableFormat::Lance),
            isolated: true,
            lance_files: self.place.lance_files.clone(),
            ..OpenOptions::default()
        };
        let Some(name) = branch_of(Some(branch))? else {
            let place = Place { metrics: self.place.metrics.clone(), ..Place::new(root, Arc::default(), &options) };
            return Self::open_at(place, &options).await;
        };
        if root.head(&name.path()).await?.is_none() {
            return Err(no_branch(&*root, &name));
        }
        let place = Place { metrics: self.place.metrics.clone(), ..at_branch(&root, &name)? };
        Self::open_at(place, &options).await?.on_branch(&name)
    }

    /// Makes a branch of a version of this handle's line of versions, and opens it. Its first version keeps the number of that
    /// version, and its files stay where they are: a table that has branches cannot be moved.
    ///
    /// # Errors
    /// The name cannot be a branch's or is taken, the version is not there, or the store cannot be asked.
    pub async fn create_branch(
        &self,
        name: &str,
        from: VersionSpec,
        options: &CommitOptions,
    ) -> Result<Self, TableError> {
        self.lance_for_refs()?;
        let name = BranchName::new(name).map_err(bad_name)?;
        let Snapshot::Lance(source) = self.at(from).await? else { return Err(self.vanished()) };
        let root = Arc::clone(self.root_store());
        let place = Place {
            lance_files: self.place.lance_files.clone(),
            metrics: self.place.metrics.clone(),
            ..at_branch(&root, &name)?
        };
        self.refuse_taken(&name, &*place.store).await?;
        let (parent, identifier) = self.parentage(&source).await?;
        let table = place.clone_here(&source, &name, self.source_of(&source, parent.as_ref()), options).await?;
        let version = source.snapshot.version();
        let size = table.store().head(&manifest_path(Scheme::V2, version)).await?.map_or(0, |listed| listed.size_bytes);
        let branch = Branch {
            name: name.as_str().to_owned(),
            parent_branch: parent.map(|parent| parent.as_str().to_owned()),
            identifier: Some(identifier),
            parent_version: version.get(),
            create_at: self.place.clock.now_ms() / 1_000,
            manifest_size: size,
            metadata: BTreeMap::new(),
            other: Map::new(),
        };
        if !put_new(&*root, &name.path(), document(&branch)?).await? {
            return Err(taken(&name));
        }
        // A cleanup that did not see the branch may have taken the version, and its files, meanwhile.
        let first = manifest_path(source.scheme, version);
        if self.store().head(&first).await?.is_none() {
            root.delete(&name.path()).await?;
            return Err(TableError::Unavailable {
                root: root.root().to_owned(),
                problem: format!("version {version} was removed while branch {name} was made of it"),
                advice: "remove the branch, and make it of a version that stays".to_owned(),
            });
        }
        Ok(table)
    }

    /// Removes a branch with everything that lies in it; also what is left of one whose making was broken off.
    ///
    /// # Errors
    /// A tag or another branch refers to it, there is no such branch, or the store cannot be asked.
    pub async fn remove_branch(&self, name: &str) -> Result<(), TableError> {
        self.lance_for_refs()?;
        let name = BranchName::new(name).map_err(bad_name)?;
        let store = &**self.root_store();
        let others = branches(store).await?;
        let objects = own_objects(store, &name, &others).await?;
        if objects.is_empty() && others.iter().all(|branch| branch.name != name.as_str()) {
            return Err(no_branch(store, &name));
        }
        let tag = self.tags().await?.into_iter().find(|tag| tag.branch.as_deref() == Some(name.as_str()));
        let child = others.iter().find(|branch| branch.parent_branch.as_deref() == Some(name.as_str()));
        let user = tag.map(|tag| format!("tag {}", tag.name));
        if let Some(user) = user.or_else(|| child.map(|child| format!("branch {}", child.name))) {
            return Err(TableError::Invalid {
                problem: format!("{user} refers to branch {name}"),
                advice: format!("remove {user} first"),
            });
        }
        // Nobody is to find a branch whose files are going.
        store.delete(&name.path()).await?;
        for some in objects.chunks(REMOVED_AT_ONCE) {
            store.delete_all(some).await?;
        }
        Ok(())
    }

    /// The handle, once it is sure that what was opened is the branch.
    pub(crate) fn on_branch(self, name: &BranchName) -> Result<Self, TableError> {
        let says = self.lance_for_refs()?.snapshot.header().branch.clone();
        if says.as_deref() == Some(name.as_str()) {
            return Ok(self);
        }
        Err(TableError::Unavailable {
            root: self.store().root().to_owned(),
            problem: format!("what lies there says that it is branch {says:?}, not {name}"),
            advice: "remove the branch and make it anew".to_owned(),
        })
    }

    /// The handle with the table that a branch belongs to, where the place of a branch was opened by its own path.
    pub(crate) fn below_its_table(self, url: &str, options: &OpenOptions) -> Result<Self, TableError> {
        let Snapshot::Lance(held) = &self.snapshot else { return Ok(self) };
        let name = held.snapshot.header().branch.as_deref().and_then(|name| BranchName::new(name).ok());
        let Some(name) = name else { return Ok(self) };
        let Some(root) = url.trim_end_matches('/').strip_suffix(&format!("/{}", name.tree())) else { return Ok(self) };
        let root = options.open_store(root)?;
        let place = Place {
            shared: Arc::clone(&self.place.shared),
            lance_files: self.place.lance_files.clone(),
            metrics: self.place.metrics.clone(),
            ..at_branch(&root, &name)?
        };
        Ok(Self { place: Arc::new(place), ..self })
    }

    async fn refuse_taken(&self, name: &BranchName, tree: &dyn Store) -> Result<(), TableError> {
        if self.root_store().head(&name.path()).await?.is_some() {
            return Err(taken(name));
        }
        if tree.list(VERSIONS_FOLDER, None, 1).await?.is_empty() {
            return Ok(());
        }
        Err(TableError::Invalid {
            problem: format!("there is something in the place of branch {name} already, though it is not listed"),
            advice: "somebody is making it, or was stopped: wait, or remove the branch and make it anew".to_owned(),
        })
    }

    /// The branch that a new one is made of, and the identifier of the new one.
    async fn parentage(&self, source: &LanceVersion) -> Result<(Option<BranchName>, Identifier), TableError> {
        let parent = self.place.branch.as_ref().map(|(name, _)| name.clone());
        let mut identifier = Identifier::default();
        if let Some(parent) = &parent {
            let store = &**self.root_store();
            let bytes = store.get(&parent.path()).await?.ok_or_else(|| no_branch(store, parent))?;
            let branch: Branch =
                serde_json::from_slice(&bytes).map_err(|error| damaged(store, &parent.path(), &error))?;
            identifier = branch.identifier.unwrap_or_default();
        }
        let id = fresh_id().to_string().replace('-', "");
        identifier.version_mapping.push((source.snapshot.version().get(), id));
        Ok((parent, identifier))
    }

    fn source_of(&self, source: &LanceVersion, parent: Option<&BranchName>) -> CloneSource {
        let root = plain_root(self.root_store().root());
        CloneSource {
            version: source.snapshot.version(),
            path: parent.map_or_else(|| root.clone(), |parent| format!("{root}/{}", parent.tree())),
            branch: parent.map(|parent| parent.as_str().to_owned()),
        }
    }
}

impl Place {
    /// Makes this empty place a clone of a version of another.
    async fn clone_here(
        self,
        source: &LanceVersion,
        name: &BranchName,
        from: CloneSource,
        options: &CommitOptions,
    ) -> Result<Table, TableError> {
        let version = source.snapshot.version();
        let head = Head { read_version: Some(version), id: fresh_id(), properties: BTreeMap::new() };
        let message = shallow_clone(head, from, Some(name.as_str().to_owned()));
        let wrong = |source| TableError::Format { root: self.store.root().to_owned(), source };
        let pending = Pending::clone_of(Arc::clone(&source.snapshot), message).map_err(wrong)?;
        let asked_ms = self.clock.now_ms();
        let format = LanceFormat::default().beginning_at(version);
        let ended = self.run(format, pending, None, Givers::One, options).await?;
        match &ended.outcome {
            Outcome::Committed { .. } => {}
            Outcome::Nothing { .. } | Outcome::Conflict(_) => return Err(taken(name)),
            Outcome::Exhausted { .. } | Outcome::Unknown { .. } => {
                return Err(TableError::Unavailable {
                    root: self.store.root().to_owned(),
                    problem: format!("it is not known whether the first version of branch {name} was written"),
                    advice: "remove the branch and make it anew".to_owned(),
                });
            }
        }
        let entry = ended.entry.unwrap_or_default();
        let object = format!("version {version} of branch {name}");
        let snapshot = lakebed_lance::Snapshot::open(&object, &entry).map_err(wrong)?;
        let snapshot = LanceVersion { snapshot: Arc::new(snapshot), scheme: Scheme::V2, migrating: false };
        Ok(Table { place: Arc::new(self), snapshot: Snapshot::Lance(snapshot), asked_ms })
    }
}

/// The place of a branch of the table in `root`.
pub(crate) fn at_branch(root: &Arc<dyn Store>, name: &BranchName) -> Result<Place, TableError> {
    let spelled = [root.root().to_owned(), plain_root(root.root())];
    let store: Arc<dyn Store> = Arc::new(Below::new(Arc::clone(root), &name.tree())?.reaching(spelled));
    let branch = Some((name.clone(), Arc::clone(root)));
    let (shared, clock) = (Arc::default(), Clock::default());
    Ok(Place { store, shared, clock, branch, tail: None, lance_files: None, metrics: None })
}

async fn branches(store: &dyn Store) -> Result<Vec<Branch>, TableError> {
    let mut branches = Vec::new();
    for (file, bytes) in files(store, FOLDER).await? {
        let Some(name) = BranchName::parse(&file) else { continue };
        let mut branch: Branch =
            serde_json::from_slice(&bytes).map_err(|error| damaged(store, &name.path(), &error))?;
        name.as_str().clone_into(&mut branch.name);
        branches.push(branch);
    }
    branches.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(branches)
}

/// The objects of a branch. Others may lie below its folder, since their names may begin with its name.
async fn own_objects(store: &dyn Store, name: &BranchName, all: &[Branch]) -> Result<Vec<String>, TableError> {
    let inside = format!("{}/", name.as_str());
    let others: Vec<String> = all
        .iter()
        .filter(|branch| branch.name.starts_with(&inside))
        .filter_map(|branch| BranchName::new(&branch.name).ok())
        .map(|branch| format!("{}/", branch.tree()))
        .collect();
    let listed = list_all(store, &name.tree(), None).await?.into_iter().map(|listed| listed.name);
    Ok(listed.filter(|object| !others.iter().any(|other| object.starts_with(other))).collect())
}

/// How Lance spells the root of a table: a local one without its scheme.
pub(crate) fn plain_root(root: &str) -> String {
    let trimmed = root.trim_end_matches('/');
    match trimmed.strip_prefix("file://") {
        Some(path) => decoded(path),
        None => trimmed.to_owned(),
    }
}

/// A URL's path without its percent signs.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

fn taken(name: &BranchName) -> TableError {
    TableError::Invalid {
        problem: format!("there is a branch {name} already"),
        advice: "choose another name, or remove it first".to_owned(),
    }
}

fn no_branch(store: &dyn Store, name: &BranchName) -> TableError {
    TableError::Unavailable {
        root: store.root().to_owned(),
        problem: format!("there is no branch {name}"),
        advice: "list the branches that there are".to_owned(),
    }
}
