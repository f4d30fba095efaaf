//! Universally unique ids, as far as names need them.

use std::fmt;
use std::str::FromStr;

use crate::NameError;

/// Sixteen bytes that name an object uniquely; the caller brings the randomness.
///
/// Printed with hyphens and in lower case. Parsing takes hyphens and either case, as foreign writers use both.
///
/// ```
/// use lakebed_naming::Uuid;
///
/// let id: Uuid = "d2c639aa-8816-431a-aaf6-d3fe2512ff61".parse().unwrap();
/// assert_eq!(id.as_bytes()[..2], [0xd2, 0xc6]);
/// assert_eq!(Uuid::from_bytes(*id.as_bytes()), id);
/// assert_eq!(Uuid::from_random([0; 16]).to_string(), "00000000-0000-4000-8000-000000000000");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// Characters of the hyphenated text.
    pub(crate) const TEXT_LEN: usize = 36;

    /// The id with exactly these bytes, in the order in which they are printed.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// A version 4 id from sixteen random bytes: six bits are overwritten by the marks of version and variant (RFC 9562).
    #[must_use]
    pub const fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }

    /// The bytes, in the order in which they are printed.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id that this text is; `None` unless it is 32 hexadecimal digits with hyphens after 8, 12, 16 and 20 of them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        if text.len() != Self::TEXT_LEN {
            return None;
        }
        let mut digits = [0_u8; 32];
        let mut filled = 0;
        for (position, byte) in text.iter().enumerate() {
            if matches!(position, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return None;
                }
            } else {
                *digits.get_mut(filled)? = *byte;
                filled += 1;
            }
        }
        hex_pairs(&digits).map(Self)
    }
}

/// As many bytes as `N`, from twice as many hexadecimal digits of either case.
pub(crate) fn hex_pairs<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0_u8; N];
    if digits.len() != N.checked_mul(2)? {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = (nibble(*high)? << 4) | nibble(*low)?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().enumerate() {
            if matches!(position, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text).ok_or_else(|| NameError::Uuid { text: text.to_owned() })
    }
}
