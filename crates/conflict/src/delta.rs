//! Rules of Delta tables.
