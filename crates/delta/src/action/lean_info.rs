//! Provenance as it stands in a commit, found valid without being built.
//!
//! What is taken here is a strict part of what the full reader takes, so that it can be read in full when somebody asks for it.

use super::CommitInfo;
use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::sync::OnceLock;

/// Opening brackets that a line may have: fewer than what the full reader takes inside one another.
const BRACKETS_MAX: usize = 100;

/// Who did what, made into fields only when somebody asks for more than its times.
#[derive(Clone, Debug)]
pub(crate) struct LeanInfo {
    /// When the writer's clock said that it was made, in milliseconds since 1970.
    pub(crate) timestamp_ms: Option<i64>,
    /// The in-commit timestamp, in milliseconds since 1970.
    pub(crate) in_commit_timestamp_ms: Option<i64>,
    line: Bytes,
    made: OnceLock<CommitInfo>,
}

impl LeanInfo {
    /// Reads a line, without white space around it, that is a `commitInfo` and nothing else; `None` where only the full reader
    /// can tell.
    pub(crate) fn read(line: Bytes) -> Option<Self> {
        let brackets = line.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
        let begins = line.starts_with(b"{\"commitInfo\":{");
        // A code point by number may be half of one: that is for the full reader.
        if !begins || brackets > BRACKETS_MAX || memchr::memmem::find(&line, b"\\u").is_some() {
            return None;
        }
        let Line { info } = serde_json::from_str(std::str::from_utf8(&line).ok()?).ok()?;
        let (timestamp_ms, in_commit_timestamp_ms) = (info.timestamp_ms, info.in_commit_timestamp_ms);
        Some(Self { timestamp_ms, in_commit_timestamp_ms, line, made: OnceLock::new() })
    }

    /// All of it.
    pub(crate) fn all(&self) -> &CommitInfo {
        self.made.get_or_init(|| {
            let mut made = None;
            // The line was found to hold provenance before it was kept.
            let read = super::each_action("a commit", &self.line, super::InfoUse::Keep, |action| {
                if let super::Action::CommitInfo(info) = action {
                    made.get_or_insert(info);
                }
            });
            read.ok().and(made).unwrap_or_default()
        })
    }
}

impl From<CommitInfo> for LeanInfo {
    fn from(info: CommitInfo) -> Self {
        Self {
            timestamp_ms: info.number("timestamp"),
            in_commit_timestamp_ms: info.in_commit_timestamp_ms(),
            line: Bytes::new(),
            made: OnceLock::from(info),
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "commitInfo")]
    info: Times,
}

/// The times among the fields; as in the full reader, the last of two fields with one name counts.
#[derive(Default)]
struct Times {
    timestamp_ms: Option<i64>,
    in_commit_timestamp_ms: Option<i64>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
enum Key {
    Timestamp,
    InCommitTimestamp,
    #[serde(other)]
    Another,
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Times;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Times, A::Error> {
                let mut times = Times::default();
                while let Some(key) = map.next_key::<Key>()? {
                    match key {
                        Key::Timestamp => times.timestamp_ms = map.next_value::<Value>()?.as_i64(),
                        Key::InCommitTimestamp => times.in_commit_timestamp_ms = map.next_value::<Value>()?.as_i64(),
                        Key::Another => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(times)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::LeanInfo;
    use crate::action::{Action, parse_actions};
    use bytes::Bytes;

    const PLAIN: &str = r#"{"commitInfo":{"timestamp":17,"operation":"WRITE \"é\"","operationParameters":{"a":[1,{"timestamp":2}]},"inCommitTimestamp":18,"readVersion":0,"flag":true}}"#;

    /// What is taken here reads in full as the same provenance.
    fn agrees(line: &str) -> bool {
        let Some(lean) = LeanInfo::read(Bytes::copy_from_slice(line.as_bytes())) else { return false };
        let full = parse_actions("test", line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        let [Action::CommitInfo(info)] = full.as_slice() else { panic!("{line} is no commitInfo") };
        assert_eq!(lean.all(), info);
        assert_eq!(
            (lean.timestamp_ms, lean.in_commit_timestamp_ms),
            (info.number("timestamp"), info.number("inCommitTimestamp"))
        );
        true
    }

    #[test]
    fn plain_provenance_is_taken() {
        assert!(agrees(PLAIN));
        for line in [
            r#"{"commitInfo":{}}"#,
            r#"{"commitInfo":{"timestamp":"5"}}"#,
            r#"{"commitInfo":{"timestamp":1.5,"inCommitTimestamp":null}}"#,
            r#"{"commitInfo":{"timestamp":1,"timestamp":2}}"#,
            r#"{"commitInfo":{"timestamp":99999999999999999999}}"#,
        ] {
            assert!(agrees(line), "{line}");
        }
    }

    /// Every cut and every changed byte of a line is either not taken or reads in full.
    #[test]
    fn nothing_is_taken_that_the_full_reader_refuses() {
        for end in 0..PLAIN.len() {
            assert!(LeanInfo::read(Bytes::copy_from_slice(&PLAIN.as_bytes()[..end])).is_none());
        }
        let mut taken = 0_u32;
        for at in 0..PLAIN.len() {
            for byte in (0..=127_u8).step_by(3).chain([b'"', b'\\', b'{', b'}', b',', b':', b'0', b'n', 200]) {
                let mut line = PLAIN.as_bytes().to_vec();
                line[at] = byte;
                taken += u32::from(std::str::from_utf8(&line).is_ok_and(agrees));
            }
        }
        assert!(taken > 1_000);
    }

    #[test]
    fn rare_forms_go_to_the_full_reader() {
        let deep = format!(r#"{{"commitInfo":{{"a":{}{}}}}}"#, "[".repeat(200), "]".repeat(200));
        for line in [
            r#"{"commitInfo":{"a":"\ud800"}}"#,
            r#"{"commitInfo":{},"add":null}"#,
            r#"{"commitInfo":null}"#,
            r#"{"commitInfo":{}} x"#,
            deep.as_str(),
        ] {
            assert!(LeanInfo::read(Bytes::copy_from_slice(line.as_bytes())).is_none(), "{line}");
        }
    }
}
