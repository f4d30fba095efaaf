//! Statements turned into files, a footprint and a transaction.
