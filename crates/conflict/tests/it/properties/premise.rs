//! Properties with a premise, which must hold often enough for the property to say anything.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// Runs a property over so many inputs. It answers whether its premise held, and fails where the conclusion does not follow;
/// the premise must have held in at least `least` of them.
pub(crate) fn holds<S: Strategy>(
    cases: u32,
    least: u32,
    inputs: &S,
    property: impl Fn(S::Value) -> Result<bool, TestCaseError>,
) {
    let met = Cell::new(0_u32);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let ran = TestRunner::new(config).run(inputs, |input| {
        met.set(met.get() + u32::from(property(input)?));
        Ok(())
    });
    if let Err(failure) = ran {
        panic!("{failure}");
    }
    println!("the premise held in {} of {cases} cases", met.get());
    assert!(met.get() >= least, "the premise held in {} of {cases} cases only, at least {least} are wanted", met.get());
}
