//! The checks of Delta's rules: each a name, a sentence and a condition.

use super::DeltaFacts;
use super::conditions::{
    BACKFILL, READ_CLASS, UNBACKFILL, VERSION_CLASS, WRITE_CLASS, added_files, adopts_metadata, both_change_metadata,
    counts_at_write_serializable, falsely_blind, feature_dropped, metadata_changed, numbers_rows, removed_twice,
    removed_what_was_read, same_application, same_domain, stamps_commits, text, unreadable_partition_value,
    unsupported_reader_features, unsupported_version, unsupported_writer_features,
};
use super::marks;
use crate::{Check, Marks};
use lakebed_transaction::{Evidence, Reason, Register, Verdict};

/// A check of Delta's rules.
pub(super) type Rule = Check<DeltaFacts>;

/// The table's level text names no level.
pub(super) const INVALID_LEVEL: Reason = Reason {
    check: "invalid-level",
    sentence: "the table's delta.isolationLevel names no isolation level",
    advice: "set delta.isolationLevel to Serializable, or unset it",
    error_class: Some("DELTA_INVALID_ISOLATION_LEVEL"),
};

/// The protocol of ours, or of its table, is not supported.
pub(super) const UNUSABLE_PROTOCOL: Reason = Reason {
    check: "unusable-protocol",
    sentence: "the table's protocol asks for what is not supported here",
    advice: "upgrade the writer",
    error_class: None,
};

/// Ours is a bulk commit.
pub(super) static BULK_COMMIT: Rule = Rule {
    reason: Reason {
        check: "bulk-commit",
        sentence: "ours replaces the table in bulk and is never checked against what lands meanwhile",
        advice: "run the operation again on the newest version, or while nobody writes",
        error_class: Some("DELTA_CONCURRENT_WRITE"),
    },
    verdict: Verdict::Retryable,
    needs: marks::BULK,
    fires: |ours, _| ours.large.then(|| text(ours.operation.to_string())),
};

/// Ours is empty and may be dropped, unchecked.
pub(super) static NOTHING_TO_COMMIT: Rule = Rule {
    reason: Reason {
        check: "nothing-to-commit",
        sentence: "ours changes nothing and may be left out",
        advice: "nothing to do",
        error_class: None,
    },
    verdict: Verdict::Compatible,
    needs: marks::SKIPPABLE,
    fires: |ours, _| (ours.skip_if_empty && ours.is_empty()).then(|| text("empty commit")),
};

/// Landed asks for unknown protocol versions.
pub(super) static PROTOCOL_VERSION: Rule = Rule {
    reason: Reason {
        check: "protocol-version",
        sentence: "landed raised the protocol to versions that are not supported here",
        advice: "upgrade the writer",
        error_class: Some(VERSION_CLASS),
    },
    verdict: Verdict::Incompatible,
    needs: marks::PROTOCOL,
    fires: unsupported_version,
};

/// Landed asks readers for unknown features.
pub(super) static READER_FEATURES: Rule = Rule {
    reason: Reason {
        check: "reader-features",
        sentence: "landed turned on reader features that are not supported here",
        advice: "upgrade the writer",
        error_class: Some(READ_CLASS),
    },
    verdict: Verdict::Incompatible,
    needs: marks::PROTOCOL,
    fires: unsupported_reader_features,
};

/// Landed asks writers for unknown features.
pub(super) static WRITER_FEATURES: Rule = Rule {
    reason: Reason {
        check: "writer-features",
        sentence: "landed turned on writer features that are not supported here",
        advice: "upgrade the writer",
        error_class: Some(WRITE_CLASS),
    },
    verdict: Verdict::Incompatible,
    needs: marks::PROTOCOL,
    fires: unsupported_writer_features,
};

/// Both carry a protocol.
pub(super) static BOTH_CHANGE_PROTOCOL: Rule = Rule {
    reason: Reason {
        check: "both-change-protocol",
        sentence: "both write the protocol",
        advice: "read the newest version and plan the change again",
        error_class: Some("DELTA_PROTOCOL_CHANGED"),
    },
    verdict: Verdict::Retryable,
    needs: marks::OUR_PROTOCOL.and(marks::PROTOCOL),
    fires: |ours, landed| {
        (ours.protocol.is_some() && landed.protocol.is_some()).then_some(Evidence::Register(Register::Protocol))
    },
};

