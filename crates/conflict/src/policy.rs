//! Rules as constant tables.

use lakebed_transaction::{Evidence, Judgement, Reason, Verdict};
use std::fmt;

/// What a pair of transactions has that checks can meet in: one bit each, as the policy counts them.
///
/// Most checks need something that most transactions do not have. Instead of asking each check, a policy looks once at both
/// sides, and asks only the checks whose needs are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Marks(u32);

impl Marks {
    /// No mark: what a check needs that is always asked.
    pub const NONE: Self = Self(0);
    /// Every mark: what a policy that does not look sees.
    pub const ALL: Self = Self(u32::MAX);

    /// The mark of this number, 0 to 31.
    ///
    /// # Panics
    /// When there is no such mark.
    #[must_use]
    pub const fn bit(number: u32) -> Self {
        assert!(number < u32::BITS, "there are 32 marks");
        Self(1 << number)
    }

    /// The marks of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These marks where the condition holds, else none.
    #[must_use]
    pub const fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::NONE }
    }

    /// Whether all of the others are among these.
    #[must_use]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// One named condition over the facts of ours and of landed, with the sentence that a user will read.
pub struct Check<F: 'static> {
    /// What fired, in words and classes.
    pub reason: Reason,
    /// The verdict when it fires.
    pub verdict: Verdict,
    /// What a pair must have for it to fire at all; [`Marks::NONE`] where that is not known beforehand.
    pub needs: Marks,
    /// `Some` where it fires, with the place where both sides meet.
    pub fires: fn(ours: &F, landed: &F) -> Option<Evidence>,
}

impl<F> fmt::Debug for Check<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.reason.check, self.verdict)
    }
}

/// What a policy says about one pair of kinds.
#[derive(Debug)]
pub enum Cell<F: 'static> {
    /// Nothing is in the way.
    Clear,
    /// One verdict, whatever the two did in detail.
    Always(Verdict, Reason),
    /// In order; the first that fires decides; none: clear.
    If(&'static [&'static Check<F>]),
    /// In order; the first that fires decides; none: this verdict.
    Else(&'static [&'static Check<F>], Verdict, Reason),
    /// The policy does not say; refused.
    Unspecified,
}

/// One row: everything that ours of one kind may meet.
#[derive(Debug)]
pub struct Row<F: 'static, const N: usize> {
    /// The kind's place, which must be the row's place.
    pub ours: usize,
    /// By the kind of landed.
    pub cells: [Cell<F>; N],
}

/// A named set of rules for one family of operations.
///
/// ```
/// use lakebed_conflict::{Cell, Marks, Policy, Row};
///
/// static TOY: Policy<u32, 1> =
///     Policy { name: "toy", revision: 1, marks: |_, _| Marks::ALL, first: &[], rows: [Row { ours: 0, cells: [Cell::Clear] }] }
///         .checked();
/// assert!(TOY.judge((0, &7), (0, &8)).verdict.accepts());
/// ```
#[derive(Debug)]
pub struct Policy<F: 'static, const N: usize> {
    /// The name that users give.
    pub name: &'static str,
    /// Raised whenever a verdict changes; printed as `name@revision`.
    pub revision: u32,
    /// What a pair has of what checks need. A mark that is set without need costs time; one that is missing although a check
    /// that needs it would fire loses a conflict.
    pub marks: fn(ours: &F, landed: &F) -> Marks,
    /// Checks that run before the table, in order.
    pub first: &'static [&'static Check<F>],
    /// One row for each kind, in the order of the family.
    pub rows: [Row<F, N>; N],
}

/// The reason of a cell that the policy leaves open.
const UNSPECIFIED: Reason = Reason {
    check: "unspecified",
    sentence: "the policy says nothing about this pair of operations",
    advice: "read the newest version and plan the operation again, or choose a policy that covers the pair",
    error_class: None,
};

impl<F> Clone for Cell<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Cell<F> {}

impl<F, const N: usize> Clone for Row<F, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, const N: usize> Copy for Row<F, N> {}

impl<F, const N: usize> Clone for Policy<F, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, const N: usize> Copy for Policy<F, N> {}

impl<F: 'static, const N: usize> Policy<F, N> {
    /// The policy itself; fails to compile (in a constant) where a row stands in the wrong place.
    ///
    /// # Panics
    /// When a row is out of place.
    #[must_use]
    pub const fn checked(self) -> Self {
        let mut at = 0;
        while at < N {
            assert!(self.rows[at].ours == at, "a row of the rule table is out of place");
            at += 1;
        }
        self
    }

    /// `name@revision`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}@{}", self.name, self.revision)
    }

    /// Judges ours against one landed transaction. The numbers are the kinds' places in their family.
    ///
    /// A kind outside the family is unspecified.
    pub fn judge(&self, ours: (usize, &F), landed: (usize, &F)) -> Judgement {
        let marks = (self.marks)(ours.1, landed.1);
        let cell = self.rows.get(ours.0).and_then(|row| row.cells.get(landed.0));
        for checks in [self.first, cell.map_or(&[][..], Cell::checks)] {
            for check in checks {
                if marks.contains(check.needs)
                    && let Some(evidence) = (check.fires)(ours.1, landed.1)
                {
                    return Judgement::by(check.verdict, check.reason, Some(evidence));
                }
            }
        }
        // A fixed verdict looks at nothing but what the two operations are.
        let fixed = |verdict, reason| Judgement::by(verdict, reason, Some(Evidence::Operations));
        match cell {
            Some(Cell::Clear | Cell::If(_)) => Judgement::clear(),
            Some(Cell::Always(verdict, reason) | Cell::Else(_, verdict, reason)) => fixed(*verdict, *reason),
            Some(Cell::Unspecified) | None => fixed(Verdict::Unspecified, UNSPECIFIED),
        }
    }
}

impl<F> Cell<F> {
    /// The conditions, in the order in which they are asked.
    #[must_use]
    pub const fn checks(&self) -> &'static [&'static Check<F>] {
        match self {
            Self::If(checks) | Self::Else(checks, _, _) => checks,
            Self::Clear | Self::Always(_, _) | Self::Unspecified => &[],
        }
    }
}
