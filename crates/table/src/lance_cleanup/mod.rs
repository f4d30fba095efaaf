//! Cleaning up a Lance table: old versions go, and files that nothing needs any more.
//!
//! # What stays
//! - The newest version, and every version that was the newest at some moment of the retention.
//! - Versions that a tag names, and those that a branch was made of.
//! - Every file that a version that stays names, a detached one and those of branches included.
//! - Files that no version names and that are young: a writer may be about to commit them.
//!
//! # Numbers are not freed while somebody could use them again
//! A create-only put protects the number of a version only while its manifest stands. A writer that looked before version N was
//! there and sleeps until N was removed would create it again, below what everybody reads. So a version only goes when the
//! one after it has stood for longer than any commit lasts, whatever retention is asked for.

mod named;

pub(crate) use named::Named;

use crate::load::lance::{Name, load_version, manifests};
use crate::load::list_all;
use crate::snapshot::LanceVersion;
use crate::{Table, TableError, migrate};
use futures::stream::{self, StreamExt, TryStreamExt};
use lakebed_naming::Version;
use lakebed_naming::lance::{BranchName, ManifestName, TableName, VERSIONS_FOLDER, manifest_path};
use lakebed_storage::{Listed, Store};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long versions stay where nobody says.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 3_600);

/// No commit lasts longer: twice the half hour that Lance's own clients give one, and far more than ours take.
const COMMIT_MAX: Duration = Duration::from_secs(3_600);

/// How old a file is that no version names when it goes (as Lance's own clients have it).
const UNNAMED_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Manifests read at once.
const READ_AT_ONCE: usize = 16;

/// Objects removed by one request, where a store removes several at once.
const REMOVED_AT_ONCE: usize = 1_000;

/// The folders in which files go; others hold what only newer clients understand.
const FOLDERS: [&str; 4] = ["data", "_deletions", "_transactions", "_indices"];

/// What detached versions and those of branches name of a table, beside its own versions; among `listed` are its manifests.
pub(crate) async fn named_beside(table: &Table, listed: &[Listed]) -> Result<Named, TableError> {
    let mut named = Named::default();
    take_in_detached(&mut named, &**table.store(), listed).await?;
    take_in_branches(&mut named, table).await?;
    Ok(named)
}

impl Table {
    /// Removes the versions of a Lance table that are older than the retention, and files that no version names any more. With
    /// `dry_run` it only says which. A retention shorter than an hour is refused unless `allow_shorter`, and even then no version
    /// goes whose number a slow writer could create again.
    ///
    /// # Errors
    /// The retention is too short, a manifest cannot be read, or the store cannot be asked.
    pub(crate) async fn vacuum_lance(
        &mut self,
        retain: Option<Duration>,
        allow_shorter: bool,
        dry_run: bool,
    ) -> Result<Vec<Listed>, TableError> {
        let retain = retain.unwrap_or(RETENTION);
        if retain < COMMIT_MAX && !allow_shorter {
            return Err(TableError::Invalid {
                problem: "a retention below an hour takes versions from writers and readers that are still at work"
                    .to_owned(),
                advice: "retain more, or allow a shorter retention (`--allow-shorter`) where nobody works on the table"
                    .to_owned(),
            });
        }
        self.refresh().await?;
        let held = self.lance_for("cleaning up versions and files")?;
        migrate::refuse_writing(&**self.store(), held.migrating)?;
        let now_ms = i64::try_from(self.place.clock.now_ms()).unwrap_or(i64::MAX);
        let mut plan = Plan::new(self, &held, now_ms, retain).await?;
        if dry_run {
            plan.doomed_files(&**self.store()).await?;
            return Ok(plan.doomed());
        }
        // First the versions, then what they named: whoever stops in between leaves files too many, never too few.
        remove(&**self.store(), &plan.manifests).await?;
        // What was committed, tagged or branched off meanwhile keeps its files.
        plan.look_again(self, &held).await?;
        plan.doomed_files(&**self.store()).await?;
        remove(&**self.store(), &plan.files).await?;
        Ok(plan.doomed())
    }
}

/// What goes, and what is named by what stays.
struct Plan {
    now_ms: i64,
    /// Versions that stay or went, and were looked into.
    known: BTreeSet<Version>,
    kept: Named,
    removed: Named,
    manifests: Vec<Listed>,
    files: Vec<Listed>,
}

impl Plan {
    async fn new(table: &Table, held: &LanceVersion, now_ms: i64, retain: Duration) -> Result<Self, TableError> {
        let store = &**table.store();
        let listed = list_all(store, VERSIONS_FOLDER, None).await?;
        let names = manifests(&listed);
        let pinned = pinned(table).await?;
        let before_ms = now_ms.saturating_sub(millis(retain.max(COMMIT_MAX)));
        let (gone, stays) = split(&names, held.snapshot.version(), &pinned, before_ms);
        let mut plan = Self {
            now_ms,
            known: names.iter().map(|name| name.version).collect(),
            kept: read(store, held, &stays).await?,
            removed: read(store, held, &gone).await?,
            manifests: gone.iter().filter_map(|name| listed_as(&listed, name)).collect(),
            files: Vec::new(),
        };
        let aged_ms = now_ms.saturating_sub(millis(UNNAMED_MAX));
        let left = listed.iter().filter(|entry| matches!(TableName::parse(&entry.name), TableName::Temporary));
        plan.files.extend(left.filter(|entry| entry.modified_ms < aged_ms).cloned());
        let strays = store.strays().await?;
        plan.files.extend(strays.into_iter().filter(|entry| entry.modified_ms < aged_ms));
        take_in_detached(&mut plan.kept, store, &listed).await?;
        take_in_branches(&mut plan.kept, table).await?;
        Ok(plan)
    }

