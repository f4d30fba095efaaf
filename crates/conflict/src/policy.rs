//! Rules as constant tables.

use lakebed_transaction::{Evidence, Judgement, Reason, Verdict};
use std::fmt;

/// One named condition over the facts of ours and of landed, with the sentence that a user will read.
pub struct Check<F: 'static> {
    /// What fired, in words and classes.
    pub reason: Reason,
    /// The verdict when it fires.
    pub verdict: Verdict,
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
/// use lakebed_conflict::{Cell, Policy, Row};
///
/// static TOY: Policy<u32, 1> =
///     Policy { name: "toy", revision: 1, first: &[], rows: [Row { ours: 0, cells: [Cell::Clear] }] }.checked();
/// assert!(TOY.judge((0, &7), (0, &8)).verdict.accepts());
/// ```
#[derive(Debug)]
pub struct Policy<F: 'static, const N: usize> {
    /// The name that users give.
    pub name: &'static str,
    /// Raised whenever a verdict changes; printed as `name@revision`.
    pub revision: u32,
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
        let fired = |checks: &[&'static Check<F>]| {
            checks.iter().find_map(|check| {
                (check.fires)(ours.1, landed.1)
                    .map(|evidence| Judgement::by(check.verdict, check.reason, Some(evidence)))
            })
        };
        if let Some(judgement) = fired(self.first) {
            return judgement;
        }
        let Some(cell) = self.rows.get(ours.0).and_then(|row| row.cells.get(landed.0)) else {
            return Judgement::by(Verdict::Unspecified, UNSPECIFIED, Some(Evidence::Operations));
        };
        // A fixed verdict looks at nothing but what the two operations are.
        let fixed = |verdict, reason| Judgement::by(verdict, reason, Some(Evidence::Operations));
        match cell {
            Cell::Clear => Judgement::clear(),
            Cell::Always(verdict, reason) => fixed(*verdict, *reason),
            Cell::If(checks) => fired(checks).unwrap_or_else(Judgement::clear),
            Cell::Else(checks, verdict, reason) => fired(checks).unwrap_or_else(|| fixed(*verdict, *reason)),
            Cell::Unspecified => fixed(Verdict::Unspecified, UNSPECIFIED),
        }
    }
}
