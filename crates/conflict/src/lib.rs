//! Conflict rules for lake tables as constant data.
