//! Durations in table properties.

/// Reads a duration such as `interval 7 days` or `interval 1 week 2 hours`, in milliseconds.
///
/// `None` where the text is no duration, or counts months or years, which have no fixed length.
#[must_use]
pub fn interval_ms(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split_whitespace().peekable();
    if words.peek() == Some(&"interval") {
        words.next();
    }
    let mut total_us = 0_i64;
    let mut any = false;
    while let Some(number) = words.next() {
        let unit_us = match words.next()?.trim_end_matches('s') {
            "week" => 7 * 86_400_000_000,
            "day" => 86_400_000_000,
            "hour" => 3_600_000_000,
            "minute" => 60_000_000,
            "second" => 1_000_000,
            "millisecond" => 1_000,
            "microsecond" => 1,
            _ => return None,
        };
        total_us = total_us.checked_add(number.parse::<i64>().ok()?.checked_mul(unit_us)?)?;
        any = true;
    }
    any.then_some(total_us / 1_000)
}

#[cfg(test)]
mod tests {
    use super::interval_ms;

    #[test]
    fn durations_are_read_as_spark_writes_them() {
        assert_eq!(interval_ms("interval 7 days"), Some(604_800_000));
        assert_eq!(interval_ms("INTERVAL 1 week 2 hours"), Some(612_000_000));
        assert_eq!(interval_ms("90 seconds"), Some(90_000));
        assert_eq!(interval_ms("interval 1 month"), None);
        assert_eq!(interval_ms("interval"), None);
        assert_eq!(interval_ms("interval 9223372036854775807 weeks"), None);
    }
}
