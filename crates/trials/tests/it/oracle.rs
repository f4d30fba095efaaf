//! What a policy says of a pair, from the rows and files that both sides touch; no rule of ours is asked.

use lakebed_table::TableFormat;
use lakebed_transaction::Verdict;
use lakebed_trials::statement::Layout;
use lakebed_trials::{Answer, Filter, Row, State, Statement};
use std::collections::BTreeSet;
use std::fmt;

/// Two statements that read one version. Both touch partition 0, or ours that and landed partition 1.
pub(crate) struct Pair {
    pub(crate) ours: Statement,
    pub(crate) landed: Statement,
    pub(crate) apart: bool,
}

/// The tables of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ground {
    pub(crate) format: TableFormat,
    /// Rows are deleted where they stand; else their files are copied without them.
    pub(crate) in_place: bool,
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tables, rows deleted {}", self.format, if self.in_place { "in place" } else { "by copies" })
    }
}

/// What ours has to be answered.
pub(crate) enum Says {
    Accepted,
    /// With this class, where there is one.
    Refused(Option<&'static str>),
    /// The rules accept, and what has to be rebased stands nowhere any more: ours is planned again, under the name of this check.
    Impossible(&'static str),
}

impl Says {
    /// How an answer differs.
    pub(crate) fn differs(&self, answer: &Answer) -> Option<String> {
        match (self, answer) {
            (Self::Accepted, Answer::Committed { .. }) | (Self::Refused(None), Answer::Refused { .. }) => None,
            (Self::Refused(Some(wanted)), Answer::Refused { class, .. }) if class.as_deref() == Some(wanted) => None,
            (Self::Impossible(wanted), Answer::Refused { check, verdict, .. })
                if check == wanted && verdict == Verdict::Retryable.name() =>
            {
                None
            }
            (Self::Accepted, _) => Some("a commit".to_owned()),
            (Self::Refused(class), _) => Some(format!("a refusal, {class:?}")),
            (Self::Impossible(check), _) => Some(format!("another planning, for {check}")),
        }
    }
}

/// What a policy has to answer.
pub(crate) fn expected(policy: &str, pair: &Pair, start: &State, tables: Ground) -> Says {
    match policy {
        "delta-serializable" => by_files(pair, (true, true), tables),
        "delta-write-serializable" => by_files(pair, (true, false), tables),
        "delta-snapshot" => by_files(pair, (false, false), tables),
        "precise" => by_rows(pair, start, false, tables),
        "precise-reorder" => by_rows(pair, start, true, tables),
        "lance" => by_fragments(pair, start),
        "maxcompute" => by_matrix(pair, tables),
        other => panic!("nothing is known of {other}"),
    }
}

/// Files by the partitions that they are in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Places {
    None,
    Partition,
    Everywhere,
}

impl Places {
    fn meet(self, other: Self, apart: bool) -> bool {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => false,
            (Self::Partition, Self::Partition) => !apart,
            (Self::Everywhere, _) | (_, Self::Everywhere) => true,
        }
    }
}

/// Where a statement adds files, takes files out, and reads.
fn files(statement: &Statement) -> [Places; 3] {
    use Places::{Everywhere, None, Partition};
    match statement {
        Statement::Append(_) => [Partition, None, None],
        Statement::AppendRead(..) => [Partition, None, Partition],
        Statement::Overwrite(_) => [Partition, Everywhere, Everywhere],
        Statement::Truncate(_) => [None, Partition, Partition],
        Statement::OverwritePartition(..) | Statement::Delete(_) | Statement::Update(..) => {
            [Partition, Partition, Partition]
        }
        // Which partition a key is in is not known before.
        Statement::Merge(_) => [Partition, Partition, Everywhere],
        Statement::Compact(_) => [Everywhere, Everywhere, Everywhere],
        // What was appended later goes, and nothing has to come back.
        Statement::Restore(..) => [None, Everywhere, None],
        Statement::Set(..) => [None, None, None],
    }
}

