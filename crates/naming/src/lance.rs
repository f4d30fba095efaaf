//! Names inside a Lance table.
