//! Fields of a flat schema by their paths.

use super::no_column;
use crate::OpsError;
use lakebed_lance::proto::file::Field;
use lakebed_lance::schema::TOP_LEVEL;
use std::collections::HashSet;

/// The place of the field at a path. Elements of lists, keys and values of maps are called `element`, `key` and `value`.
pub(super) fn any(fields: &[Field], path: &[String]) -> Result<usize, OpsError> {
    let unknown = || no_column(path, fields);
    let mut parent: Option<&Field> = None;
    let mut at = None;
    for part in path {
        at = step(fields, parent, part);
        parent = at.and_then(|at| fields.get(at));
        parent.ok_or_else(unknown)?;
    }
    at.ok_or_else(unknown)
}

fn step(fields: &[Field], parent: Option<&Field>, part: &str) -> Option<usize> {
    let child = |of: i32, wanted: &dyn Fn(&Field) -> bool| {
        fields.iter().position(|field| field.parent_id.max(TOP_LEVEL) == of && wanted(field))
    };
    let named = |field: &Field| field.name.eq_ignore_ascii_case(part);
    let Some(parent) = parent else {
        return child(TOP_LEVEL, &|field| field.name == part).or_else(|| child(TOP_LEVEL, &named));
    };
    match parent.logical_type.as_str() {
        "struct" => child(parent.id, &named),
        "map" => {
            let pair = child(parent.id, &|_| true)?;
            child(fields.get(pair)?.id, &named)
        }
        _ if part.eq_ignore_ascii_case("element") => child(parent.id, &|_| true),
        _ => None,
    }
}

/// The place of the field at a path, which is one of a struct or of the table, so that it has a name of its own.
pub(super) fn find(fields: &[Field], path: &[String]) -> Result<usize, OpsError> {
    let at = any(fields, path)?;
    if let [parent @ .., _] = path
        && !parent.is_empty()
    {
        within(fields, parent)?;
    }
    Ok(at)
}

/// The id of the struct at a path.
pub(super) fn within(fields: &[Field], path: &[String]) -> Result<i32, OpsError> {
    let at = any(fields, path)?;
    match fields.get(at) {
        Some(field) if field.logical_type == "struct" => Ok(field.id),
        Some(_) | None => Err(invalid(
            format!("{} is no struct", path.join(".")),
            "name a column that holds named fields; those of a list's elements stand under `element`",
        )),
    }
}

/// The ids of a field and of all that is below it.
pub(super) fn below(fields: &[Field], id: i32) -> HashSet<i32> {
    let mut ids = HashSet::from([id]);
    for field in fields {
        if ids.contains(&field.parent_id) {
            ids.insert(field.id);
        }
    }
    ids
}

/// The names of the columns in a row.
pub(super) fn listed(fields: &[Field]) -> String {
    let top = fields.iter().filter(|field| field.parent_id < 0).map(|field| field.name.as_str());
    top.collect::<Vec<_>>().join(", ")
}

pub(super) fn invalid(problem: String, advice: &str) -> OpsError {
    OpsError::Invalid { problem, advice: advice.to_owned() }
}
