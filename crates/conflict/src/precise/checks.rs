//! The checks of the `precise` tables: each a name, a sentence and a condition.

use super::PreciseFacts;
use super::image::{Meeting, Reads, first_unit, follows_by_look, looked_at, lost_unit, meeting};
use crate::{Check, Marks};
use lakebed_transaction::{Access, Evidence, PreciseKind, Reason, RowsWanted, Verdict};

/// A check of the `precise` tables.
pub type Rule = Check<PreciseFacts>;

pub(super) const fn reason(check: &'static str, sentence: &'static str, advice: &'static str) -> Reason {
    Reason { check, sentence, advice, error_class: None }
}

const PLAN_AGAIN: &str = "read the newest version and plan the operation again";

/// Landed wrote a register that ours read or writes.
pub static REGISTER_WRITTEN: Rule = Rule {
    reason: reason(
        "register-written",
        "landed wrote a part of the table's definition that ours read or writes",
        PLAN_AGAIN,
    ),
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: |ours, landed| {
        let theirs = &landed.footprint.registers;
        ours.footprint.registers.iter().find_map(|(register, access)| {
            let met = theirs.iter().any(|(other, written)| other == register && clashes(*access, *written));
            met.then(|| Evidence::Register(register.clone()))
        })
    },
};

/// Ours goes before an insert, and landed may have seen that insert or take its rows away.
pub static ORDERED_BEFORE_A_READER: Rule = Rule {
    reason: reason(
        "ordered-before-a-reader",
        "ours was ordered before an insert, and landed, which comes after that insert, may have seen it and not ours",
        PLAN_AGAIN,
    ),
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: |ours, landed| {
        let before = ours.followed.ordered_before?;
        let saw_it = || {
            let earlier = landed.read_version.zip(before.version).is_some_and(|(read, insert)| read < insert);
            !earlier || landed.kind == PreciseKind::Overwrite
        };
        (may_have_read(landed) && saw_it()).then_some(Evidence::Operations)
    },
};

/// Landed only inserted, and ours may go before it.
pub static GOES_BEFORE_INSERT: Rule = Rule {
    reason: reason(
        "goes-before-insert",
        "landed only inserted rows and read nothing, so that ours, which may have met some of them, is ordered before it",
        "nothing to do, unless the rows that landed inserted were to count",
    ),
    verdict: Verdict::Reordered,
    needs: Marks::NONE,
    fires: |ours, landed| {
        let writes_registers = ours.footprint.registers.iter().any(|(_, access)| *access != Access::Read);
        if !landed.is_blind_insert() || writes_registers {
            return None;
        }
        match meeting(ours, landed) {
            Meeting::No => None,
            Meeting::Yes(evidence) => Some(evidence),
            Meeting::Open(wanted) | Meeting::Refused(wanted) => places(&wanted),
        }
    },
};

/// What landed changed meets what ours looked for.
pub static ROWS_MEET: Rule = Rule {
    reason: reason(
        "rows-meet",
        "landed added, changed or removed rows that ours looked for",
        "read the newest version and plan again; look for fewer rows, or run the two one after the other",
    ),
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: |ours, landed| if let Meeting::Yes(evidence) = meeting(ours, landed) { Some(evidence) } else { None },
};

/// Nobody looks at the rows that would decide.
pub static ROWS_NOT_SHOWN: Rule = Rule {
    reason: reason(
        "rows-not-shown",
        "landed's files may hold rows that ours looked for, and their rows were not looked at",
        "read the newest version and plan again; write statistics of the columns that predicates name, or allow files to be read",
    ),
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: |ours, landed| if let Meeting::Refused(wanted) = meeting(ours, landed) { places(&wanted) } else { None },
};

/// Rows have to be looked at.
pub static ROWS_WANTED: Rule = Rule {
    reason: reason(
        "rows-wanted",
        "partition values and statistics do not tell whether landed's files hold rows that ours looked for",
        "look at the rows that are named, and judge again",
    ),
    verdict: Verdict::NeedFacts,
    needs: Marks::NONE,
    fires: |ours, landed| if let Meeting::Open(wanted) = meeting(ours, landed) { places(&wanted) } else { None },
};

/// Both change a unit, and ours cannot be told apart from landed there by rows.
pub static UNIT_CHANGED: Rule = Rule {
    reason: reason(
        "unit-changed",
        "landed changed rows of files that ours replaces by a copy, or changes without having said which rows it looked for",
        "read the newest version and plan again; delete by deletion vectors, which leave a file's other rows alone",
    ),
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: unit_changed,
};