/// Whether ours is a compaction of a Delta table whose files all stand: it is committed again on the newest version, whatever the policy
/// said. Not where it brings vectors along, and properties changed, which may forbid them.
fn is_committed_again(pair: &Pair, tables: Ground) -> bool {
    let Statement::Compact(layout) = pair.ours else { return false };
    let [_, took, _] = files(&pair.landed);
    let brings_vectors = tables.in_place && layout == Layout::Minor;
    let sets = matches!(pair.landed, Statement::Set(..));
    tables.format == TableFormat::Delta && took == Places::None && !(brings_vectors && sets)
}

/// Spark's pairwise tables: whether what was added counts at the level, and whether it does where it was added blindly.
fn by_files(pair: &Pair, (added_counts, blind_counts): (bool, bool), tables: Ground) -> Says {
    let ([adds, removes, _], [_, _, reads]) = (files(&pair.landed), files(&pair.ours));
    let layout = matches!(pair.ours, Statement::Compact(_));
    let blind = matches!(pair.landed, Statement::Append(_));
    if let Statement::Restore(..) = pair.ours {
        return Says::Refused(Some("DELTA_CONCURRENT_WRITE"));
    }
    if let Statement::Set(..) = pair.landed {
        let accepted = is_committed_again(pair, tables);
        return if accepted { Says::Accepted } else { Says::Refused(Some("DELTA_METADATA_CHANGED")) };
    }
    if let (Statement::Restore(..), Statement::Set(..)) = (&pair.landed, &pair.ours) {
        return Says::Refused(Some("DELTA_METADATA_CHANGED"));
    }
    if added_counts && !layout && (blind_counts || !blind) && adds.meet(reads, pair.apart) {
        Says::Refused(Some("DELTA_CONCURRENT_APPEND"))
    } else if removes.meet(reads, pair.apart) {
        Says::Refused(Some("DELTA_CONCURRENT_DELETE_READ"))
    } else {
        Says::Accepted
    }
}

fn went_and_came(statement: &Statement, start: &State) -> (BTreeSet<Row>, BTreeSet<Row>) {
    let after = statement.alone(start);
    let rows = |state: &State| state.rows.keys().copied().collect::<BTreeSet<Row>>();
    let (before, after) = (rows(start), rows(&after));
    (&before - &after, &after - &before)
}

/// What stands beside the rows, where it decides alone.
fn by_definitions(pair: &Pair, tables: Ground) -> Option<Says> {
    let metadata_changed = Some(Says::Refused(Some("DELTA_METADATA_CHANGED")));
    match (&pair.ours, &pair.landed, tables.format) {
        (Statement::Restore(..), _, TableFormat::Delta) => Some(Says::Refused(Some("DELTA_CONCURRENT_WRITE"))),
        _ if is_committed_again(pair, tables) => Some(Says::Accepted),
        (_, Statement::Set(..), TableFormat::Delta)
        | (Statement::Set(..), Statement::Restore(..), TableFormat::Delta) => metadata_changed,
        // Keys of a Lance table's configuration are registers of their own, and a restore looks at nothing.
        (Statement::Set(ours, _), Statement::Set(landed, _), TableFormat::Lance) if ours == landed => {
            Some(Says::Refused(None))
        }
        (Statement::Restore(..) | Statement::Set(..), _, TableFormat::Lance)
        | (_, Statement::Set(..), TableFormat::Lance) => Some(Says::Accepted),
        _ => None,
    }
}

