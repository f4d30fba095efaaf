//! `precise` and `precise-reorder`: whatever they accept comes to one after the other.

use super::{Case, Measured, each};
use lakebed_transaction::Outcome;
use std::collections::BTreeMap;

/// The bases whose tables have deletion vectors.
const VECTORS: [&str; 5] =
    ["UD.Serializable", "PD.Serializable", "R.Serializable", "PR.Serializable", "T.Serializable"];

#[derive(Debug, Default)]
struct Tally {
    pairs: usize,
    rebasable: usize,
    spark: usize,
    accepted: usize,
    refused: BTreeMap<String, usize>,
    against_measured: usize,
}

impl Tally {
    fn add(&mut self, case: &Case, ran: &Ran) {
        self.pairs += 1;
        self.rebasable += usize::from(case.rebasable == Some(true));
        self.spark += usize::from(case.stands());
        self.accepted += usize::from(ran.refused.is_none());
        self.against_measured += usize::from(ran.against_measured);
        if let Some(check) = ran.refused {
            let rebasable = case.rebasable.map_or("?", |rebasable| if rebasable { "yes" } else { "no" });
            *self.refused.entry(format!("{check} ({rebasable})")).or_default() += 1;
        }
    }
}

/// What came of one pair under one policy.
struct Ran {
    /// The check that refused it; `None` where it was accepted.
    refused: Option<&'static str>,
    /// Whether the rows were held against those that Spark counted.
    against_measured: bool,
}

/// Whether both change rows or layout of a table with deletion vectors.
fn on_vectors(case: &Case) -> bool {
    case.rebasable.is_some() && VECTORS.contains(&case.base.as_str())
}

/// Runs a pair under both policies, and holds the rows of what they accept against those of one after the other.
async fn ran(measured: &Measured, case: &Case) -> Option<[Ran; 2]> {
    let (winner, ours) = (&*case.winner, &*case.ours);
    let mut log_order = (case.stands() && case.in_log_order()).then(|| measured.rows(&case.rows));
    let known = log_order.is_some();
    let mut both = Vec::new();
    for (policy, reorders) in [("precise", false), ("precise-reorder", true)] {
        let (report, rows) = measured.raced(case, policy).await?;
        let what = format!("{} under {policy}", case.id);
        let mut ran = Ran { refused: None, against_measured: false };
        match &report.outcome {
            Outcome::Committed { .. } | Outcome::Nothing { .. } => {
                if log_order.is_none() {
                    log_order = Some(measured.in_turn(&case.base, [winner, ours]).await);
                }
                ran.against_measured = known && log_order.as_ref() == Some(&rows);
                if log_order.as_ref() != Some(&rows) {
                    // What found nothing to do committed nothing, and so was there before the winner.
                    let may_go_first = reorders || matches!(report.outcome, Outcome::Nothing { .. });
                    assert!(may_go_first, "{what}: not the winner and then ours");
                    assert_eq!(rows, measured.in_turn(&case.base, [ours, winner]).await, "{what}: no order");
                }
                let reaches = reorders || case.rebasable != Some(false) || !on_vectors(case);
                assert!(reaches, "{what} was accepted, and no rebase reaches log order");
            }
            Outcome::Conflict(conflict) => {
                ran.refused = Some(conflict.why.reason.map_or("none", |reason| reason.check));
            }
            Outcome::Exhausted { .. } | Outcome::Unknown { .. } => panic!("{what}: {report:?}"),
        }
        both.push(ran);
    }
    both.try_into().ok()
}

/// Whatever `precise` accepts comes to the winner and then ours; what `precise-reorder` accepts, to that or to ours and then the
/// winner. On tables with deletion vectors nothing is accepted in log order that no rebase can reach, and of what one can, nearly all.
#[test]
fn what_is_accepted_comes_to_one_after_the_other() {
    let Some(measured) = Measured::find() else { return };
    let found = each(&measured, on_vectors, |measured, case| async move {
        let ran = ran(&measured, &case).await;
        (case, ran)
    });
    let mut all = [Tally::default(), Tally::default()];
    let mut vectors = [Tally::default(), Tally::default()];
    for (case, ran) in &found {
        for (at, ran) in ran.iter().flatten().enumerate() {
            all[at].add(case, ran);
            if on_vectors(case) {
                vectors[at].add(case, ran);
            }
        }
    }
    for (policy, tallies) in ["precise", "precise-reorder"].iter().zip(all.iter().zip(&vectors)) {
        for (tally, of) in [(tallies.0, "pairs"), (tallies.1, "pairs of row changes on tables with deletion vectors")] {
            println!(
                "of {} {of} {} can be rebased; Spark accepts {}, {policy} {} ({} against measured rows); refused: {:?}",
                tally.pairs, tally.rebasable, tally.spark, tally.accepted, tally.against_measured, tally.refused
            );
        }
        assert_eq!((tallies.1.pairs, tallies.1.rebasable, tallies.1.spark), (260, 229, 87));
        assert!(tallies.1.accepted >= 210, "{policy} accepts {}", tallies.1.accepted);
        assert!(tallies.0.accepted > tallies.0.spark, "{policy}: {:?}", tallies.0);
    }
}
