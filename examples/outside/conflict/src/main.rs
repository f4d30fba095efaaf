//! An engine that has its own log and takes nothing of lakebed but the conflict rules.
//!
//! Its log is a list of commits in memory. Before it adds one, it turns its own records into footprints and asks a policy: the matrix of
//! MaxCompute, which comes with the rules, or snapshot validation in the manner of Iceberg, which is written here.

mod log;
mod validation;

use lakebed_conflict::maxcompute::{self, MaxComputeFacts, PartitionSet};
use lakebed_transaction::{Judgement, MaxComputeKind, Scalar};
use log::{Commit, DataFile, Log, Operation};

/// How the engine judges one of its commits against one that landed.
type Judge = fn(&Commit, &Commit) -> Judgement;

/// With MaxCompute's matrix: what each does, and in which days.
fn by_matrix(ours: &Commit, landed: &Commit) -> Judgement {
    maxcompute::judge(&in_matrix(ours), &in_matrix(landed))
}

fn in_matrix(commit: &Commit) -> MaxComputeFacts {
    let kind = match commit.operation {
        Operation::Append => MaxComputeKind::Insert,
        Operation::Overwrite => MaxComputeKind::Overwrite,
        Operation::DeleteRows => MaxComputeKind::Update,
        Operation::Compact => MaxComputeKind::MinorCompact,
    };
    let day = |file: &DataFile| vec![("day".into(), Scalar::Int(file.day))];
    let touched = commit.added.iter().chain(&commit.removed).map(day).collect();
    MaxComputeFacts::new(kind, PartitionSet::of(touched))
}

fn main() {
    for (name, judge) in [("maxcompute", by_matrix as Judge), ("snapshot-validation", validation::judge)] {
        let mut log = Log::new(judge);
        let base = log.commit(Commit::new(Operation::Append, &[("a", 1), ("b", 2)], &[]));
        let read = base.unwrap_or_default();
        for (text, mut commit) in [
            ("a delete in day 1", Commit::new(Operation::DeleteRows, &[("a2", 1)], &[("a", 1)])),
            ("an append to day 2", Commit::new(Operation::Append, &[("c", 2)], &[])),
            ("a compaction of day 1", Commit::new(Operation::Compact, &[("d", 1)], &[("a", 1)])),
        ] {
            commit.read_version = read;
            match log.commit(commit) {
                Ok(version) => println!("{name}: {text} is version {version}"),
                Err(refusal) => println!("{name}: {text} is refused: {refusal}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(judge: Judge) -> Log {
        let mut log = Log::new(judge);
        log.commit(Commit::new(Operation::Append, &[("a", 1), ("b", 2)], &[])).unwrap();
        log
    }

    /// Commits that were planned on version 0, in the order in which they arrive; which of them land.
    fn landed(judge: Judge, commits: Vec<Commit>) -> Vec<bool> {
        let mut log = log(judge);
        commits.into_iter().map(|commit| log.commit(commit).is_ok()).collect()
    }

    fn delete(to: &str, from: &str, day: i64) -> Commit {
        Commit::new(Operation::DeleteRows, &[(to, day)], &[(from, day)])
    }

    #[test]
    fn the_matrix_serialises_changes_of_one_day() {
        let appends = |days: [i64; 2]| days.map(|day| Commit::new(Operation::Append, &[("n", day)], &[])).to_vec();
        assert_eq!(landed(by_matrix, appends([1, 2])), [true, true]);
        assert_eq!(landed(by_matrix, appends([1, 1])), [true, false]);
        let overwrite = Commit::new(Operation::Overwrite, &[("o", 1)], &[("a", 1)]);
        assert_eq!(landed(by_matrix, vec![delete("a2", "a", 1), overwrite]), [true, true]);
    }

    #[test]
    fn validation_lets_appends_pass_and_protects_files() {
        let appends = [1, 1].map(|day| Commit::new(Operation::Append, &[("n", day)], &[])).to_vec();
        assert_eq!(landed(validation::judge, appends), [true, true]);
        assert_eq!(landed(validation::judge, vec![delete("a2", "a", 1), delete("a3", "a", 1)]), [true, false]);
        assert_eq!(landed(validation::judge, vec![delete("a2", "a", 1), delete("b2", "b", 2)]), [true, true]);
    }

    #[test]
    fn validation_asks_whether_new_files_may_match_the_filter() {
        // The delete looked for id = 5; the first append holds ids 0 to 4, the second 5 to 9.
        let append = |low, high| {
            let mut commit = Commit::new(Operation::Append, &[("n", 1)], &[]);
            commit.added[0].ids = Some((low, high));
            commit
        };
        let looking_for_five = || {
            let mut commit = delete("a2", "a", 1);
            commit.looked_for_id = Some(5);
            commit
        };
        assert_eq!(landed(validation::judge, vec![append(0, 4), looking_for_five()]), [true, true]);
        assert_eq!(landed(validation::judge, vec![append(5, 9), looking_for_five()]), [true, false]);
        // A file without statistics may hold anything.
        let unknown = Commit::new(Operation::Append, &[("n", 1)], &[]);
        assert_eq!(landed(validation::judge, vec![unknown, looking_for_five()]), [true, false]);
    }

    #[test]
    fn validation_refuses_more_the_less_a_filter_says() {
        use lakebed_transaction::{Expr, Footprint, Kind, ReadPredicate, Unit, UnitId};
        let landed = Footprint { added_units: vec![Unit::named(UnitId::file("n"))], ..Footprint::default() };
        let looking = |filters: Vec<Expr>| {
            let read = ReadPredicate { partition: Vec::new(), data: filters };
            let ours = Footprint { predicates: vec![read], ..Footprint::default() };
            let (delete, append) = (Operation::DeleteRows.index(), Operation::Append.index());
            validation::VALIDATION.judge((delete, &ours), (append, &landed)).verdict
        };
        let filters = [vec![Expr::column("flag")], vec![Expr::always()], Vec::new()];
        assert!(filters.into_iter().all(|filters| !looking(filters).accepts()));
    }

    #[test]
    fn a_refusal_says_why_and_where() {
        let mut log = log(validation::judge);
        log.commit(delete("a2", "a", 1)).unwrap();
        let refusal = log.commit(delete("a3", "a", 1)).unwrap_err().to_string();
        assert!(refusal.contains("removed-files-must-exist") && refusal.contains("(a)"), "{refusal}");
    }

    #[test]
    fn the_policy_prints_itself() {
        let table = validation::VALIDATION.markdown::<Operation>();
        assert!(table.starts_with("# Policy `snapshot-validation@1`"), "{table}");
        assert!(table.contains("`new-files-may-match` → retryable"), "{table}");
    }

    #[test]
    fn the_example_in_the_documentation_is_this_policy() {
        let page = include_str!("../../../../docs/use-the-rules-alone.md");
        let source = concat!(include_str!("validation.rs"), include_str!("log.rs"));
        let excerpts: Vec<&str> = page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(excerpts.len() >= 2);
        for excerpt in excerpts {
            let here = source.contains(excerpt.trim()) || include_str!("main.rs").contains(excerpt.trim());
            assert!(here, "not in the example:\n{excerpt}");
        }
    }
}
