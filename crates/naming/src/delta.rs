//! Names of the Delta log and of the files beside it.
