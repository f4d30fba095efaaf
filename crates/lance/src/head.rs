//! What a version says of itself without its fragments.
//!
//! A listing of many versions wants when each was made and by what. The fragments, which are nearly all of a manifest, are
//! passed over by their lengths, and so is the operation of a transaction.

use crate::LanceError;
use crate::manifest::{field_numbers, manifest_message, section_at};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::Version;
use lakebed_transaction::{LanceKind, TransactionId};
use prost::Message;
use prost_types::Timestamp;
use std::collections::BTreeMap;

/// What a version says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionHead {
    /// The number.
    pub version: Version,
    /// When it was committed, in milliseconds since 1970 by the writer's clock; `None` where it does not say.
    pub timestamp_ms: Option<i64>,
    /// The transaction that made it, where it stands inline and can be read.
    pub transaction: Option<TransactionHead>,
    /// The file of that transaction; `None` where the manifest names none.
    pub transaction_file: Option<ObjectName>,
}

/// What a transaction says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionHead {
    /// The version that it was built on.
    pub read_version: Version,
    /// Its id.
    pub id: TransactionId,
    /// What kind of thing it does.
    pub kind: LanceKind,
    /// Free texts.
    pub properties: BTreeMap<String, String>,
}

/// The field numbers that operations have in a transaction.
const OPERATIONS: std::ops::RangeInclusive<u32> = 100..=199;

/// The fields of a manifest that are wanted here; all others are skipped.
#[derive(Clone, PartialEq, Message)]
struct ManifestPart {
    #[prost(uint64, tag = "3")]
    version: u64,
    #[prost(message, optional, tag = "7")]
    timestamp: Option<Timestamp>,
    #[prost(string, tag = "12")]
    transaction_file: String,
    #[prost(uint64, optional, tag = "21")]
    transaction_section_deprecated: Option<u64>,
    #[prost(uint64, optional, tag = "23")]
    transaction_section: Option<u64>,
}

/// The fields of a transaction that are wanted here.
#[derive(Clone, PartialEq, Message)]
struct TransactionPart {
    #[prost(uint64, tag = "1")]
    read_version: u64,
    #[prost(string, tag = "2")]
    uuid: String,
    #[prost(btree_map = "string, string", tag = "4")]
    transaction_properties: BTreeMap<String, String>,
}

impl VersionHead {
    /// The head of the version in the bytes of its manifest file; `object` is the file's name, for messages.
    ///
    /// # Errors
    /// The bytes are no manifest file.
    pub fn decode(object: &str, bytes: &Bytes) -> Result<Self, LanceError> {
        let part = ManifestPart::decode(manifest_message(object, bytes)?).map_err(|error| LanceError::Damaged {
            object: object.to_owned(),
            problem: format!("the manifest message cannot be decoded ({error})"),
            advice: "read it again; if it stays so, open an earlier version or restore the object".to_owned(),
        })?;
        let inline = part.transaction_section.or(part.transaction_section_deprecated);
        Ok(Self {
            version: Version::new(part.version),
            timestamp_ms: part
                .timestamp
                .and_then(|at| at.seconds.checked_mul(1_000)?.checked_add(i64::from(at.nanos) / 1_000_000)),
            transaction: inline
                .and_then(|at| section_at(object, bytes, at).ok())
                .and_then(|bytes| TransactionHead::decode(&bytes)),
            transaction_file: (!part.transaction_file.is_empty())
                .then(|| ObjectName::new(format!("_transactions/{}", part.transaction_file))),
        })
    }
}

impl TransactionHead {
    /// The head of an encoded transaction; `None` where the bytes are none.
    #[must_use]
    pub fn decode(bytes: &Bytes) -> Option<Self> {
        let part = TransactionPart::decode(bytes.clone()).ok()?;
        Some(Self {
            read_version: Version::new(part.read_version),
            id: TransactionId::new(part.uuid),
            kind: field_numbers(bytes)?
                .filter(|number| OPERATIONS.contains(number))
                .last()
                .map_or(LanceKind::Unknown, kind_at),
            properties: part.transaction_properties,
        })
    }
}

/// The kind of the operation with this field number in a transaction.
const fn kind_at(number: u32) -> LanceKind {
    match number {
        100 => LanceKind::Append,
        101 => LanceKind::Delete,
        102 => LanceKind::Overwrite,
        103 => LanceKind::CreateIndex,
        104 => LanceKind::Rewrite,
        105 => LanceKind::Merge,
        106 => LanceKind::Restore,
        107 => LanceKind::ReserveFragments,
        108 => LanceKind::Update,
        109 => LanceKind::Project,
        110 => LanceKind::UpdateConfig,
        111 => LanceKind::DataReplacement,
        112 => LanceKind::UpdateMemWalState,
        113 => LanceKind::Clone,
        114 => LanceKind::UpdateBases,
        115 => LanceKind::DataOverlay,
        _ => LanceKind::Unknown,
    }
}
