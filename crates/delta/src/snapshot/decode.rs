//! Commits, read for a replay: lines about files stay lines.

use super::entry::Entry;
use crate::DeltaError;
use crate::action::{FileUse, InfoUse, LeanInfo, lean_add, take_line, take_line_without_files};
use crate::checkpoint::Piece;
use bytes::Bytes;
use lakebed_commit::ObjectName;

/// From this size on, commits are read on two threads.
const SHARED_BYTES_MIN: usize = 1 << 20;

/// A commit to read.
pub(super) struct Commit<'a> {
    pub(super) name: &'a ObjectName,
    pub(super) bytes: &'a Bytes,
    pub(super) info: InfoUse,
    pub(super) files: FileUse,
}

/// What one commit says.
pub(super) fn commit_pieces(
    object: &str,
    bytes: &Bytes,
    info: InfoUse,
    files: FileUse,
) -> Result<Vec<Piece>, DeltaError> {
    let mut pieces = Vec::new();
    let take_line = match files {
        FileUse::Keep => take_line,
        FileUse::Skip => take_line_without_files,
    };
    for (at, line) in lines(bytes).enumerate() {
        let line = line.trim_ascii();
        if let (FileUse::Keep, Some(lean)) = (files, lean_add(line)) {
            let line = bytes.slice_ref(line);
            pieces.push(Piece::File(Entry::line(line, lean.path, lean.size, lean.num_records)));
        } else if let (true, Some(lean)) = (info == InfoUse::Keep, LeanInfo::read(bytes.slice_ref(line))) {
            pieces.push(Piece::Info(Box::new(lean)));
        } else {
            take_line(object, at, line, info, &mut |action| pieces.push(Piece::from(action)))?;
        }
    }
    Ok(pieces)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = memchr::memchr_iter(b'\n', bytes).chain(std::iter::once(bytes.len()));
    ends.scan(0, |start, end| {
        let line = bytes.get(*start..end);
        *start = end + 1;
        line
    })
}

/// What several commits say, each on its own, in their order.
pub(super) fn all_pieces(commits: &[Commit<'_>]) -> Result<Vec<Vec<Piece>>, DeltaError> {
    let read = |commits: &[Commit<'_>]| -> Result<Vec<Vec<Piece>>, DeltaError> {
        commits
            .iter()
            .map(|commit| commit_pieces(commit.name.as_str(), commit.bytes, commit.info, commit.files))
            .collect()
    };
    let total: usize = commits.iter().map(|commit| commit.bytes.len()).sum();
    if total < SHARED_BYTES_MIN {
        return read(commits);
    }
    let mut before = 0;
    let middle = commits.iter().position(|commit| {
        before += commit.bytes.len();
        before > total / 2
    });
    let (first, second) = commits.split_at(middle.unwrap_or(0));
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| read(second));
        let first = read(first);
        let panicked = || DeltaError::damaged("_delta_log", "its commits could not be read");
        (first, second.join().unwrap_or_else(|_| Err(panicked())))
    });
    let mut all = first?;
    all.extend(second?);
    Ok(all)
}
