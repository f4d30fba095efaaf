//! The commonest line of a log, a file that comes, found valid without being built.
//!
//! What is taken here is a strict part of JSON and of what an `add` may be; every other line goes to the full reader. So a line
//! that is taken here can be read in full later, when somebody asks for it.

use std::ops::Range;

/// What is told of an `add` at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeanAdd {
    /// Where its path stands in the line, without escapes.
    pub(crate) path: Range<u32>,
    /// Its size in bytes.
    pub(crate) size: i64,
    /// Rows in the file, where the statistics say so.
    pub(crate) num_records: Option<u64>,
}

/// How the statistics begin, as they stand in the line.
const STATS_START: &[u8] = b"{\\\"numRecords\\\":";

/// Reads a line, without white space around it, that is an `add` without a deletion vector and without anything rare.
pub(crate) fn lean_add(line: &[u8]) -> Option<LeanAdd> {
    let mut scan = Scan { bytes: line, at: 0, beyond_ascii: 0 };
    scan.expect(b"{\"add\":{")?;
    let found = scan.fields()?;
    scan.expect(b"}")?;
    let whole = scan.at == line.len();
    // Outside its strings all of it is ASCII.
    let is_text = || scan.beyond_ascii & HIGHS == 0 || std::str::from_utf8(line).is_ok();
    (whole && is_text()).then_some(found)
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// All bytes of strings that were gone over, one upon the other: a high bit says that one of them is not ASCII.
    beyond_ascii: u64,
}

