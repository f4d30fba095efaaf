//! Running seeds, and making a failing one small.

use crate::chaos::Fault;
use crate::delta::Delta;
use crate::lance::Lance;
use crate::mutation::Mutation;
use crate::setup::Setup;
use crate::world::{Report, World};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Runs that a shrinking may cost.
const SHRINK_RUNS_MAX: usize = 400;

/// Faults that a failure names; the others stand in its trace.
const FAULTS_TOLD_MAX: usize = 40;

/// A table format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Delta.
    Delta,
    /// Lance.
    Lance,
}

impl Format {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Delta, Self::Lance];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delta => "delta",
            Self::Lance => "lance",
        })
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|format| format.to_string() == text)
            .ok_or_else(|| format!("{text} is no format; give delta or lance"))
    }
}

/// Runs one world.
#[must_use]
pub fn run(format: Format, setup: &Setup, traced: bool) -> Report {
    match format {
        Format::Delta => World::<Delta>::new(setup, traced).run(),
        Format::Lance => World::<Lance>::new(setup, traced).run(),
    }
}

/// A seed that broke a rule, made as small as could be.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The format.
    pub format: Format,
    /// The smallest setup that still breaks the rule.
    pub setup: Setup,
    /// The faults that it needs.
    pub faults: Vec<(u64, Fault)>,
    /// Its run, traced.
    pub report: Report,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.report.trace {
            writeln!(f, "{line}")?;
        }
        let faults: Vec<String> =
            self.faults.iter().take(FAULTS_TOLD_MAX).map(|(number, fault)| format!("{fault:?}#{number}")).collect();
        writeln!(f, "{} writers, {} commits, faults: {}", self.setup.writers, self.setup.commits, faults.join(" "))?;
        if let Some(violation) = &self.report.violation {
            writeln!(f, "broken: {}\n  {}", violation.rule, violation.detail)?;
        }
        write!(f, "replay with LAKEBED_SIM_SEED={}:{}", self.format, self.setup.seed)
    }
}

/// Runs one seed; on a violation, the smallest schedule found that still shows it.
///
/// # Errors
/// A rule was broken.
pub fn check(format: Format, seed: u64, mutation: Option<Mutation>) -> Result<Report, Box<Failure>> {
    let setup = Setup::of(seed, mutation);
    let report = run(format, &setup, false);
    if report.violation.is_none() { Ok(report) } else { Err(Box::new(shrink(format, setup, &report))) }
}

/// Takes away whatever the violation does not need: kinds of upkeep, writers, commits, single faults.
#[must_use]
pub fn shrink(format: Format, setup: Setup, report: &Report) -> Failure {
    let rule = report.violation.as_ref().map(|violation| violation.rule);
    let mut runs = 0;
    let mut best = setup;
    let mut fired = report.fired.clone();
    let mut fails = |candidate: &Setup| {
        runs += 1;
        let report = (runs <= SHRINK_RUNS_MAX).then(|| run(format, candidate, false))?;
        (report.violation.as_ref().map(|violation| violation.rule) == rule).then_some(report.fired)
    };
    for candidate in simpler(&best) {
        // Each simplification stands by itself, on what was simplified before it.
        let candidate = candidate(best.clone());
        if let Some(now) = fails(&candidate) {
            best = candidate;
            fired = now;
        }
    }
    let mut piece = fired.len().max(1);
    while piece > 0 {
        let mut at = 0;
        while at < fired.len() {
            let only: BTreeSet<u64> =
                fired.iter().enumerate().filter(|(i, _)| !(at..at + piece).contains(i)).map(|(_, f)| f.0).collect();
            let candidate = Setup { only: Some(only), ..best.clone() };
            if let Some(now) = fails(&candidate) {
                best = candidate;
                fired = now;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    let report = run(format, &best, true);
    Failure { format, faults: report.fired.clone(), setup: best, report }
}

type Simplify = Box<dyn Fn(Setup) -> Setup>;

fn simpler(setup: &Setup) -> Vec<Simplify> {
    let mut ways: Vec<Simplify> = vec![
        Box::new(|setup| Setup { cleans: false, ..setup }),
        Box::new(|setup| Setup { key_spacing_ms: 0, ..setup }),
        Box::new(|setup| Setup { shuffled: false, ..setup }),
        Box::new(|setup| Setup { page: 1_000, ..setup }),
        Box::new(|setup| Setup { variant: false, ..setup }),
    ];
    for writers in 1..setup.writers {
        ways.push(Box::new(move |setup| Setup { writers: writers.min(setup.writers), ..setup }));
    }
    for commits in [1, 2, 3, 5, 8] {
        ways.push(Box::new(move |setup| Setup { commits: commits.min(setup.commits), ..setup }));
    }
    for place in 0..Fault::COUNT {
        ways.push(Box::new(move |mut setup| {
            if let Some(rate) = setup.rates.get_mut(place) {
                *rate = 0;
            }
            setup
        }));
    }
    ways
}
