//! Comparison of scalars follows SQL, with exact numbers.

use lakebed_transaction::Scalar;
use proptest::prelude::*;
use std::cmp::Ordering;

fn decimal(unscaled: i128, scale: u8) -> Scalar {
    Scalar::Decimal { unscaled, scale }
}

#[test]
fn an_integer_beyond_2_53_is_not_equal_to_its_float_neighbour() {
    let big = Scalar::Int((1 << 53) + 1);
    assert_eq!(big.compare(&Scalar::Float(9_007_199_254_740_992.0)), Some(Ordering::Greater));
}

#[test]
fn null_and_mixed_types_do_not_compare() {
    assert_eq!(Scalar::Null.compare(&Scalar::Null), None);
    assert_eq!(Scalar::Int(1).compare(&Scalar::string("1")), None);
}

#[test]
fn nan_is_above_infinity() {
    assert_eq!(Scalar::Float(f64::NAN).compare(&Scalar::Float(f64::INFINITY)), Some(Ordering::Greater));
    assert_eq!(Scalar::Int(1).compare(&Scalar::Float(f64::NAN)), Some(Ordering::Less));
}

#[test]
fn decimals_of_far_scales_compare_by_value() {
    assert_eq!(decimal(i128::MAX, 0).compare(&decimal(1, 38)), Some(Ordering::Greater));
    assert_eq!(decimal(-i128::MAX, 0).compare(&decimal(-1, 38)), Some(Ordering::Less));
    assert_eq!(decimal(100, 2).compare(&Scalar::Int(1)), Some(Ordering::Equal));
}

proptest! {
    #[test]
    fn decimals_compare_as_integers_of_one_scale(a in -10_000_i64..10_000, b in -10_000_i64..10_000, s in 0_u8..6) {
        let lifted = decimal(i128::from(a) * 10_i128.pow(u32::from(s)), s);
        prop_assert_eq!(lifted.compare(&Scalar::Int(b)), Some(a.cmp(&b)));
    }
}
