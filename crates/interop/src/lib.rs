//! Tests of lakebed against the released clients of both formats, which the scripts under `interop/` drive.
//!
//! There is nothing here for use: the tests stand in `tests/it`. They need the interpreter that `$LAKEBED_PYTHON` names,
//! as `cargo xtask test` sets it, and say so where it is missing.
