//! What of a table names a column.

use super::column_paths;
use crate::OpsError;
use crate::create::CONSTRAINT_PREFIX;
use lakebed_delta::action::Metadata;
use lakebed_delta::schema::StructType;

/// The property that lists columns with statistics.
const STATS_COLUMNS: &str = "delta.dataSkippingStatsColumns";

/// Refuses a change of a column that a constraint or a generated column is computed from. SQL that we cannot read counts as
/// naming every column.
pub(crate) fn refuse_referenced(schema: &StructType, metadata: &Metadata, path: &[String]) -> Result<(), OpsError> {
    let constraints = metadata.configuration.iter().filter_map(|(key, text)| {
        Some((format!("the constraint {}", key.strip_prefix(CONSTRAINT_PREFIX)?), text?.to_owned()))
    });
    let generated = schema.all_fields().into_iter().filter_map(|field| {
        let text = field.metadata.get("delta.generationExpression")?.as_str()?;
        Some((format!("the generated column {}", field.name), text.to_owned()))
    });
    for (what, sql) in constraints.chain(generated) {
        if column_paths(&sql).is_none_or(|paths| paths.iter().any(|named| overlap(named, path))) {
            return Err(OpsError::Invalid {
                problem: format!("{what} is computed from {}: {sql}", path.join(".")),
                advice: "remove it first".to_owned(),
            });
        }
    }
    Ok(())
}

/// Whether one of the paths leads through the other.
fn overlap(one: &[String], other: &[String]) -> bool {
    one.iter().zip(other).all(|(a, b)| a.eq_ignore_ascii_case(b))
}

/// Follows a new name in the list of columns with statistics.
pub(super) fn rename_in_lists(metadata: &mut Metadata, old: &str, new: &str) {
    let Some(list) = metadata.configuration.get(STATS_COLUMNS) else { return };
    let renamed = |name: &str| {
        let bare = name.trim();
        let below = bare.get(..old.len()).is_some_and(|head| head.eq_ignore_ascii_case(old));
        match bare.get(old.len()..) {
            Some("") if below => new.to_owned(),
            Some(rest) if below && rest.starts_with('.') => format!("{new}{rest}"),
            Some(_) | None => bare.to_owned(),
        }
    };
    let list = list.split(',').map(renamed).collect::<Vec<_>>().join(",");
    metadata.configuration.set(STATS_COLUMNS, Some(&list));
}
