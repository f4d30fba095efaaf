//! What holds under every policy, by the numbers of the reference's list: fold (2), monotone (3), widening (4), layout
//! neutrality (5), partition independence (7), renaming (8), necessary explanations (11). Refinement (12) of Delta's levels stands with
//! Delta's tests, and recognising one's own commit (6) with the machine that reads the log.

#![expect(clippy::panic, reason = "a helper of a test fails the test by panicking")]

mod delta;
mod lance;
mod marks;
mod matrix;
mod precise;
mod premise;
