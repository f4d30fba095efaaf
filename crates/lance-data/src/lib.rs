//! Rows in and out of Lance data files, through Lance's own file crates.
//!
//! [`LanceDataFiles`] is what statements on Lance tables ([`lakebed_ops::LanceFiles`]) are given to read and write with. All I/O
//! goes through the table's [`Store`](lakebed_storage::Store); a file is read by ranges and written as one object.
//!
//! The crate knows no log and no rule, and stands outside the default members of the workspace: what it draws in takes as long to
//! compile as all the rest, and its build scripts want a protoc, for which `cargo xtask` stands in.
//!
//! Sources: the Lance file format's specification, and the documentation of `lance-file`.

mod error;
mod fields;
mod files;
mod io;
mod read;
mod write;

pub use files::LanceDataFiles;