/// Landed drops a feature.
pub(super) static FEATURE_DROPPED: Rule = Rule {
    reason: Reason {
        check: "feature-dropped",
        sentence: "landed took away a feature that ours may have relied on",
        advice: "read the newest version and plan again",
        error_class: Some("DELTA_PROTOCOL_CHANGED"),
    },
    verdict: Verdict::Retryable,
    needs: marks::PROTOCOL,
    fires: feature_dropped,
};

/// Ours drops a feature that the table still uses.
pub(super) static DROPPED_FEATURE_IN_USE: Rule = Rule {
    reason: Reason {
        check: "dropped-feature-in-use",
        sentence: "ours drops a feature of which traces are left in the table",
        advice: "remove the traces, then drop the feature again",
        error_class: Some("DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL"),
    },
    verdict: Verdict::Retryable,
    needs: marks::TRACES,
    fires: |ours, _| {
        (!ours.dropped_features_with_traces.is_empty()).then(|| text(ours.dropped_features_with_traces.join(", ")))
    },
};

/// Both carry metadata.
pub(super) static BOTH_CHANGE_METADATA: Rule = Rule {
    reason: Reason {
        check: "both-change-metadata",
        sentence: "both write the table's metadata",
        advice: "read the newest version and plan the change again; change schema and properties while nobody else does",
        error_class: Some("DELTA_METADATA_CHANGED"),
    },
    verdict: Verdict::Retryable,
    needs: marks::OUR_METADATA.and(marks::METADATA),
    fires: both_change_metadata,
};

/// Landed changes metadata beyond what is adopted.
pub(super) static METADATA_CHANGED: Rule = Rule {
    reason: Reason {
        check: "metadata-changed",
        sentence: "landed changed schema or properties in a way that a writer in flight cannot adopt",
        advice: "read the newest version and plan again",
        error_class: Some("DELTA_METADATA_CHANGED"),
    },
    verdict: Verdict::Retryable,
    needs: marks::METADATA,
    fires: metadata_changed,
};

/// Both write one domain.
pub(super) static SAME_DOMAIN: Rule = Rule {
    reason: Reason {
        check: "same-domain",
        sentence: "both write the same metadata domain",
        advice: "read the newest version and plan the change again",
        error_class: Some("DELTA_CONCURRENT_TRANSACTION"),
    },
    verdict: Verdict::Retryable,
    needs: marks::DOMAINS,
    fires: same_domain,
};

/// Landed moves an application that ours looked up.
pub(super) static SAME_APPLICATION: Rule = Rule {
    reason: Reason {
        check: "same-application",
        sentence: "landed recorded a transaction of an application whose last one ours looked up",
        advice: "look up the application's last transaction again; run one writer for each application id",
        error_class: Some("DELTA_CONCURRENT_TRANSACTION"),
    },
    verdict: Verdict::Retryable,
    needs: marks::APPLICATIONS,
    fires: same_application,
};

/// Row ids are taken away and given at once.
pub(super) static UNBACKFILL_MEETS_BACKFILL: Rule = Rule {
    reason: Reason {
        check: "unbackfill-meets-backfill",
        sentence: "ours takes row ids away while landed gave them",
        advice: "run one of the two again when the other is done",
        error_class: Some("DELTA_ROW_TRACKING_BACKFILL_RUNNING_CONCURRENTLY_WITH_UNBACKFILL"),
    },
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: |ours, landed| (&*ours.operation == UNBACKFILL && &*landed.operation == BACKFILL).then(|| text(BACKFILL)),
};

/// A candidate's partition text does not parse.
pub(super) static UNREADABLE_PARTITION_VALUE: Rule = Rule {
    reason: Reason {
        check: "unreadable-partition-value",
        sentence: "a partition value that landed added is not a value of the column's type, so it cannot be compared with what ours read",
        advice: "repair the landed file's partition value",
        error_class: Some("CAST_INVALID_INPUT"),
    },
    verdict: Verdict::Incompatible,
    needs: marks::ADDED.and(marks::PARTITIONED),
    fires: unreadable_partition_value,
};

/// The same where blind appends do not count.
pub(super) static UNREADABLE_PARTITION_VALUE_NOT_BLIND: Rule = Rule {
    reason: Reason {
        check: "unreadable-partition-value",
        sentence: "a partition value that landed added is not a value of the column's type, so it cannot be compared with what ours read",
        advice: "repair the landed file's partition value",
        error_class: Some("CAST_INVALID_INPUT"),
    },
    verdict: Verdict::Incompatible,
    needs: marks::ADDED.and(marks::PARTITIONED),
    fires: |ours, landed| {
        if counts_at_write_serializable(ours, landed) { unreadable_partition_value(ours, landed) } else { None }
    },
};

