//! Loading a version: which objects are needed, and what they make.

use super::compacted;
use super::decode::{Commit, all_pieces, commit_pieces};
use super::head::Head;
use super::replay::Replay;
use super::state::Snapshot;
use super::tail::{LogTail, Ratified};
use crate::DeltaError;
use crate::action::{Action, FileUse, InfoUse, Sidecar};
use crate::checkpoint::{self, Piece};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::delta::{
    Checkpoint, LOG_FOLDER, LogListing, LogName, LogSegment, ReplayFile, commit_file, commit_path, list_after, log_path,
};
use lakebed_naming::{NameError, Version, VersionRange};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};

/// What `_last_checkpoint` says. It may be stale or wrong, so nothing but the start of a listing hangs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The version of the checkpoint that it names.
    pub version: Version,
}

impl Hint {
    /// Reads the hint; `None` where the bytes are no hint.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Fields {
            version: u64,
        }
        let fields: Fields = serde_json::from_slice(bytes).ok()?;
        Some(Self { version: Version::new(fields.version) })
    }

    /// The name after which to list the log.
    #[must_use]
    pub fn list_after(&self) -> ObjectName {
        ObjectName::new(list_after(self.version))
    }
}

/// What a load needs next.
#[derive(Clone, Debug)]
pub enum LoadStep<T = Snapshot> {
    /// These objects, in any order, each once; then ask again.
    Needs(Vec<ObjectName>),
    /// The listing starts too late: list the whole log and call [`Load::relist`].
    Relist,
    /// The version.
    Done(Box<T>),
}

/// Loads one version. It does no I/O: it says which objects it needs and is fed their bytes.
///
/// The newest complete checkpoint and the commits above it are asked for in one batch; a compacted log stands for the commits of
/// its range. A checkpoint that cannot be read is passed over in favour of an older one, which needs more commits, a compacted
/// log that cannot be trusted in favour of its commits; the version stays the same.
///
/// Of checksum files only one thing is taken, where nothing else has it: the version's own timestamp when its commit is gone.
#[derive(Debug)]
pub struct Load {
    listing: LogListing,
    at: Option<Version>,
    whole: bool,
    starts: Vec<Option<Checkpoint>>,
    fed: HashMap<ObjectName, Option<Bytes>>,
    distrusted: BTreeSet<VersionRange>,
    first_problem: Option<DeltaError>,
    tail: Option<LogTail>,
    files: FileUse,
}

/// Loads one version without its files, as [`Load`] loads it with them: of checkpoints, only the columns are decoded that are not
/// about files, and what holds nothing else is not asked for.
#[derive(Debug)]
pub struct LoadHead(Load);

impl LoadHead {
    /// See [`Load::feed`].
    pub fn feed(&mut self, name: ObjectName, bytes: Option<Bytes>) {
        self.0.feed(name, bytes);
    }

    /// See [`Load::relist`].
    pub fn relist<N: AsRef<str>>(&mut self, names: impl IntoIterator<Item = (N, u64)>) {
        self.0.relist(names);
    }

    /// See [`Load::step`].
    ///
    /// # Errors
    /// As there, but damage to what only tells of files is not seen.
    pub fn step(&mut self) -> Result<LoadStep<Head>, DeltaError> {
        Ok(match self.0.step()? {
            LoadStep::Needs(names) => LoadStep::Needs(names),
            LoadStep::Relist => LoadStep::Relist,
            LoadStep::Done(snapshot) => LoadStep::Done(Box::new(Head::of(*snapshot))),
        })
    }
}

/// What one attempt at a replay came to.
enum Attempt {
    Done(Box<Snapshot>),
    Needs(Vec<ObjectName>),
    /// The checkpoint cannot be used.
    BadCheckpoint(DeltaError),
    /// The compacted log of these commits cannot be used.
    BadCompacted(VersionRange),
}

