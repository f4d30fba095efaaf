//! The Lance table format: manifests, transactions, deletion files.
