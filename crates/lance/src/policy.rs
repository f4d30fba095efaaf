//! Who judges a commit to a Lance table.

use lakebed_conflict::Policy;
use lakebed_conflict::lance::{LANCE, LanceFacts};
use lakebed_conflict::maxcompute::MAXCOMPUTE;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER, PreciseTable};
use lakebed_transaction::LanceKind;

/// A policy for Lance tables.
#[derive(Clone, Copy, Debug)]
pub enum JudgedBy {
    /// Lance's own rules, or a table like them, by operations and fragments.
    Operations(&'static Policy<LanceFacts, { LanceKind::COUNT }>),
    /// `precise` or `precise-reorder`, by rows.
    Rows(&'static PreciseTable),
    /// The matrix of MaxCompute, by operations alone.
    Matrix,
}

impl JudgedBy {
    /// Every policy.
    pub const ALL: [Self; 4] =
        [Self::Operations(&LANCE), Self::Rows(&PRECISE), Self::Rows(&PRECISE_REORDER), Self::Matrix];

    /// The policy where nobody names one.
    pub const DEFAULT: Self = Self::Rows(&PRECISE);

    /// The policy of this name, or of this name and revision (`precise@1`): of each policy the newest revision is there.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == text || policy.label() == text)
    }

    /// The name that users give.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operations(table) => table.name,
            Self::Rows(table) => table.name,
            Self::Matrix => MAXCOMPUTE.name,
        }
    }

    /// `name@revision`.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Operations(table) => table.label(),
            Self::Rows(table) => table.label(),
            Self::Matrix => MAXCOMPUTE.label(),
        }
    }

    /// Whether one promises what the other does, or more.
    #[must_use]
    pub fn is_as_strong_as(self, promised: Self) -> bool {
        self.strength() >= promised.strength()
    }

    fn strength(self) -> u8 {
        match self {
            Self::Matrix => 0,
            Self::Operations(_) => 1,
            Self::Rows(table) if std::ptr::eq(table, &PRECISE_REORDER) => 2,
            Self::Rows(_) => 3,
        }
    }
}
