//! MERGE by key.

use super::conform::complete;
use super::plan::LancePlan;
use super::table::LanceTable;
use super::touch::touch;
use super::write::Writer;
use crate::delete::split;
use crate::merge::{Source, touched};
use crate::{Batches, Matched, MergeSpec, NotMatched, OpsError};
use arrow_array::RecordBatch;
use lakebed_data::{filter_mask, scalar_at};
use lakebed_lance::Reads;
use lakebed_lance::keys::{self, InsertedKeys, KeyPart};
use lakebed_transaction::{Expr, Scalar};
use std::collections::HashSet;

/// Plans a merge. The source is held in memory. `gone` is the predicate of `spec` for rows that only the table has, bound to the table's
/// columns.
///
/// # Errors
/// The rows do not fit the table, two of them have one key, or a data file cannot be read or written.
pub async fn merge(
    table: &LanceTable,
    source: Batches,
    spec: &MergeSpec,
    gone: Option<&Expr>,
) -> Result<LancePlan, OpsError> {
    let source = Source::read(source, table.columns(), spec)?;
    let ids = table.top_ids();
    let given = source.columns.iter().filter_map(|column| table.position(&column.name));
    let condition = source.condition();
    let looked_at = gone.into_iter().flat_map(Expr::columns).filter_map(<[_]>::first).map(|name| &**name);
    let named = source.columns.iter().map(|column| column.name.as_str()).chain(looked_at);
    let reads = Reads {
        predicates: [Some(&condition), gone].into_iter().flatten().map(|one| split(one, &[])).collect(),
        keys: vec![source.probe(&condition)],
        all_met: spec.matched != Matched::Ignore && source.is_named_by(&condition),
        fields: Some(table.field_ids(named)),
        ..Reads::default()
    };
    let mut plan = LancePlan {
        reads,
        fields_changed: given.filter_map(|at| u32::try_from(*ids.get(at)?).ok()).collect(),
        ..LancePlan::default()
    };
    let key = primary_key(table, spec);
    // A merge that only deletes inserts no key, and says so by no filter.
    let inserts = spec.not_matched == NotMatched::Insert || spec.matched == Matched::Update;
    plan.inserted_keys =
        key.first().filter(|_| inserts).map(|_| InsertedKeys::of(key.iter().map(|(id, _)| *id).collect()));
    let mut writer = Writer::new(table);
    let mut found = HashSet::new();
    touch(table, &mut plan, &mut writer, |rows| {
        let matches = source.matches(rows)?;
        found.extend(matches.iter().flatten().copied());
        let gone = gone.map(|gone| filter_mask(gone, rows)).transpose()?;
        touched(spec.matched, matches, gone.as_ref(), |_, taken| source.at(taken))
    })
    .await?;
    if spec.not_matched == NotMatched::Insert {
        let new = source.not_in(&found)?;
        if let Some(keys) = &mut plan.inserted_keys {
            collect(keys, &key, &new)?;
        }
        if new.num_rows() > 0 {
            plan.rows_inserted += writer.write(&complete(&new, table)?, None).await?;
        }
    }
    writer.finish_into(&mut plan).await?;
    Ok(plan)
}

/// The fields of the table's primary key and the columns that they are, where the merge goes by exactly those; else none.
fn primary_key(table: &LanceTable, spec: &MergeSpec) -> Vec<(i32, String)> {
    let key = keys::primary_key(table.snapshot.fields());
    let named = |name: &String| key.iter().any(|field| field.name.eq_ignore_ascii_case(name));
    let all = key
        .iter()
        .all(|field| field.parent_id < 0 && spec.on.iter().any(|name| name.eq_ignore_ascii_case(&field.name)));
    if !all || !spec.on.iter().all(named) {
        return Vec::new();
    }
    key.into_iter().map(|field| (field.id, field.name.clone())).collect()
}

/// Takes down the keys of new rows. A row with NULL in its key has none.
fn collect(keys: &mut InsertedKeys, key: &[(i32, String)], new: &RecordBatch) -> Result<(), OpsError> {
    for row in 0..new.num_rows() {
        let value = |(_, name): &(i32, String)| {
            let at = new.schema_ref().fields().iter().position(|field| field.name().eq_ignore_ascii_case(name))?;
            scalar_at(new.column(at), row).filter(|value| !value.is_null())
        };
        let Some(values) = key.iter().map(value).collect::<Option<Vec<Scalar>>>() else { continue };
        let texts: Vec<String> = values.iter().map(Scalar::to_string).collect();
        let parts = values.iter().zip(&texts).map(|(value, text)| part(value, text));
        keys.insert(&parts.collect::<Vec<_>>());
    }
    Ok(())
}

/// Whole numbers, texts and bytes are hashed as released clients hash them, which leave other keys out; those meet among ours.
fn part<'a>(value: &'a Scalar, text: &'a str) -> KeyPart<'a> {
    match value {
        Scalar::Int(number) => KeyPart::Number(*number),
        Scalar::String(text) => KeyPart::Bytes(text.as_bytes()),
        Scalar::Binary(bytes) => KeyPart::Bytes(bytes),
        Scalar::Null
        | Scalar::Boolean(_)
        | Scalar::Float(_)
        | Scalar::Decimal { .. }
        | Scalar::Date(_)
        | Scalar::Timestamp(_)
        | Scalar::TimestampNtz(_) => KeyPart::Bytes(text.as_bytes()),
    }
}
