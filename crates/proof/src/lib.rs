//! Proof by exhaustion: the conflict rules as they are shipped, over every small table and every small program.
//!
//! A *universe* is a set of tables of a few rows and a set of programs over them. For every table and every two programs that read
//! it (and every three, in three schedules), the first commits, the second is judged against it by a policy's own table of rules, and if it is
//! accepted its finished write set is put on top. The rows are then compared with those of the programs run one after the other.
//!
//! - [`table`], [`program`]: tables, programs, and what a program does to a table when it runs alone;
//! - [`effect`], [`rebase`]: what a program finds and writes on the version that it read, and the same put on a newer version;
//! - [`contender`]: the policies, each fed with the footprints of its format;
//! - [`pairs`], [`triples`]: the schedules and what is counted; [`play`]: any schedule, one at a time;
//! - [`mutation`]: rules broken on purpose, each of which must be caught;
//! - [`report`]: the figures in words.
//!
//! What runs alone is computed twice, on bags of rows for the comparison and on files for the judgement, so that neither can be wrong
//! unnoticed.

pub mod contender;
pub mod effect;
pub mod mutation;
pub mod pairs;
pub mod play;
pub mod program;
pub mod rebase;
pub mod report;
pub mod table;
pub mod triples;
pub mod universe;