    /// Takes in what appeared since the first look.
    async fn look_again(&mut self, table: &Table, held: &LanceVersion) -> Result<(), TableError> {
        let store = &**table.store();
        let listed = list_all(store, VERSIONS_FOLDER, None).await?;
        let fresh: Vec<Name> =
            manifests(&listed).into_iter().filter(|name| !self.known.contains(&name.version)).collect();
        self.kept.extend(read(store, held, &fresh).await?);
        take_in_detached(&mut self.kept, store, &listed).await?;
        take_in_branches(&mut self.kept, table).await
    }

    /// Finds the files that go.
    async fn doomed_files(&mut self, store: &dyn Store) -> Result<(), TableError> {
        let aged_ms = self.now_ms.saturating_sub(millis(UNNAMED_MAX));
        for folder in FOLDERS {
            for entry in list_all(store, folder, None).await? {
                let goes = match TableName::parse(&entry.name) {
                    TableName::Temporary => entry.modified_ms < aged_ms && !self.kept.names(&entry.name),
                    TableName::Transaction(_)
                    | TableName::Deletion(_)
                    | TableName::Data { .. }
                    | TableName::Index { .. } => {
                        !self.kept.names(&entry.name)
                            && (self.removed.names(&entry.name) || entry.modified_ms < aged_ms)
                    }
                    TableName::Manifest(_)
                    | TableName::Tag(_)
                    | TableName::Branch(_)
                    | TableName::InTree { .. }
                    | TableName::Other => false,
                };
                if goes {
                    self.files.push(entry);
                }
            }
        }
        Ok(())
    }

    fn doomed(self) -> Vec<Listed> {
        let mut doomed = self.manifests;
        doomed.extend(self.files);
        doomed
    }
}

async fn take_in_detached(named: &mut Named, store: &dyn Store, listed: &[Listed]) -> Result<(), TableError> {
    let names = listed.iter().filter_map(|entry| entry.name.strip_prefix(VERSIONS_FOLDER)?.strip_prefix('/'));
    for file in names {
        if let ManifestName::Detached(number) = ManifestName::parse(file) {
            let version = load_version(store, lakebed_naming::lance::Scheme::V2, Version::new(number.get())).await?;
            named.take_in(&version.snapshot);
        }
    }
    Ok(())
}

/// Versions of branches name files of the table that they were made of, and of its other branches.
async fn take_in_branches(named: &mut Named, table: &Table) -> Result<(), TableError> {
    let here = table.branch_name();
    for branch in table.branches().await? {
        if Some(branch.name.as_str()) == here {
            continue;
        }
        let Ok(name) = BranchName::new(&branch.name) else { continue };
        let place = crate::refs::at_branch(table.root_store(), &name)?;
        let names = manifests(&list_all(&*place.store, VERSIONS_FOLDER, None).await?);
        let versions = load_all(&*place.store, &names).await?;
        versions.iter().for_each(|version| named.take_in_borrowed(&version.snapshot));
    }
    Ok(())
}

/// The versions that a tag names or that a branch was made of.
async fn pinned(table: &Table) -> Result<BTreeSet<Version>, TableError> {
    let here = table.branch_name();
    let own = |branch: Option<&str>| branch.filter(|name| *name != "main") == here;
    let tags = table.tags().await?.into_iter().filter(|tag| own(tag.branch.as_deref())).map(|tag| tag.version);
    let branches = table.branches().await?.into_iter();
    let parents = branches.filter(|branch| own(branch.parent_branch.as_deref())).map(|branch| branch.parent_version);
    Ok(tags.chain(parents).map(Version::new).collect())
}

/// The names of versions that go, and of those that stay. A version goes when the one after it is older than `before_ms`.
fn split(names: &[Name], newest: Version, pinned: &BTreeSet<Version>, before_ms: i64) -> (Vec<Name>, Vec<Name>) {
    let mut gone = Vec::new();
    let mut stays = Vec::new();
    let mut after: Option<&Name> = None;
    for name in names.iter().rev() {
        let followed = after.is_some_and(|after| after.modified_ms < before_ms && name.modified_ms < before_ms);
        if followed && name.version < newest && !pinned.contains(&name.version) {
            gone.push(*name);
        } else {
            stays.push(*name);
        }
        after = Some(name);
    }
    // The oldest go first, so that whoever stops in between leaves no hole.
    gone.reverse();
    (gone, stays)
}

async fn load_all(store: &dyn Store, names: &[Name]) -> Result<Vec<LanceVersion>, TableError> {
    stream::iter(names.iter().copied().map(|name| load_version(store, name.scheme, name.version)))
        .buffered(READ_AT_ONCE)
        .try_collect()
        .await
}

async fn read(store: &dyn Store, held: &LanceVersion, names: &[Name]) -> Result<Named, TableError> {
    let mut named = Named::default();
    for some in names.chunks(READ_AT_ONCE) {
        let some: Vec<Name> = some.iter().filter(|name| name.version != held.snapshot.version()).copied().collect();
        load_all(store, &some).await?.iter().for_each(|version| named.take_in(&version.snapshot));
    }
    if names.iter().any(|name| name.version == held.snapshot.version()) {
        named.take_in(&held.snapshot);
    }
    Ok(named)
}

fn listed_as(listed: &[Listed], name: &Name) -> Option<Listed> {
    let path = manifest_path(name.scheme, name.version);
    listed.iter().find(|entry| entry.name == path).cloned()
}

async fn remove(store: &dyn Store, objects: &[Listed]) -> Result<(), TableError> {
    for some in objects.chunks(REMOVED_AT_ONCE) {
        let names: Vec<String> = some.iter().map(|entry| entry.name.clone()).collect();
        store.delete_all(&names).await?;
    }
    Ok(())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