/// Landed adds to what ours read.
pub(super) static ADDED_FILES: Rule = Rule {
    reason: Reason {
        check: "added-files",
        sentence: "landed added files to what ours read",
        advice: "read the newest version and plan again; filter reads by partition columns, or use the WriteSerializable level where blind appends may be passed over",
        error_class: Some("DELTA_CONCURRENT_APPEND"),
    },
    verdict: Verdict::Retryable,
    needs: marks::ADDED,
    fires: added_files,
};

/// Landed adds to what ours read, and counts at this level.
pub(super) static ADDED_FILES_NOT_BLIND: Rule = Rule {
    reason: Reason {
        check: "added-files",
        sentence: "landed added files to what ours read, and was no blind append or ours changes metadata",
        advice: "read the newest version and plan again; filter reads by partition columns",
        error_class: Some("DELTA_CONCURRENT_APPEND"),
    },
    verdict: Verdict::Retryable,
    needs: marks::ADDED,
    fires: |ours, landed| if counts_at_write_serializable(ours, landed) { added_files(ours, landed) } else { None },
};

/// Landed calls itself blind and is not; what it added counts, after what Spark checks.
pub(super) static ADDED_FILES_FALSELY_BLIND: Rule = Rule {
    reason: Reason {
        check: "added-files-falsely-blind",
        sentence: "landed added files to what ours read; it calls itself a blind append, but it also removes",
        advice: "read the newest version and plan again; have the other writer correct its isBlindAppend flag",
        error_class: Some("DELTA_CONCURRENT_APPEND"),
    },
    verdict: Verdict::Retryable,
    needs: marks::ADDED.and(marks::CALLED_BLIND),
    fires: |ours, landed| if falsely_blind(landed) { added_files(ours, landed) } else { None },
};

/// Landed removes what ours read.
pub(super) static REMOVED_WHAT_WAS_READ: Rule = Rule {
    reason: Reason {
        check: "removed-what-was-read",
        sentence: "landed removed files that ours read",
        advice: "read the newest version and plan again; filter reads so that fewer files are read",
        error_class: Some("DELTA_CONCURRENT_DELETE_READ"),
    },
    verdict: Verdict::Retryable,
    needs: marks::READ_AND_REMOVED,
    fires: removed_what_was_read,
};

/// Both remove one file.
pub(super) static REMOVED_TWICE: Rule = Rule {
    reason: Reason {
        check: "removed-twice",
        sentence: "both remove the same files",
        advice: "read the newest version and plan again",
        error_class: Some("DELTA_CONCURRENT_DELETE_DELETE"),
    },
    verdict: Verdict::Retryable,
    needs: marks::BOTH_REMOVE,
    fires: removed_twice,
};

/// Ours takes over a protocol.
pub(super) static ADOPTS_PROTOCOL: Rule = Rule {
    reason: Reason {
        check: "adopts-protocol",
        sentence: "landed wrote the protocol, which ours takes over",
        advice: "nothing to do",
        error_class: None,
    },
    verdict: Verdict::Rebase,
    needs: marks::PROTOCOL,
    fires: |_, landed| landed.protocol.is_some().then_some(Evidence::Register(Register::Protocol)),
};

/// Ours takes over metadata.
pub(super) static ADOPTS_METADATA: Rule = Rule {
    reason: Reason {
        check: "adopts-metadata",
        sentence: "landed switched on what ours can take over",
        advice: "nothing to do",
        error_class: None,
    },
    verdict: Verdict::Rebase,
    needs: marks::METADATA,
    fires: adopts_metadata,
};

/// Row ids are given anew.
pub(super) static RENUMBERS_ROWS: Rule = Rule {
    reason: Reason {
        check: "renumbers-rows",
        sentence: "row ids and commit versions of ours follow landed's high-water mark",
        advice: "nothing to do",
        error_class: None,
    },
    verdict: Verdict::Rebase,
    needs: marks::FEATURES,
    fires: |ours, landed| numbers_rows(ours, landed).then(|| text("row ids")),
};

/// The commit timestamp moves.
pub(super) static MOVES_TIMESTAMP: Rule = Rule {
    reason: Reason {
        check: "moves-timestamp",
        sentence: "the commit timestamp of ours must come after landed's",
        advice: "nothing to do",
        error_class: None,
    },
    verdict: Verdict::Rebase,
    needs: marks::PROPERTIES,
    fires: |ours, landed| stamps_commits(ours, landed).then(|| text("in-commit timestamp")),
};
