//! The policies of Delta tables.