/// Rows that ours deletes or changes stand elsewhere now.
pub static ROWS_MOVED: Rule = Rule {
    reason: reason(
        "rows-moved",
        "landed moved rows that ours deletes or changes, and ours cannot follow them to where they stand now",
        "read the newest version and plan again; compact with lakebed, which records where rows went",
    ),
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: rows_moved,
};

/// Ours follows by new addresses or united vectors.
pub static ROWS_FOLLOW: Rule = Rule {
    reason: reason(
        "rows-follow",
        "both change the same files, and no row that ours looked for: deletions are united and addresses carried over",
        "nothing to do",
    ),
    verdict: Verdict::Rebase,
    needs: Marks::NONE,
    fires: |ours, landed| {
        let theirs = landed.modified();
        first_unit(&ours.modified(), |unit| theirs.contains(unit))
    },
};

/// A compaction's input lost rows that cannot be taken out of its output.
pub static INPUT_CHANGED: Rule = Rule {
    reason: reason(
        "input-changed",
        "landed changed rows of a file that ours compacts, and where these rows go is not recorded",
        "compact again on the newest version",
    ),
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: |ours, landed| {
        let lost = |unit: &_| landed.footprint.rows.iter().any(|(id, _)| id == unit);
        first_unit(&ours.footprint.removed_units, |unit| {
            let follows = ours.mapped_units.contains(unit) && landed.footprint.columns.is_empty() && lost(unit);
            landed.footprint.updated_units.contains(unit) && !follows
        })
    },
};

/// A compaction's input is gone.
pub static INPUT_GONE: Rule = Rule {
    reason: reason(
        "input-gone",
        "landed took out files that ours compacts; what ours made of them is left out",
        "nothing to do",
    ),
    verdict: Verdict::Rebase,
    needs: Marks::NONE,
    fires: |ours, landed| {
        first_unit(&ours.footprint.removed_units, |unit| landed.footprint.removed_units.contains(unit))
    },
};

/// Whether an access of ours minds what landed did to the register.
const fn clashes(ours: Access, landed: Access) -> bool {
    match (landed, ours) {
        (Access::Read, _) | (Access::Append, Access::Append) | (Access::Raise(_), Access::Raise(_)) => false,
        (Access::Write | Access::Append | Access::Raise(_), _) => true,
    }
}

/// Whether what landed did may depend on rows or registers. An entry that is not understood is refused by its cell.
fn may_have_read(landed: &PreciseFacts) -> bool {
    match landed.kind {
        PreciseKind::Layout | PreciseKind::Unknown | PreciseKind::Hole => false,
        PreciseKind::Insert => !landed.is_blind_insert(),
        PreciseKind::Note | PreciseKind::Delete | PreciseKind::Change | PreciseKind::Overwrite => true,
    }
}

fn unit_changed(ours: &PreciseFacts, landed: &PreciseFacts) -> Option<Evidence> {
    let theirs = landed.modified();
    if landed.changes_rows() && Reads::of(ours).is_empty() {
        return first_unit(&ours.modified(), |unit| theirs.contains(unit));
    }
    let lost = |unit: &_| landed.footprint.rows.iter().any(|(id, _)| id == unit);
    first_unit(&ours.copied_units, |unit| {
        let follows = ours.mapped_units.contains(unit) && landed.footprint.columns.is_empty() && lost(unit);
        landed.footprint.updated_units.contains(unit) && !follows
    })
}

fn rows_moved(ours: &PreciseFacts, landed: &PreciseFacts) -> Option<Evidence> {
    let theirs = landed.modified();
    let meets = |unit: &_| theirs.contains(unit);
    let follows = follows_by_look(ours, landed);
    match looked_at(ours, landed) {
        Some(_) if follows => None,
        Some(found) if !found.carried.is_empty() => first_unit(&ours.modified(), meets),
        Some(_) | None if !landed.changes_rows() => lost_unit(ours, landed),
        // What was not carried over is gone, but for the other rows of a file that ours copied.
        Some(_) | None => {
            lost_unit(ours, landed).filter(|_| ours.copied_units.intersects(&landed.footprint.removed_units))
        }
    }
}

fn places(wanted: &RowsWanted) -> Option<Evidence> {
    let units = wanted.added.iter().chain(&wanted.removed).chain(&wanted.shrunk);
    Some(Evidence::Units(units.cloned().collect()))
}
