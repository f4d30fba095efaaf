//! Names of checkpoints.

use std::fmt;

use crate::digits;
use crate::{Uuid, Version};

const PART_DIGITS: usize = 10;

/// How the top-level file of a uuid-named checkpoint is encoded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CheckpointEncoding {
    /// One action per line.
    Json,
    /// One action per row.
    Parquet,
}

impl CheckpointEncoding {
    const fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Parquet => "parquet",
        }
    }
}

/// Which part of how many, from 1: the numbers in a multi-part checkpoint's names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CheckpointPart {
    part: u32,
    total: u32,
}

impl CheckpointPart {
    /// Part `part` of `total`; `None` unless 1 ≤ `part` ≤ `total`.
    #[must_use]
    pub const fn new(part: u32, total: u32) -> Option<Self> {
        if part >= 1 && part <= total { Some(Self { part, total }) } else { None }
    }

    /// The number of this part, from 1.
    #[must_use]
    pub const fn part(self) -> u32 {
        self.part
    }

    /// How many parts make the checkpoint.
    #[must_use]
    pub const fn total(self) -> u32 {
        self.total
    }
}

/// The three ways in which a checkpoint's file is named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CheckpointForm {
    /// `<version>.checkpoint.parquet`: one file; its content may follow either checkpoint specification.
    Classic,
    /// `<version>.checkpoint.<part>.<total>.parquet`: usable only when every part is there. Old; never write it.
    MultiPart(CheckpointPart),
    /// `<version>.checkpoint.<uuid>.json` or `.parquet`: the top-level file of a V2 checkpoint, which may name sidecars.
    Uuid {
        /// The id that keeps rivals' checkpoints of one version apart.
        id: Uuid,
        /// The encoding of the file.
        encoding: CheckpointEncoding,
    },
}

/// One file of a checkpoint, by its name.
///
/// ```
/// use lakebed_naming::Version;
/// use lakebed_naming::delta::{CheckpointForm, CheckpointName};
///
/// let name = CheckpointName::parse("00000000000000000003.checkpoint.0000000001.0000000004.parquet").unwrap();
/// let CheckpointForm::MultiPart(part) = name.form else { unreachable!() };
/// assert_eq!((name.version, part.part(), part.total()), (Version::new(3), 1, 4));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CheckpointName {
    /// The version whose state it holds.
    pub version: Version,
    /// How the file is named.
    pub form: CheckpointForm,
}

impl CheckpointName {
    /// Reads a bare file name of `_delta_log/`; `None` when it is not a checkpoint's.
    #[must_use]
    pub fn parse(file_name: &str) -> Option<Self> {
        let (version, rest) = super::log_name::split_version(file_name)?;
        let form = parse_form(rest.strip_prefix("checkpoint.")?)?;
        Some(Self { version, form })
    }
}

fn parse_form(rest: &str) -> Option<CheckpointForm> {
    let pieces: Vec<&str> = rest.splitn(4, '.').collect();
    match pieces.as_slice() {
        ["parquet"] => Some(CheckpointForm::Classic),
        [id, "json"] => Some(CheckpointForm::Uuid { id: Uuid::parse(id)?, encoding: CheckpointEncoding::Json }),
        [id, "parquet"] => Some(CheckpointForm::Uuid { id: Uuid::parse(id)?, encoding: CheckpointEncoding::Parquet }),
        [part, total, "parquet"] => {
            let number = |text: &str| u32::try_from(digits::padded(text, PART_DIGITS)?).ok();
            CheckpointPart::new(number(part)?, number(total)?).map(CheckpointForm::MultiPart)
        }
        _ => None,
    }
}

impl fmt::Display for CheckpointName {
    /// The bare file name in `_delta_log/`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}.checkpoint.", self.version.get())?;
        match self.form {
            CheckpointForm::Classic => f.write_str("parquet"),
            CheckpointForm::MultiPart(CheckpointPart { part, total }) => write!(f, "{part:010}.{total:010}.parquet"),
            CheckpointForm::Uuid { id, encoding } => write!(f, "{id}.{}", encoding.extension()),
        }
    }
}
