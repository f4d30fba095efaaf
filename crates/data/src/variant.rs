//! Variants: self-describing values in two byte strings, decoded to JSON.
//!
//! Facts: Apache Parquet, "Variant Binary Encoding", version 1. A dictionary of field names stands in `metadata`, the value in
//! `value`; all numbers are little-endian. What is out of bounds, nested too deeply or of an unknown type is no variant.

use crate::calendar::{date_text, micros_text};
use crate::number::{java_double, plain_decimal};
use arrow_array::StructArray;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Fields};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// The name of the type in schemas.
pub(crate) const VARIANT: &str = "variant";
/// By this mark on its first child a struct of two byte strings is known for a variant.
const MARK: &str = "lakebed.variant";
/// How deep values may nest.
const DEPTH_MAX: usize = 200;

/// The fields of the Arrow struct that a variant is.
pub(crate) fn fields() -> Fields {
    let mark = [(MARK.to_owned(), String::new())].into();
    Fields::from(vec![
        Field::new("metadata", DataType::Binary, false).with_metadata(mark),
        Field::new("value", DataType::Binary, false),
    ])
}

/// Whether a struct with these fields is a variant.
pub(crate) fn is_variant(fields: &Fields) -> bool {
    fields.first().is_some_and(|field| field.metadata().contains_key(MARK))
}

/// Whether a struct of a file keeps parts of its variants in columns of their own.
pub(crate) fn is_shredded(fields: &Fields) -> bool {
    fields.iter().any(|field| field.name() == "typed_value")
}

/// Appends a variant of an array as JSON; `None` where its bytes are no variant.
pub(crate) fn write_json(array: &StructArray, row: usize, out: &mut String) -> Option<()> {
    let bytes = |name: &str| Some(array.column_by_name(name)?.as_binary_opt::<i32>()?.value(row));
    let names = Names::read(bytes("metadata")?)?;
    names.value(bytes("value")?, 0, out)
}

/// An unsigned number of one to eight bytes.
fn unsigned(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let piece = bytes.get(at..at.checked_add(width)?)?;
    let number = piece.iter().rev().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    usize::try_from(number).ok()
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The dictionary of field names.
struct Names<'a> {
    bytes: &'a [u8],
    width: usize,
    count: usize,
}

impl<'a> Names<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let header = *bytes.first()?;
        if header & 0x0f != 1 {
            return None;
        }
        let width = usize::from(header >> 6) + 1;
        Some(Self { bytes, width, count: unsigned(bytes, 1, width)? })
    }

    fn name(&self, id: usize) -> Option<&'a str> {
        if id >= self.count {
            return None;
        }
        let offset = |at: usize| unsigned(self.bytes, 1 + self.width.checked_mul(at.checked_add(1)?)?, self.width);
        let texts = 1 + self.width.checked_mul(self.count.checked_add(2)?)?;
        let (from, to) = (offset(id)?, offset(id + 1)?);
        std::str::from_utf8(self.bytes.get(texts.checked_add(from)?..texts.checked_add(to)?)?).ok()
    }

    fn value(&self, bytes: &[u8], depth: usize, out: &mut String) -> Option<()> {
        let header = *bytes.first()?;
        let (kind, detail) = (header & 3, header >> 2);
        match kind {
            0 => primitive(detail, bytes, out),
            1 => push_text(std::str::from_utf8(bytes.get(1..1 + usize::from(detail))?).ok()?, out),
            _ if depth >= DEPTH_MAX => None,
            2 => self.object(detail, bytes, depth, out),
            _ => self.array(detail, bytes, depth, out),
        }
    }

    fn object(&self, detail: u8, bytes: &[u8], depth: usize, out: &mut String) -> Option<()> {
        let (offset_width, id_width) = (usize::from(detail & 3) + 1, usize::from((detail >> 2) & 3) + 1);
        let count_width = if detail & 16 == 0 { 1 } else { 4 };
        let count = unsigned(bytes, 1, count_width)?;
        let ids = 1 + count_width;
        let offsets = ids.checked_add(id_width.checked_mul(count)?)?;
        let values = offsets.checked_add(offset_width.checked_mul(count.checked_add(1)?)?)?;
        bytes.get(..values)?;
        out.push('{');
        for at in 0..count {
            if at > 0 {
                out.push(',');
            }
            push_text(self.name(unsigned(bytes, ids + id_width * at, id_width)?)?, out)?;
            out.push(':');
            let offset = unsigned(bytes, offsets + offset_width * at, offset_width)?;
            self.value(bytes.get(values.checked_add(offset)?..)?, depth + 1, out)?;
        }
        out.push('}');
        Some(())
    }

    fn array(&self, detail: u8, bytes: &[u8], depth: usize, out: &mut String) -> Option<()> {
        let offset_width = usize::from(detail & 3) + 1;
        let count_width = if detail & 4 == 0 { 1 } else { 4 };
        let count = unsigned(bytes, 1, count_width)?;
        let offsets = 1 + count_width;
        let values = offsets.checked_add(offset_width.checked_mul(count.checked_add(1)?)?)?;
        bytes.get(..values)?;
        out.push('[');
        for at in 0..count {
            if at > 0 {
                out.push(',');
            }
            let offset = unsigned(bytes, offsets + offset_width * at, offset_width)?;
            self.value(bytes.get(values.checked_add(offset)?..)?, depth + 1, out)?;
        }
        out.push(']');
        Some(())
    }
}

fn push_text(text: &str, out: &mut String) -> Option<()> {
    out.push_str(&serde_json::to_string(text).ok()?);
    Some(())
}

