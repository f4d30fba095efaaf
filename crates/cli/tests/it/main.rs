//! Integration tests of the `lakebed` program.
