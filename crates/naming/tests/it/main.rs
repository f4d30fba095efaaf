//! Integration tests of `lakebed-naming`.

mod conformance;
mod delta_listing;
mod delta_names;
mod delta_props;
mod field_cases;
mod lance;
mod lance_props;
