//! Our writers and the real clients' on one table at once, audited from what the table then holds.

mod delta;
mod lance;
mod writer;
