//! One file of a log, as it came: made into an action only when somebody asks for it.

use crate::action::{Action, Add, Remove, parse_actions};
use crate::checkpoint::Rows;
use bytes::Bytes;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

/// One for the process, so that hashes taken on one thread serve on all.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The hash of what tells files apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyHash(u32);

impl KeyHash {
    pub(crate) fn of(key: &str) -> Self {
        let hash = HASHER.hash_one(key);
        #[expect(clippy::cast_possible_truncation, reason = "both halves go in")]
        Self((hash ^ (hash >> 32)) as u32)
    }

    /// As a hash table wants it: different in its high and in its low bits.
    pub(crate) const fn spread(self) -> u64 {
        (self.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// The newest word about a file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// What tells files apart, where it is not the path as it stands in the log.
    key: Option<Arc<str>>,
    hash: KeyHash,
    word: Word,
}

#[derive(Clone, Debug)]
enum Word {
    Live(Live),
    Gone(Arc<Remove>),
}

/// A live file.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    facts: Facts,
    source: Source,
    made: OnceLock<Arc<Add>>,
}

/// What is told of a live file without making its action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Its size in bytes, as the log says.
    pub(crate) size: i64,
    /// Rows in it, deleted ones included, where the statistics say so.
    pub(crate) num_records: Option<u64>,
    /// Rows that its deletion vector deletes.
    pub(crate) deleted_rows: u64,
}

#[derive(Clone, Debug)]
enum Source {
    /// It was made at once.
    Action,
    /// A line of a commit, in which its path stands here.
    Line { line: Bytes, path: Range<u32> },
    /// A row of a checkpoint.
    Row { rows: Arc<Rows>, row: u32 },
}

impl Entry {
    /// A file that comes, made already.
    pub(crate) fn live(add: Add) -> Self {
        let facts = Facts { size: add.size, num_records: add.num_records(), deleted_rows: add.deleted_rows() };
        let key = add.key();
        let key = (!Arc::ptr_eq(&key, &add.path)).then_some(key);
        let made = OnceLock::from(Arc::new(add));
        Self::new(key, Word::Live(Live { facts, source: Source::Action, made }))
    }

    /// A file that goes.
    pub(crate) fn gone(remove: Remove) -> Self {
        let key = remove.key();
        let key = (!Arc::ptr_eq(&key, &remove.path)).then_some(key);
        Self::new(key, Word::Gone(Arc::new(remove)))
    }

    /// A file that comes, in a line that the lean reader took: it has no deletion vector.
    pub(crate) fn line(line: Bytes, path: Range<u32>, size: i64, num_records: Option<u64>) -> Self {
        let facts = Facts { size, num_records, deleted_rows: 0 };
        let live = Live { facts, source: Source::Line { line, path }, made: OnceLock::new() };
        Self::new(crate::action::other_key(live.path(), None), Word::Live(live))
    }

    /// A file in a row of a checkpoint; `key` where it is not the row's path.
    pub(crate) fn row(rows: &Arc<Rows>, row: u32, facts: Facts, key: Option<Arc<str>>) -> Self {
        let source = Source::Row { rows: Arc::clone(rows), row };
        Self::new(key, Word::Live(Live { facts, source, made: OnceLock::new() }))
    }

    /// A file in a row of a checkpoint whose key is the row's path; `hash` is that of the path.
    pub(crate) fn hashed_row(rows: &Arc<Rows>, row: u32, facts: Facts, hash: KeyHash) -> Self {
        let source = Source::Row { rows: Arc::clone(rows), row };
        Self { key: None, hash, word: Word::Live(Live { facts, source, made: OnceLock::new() }) }
    }

    fn new(key: Option<Arc<str>>, word: Word) -> Self {
        let hash = KeyHash::of(key_of(key.as_deref(), &word));
        Self { key, hash, word }
    }

    /// The hash of [`Entry::key`].
    pub(crate) const fn hash(&self) -> KeyHash {
        self.hash
    }

    /// What tells files apart: the decoded path and the id of the deletion vector.
    pub(crate) fn key(&self) -> &str {
        key_of(self.key.as_deref(), &self.word)
    }

    /// The live file; `None` where it went.
    pub(crate) const fn as_live(&self) -> Option<&Live> {
        match &self.word {
            Word::Live(live) => Some(live),
            Word::Gone(_) => None,
        }
    }

    /// The tombstone; `None` where the file is live.
    pub(crate) const fn as_gone(&self) -> Option<&Arc<Remove>> {
        match &self.word {
            Word::Live(_) => None,
            Word::Gone(remove) => Some(remove),
        }
    }
}

impl Live {
    pub(crate) const fn facts(&self) -> Facts {
        self.facts
    }

    /// Whether its action was made.
    pub(crate) fn is_made(&self) -> bool {
        self.made.get().is_some()
    }

    /// The action.
    pub(crate) fn add(&self) -> &Arc<Add> {
        self.made.get_or_init(|| {
            // Both were found to hold an add before they were kept.
            let made = match &self.source {
                Source::Action => None,
                Source::Line { line, .. } => parse_actions("a commit", line).ok().and_then(only_add),
                Source::Row { rows, row } => rows.add(*row),
            };
            Arc::new(made.unwrap_or_else(|| Add::new(self.path(), self.facts.size, 0)))
        })
    }

    fn path(&self) -> &str {
        match &self.source {
            Source::Action => self.made.get().map_or("", |add| &add.path),
            Source::Line { line, path } => {
                let range = path.start as usize..path.end as usize;
                line.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
            }
            Source::Row { rows, row } => rows.path(*row),
        }
    }
}

fn key_of<'a>(key: Option<&'a str>, word: &'a Word) -> &'a str {
    match (key, word) {
        (Some(key), _) => key,
        (None, Word::Live(live)) => live.path(),
        (None, Word::Gone(remove)) => &remove.path,
    }
}

fn only_add(actions: Vec<Action>) -> Option<Add> {
    actions.into_iter().find_map(|action| if let Action::Add(add) = action { Some(add) } else { None })
}
