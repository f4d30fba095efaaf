//! What a rule says about ours against a landed transaction, and the conflict that a user reads.

use crate::{Register, RowSet, Scalar, UnitId};
use lakebed_naming::Version;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What a rule says about *ours* (not committed) against *landed* (already in the log).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Verdict {
    /// Both stand, ours unchanged.
    Compatible,
    /// Both stand, after a rebase of ours.
    Rebase,
    /// Both stand, but ours belongs before landed in serial order; recorded as such.
    Reordered,
    /// Ours replaces what landed wrote, as its operation says.
    LaterOverwrites,
    /// Ours must be planned again on the newest version.
    Retryable,
    /// Ours can never follow landed.
    Incompatible,
    /// The policy says nothing about this pair; refused.
    Unspecified,
    /// Undecided until named rows are looked at.
    NeedFacts,
}

impl Verdict {
    /// Whether ours may be committed over landed.
    #[must_use]
    pub const fn accepts(self) -> bool {
        match self {
            Self::Compatible | Self::Rebase | Self::Reordered | Self::LaterOverwrites => true,
            Self::Retryable | Self::Incompatible | Self::Unspecified | Self::NeedFacts => false,
        }
    }

    /// The spelling in JSON and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compatible => "compatible",
            Self::Rebase => "rebase",
            Self::Reordered => "reordered",
            Self::LaterOverwrites => "later-overwrites",
            Self::Retryable => "retryable",
            Self::Incompatible => "incompatible",
            Self::Unspecified => "unspecified",
            Self::NeedFacts => "need-facts",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where the two transactions meet: a few names, enough to find the place.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// Files or fragments that both touch.
    Units(Vec<UnitId>),
    /// Rows of one unit that both touch.
    Rows(UnitId, RowSet),
    /// A register that both touch.
    Register(Register),
    /// Fields (columns) that both touch, by id.
    Fields(Vec<i64>),
    /// A key that both may have written.
    Key {
        /// The key's fields, by id, in order.
        fields: Vec<i64>,
        /// The key's hash, where both sides name it exactly.
        hash: Option<u64>,
    },
    /// What a predicate of one side meets, or misses, among the other's rows.
    Column {
        /// The file or fragment; `None` where two predicates meet.
        unit: Option<UnitId>,
        /// The column, nested names joined by dots.
        column: Arc<str>,
        /// What is known of the column there.
        held: Held,
    },
    /// A partition that both touch: names and values of its columns; empty where nothing tells partitions apart.
    Partition(Vec<(Arc<str>, Scalar)>),
    /// The two operations as such, whatever they touch.
    Operations,
    /// Anything else, in words.
    Text(Cow<'static, str>),
}

impl Evidence {
    /// A place that has no form of its own, in words.
    #[must_use]
    pub fn text(words: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(words.into())
    }
}

/// What is known of a column in one place, such as a file or the meeting of two predicates.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// This value in every row, NULL included.
    Value(Scalar),
    /// Values between two ends; an absent end is not known.
    Between(Option<Scalar>, Option<Scalar>),
    /// Anything.
    Unknown,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "= {value}"),
            Self::Between(Some(low), Some(high)) => write!(f, "between {low} and {high}"),
            Self::Between(Some(low), None) => write!(f, "from {low}"),
            Self::Between(None, Some(high)) => write!(f, "up to {high}"),
            Self::Between(None, None) | Self::Unknown => f.write_str("not known"),
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units(ids) => write_list(f, ids.iter().map(ToString::to_string)),
            Self::Rows(id, rows) => {
                write!(f, "{id}, {} row(s): ", rows.len())?;
                write_list(f, rows.iter().map(|row| row.to_string()))
            }
            Self::Register(register) => match register {
                Register::Schema => f.write_str("schema"),
                Register::Protocol => f.write_str("protocol"),
                Register::Property(key) => write!(f, "property {key}"),
                Register::Application(id) => write!(f, "application {id}"),
                Register::Domain(name) => write!(f, "domain {name}"),
                Register::Index(name) => write!(f, "index {name}"),
            },
            Self::Fields(ids) => {
                f.write_str("field ")?;
                write_list(f, ids.iter().map(ToString::to_string))
            }
            Self::Key { fields, hash } => {
                f.write_str("key over field ")?;
                write_list(f, fields.iter().map(ToString::to_string))?;
                hash.map_or(Ok(()), |hash| write!(f, ", hash {hash:016x}"))
            }
            Self::Column { unit, column, held } => {
                write!(f, "{column} {held}")?;
                unit.as_ref().map_or(Ok(()), |unit| write!(f, " in {unit}"))
            }
            Self::Partition(values) if values.is_empty() => f.write_str("the whole table"),
            Self::Partition(values) => {
                f.write_str("partition ")?;
                write_list(f, values.iter().map(|(name, value)| format!("{name}={value}")))
            }
            Self::Operations => f.write_str("the two operations as such"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// How many names a message lists before it says how many more there are.
const NAMES_LISTED_MAX: usize = 5;

fn write_list(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = String>) -> fmt::Result {
    let mut more = 0_usize;
    for (at, item) in items.enumerate() {
        if at >= NAMES_LISTED_MAX {
            more += 1;
        } else {
            write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
        }
    }
    if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
}

/// Why a verdict is what it is: the check that fired, with its sentence and its advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The check's name, stable across releases of one policy revision.
    pub check: &'static str,
    /// One sentence: what both sides do.
    pub sentence: &'static str,
    /// What to do next.
    pub advice: &'static str,
    /// The error class that Spark's users know; `None` outside Delta's policies.
    pub error_class: Option<&'static str>,
}

/// A verdict with its reason and evidence.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What the rule says.
    pub verdict: Verdict,
    /// The check that decided; `None` where the cell is clear.
    pub reason: Option<Reason>,
    /// Where the two meet.
    pub evidence: Option<Evidence>,
}

impl Judgement {
    /// Nothing fired.
    pub const fn clear() -> Self {
        Self { verdict: Verdict::Compatible, reason: None, evidence: None }
    }

    /// A verdict by a named check.
    pub const fn by(verdict: Verdict, reason: Reason, evidence: Option<Evidence>) -> Self {
        Self { verdict, reason: Some(reason), evidence }
    }
}

/// A conflict: an answer, not an error. Nothing of ours was committed.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The landed version that ours cannot follow.
    pub with: Version,
    /// What ours does, in the words of its family.
    pub ours: String,
    /// What landed did.
    pub landed: String,
    /// The policy and its revision, such as `lance@14`.
    pub policy: String,
    /// The verdict, the check and the evidence.
    pub why: Judgement,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} conflict under {}: our {} cannot follow the {} of version {}",
            self.why.verdict, self.policy, self.ours, self.landed, self.with
        )?;
        if let Some(reason) = &self.why.reason {
            write!(f, ": {}", reason.sentence)?;
            if let Some(evidence) = &self.why.evidence {
                write!(f, " ({evidence})")?;
            }
            write!(f, "; {} [{}]", reason.advice, reason.check)?;
        }
        Ok(())
    }
}