/// The fields that may occur, by their place in a set of those that were seen.
const FIELDS: [&[u8]; 11] = [
    b"path",
    b"partitionValues",
    b"size",
    b"modificationTime",
    b"dataChange",
    b"stats",
    b"tags",
    b"deletionVector",
    b"baseRowId",
    b"defaultRowCommitVersion",
    b"clusteringProvider",
];

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, text: &[u8]) -> Option<()> {
        let end = self.at + text.len();
        (self.bytes.get(self.at..end)? == text).then(|| self.at = end)
    }

    /// The members of the object up to and with its closing brace.
    fn fields(&mut self) -> Option<LeanAdd> {
        let mut seen = 0_u16;
        let mut found = LeanAdd { path: 0..0, size: 0, num_records: None };
        loop {
            let key = self.plain_string()?;
            let key = self.bytes.get(key)?;
            let field = FIELDS.iter().position(|field| *field == key)?;
            if seen & (1 << field) != 0 {
                return None;
            }
            seen |= 1 << field;
            self.expect(b":")?;
            match field {
                0 => {
                    let path = self.plain_string()?;
                    found.path = u32::try_from(path.start).ok()?..u32::try_from(path.end).ok()?;
                }
                1 => self.texts()?,
                2 => found.size = self.integer()?,
                3 => {
                    self.integer()?;
                }
                4 => self.flag()?,
                5 => found.num_records = self.stats()?,
                _ => self.expect(b"null")?,
            }
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return None,
            }
        }
        self.at += 1;
        (seen & 1 != 0 && !found.path.is_empty()).then_some(found)
    }

    /// A string; where it stands between its quotes, and whether it has escapes.
    fn string(&mut self) -> Option<(Range<usize>, bool)> {
        self.expect(b"\"")?;
        let start = self.at;
        let (mut has_escapes, mut escaped) = (false, false);
        loop {
            self.skip_plain(&mut has_escapes, &mut escaped);
            let byte = self.peek()?;
            self.beyond_ascii |= u64::from(byte);
            self.at += 1;
            escaped = match (byte, escaped) {
                (b'"', false) => return Some((start..self.at - 1, has_escapes)),
                (b'\\', false) => {
                    has_escapes = true;
                    true
                }
                // A code point by number may be half of one: that is for the full reader.
                (b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', true) => false,
                (0..=0x1F, _) | (_, true) => return None,
                (_, false) => false,
            };
        }
    }

    /// Goes on, eight bytes at a step while there are so many, to the next byte that ends a string, may not stand in one, or is
    /// escaped and no quote. `escaped` says whether the byte before was a backslash that escapes the one here.
    fn skip_plain(&mut self, has_escapes: &mut bool, escaped: &mut bool) {
        while let Some(word) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*word);
            self.beyond_ascii |= word;
            let backslashes = equal_to(word, b'\\');
            let after_backslash = (backslashes << 8) | if *escaped { 0x80 } else { 0 };
            let special = (equal_to(word, b'"') ^ after_backslash) | controls(word);
            let plain = special.trailing_zeros() / 8;
            self.at += plain as usize;
            // As far as it was gone over.
            let backslashes = if plain == 8 { backslashes } else { backslashes & ((1 << (8 * plain)) - 1) };
            *has_escapes |= backslashes != 0;
            if plain > 0 {
                *escaped = backslashes >> (8 * plain - 1) != 0;
            }
            if plain < 8 {
                return;
            }
        }
    }

    fn plain_string(&mut self) -> Option<Range<usize>> {
        let (range, escaped) = self.string()?;
        (!escaped).then_some(range)
    }

    /// A whole number that is surely one of 64 bits.
    fn integer(&mut self) -> Option<i64> {
        let negative = self.peek()? == b'-';
        self.at += usize::from(negative);
        let start = self.at;
        let mut number = 0_i64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.bytes.get(start..self.at)?;
        let sound = (1..=18).contains(&digits.len()) && (digits.len() == 1 || digits.first() != Some(&b'0'));
        // "-0" is a floating-point number to some readers.
        (sound && !(negative && number == 0)).then_some(if negative { -number } else { number })
    }

    fn flag(&mut self) -> Option<()> {
        self.expect(b"true").or_else(|| self.expect(b"false"))
    }

    /// A map from text to text or null.
    fn texts(&mut self) -> Option<()> {
        self.expect(b"{")?;
        if self.expect(b"}").is_some() {
            return Some(());
        }
        loop {
            self.string()?;
            self.expect(b":")?;
            if self.expect(b"null").is_none() {
                self.string()?;
            }
            if self.expect(b"}").is_some() {
                return Some(());
            }
            self.expect(b",")?;
        }
    }

    /// Statistics, or null; the row count where they begin with it, as everybody writes them.
    fn stats(&mut self) -> Option<Option<u64>> {
        if self.expect(b"null").is_some() {
            return Some(None);
        }
        let (range, _) = self.string()?;
        let text = self.bytes.get(range)?;
        let begins = text.strip_prefix(STATS_START).filter(|_| text.ends_with(b"}"));
        if let Some(count) = begins.and_then(leading_count) {
            return Some(Some(count));
        }
        let unescaped: String = serde_json::from_slice(&[b"\"", text, b"\""].concat()).ok()?;
        Some(crate::stats::num_records(&unescaped))
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is this one.
const fn equal_to(word: u64, byte: u8) -> u64 {
    let differs = word ^ (ONES * byte as u64);
    !(((differs & !HIGHS) + !HIGHS) | differs) & HIGHS
}

/// The high bit of each byte that is a control character.
const fn controls(word: u64) -> u64 {
    !(((word & !HIGHS) + ONES * 0x60) | word) & HIGHS
}

/// The number at the start of a text, which must go on as an object does.
pub(crate) fn leading_count(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    let ends = matches!(rest.first(), Some(b',' | b'}'));
    let sound = ends && (1..=18).contains(&digits) && (digits == 1 || number.first() != Some(&b'0'));
    sound.then(|| number.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::lean_add;
    use crate::action::{Action, parse_actions};

    const PLAIN: &str = r#"{"add":{"path":"k=a%20b/part-0.parquet","partitionValues":{"k":"a b","n":null},"size":12,"modificationTime":5,"dataChange":true,"stats":"{\"numRecords\":3,\"minValues\":{\"s\":\"\\\\x\"}}","tags":null,"deletionVector":null}}"#;

    /// What is taken here reads in full as the same action.
    fn agrees(line: &str) -> bool {
        let Some(lean) = lean_add(line.as_bytes()) else { return false };
        let full = parse_actions("test", line.as_bytes()).unwrap();
        let [Action::Add(add)] = full.as_slice() else { panic!("{line} is no add") };
        let (start, end) = (lean.path.start as usize, lean.path.end as usize);
        assert_eq!(&*add.path, &line[start..end]);
        assert_eq!((add.size, add.num_records()), (lean.size, lean.num_records), "{line}");
        assert!(add.deletion_vector.is_none());
        true
    }

    #[test]
    fn a_plain_add_is_taken() {
        assert!(agrees(PLAIN));
        assert!(agrees(r#"{"add":{"path":"a"}}"#));
        assert!(agrees(r#"{"add":{"size":-7,"path":"é","stats":"{\"minValues\":{},\"numRecords\":30}"}}"#));
        assert!(agrees(r#"{"add":{"path":"a","stats":"nonsense"}}"#));
    }

    /// Every cut and every changed byte of a line is either not taken or reads in full.
    #[test]
    fn nothing_is_taken_that_the_full_reader_refuses() {
        for end in 0..PLAIN.len() {
            if PLAIN.is_char_boundary(end) {
                assert!(lean_add(&PLAIN.as_bytes()[..end]).is_none());
            }
        }
        let mut taken = 0_u32;
        for at in 0..PLAIN.len() {
            for byte in (0..=127_u8).step_by(3).chain([b'"', b'\\', b'{', b'}', b',', b':', b'0', b'n', 200]) {
                let mut line = PLAIN.as_bytes().to_vec();
                line[at] = byte;
                if lean_add(&line).is_some() {
                    let text = String::from_utf8(line).unwrap();
                    // A broken tail of the statistics is not looked at here.
                    let full = parse_actions("test", text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
                    assert!(matches!(full.as_slice(), [Action::Add(_)]), "{text}");
                    taken += 1;
                }
            }
        }
        assert!(taken > 1_000);
    }

    /// Backslashes, quotes and control characters at every place of a string, beside every edge of eight bytes.
    #[test]
    fn strings_end_where_the_full_reader_ends_them() {
        let mut taken = 0_u32;
        for length in 0..20 {
            for at in 0..=length {
                for special in [
                    "\\", "\\\\", "\\\\\\", "\\\"", "\\\\\"", "\"", "\\n", "\\x", "\u{1}", "\u{1f}", " ", "\u{7f}",
                    "é", "\\\"\\\"",
                ] {
                    let text = format!("{}{special}{}", "a".repeat(at), "b".repeat(length - at));
                    let line = format!(r#"{{"add":{{"path":"p","stats":"{text}"}}}}"#);
                    let full = parse_actions("test", line.as_bytes());
                    let lean = lean_add(line.as_bytes());
                    assert_eq!(lean.is_some(), full.is_ok(), "{line}");
                    taken += u32::from(lean.is_some());
                }
            }
        }
        assert!(taken > 1_000);
    }

    #[test]
    fn rare_forms_go_to_the_full_reader() {
        for line in [
            r#"{"add":{"path":"a","path":"b"}}"#,
            r#"{"add":{"path":"a\u0020b"}}"#,
            r#"{"add":{"path":"a","size":1.5}}"#,
            r#"{"add":{"path":"a","size":01}}"#,
            r#"{"add":{"path":"a","baseRowId":1}}"#,
            r#"{"add":{"path":"a","deletionVector":{"storageType":"i","pathOrInlineDv":"","sizeInBytes":1,"cardinality":1}}}"#,
            r#"{"add":{"path":"a","unknown":1}}"#,
            r#"{"add":{"path":"a"},"remove":null}"#,
            r#"{"add":{"path":""}}"#,
            r#"{ "add":{"path":"a"}}"#,
        ] {
            assert!(lean_add(line.as_bytes()).is_none(), "{line}");
        }
    }
}