/// A compaction of ours under the policies that judge rows. Deletions are carried along where rows are deleted in place, but not into
/// another order. Of what went, nothing is left: on a Delta table the rest of the compaction stands all the same, where what was made of it can be
/// deleted in place and where it can be found there; the fragments of a Lance table hold rows of all partitions.
fn compacted(layout: Layout, landed: &Statement, tables: Ground) -> Says {
    let is_lance = tables.format == TableFormat::Lance;
    let followed = tables.in_place && layout != Layout::Clustered;
    match landed {
        Statement::Append(_) | Statement::AppendRead(..) | Statement::Set(..) => Says::Accepted,
        Statement::Overwrite(_) | Statement::Restore(..) if is_lance => Says::Refused(None),
        Statement::Compact(_) if is_lance => Says::Impossible("input-gone"),
        _ if followed => Says::Accepted,
        // Whole partitions go with their files, but not out of a fragment.
        Statement::Overwrite(_) | Statement::Restore(..) | Statement::Compact(_) => Says::Impossible("input-gone"),
        Statement::Truncate(_) if !is_lance => Says::Impossible("input-gone"),
        _ if !tables.in_place => Says::Impossible("input-gone"),
        Statement::OverwritePartition(..)
        | Statement::Truncate(_)
        | Statement::Delete(_)
        | Statement::Update(..)
        | Statement::Merge(_) => Says::Refused(None),
    }
}

/// On tables without vectors: whether ours leaves rows out of a copy of a file of which landed made something else.
fn copies_what_went(pair: &Pair) -> bool {
    let ([_, took, _], [_, takes, _]) = (files(&pair.landed), files(&pair.ours));
    match (&pair.ours, &pair.landed) {
        // The keys stand in files that were there before the restored version.
        (Statement::Merge(_), Statement::Restore(..)) => false,
        // A truncate takes files out as they are.
        (Statement::Delete(_) | Statement::Update(..) | Statement::Merge(_), _) => takes.meet(took, pair.apart),
        _ => false,
    }
}

/// Rows: refused where a row that landed took out or brought in is one that ours looked for; of a delete's, one that came in.
fn by_rows(pair: &Pair, start: &State, reorders: bool, tables: Ground) -> Says {
    if let Some(says) = by_definitions(pair, tables) {
        return says;
    }
    if let Statement::Compact(layout) = &pair.ours {
        return compacted(*layout, &pair.landed, tables);
    }
    if !tables.in_place && copies_what_went(pair) {
        return Says::Refused(None);
    }
    if reorders && matches!(pair.landed, Statement::Append(_)) {
        return Says::Accepted;
    }
    let (went, came) = went_and_came(&pair.landed, start);
    let looked_for: Box<dyn Fn(&Row) -> bool> = match &pair.ours {
        Statement::AppendRead(filter, _) | Statement::Delete(filter) | Statement::Update(filter, _) => {
            let filter = *filter;
            Box::new(move |row| filter.meets(row))
        }
        // Whatever stands in the partitions of a Delta table goes.
        Statement::Truncate(p) if tables.format == TableFormat::Lance => {
            let filter = Filter::partition(*p);
            Box::new(move |row| filter.meets(row))
        }
        Statement::Merge(rows) => {
            let keys: BTreeSet<i64> = rows.iter().map(|row| row.id).collect();
            Box::new(move |row| keys.contains(&row.id))
        }
        Statement::Append(_)
        | Statement::Overwrite(_)
        | Statement::OverwritePartition(..)
        | Statement::Truncate(_)
        | Statement::Compact(_)
        | Statement::Restore(..)
        | Statement::Set(..) => Box::new(|_| false),
    };
    let deletes = matches!(pair.ours, Statement::Delete(_) | Statement::Truncate(_));
    let meets = came.iter().any(&looked_for) || (!deletes && went.iter().any(&looked_for));
    if meets { Says::Refused(None) } else { Says::Accepted }
}

