//! Deterministic simulation of commits on a store that fails, with an auditor that knows what must hold.
//!
//! A seed stands for a whole world: writers, a reader, a cleanup and (on Delta) a checkpointer, each a state machine that asks a
//! simulated store, which loses answers, lets creates land late, turns requests away, and lists in small pages; processes
//! sleep, die and drop what they were doing. There is no thread and no real time, so equal seeds give equal runs.
//!
//! The writers drive the product's own [`Commit`](lakebed_commit::Commit) and [`Find`](lakebed_commit::Find) over its own formats.
//! The auditor replays every entry by itself, the moment that it lands, and holds each answer against what it saw.
//!
//! A seed that breaks a rule is made small ([`shrink`]) and printed with its trace. [`Mutation`]s are deliberate faults that
//! show that the auditor sees.
//!
//! ```
//! use lakebed_sim::{Format, check};
//!
//! let report = check(Format::Lance, 7, None).map_err(|failure| failure.to_string())?;
//! assert!(report.stats.commits >= 10);
//! # Ok::<(), String>(())
//! ```

mod actor;
mod audit;
mod chaos;
mod delta;
mod delta_model;
mod family;
mod keepers;
mod lance;
mod lance_model;
mod mutation;
mod rng;
mod run;
mod setup;
mod store;
mod world;
mod writer;

pub use actor::Stats;
pub use audit::Violation;
pub use chaos::Fault;
pub use mutation::Mutation;
pub use rng::Rng;
pub use run::{Failure, Format, check, run, shrink};
pub use setup::Setup;
pub use world::Report;
