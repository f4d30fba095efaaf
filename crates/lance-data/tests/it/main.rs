//! Rows of Lance tables: pylance and lakebed on the same tables, and files that are damaged.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod batches;
mod blobs;
mod changes;
mod commands;
mod compact;
mod crowd;
mod damage;
mod differential;
mod evolve;
mod follows;
mod having_read;
mod keyed;
mod maxcompute;
mod odd;
mod ours;
mod pinned;
#[expect(dead_code, reason = "other tests use all of it")]
#[path = "../../../interop/tests/it/support/python.rs"]
mod python;
mod support;
mod theirs;
mod together;
