//! What the features of a table demand of a writer.
//!
//! A feature that is supported but not in use demands nothing. One that is in use and that we cannot serve refuses the
//! commits that it concerns: those with data, mostly, while properties can still be set.

use super::pending::Pending;
use crate::DeltaError;
use crate::action::{Action, Metadata, Protocol};
use crate::schema::{ColumnMapping, StructType};
use lakebed_conflict::delta::ProtocolAccess;

/// What a commit brings, as far as features ask.
struct Contents {
    adds: bool,
    removes: bool,
    /// Files with changed rows both come and go, and no change files tell which rows.
    rewrites_untold: bool,
}

pub(super) fn check(
    pending: &Pending,
    protocol: &Protocol,
    metadata: &Metadata,
    schema: &StructType,
) -> Result<(), DeltaError> {
    writable(protocol)?;
    if let Some(core) = &pending.core {
        writable(&core.protocol)?;
    }
    let actions = &pending.transaction.actions;
    let any = |test: fn(&Action) -> bool| actions.iter().any(test);
    let contents = Contents {
        adds: any(|action| matches!(action, Action::Add(_))),
        removes: any(|action| matches!(action, Action::Remove(_))),
        rewrites_untold: any(|action| matches!(action, Action::Add(add) if add.data_change))
            && any(|action| matches!(action, Action::Remove(remove) if remove.data_change))
            && !any(|action| matches!(action, Action::Cdc(_))),
    };
    let state = protocol.state();
    for (feature, in_the_way) in RULES {
        if state.supports(feature) && in_the_way(metadata, schema, &contents) {
            return Err(DeltaError::Unsupported {
                object: "a commit with data to this table".into(),
                feature: (*feature).to_owned(),
                advice: "write with a client that serves the feature; properties can be set here".into(),
            });
        }
    }
    Ok(())
}

/// Refuses protocols that we do not know how to write.
fn writable(protocol: &Protocol) -> Result<(), DeltaError> {
    match protocol.access() {
        ProtocolAccess::Usable => Ok(()),
        ProtocolAccess::UnsupportedVersion => Err(DeltaError::unsupported(format!(
            "reader version {} with writer version {}",
            protocol.min_reader_version, protocol.min_writer_version
        ))),
        ProtocolAccess::UnsupportedReaderFeatures(names) | ProtocolAccess::UnsupportedWriterFeatures(names) => {
            Err(DeltaError::unsupported(names.join(", ")))
        }
    }
}

type InTheWay = fn(&Metadata, &StructType, &Contents) -> bool;

/// For each feature that we cannot serve: when it stands in the way.
const RULES: &[(&str, InTheWay)] = &[
    ("invariants", |_, schema, contents| contents.adds && uses(schema, "delta.invariants")),
    ("checkConstraints", |metadata, _, contents| contents.adds && has_prefix(metadata, "delta.constraints.")),
    ("generatedColumns", |_, schema, contents| contents.adds && uses(schema, "delta.generationExpression")),
    ("allowColumnDefaults", |_, schema, contents| contents.adds && uses(schema, "CURRENT_DEFAULT")),
    ("identityColumns", |_, schema, contents| contents.adds && uses(schema, "delta.identity.start")),
    // Files that only come or only go are their own record of changes; a rewrite is not.
    ("changeDataFeed", |metadata, _, contents| contents.rewrites_untold && metadata.flag("delta.enableChangeDataFeed")),
    ("columnMapping", |metadata, _, contents| {
        let mode = ColumnMapping::parse(metadata.configuration.get("delta.columnMapping.mode"));
        contents.adds && mode != Ok(ColumnMapping::None)
    }),
    ("rowTracking", |_, _, contents| contents.adds || contents.removes),
    ("icebergCompatV1", |metadata, _, contents| contents.adds && metadata.flag("delta.enableIcebergCompatV1")),
    ("icebergCompatV2", |metadata, _, contents| contents.adds && metadata.flag("delta.enableIcebergCompatV2")),
    ("icebergCompatV3", |metadata, _, contents| contents.adds && metadata.flag("delta.enableIcebergCompatV3")),
    ("materializePartitionColumns", |_, _, contents| contents.adds),
];

fn uses(schema: &StructType, key: &str) -> bool {
    schema.all_fields().iter().any(|field| field.metadata.contains_key(key))
}

fn has_prefix(metadata: &Metadata, prefix: &str) -> bool {
    metadata.configuration.iter().any(|(key, _)| key.starts_with(prefix))
}
