// @generated from `protos/lance` by `cargo xtask codegen`; edit the schemas instead.
//! Lance's protobuf messages, generated from the schemas in `protos/lance`.
//!
//! They mirror the wire form and check nothing; fields that they do not list are dropped when they are decoded.

pub mod file;
pub mod table;
