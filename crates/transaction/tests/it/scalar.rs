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

/// Days and microseconds computed by Python's `datetime`; the years beyond it by hand from the length of the 400-year cycle.
#[test]
fn dates_and_times_print_as_in_iso_8601() {
    for (value, text) in [
        (Scalar::Date(20_454), "2026-01-01"),
        (Scalar::Date(0), "1970-01-01"),
        (Scalar::Date(-1), "1969-12-31"),
        (Scalar::Date(11_016), "2000-02-29"),
        (Scalar::Date(-719_162), "0001-01-01"),
        (Scalar::Date(-719_528), "0000-01-01"),
        (Scalar::Date(-719_529), "-0001-12-31"),
        (Scalar::Timestamp(1_767_225_600_000_000), "2026-01-01T00:00:00Z"),
        (Scalar::Timestamp(-1), "1969-12-31T23:59:59.999999Z"),
        (Scalar::TimestampNtz(1_767_312_245_500_000), "2026-01-02T00:04:05.5"),
    ] {
        assert_eq!(value.to_string(), text);
    }
}
