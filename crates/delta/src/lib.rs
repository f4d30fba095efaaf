//! The Delta table format: log actions, replay, checkpoints.
