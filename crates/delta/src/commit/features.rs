//! What the features of a table demand of a writer.
//!
//! A feature that is supported but not in use demands nothing. One that is in use and that we cannot serve refuses the
//! commits that it concerns: those with data, mostly, while properties can still be set.

use super::pending::Pending;
use crate::DeltaError;
use crate::action::{Action, Metadata, Protocol};
use crate::protocol::CATALOG_FEATURES;
use crate::schema::StructType;
use lakebed_conflict::delta::ProtocolAccess;

/// What a commit brings, as far as features ask.
struct Contents {
    /// Any file comes in.
    files: bool,
    /// Files with new or changed rows come in.
    adds: bool,
    /// The caller answers for constraints, generated, default and identity values of the rows that come in.
    values_vouched: bool,
    /// Files with changed rows both come and go, and nothing tells which rows.
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
    let transaction = &pending.transaction;
    let any = |test: fn(&Action) -> bool| transaction.actions.iter().any(test);
    let contents = Contents {
        files: any(|action| matches!(action, Action::Add(_))),
        adds: any(|action| matches!(action, Action::Add(add) if add.data_change)),
        values_vouched: transaction.vouched.values,
        rewrites_untold: any(|action| matches!(action, Action::Add(add) if add.data_change))
            && any(|action| matches!(action, Action::Remove(remove) if remove.data_change))
            && !any(|action| matches!(action, Action::Cdc(_)))
            && !transaction.vouched.changes,
    };
    let state = protocol.state();
    for rule in RULES {
        let Some(what) = (rule.in_the_way)(metadata, schema, &contents).filter(|_| state.supports(rule.feature)) else {
            continue;
        };
        return Err(DeltaError::Unsupported {
            object: "a commit with data to this table".into(),
            feature: if what.is_empty() { rule.feature.to_owned() } else { format!("{} ({what})", rule.feature) },
            advice: rule.advice.to_owned(),
        });
    }
    Ok(())
}

/// Refuses protocols that we do not know how to write.
fn writable(protocol: &Protocol) -> Result<(), DeltaError> {
    if let Some(feature) = CATALOG_FEATURES.iter().find(|feature| protocol.supports(feature)) {
        return Err(DeltaError::Unsupported {
            object: "a commit to a table that is managed by a catalog".into(),
            feature: (*feature).to_owned(),
            advice: "commit through its catalog: an entry that it did not ratify is no version".into(),
        });
    }
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

/// When a feature stands in the way: `None` when it does not, else by what name of its own (which may be empty).
type InTheWay = fn(&Metadata, &StructType, &Contents) -> Option<String>;

/// A feature that we cannot serve by the log alone.
struct Rule {
    feature: &'static str,
    in_the_way: InTheWay,
    advice: &'static str,
}

const VOUCH: &str = "append the rows with a statement, which checks and fills in what it can, or say in the transaction that its \
                     values are vouched for";
const TELL: &str = "add change files (cdc actions) for the rows that changed, or say in the transaction that its changes are \
                    vouched for";
const ELSEWHERE: &str = "write with a client that serves the feature; properties can be set here";

const RULES: &[Rule] = &[
    Rule { feature: "invariants", in_the_way: |_, s, c| of_columns(s, c, "delta.invariants"), advice: VOUCH },
    Rule { feature: "checkConstraints", in_the_way: |m, _, c| constraints(m, c), advice: VOUCH },
    Rule {
        feature: "generatedColumns",
        in_the_way: |_, s, c| of_columns(s, c, "delta.generationExpression"),
        advice: VOUCH,
    },
    Rule { feature: "allowColumnDefaults", in_the_way: |_, s, c| of_columns(s, c, "CURRENT_DEFAULT"), advice: VOUCH },
    Rule { feature: "identityColumns", in_the_way: |_, s, c| of_columns(s, c, "delta.identity.start"), advice: VOUCH },
    // Files that only come or only go are their own record of changes; a rewrite is not.
    Rule {
        feature: "changeDataFeed",
        in_the_way: |m, _, c| (c.rewrites_untold && m.flag("delta.enableChangeDataFeed")).then(String::new),
        advice: TELL,
    },
    Rule {
        feature: "icebergCompatV1",
        in_the_way: |m, _, c| flagged(m, c, "delta.enableIcebergCompatV1"),
        advice: ELSEWHERE,
    },
    Rule {
        feature: "icebergCompatV2",
        in_the_way: |m, _, c| flagged(m, c, "delta.enableIcebergCompatV2"),
        advice: ELSEWHERE,
    },
    Rule {
        feature: "icebergCompatV3",
        in_the_way: |m, _, c| flagged(m, c, "delta.enableIcebergCompatV3"),
        advice: ELSEWHERE,
    },
    Rule { feature: "materializePartitionColumns", in_the_way: |_, _, c| c.files.then(String::new), advice: ELSEWHERE },
];

fn of_columns(schema: &StructType, contents: &Contents, key: &str) -> Option<String> {
    if !contents.adds || contents.values_vouched {
        return None;
    }
    let fields = schema.all_fields();
    let names: Vec<&str> =
        fields.iter().filter(|field| field.metadata.contains_key(key)).map(|field| field.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("of {}", names.join(", ")))
}

fn constraints(metadata: &Metadata, contents: &Contents) -> Option<String> {
    if !contents.adds || contents.values_vouched {
        return None;
    }
    let name = |(key, text): (&str, Option<&str>)| {
        Some(format!("{}: {}", key.strip_prefix("delta.constraints.")?, text.unwrap_or_default()))
    };
    let all: Vec<String> = metadata.configuration.iter().filter_map(name).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn flagged(metadata: &Metadata, contents: &Contents, key: &str) -> Option<String> {
    (contents.files && metadata.flag(key)).then(String::new)
}
