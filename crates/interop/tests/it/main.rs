//! lakebed and the real clients on the same tables: each reads what the other wrote, and both write at once.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod checked_in;
mod delta_ours;
mod delta_rows;
mod delta_theirs;
mod differential;
#[expect(clippy::disallowed_methods, reason = "the driver measures real processes and makes files older than now")]
mod kills;
mod lance_matrix;
mod lance_ours;
mod lance_refs;
mod lance_replayed;
mod lance_theirs;
mod races;
mod support;
