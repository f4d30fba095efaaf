//! Rules of Lance tables.