impl Load {
    /// Loads version `at` (the newest when `None`) from the names and sizes of a listing, relative to the table's root.
    ///
    /// `whole` says that the listing has everything; otherwise it starts at a [`Hint`].
    #[must_use]
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = (N, u64)>, whole: bool, at: Option<Version>) -> Self {
        Self::with_tail(names, whole, at, None)
    }

    /// As [`Load::new`], for a table whose catalog answered this. Without such an answer a table that a catalog manages is refused.
    #[must_use]
    pub fn with_tail<N: AsRef<str>>(
        names: impl IntoIterator<Item = (N, u64)>,
        whole: bool,
        at: Option<Version>,
        tail: Option<LogTail>,
    ) -> Self {
        let mut load = Self {
            listing: LogListing::new(std::iter::empty::<(&str, u64)>()),
            at,
            whole,
            starts: Vec::new(),
            fed: HashMap::new(),
            distrusted: BTreeSet::new(),
            first_problem: None,
            tail,
            files: FileUse::Keep,
        };
        for (version, ratified) in load.tail.iter().flat_map(LogTail::commits) {
            if let Ratified::Inline(bytes) = ratified {
                load.fed.insert(ObjectName::new(commit_path(version)), Some(bytes.clone()));
            }
        }
        load.take_names(names, whole);
        load
    }

    /// The same load without the files.
    #[must_use]
    pub const fn without_files(mut self) -> LoadHead {
        self.files = FileUse::Skip;
        LoadHead(self)
    }

    fn take_names<N: AsRef<str>>(&mut self, names: impl IntoIterator<Item = (N, u64)>, whole: bool) {
        let inside = |name: &str| name.strip_prefix(LOG_FOLDER)?.strip_prefix('/').map(str::to_owned);
        let tail = self.tail.as_ref();
        let counts = |name: &str| tail.is_none_or(|tail| tail.counts(name));
        let listed = names.into_iter().filter(|(name, _)| counts(name.as_ref()));
        let listed = listed.filter_map(|(name, size_bytes)| Some((inside(name.as_ref())?, size_bytes)));
        let ratified = tail.into_iter().flat_map(LogTail::commits).map(|(version, _)| (commit_file(version), 1));
        self.listing = LogListing::new(listed.chain(ratified));
        self.whole = whole;
        self.starts.clear();
        if let Some(at) = self.at.or_else(|| self.listing.newest()) {
            self.starts = self.listing.candidates(at).cloned().map(Some).collect();
        }
        self.starts.push(None);
        self.starts.reverse();
    }

    /// Takes the listing of the whole log; objects that were fed already are not asked for again.
    pub fn relist<N: AsRef<str>>(&mut self, names: impl IntoIterator<Item = (N, u64)>) {
        self.take_names(names, true);
    }

    /// Takes an object that was asked for; `None` where it is not there.
    pub fn feed(&mut self, name: ObjectName, bytes: Option<Bytes>) {
        let name = match &self.tail {
            Some(tail) => tail.inside(name),
            None => name,
        };
        self.fed.insert(name, bytes);
    }

    /// What is needed next, or the snapshot.
    ///
    /// # Errors
    /// There is no table, the version is not there, commits are missing, an object is damaged, or the table needs a feature
    /// that is not known here.
    pub fn step(&mut self) -> Result<LoadStep, DeltaError> {
        while let Some(start) = self.starts.last() {
            let segment = match self.listing.plan_from(start.as_ref(), self.at) {
                Ok(segment) => segment,
                Err(error) => return self.give_up(error),
            };
            match self.attempt(&segment)? {
                Attempt::Done(snapshot) => {
                    snapshot.check_catalog(self.tail.is_some())?;
                    return Ok(LoadStep::Done(snapshot));
                }
                Attempt::Needs(names) => {
                    let Some(tail) = &self.tail else { return Ok(LoadStep::Needs(names)) };
                    return Ok(LoadStep::Needs(names.into_iter().map(|name| tail.outside(name)).collect()));
                }
                Attempt::BadCheckpoint(error) => {
                    self.first_problem.get_or_insert(error);
                    self.starts.pop();
                }
                Attempt::BadCompacted(range) => {
                    self.distrusted.insert(range);
                }
            }
        }
        Err(self.first_problem.clone().unwrap_or(DeltaError::Names(NameError::NoTable)))
    }

    fn give_up(&self, error: NameError) -> Result<LoadStep, DeltaError> {
        if !self.whole {
            return Ok(LoadStep::Relist);
        }
        // Where a damaged checkpoint sent us to an older start that does not reach, the damage is what to mend.
        Err(self.first_problem.clone().unwrap_or(DeltaError::Names(error)))
    }

    fn attempt(&self, segment: &LogSegment) -> Result<Attempt, DeltaError> {
        let checkpoint: Vec<ObjectName> =
            segment.checkpoint_names().into_iter().map(|name| ObjectName::new(log_path(name))).collect();
        let files = self.files(segment);
        let (provenance, checksum) = (self.provenance(segment, &files), self.checksum(segment));
        let names = files.iter().map(object).chain(provenance.iter().chain(&checksum).cloned());
        let needed: Vec<ObjectName> =
            checkpoint.iter().cloned().chain(names).filter(|name| !self.fed.contains_key(name)).collect();
        if !needed.is_empty() {
            return Ok(Attempt::Needs(needed));
        }
        let mut replay = Replay::default();
        match self.replay_checkpoint(&checkpoint, &mut replay) {
            Ok(sidecars) if sidecars.is_empty() => {}
            Ok(sidecars) => return Ok(Attempt::Needs(sidecars)),
            Err(error) => return Ok(Attempt::BadCheckpoint(error)),
        }
        if let Some(range) = self.replay_files(&files, segment.version, &mut replay)? {
            return Ok(Attempt::BadCompacted(range));
        }
        if let Some(name) = &provenance {
            self.replay_provenance(name, &mut replay)?;
        }
        let stamp = checksum.and_then(|name| self.fed.get(&name)?.as_deref().and_then(in_commit_timestamp));
        replay.finish(segment.version, stamp).map(|snapshot| Attempt::Done(Box::new(snapshot)))
    }

    /// What is replayed on top of the checkpoint, ascending.
    fn files(&self, segment: &LogSegment) -> Vec<ReplayFile> {
        let mut trusted = segment.clone();
        trusted.compacted.retain(|compacted| !self.distrusted.contains(&compacted.range));
        trusted.with_compacted()
    }

    /// The version's own commit, where a checkpoint or a compacted log stands for it: its provenance is in neither.
    fn provenance(&self, segment: &LogSegment, files: &[ReplayFile]) -> Option<ObjectName> {
        let covered = !matches!(files.last(), Some(ReplayFile::Commit(_)));
        (covered && self.listing.has_commit(segment.version)).then(|| ObjectName::new(commit_path(segment.version)))
    }

    /// The version's checksum file, where its commit is gone.
    fn checksum(&self, segment: &LogSegment) -> Option<ObjectName> {
        let version = segment.version;
        let stands_alone = !self.listing.has_commit(version) && self.listing.has_checksum(version);
        let name = LogName::Checksum(version).path().filter(|_| stands_alone)?;
        Some(ObjectName::new(name))
    }

    /// Applies a checkpoint, or says which sidecars are still to be read.
    fn replay_checkpoint(&self, names: &[ObjectName], replay: &mut Replay) -> Result<Vec<ObjectName>, DeltaError> {
        let mut sidecars = Vec::new();
        for name in names {
            checkpoint::read_pieces(name.as_str(), self.bytes(name)?, self.files, &mut |piece| match &piece {
                Piece::Other(action) if let Action::Sidecar(Sidecar { path, size_in_bytes, .. }) = &**action => {
                    sidecars.push((checkpoint::sidecar_name(path), *size_in_bytes));
                }
                Piece::File(_) | Piece::Info(_) | Piece::Other(_) | Piece::Ahead(_) => replay.apply(piece),
            })?;
        }
        // A sidecar holds nothing but files.
        if self.files == FileUse::Skip {
            return Ok(Vec::new());
        }
        let names = sidecars.iter().map(|(name, _)| name);
        let missing: Vec<ObjectName> = names.filter(|name| !self.fed.contains_key(*name)).cloned().collect();
        if missing.is_empty() {
            for (name, size_bytes) in &sidecars {
                let bytes = self.bytes(name)?;
                check_size(name, bytes, *size_bytes)?;
                checkpoint::read_pieces(name.as_str(), bytes, self.files, &mut |piece| replay.apply(piece))?;
            }
        }
        Ok(missing)
    }

    /// Applies what stands above the checkpoint; of the version's own commit also its provenance. A compacted log that cannot
    /// be trusted is given back.
    fn replay_files(
        &self,
        files: &[ReplayFile],
        last: Version,
        replay: &mut Replay,
    ) -> Result<Option<VersionRange>, DeltaError> {
        let mut commits: Vec<Version> = Vec::new();
        for file in files {
            match file {
                ReplayFile::Commit(commit) => commits.push(commit.version),
                ReplayFile::Compacted(compacted) => {
                    self.replay_commits(&std::mem::take(&mut commits), last, replay)?;
                    let name = object(file);
                    let bytes = self.fed.get(&name).and_then(Option::as_ref);
                    let Some(actions) = bytes.and_then(|bytes| compacted::read(name.as_str(), bytes, self.files))
                    else {
                        return Ok(Some(compacted.range));
                    };
                    actions.into_iter().for_each(|action| replay.apply(Piece::from(action)));
                }
            }
        }
        self.replay_commits(&commits, last, replay)?;
        Ok(None)
    }

    fn replay_commits(&self, commits: &[Version], last: Version, replay: &mut Replay) -> Result<(), DeltaError> {
        let names: Vec<ObjectName> = commits.iter().map(|version| ObjectName::new(commit_path(*version))).collect();
        let mut read = Vec::with_capacity(names.len());
        for (version, name) in commits.iter().zip(&names) {
            let info = if *version == last { InfoUse::Keep } else { InfoUse::Skip };
            read.push(Commit { name, bytes: self.bytes(name)?, info, files: self.files });
        }
        let pieces = all_pieces(&read)?;
        replay.reserve(pieces.iter().map(Vec::len).sum());
        pieces.into_iter().flatten().for_each(|piece| replay.apply(piece));
        Ok(())
    }

    /// Applied again, a commit changes nothing but this: it tells statistics that a checkpoint may lack. Its removes are left
    /// out, because the checkpoint knows which of them have expired.
    fn replay_provenance(&self, name: &ObjectName, replay: &mut Replay) -> Result<(), DeltaError> {
        let is_gone = |piece: &Piece| matches!(piece, Piece::File(entry) if entry.as_gone().is_some());
        let pieces = commit_pieces(name.as_str(), self.bytes(name)?, InfoUse::Keep, self.files)?;
        pieces.into_iter().filter(|piece| !is_gone(piece)).for_each(|piece| replay.apply(piece));
        Ok(())
    }

    fn bytes(&self, name: &ObjectName) -> Result<&Bytes, DeltaError> {
        self.fed.get(name).and_then(Option::as_ref).ok_or_else(|| DeltaError::Damaged {
            object: name.to_string(),
            problem: "it was listed and is not there any more".into(),
            advice: "load the table again; if it stays away, restore it from a copy".into(),
        })
    }
}

/// A sidecar is as large as the checkpoint says that it was written, where it says so; Spark's reader goes by that size, too.
fn check_size(name: &ObjectName, bytes: &Bytes, size_bytes: i64) -> Result<(), DeltaError> {
    if size_bytes <= 0 || i64::try_from(bytes.len()) == Ok(size_bytes) {
        return Ok(());
    }
    let problem = format!("it has {} bytes, and the checkpoint says that it has {size_bytes}", bytes.len());
    Err(DeltaError::damaged(name.as_str(), problem))
}

fn object(file: &ReplayFile) -> ObjectName {
    match file {
        ReplayFile::Commit(commit) => ObjectName::new(commit_path(commit.version)),
        ReplayFile::Compacted(compacted) => ObjectName::new(log_path(&compacted.file.name)),
    }
}

/// The version's own timestamp, in milliseconds since 1970, by its checksum file.
fn in_commit_timestamp(checksum: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Fields {
        in_commit_timestamp_opt: Option<i64>,
    }
    serde_json::from_slice::<Fields>(checksum).ok()?.in_commit_timestamp_opt
}