/// Lance: rows of one fragment against rows, fragments against compactions, and whoever replaces everything wins.
fn by_fragments(pair: &Pair, start: &State) -> Says {
    let replaces = |statement: &Statement| matches!(statement, Statement::Overwrite(_) | Statement::Restore(..));
    let changes = |statement: &Statement| {
        matches!(statement, Statement::Delete(_) | Statement::Truncate(_) | Statement::Update(..) | Statement::Merge(_))
    };
    let compacts = |statement: &Statement| matches!(statement, Statement::Compact(_));
    let refused = match (&pair.ours, &pair.landed) {
        (Statement::Restore(..), _) => false,
        (Statement::Overwrite(_), landed) => matches!(landed, Statement::Overwrite(_)),
        (Statement::Set(ours, _), Statement::Set(landed, _)) => ours == landed,
        (Statement::Set(..), _) => false,
        (_, landed) if replaces(landed) => true,
        // Rows are compared once ours is put on what landed.
        (ours, landed) if changes(ours) && changes(landed) => {
            let gone = |statement| went_and_came(statement, start).0;
            return if gone(ours).is_disjoint(&gone(landed)) { Says::Accepted } else { Says::Impossible("same-rows") };
        }
        (ours, landed) => compacts(ours) && (compacts(landed) || changes(landed)) || changes(ours) && compacts(landed),
    };
    if refused { Says::Refused(None) } else { Says::Accepted }
}

/// The jobs of MaxCompute's matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Job {
    Overwrite,
    Insert,
    Update,
    Minor,
    Major,
    Outside,
}

/// What a statement is among them. A compaction that has no deleted row to drop is a minor one, and so is clustering.
fn job(statement: &Statement, tables: Ground) -> Job {
    match statement {
        Statement::Append(_) | Statement::AppendRead(..) => Job::Insert,
        Statement::Overwrite(_) | Statement::OverwritePartition(..) => Job::Overwrite,
        Statement::Truncate(_) if tables.format == TableFormat::Delta => Job::Overwrite,
        Statement::Truncate(_) | Statement::Delete(_) | Statement::Update(..) | Statement::Merge(_) => Job::Update,
        Statement::Compact(Layout::Major) if tables.in_place => Job::Major,
        Statement::Compact(_) => Job::Minor,
        Statement::Restore(..) | Statement::Set(..) => Job::Outside,
    }
}

/// MaxCompute's matrix, by the four rules that make its 25 cells; what is outside is refused. The unit is a partition.
fn by_matrix(pair: &Pair, tables: Ground) -> Says {
    let is_delta = tables.format == TableFormat::Delta;
    let ([adds, removes, _], [added, removed, _]) = (files(&pair.ours), files(&pair.landed));
    let (ours, landed) = (job(&pair.ours, tables), job(&pair.landed, tables));
    let everywhere = [adds, removes, added, removed].contains(&Places::Everywhere);
    let apart = is_delta && pair.apart && !everywhere;
    let accepted = match ours {
        _ if ours == Job::Outside || landed == Job::Outside => false,
        _ if apart => true,
        Job::Overwrite => true,
        Job::Insert | Job::Update => matches!(landed, Job::Minor | Job::Major),
        Job::Minor => matches!(landed, Job::Insert | Job::Update),
        Job::Major => landed == Job::Minor,
        Job::Outside => false,
    };
    let is_lance = tables.format == TableFormat::Lance;
    match (&pair.ours, &pair.landed) {
        _ if !accepted => Says::Refused(None),
        // What went is no file that ours could compact, and out of one that it sorted no row can be taken.
        (Statement::Compact(_), Statement::Compact(_)) if is_lance => Says::Impossible("input-gone"),
        (Statement::Compact(Layout::Clustered), _) if landed == Job::Update => Says::Impossible("input-gone"),
        (Statement::Compact(_), _) if !tables.in_place && landed != Job::Insert => Says::Impossible("input-gone"),
        // Rows that were put in another order, or that a copy leaves out, stand nowhere that is known.
        (
            Statement::Delete(_) | Statement::Truncate(_) | Statement::Update(..) | Statement::Merge(_),
            Statement::Compact(landed),
        ) if ours == Job::Update && (*landed == Layout::Clustered || !tables.in_place) => {
            Says::Impossible("rows-moved")
        }
        _ => Says::Accepted,
    }
}
