//! The tags of a Lance table, as `show` lists them.

use crate::audit;
use crate::error::CliError;
use lakebed_naming::lance::TagName;
use lakebed_storage::Store;
use serde_json::{Value, json};

/// The folder of tags.
const FOLDER: &str = "_refs/tags";

/// `{"name","version","branch"}` of each tag, by name; the branch of a tag on the table itself is null.
pub(super) async fn list(store: &dyn Store) -> Result<Vec<Value>, CliError> {
    let mut tags = Vec::new();
    for name in audit::list(store, FOLDER).await? {
        let file = name.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default();
        let Some(tag) = TagName::parse(file) else { continue };
        // Removed since it was listed: no tag any more.
        let Some(bytes) = store.get(&name).await? else { continue };
        let contents: Value = serde_json::from_slice(&bytes).map_err(|error| {
            CliError::failed(format!("{name} is no tag ({error})"), "move the tag to the version that it should name")
        })?;
        let key = |key: &str| contents.get(key).cloned().unwrap_or(Value::Null);
        tags.push(json!({"name": tag.as_str(), "version": key("version"), "branch": key("branch")}));
    }
    Ok(tags)
}
