//! Decimal numbers as they stand in object names.

/// The number written with exactly `width` digits; `None` for anything else, or when it does not fit.
pub(crate) fn padded(text: &str, width: usize) -> Option<u64> {
    (text.len() == width && all_digits(text)).then(|| text.parse().ok())?
}

/// The number written as `u64` prints itself: no sign, no leading zero. Only so does one value have one name.
pub(crate) fn plain(text: &str) -> Option<u64> {
    let leading_zero = text.len() > 1 && text.starts_with('0');
    (all_digits(text) && !leading_zero).then(|| text.parse().ok())?
}

/// The number written with any count of digits, leading zeros included.
pub(crate) fn any_width(text: &str) -> Option<u64> {
    all_digits(text).then(|| text.parse().ok())?
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
