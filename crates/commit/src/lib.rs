//! The commit state machine: pure, it asks and is answered.
