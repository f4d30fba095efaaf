//! The simulator's own tests.

mod mutations;
mod seeds;
