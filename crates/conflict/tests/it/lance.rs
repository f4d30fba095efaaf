//! The policy of Lance tables.
