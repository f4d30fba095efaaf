//! The table facade: open, create, read, commit and maintain.
