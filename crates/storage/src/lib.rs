//! Bytes under names, and create-if-absent with a stated guarantee.
