//! The engine's own log.

use crate::Judge;
use lakebed_transaction::{Judgement, Kind};
use std::fmt;

/// What a commit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// New files.
    Append,
    /// Whole days replaced.
    Overwrite,
    /// Files rewritten without some rows.
    DeleteRows,
    /// Files rewritten with the same rows.
    Compact,
}

impl Operation {
    pub const COUNT: usize = Self::ALL.len();
}

impl Kind for Operation {
    const ALL: &'static [Self] = &[Self::Append, Self::Overwrite, Self::DeleteRows, Self::Compact];

    fn index(self) -> usize {
        self as usize
    }

    fn name(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Overwrite => "overwrite",
            Self::DeleteRows => "delete",
            Self::Compact => "compact",
        }
    }
}

/// A file, with its day and the smallest and greatest id in it where they are known.
#[derive(Clone, Debug)]
pub struct DataFile {
    pub path: String,
    pub day: i64,
    pub ids: Option<(i64, i64)>,
}

/// One entry of the log, or what is to become one.
#[derive(Clone, Debug)]
pub struct Commit {
    pub operation: Operation,
    /// The version that it was planned on.
    pub read_version: usize,
    pub added: Vec<DataFile>,
    pub removed: Vec<DataFile>,
    /// The rows that it looked for, if it looked for any: those with this id.
    pub looked_for_id: Option<i64>,
}

impl Commit {
    pub fn new(operation: Operation, added: &[(&str, i64)], removed: &[(&str, i64)]) -> Self {
        let files = |files: &[(&str, i64)]| {
            files.iter().map(|(path, day)| DataFile { path: (*path).to_owned(), day: *day, ids: None }).collect()
        };
        Self { operation, read_version: 0, added: files(added), removed: files(removed), looked_for_id: None }
    }
}

/// A commit that may not follow a landed one.
#[derive(Debug)]
pub struct Refusal {
    pub version: usize,
    pub why: Judgement,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} because of version {}", self.why.verdict, self.version)?;
        if let Some(reason) = &self.why.reason {
            write!(f, ": {} [{}]", reason.sentence, reason.check)?;
        }
        if let Some(evidence) = &self.why.evidence {
            write!(f, " ({evidence})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// Versions, oldest first; the policy decides who may follow whom.
pub struct Log {
    entries: Vec<Commit>,
    judge: Judge,
}

impl Log {
    pub fn new(judge: Judge) -> Self {
        Self { entries: Vec::new(), judge }
    }

    /// Judges the commit against every version since the one that it read, oldest first, and adds it.
    pub fn commit(&mut self, ours: Commit) -> Result<usize, Refusal> {
        for (version, landed) in self.entries.iter().enumerate().skip(ours.read_version + 1) {
            let why = (self.judge)(&ours, landed);
            if !why.verdict.accepts() {
                return Err(Refusal { version, why });
            }
        }
        self.entries.push(ours);
        Ok(self.entries.len() - 1)
    }
}
