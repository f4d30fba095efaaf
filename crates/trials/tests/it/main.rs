//! Programs on real tables, beside each other, held against what each does by itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod matrix;
mod oracle;
mod programs;
mod races;
mod schedules;