/// Numbers, times and bytes are spelled as in rows: decimals and what has no JSON form as text.
fn primitive(kind: u8, bytes: &[u8], out: &mut String) -> Option<()> {
    let long = |width: usize| -> Option<i64> {
        let piece = bytes.get(1..1 + width)?;
        let sign = if piece.last()? & 0x80 == 0 { 0 } else { -1_i64 };
        Some(piece.iter().rev().fold(sign, |number, byte| (number << 8) | i64::from(*byte)))
    };
    let block = || bytes.get(5..5_usize.checked_add(unsigned(bytes, 1, 4)?)?);
    match kind {
        0 => out.push_str("null"),
        1 => out.push_str("true"),
        2 => out.push_str("false"),
        3..=6 => integer(long(1 << (kind - 3))?, out),
        7 => float(f64::from_le_bytes(array_at(bytes, 1)?), None, out)?,
        8 => push_text(&plain_decimal(i32::from_le_bytes(array_at(bytes, 2)?).into(), scale(bytes)?), out)?,
        9 => push_text(&plain_decimal(i64::from_le_bytes(array_at(bytes, 2)?).into(), scale(bytes)?), out)?,
        10 => push_text(&plain_decimal(i128::from_le_bytes(array_at(bytes, 2)?), scale(bytes)?), out)?,
        11 => push_text(&date_text(i32::from_le_bytes(array_at(bytes, 1)?)), out)?,
        12 => push_text(&format!("{}Z", micros_text(long(8)?)), out)?,
        13 => push_text(&micros_text(long(8)?), out)?,
        14 => {
            let narrow = f32::from_le_bytes(array_at(bytes, 1)?);
            float(narrow.into(), Some(narrow), out)?;
        }
        15 => push_text(&STANDARD.encode(block()?), out)?,
        16 => push_text(std::str::from_utf8(block()?).ok()?, out)?,
        17 => push_text(micros_text(long(8)?.rem_euclid(86_400_000_000)).split_once('T')?.1, out)?,
        18 => push_text(&format!("{}Z", nanos_text(long(8)?)), out)?,
        19 => push_text(&nanos_text(long(8)?), out)?,
        20 => push_text(&uuid_text(array_at(bytes, 1)?), out)?,
        _ => return None,
    }
    Some(())
}

/// Digits behind the point, at most as many as a decimal can have.
fn scale(bytes: &[u8]) -> Option<u8> {
    bytes.get(1).copied().filter(|scale| *scale <= 38)
}

/// Beyond 2^53 as text, as in rows.
fn integer(number: i64, out: &mut String) {
    let quote = if number.unsigned_abs() <= 1 << 53 { "" } else { "\"" };
    let _ = write!(out, "{quote}{number}{quote}");
}

fn float(number: f64, narrow: Option<f32>, out: &mut String) -> Option<()> {
    if !number.is_finite() {
        return push_text(&java_double(number), out);
    }
    let text = narrow.map_or_else(|| serde_json::to_string(&number), |narrow| serde_json::to_string(&narrow));
    out.push_str(&text.ok()?);
    Some(())
}

fn nanos_text(nanos: i64) -> String {
    format!("{}{:03}", micros_text(nanos.div_euclid(1_000)), nanos.rem_euclid(1_000))
}

fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Names;

    fn json(metadata: &[u8], value: &[u8]) -> Option<String> {
        let mut out = String::new();
        Names::read(metadata)?.value(value, 0, &mut out)?;
        Some(out)
    }

    const NO_NAMES: &[u8] = &[1, 0, 0];

    #[test]
    fn values_of_the_specification_are_read() {
        // {"a": 1, "b": [true, null, "x"]}, by hand from the encoding's text.
        let names = [1, 2, 0, 1, 2, b'a', b'b'];
        let list = [0x03, 3, 0, 1, 2, 4, 0x04, 0x00, 0x05, b'x'];
        let mut object = vec![0x02, 2, 0, 1, 0, 2, 12, 0x0c, 1];
        object.extend(list);
        assert_eq!(json(&names, &object).as_deref(), Some(r#"{"a":1,"b":[true,null,"x"]}"#));
        for (value, text) in [
            (&[0x0c, 0xff][..], "-1"),
            (&[0x10, 0x00, 0x80], "-32768"),
            (&[0x18, 1, 0, 0, 0, 0, 0, 0, 0x80], "\"-9223372036854775807\""),
            (&[0x1c, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f], "1.5"),
            (&[0x20, 2, 0xd2, 4, 0, 0], "\"12.34\""),
            (&[0x2c, 1, 0, 0, 0], "\"1970-01-02\""),
            (&[0x30, 64, 66, 15, 0, 0, 0, 0, 0], "\"1970-01-01T00:00:01.000000Z\""),
            (&[0x40, 2, 0, 0, 0, b'h', b'i'], "\"hi\""),
            (&[0x3c, 1, 0, 0, 0, 65], "\"QQ==\""),
            (&[0x50, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "\"00010203-0405-0607-0809-0a0b0c0d0e0f\""),
        ] {
            assert_eq!(json(NO_NAMES, value).as_deref(), Some(text), "{value:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_variant_are_refused() {
        for value in
            [&[][..], &[0x0c], &[0x05], &[0x54], &[0x02, 1, 0, 0, 1, 0], &[0x03, 255], &[0x40, 255, 255, 255, 255]]
        {
            assert_eq!(json(NO_NAMES, value), None, "{value:?}");
        }
        assert_eq!(json(&[2, 0, 0], &[0]), None);
        // Every array holds the next: deeper than anything is walked.
        let mut deep = vec![0];
        for _ in 0..300 {
            let mut outer = vec![0x0f, 1, 0, 0, 0, 0, 0, 0, 0, 0];
            outer.extend(&deep);
            deep = outer;
        }
        assert_eq!(json(NO_NAMES, &deep), None);
    }
}
