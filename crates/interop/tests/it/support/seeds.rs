//! Which seeds of the histories run.

use std::ops::Range;

/// How many seeds there are.
pub(crate) const SEEDS: u64 = 300;
/// How many of them run where nobody names any.
pub(crate) const ALWAYS: u64 = 20;
pub(crate) const VARIABLE: &str = "LAKEBED_DIFFERENTIAL_SEEDS";

/// The seeds that are asked for, or the last ones.
pub(crate) fn seeds(asked: Option<&str>) -> Range<u64> {
    let Some(text) = asked.map(str::trim).filter(|text| !text.is_empty()) else { return SEEDS - ALWAYS..SEEDS };
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{VARIABLE} is {text:?}, not A..B or A"));
    match text.split_once("..") {
        Some((start, end)) => number(start)..number(end),
        None => number(text)..number(text) + 1,
    }
}

#[test]
fn seeds_are_the_last_ones_or_those_that_were_named() {
    assert_eq!([seeds(None), seeds(Some(" "))], [280..300, 280..300]);
    assert_eq!([seeds(Some("0..300")), seeds(Some("17"))], [0..300, 17..18]);
}
