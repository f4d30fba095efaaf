//! Objects that the log names absolutely: files of a shallow clone, deletion vectors of storage type `p`.

use crate::OpsError;
use lakebed_delta::path::identity;
use lakebed_naming::delta::DataPath;
use lakebed_storage::{Store, StoreOptions, open};
use std::sync::Arc;

/// The store that holds an object outside of the table's root, and the object's name there.
///
/// It is opened with what the environment says, and only by the scheme of the table itself: a log in a bucket must not make a
/// reader open files of its own machine.
pub(crate) fn locate(store: &Arc<dyn Store>, uri: &str) -> Result<(Arc<dyn Store>, String), OpsError> {
    let refused = |why: &str| OpsError::Unsupported {
        feature: format!("the object {uri}, which lies outside of it and {why}"),
        statement: "reading rows",
        advice: "copy the table, or read it with an engine that opens such objects".to_owned(),
    };
    let (scheme, local) = match uri.split_once(':') {
        Some((scheme, _)) if !uri.starts_with('/') => (scheme, false),
        Some(_) | None => ("file", true),
    };
    let own = store.root().split_once(':').map_or("file", |(scheme, _)| scheme);
    if !family(own).eq_ignore_ascii_case(family(scheme)) {
        return Err(refused("in another kind of store"));
    }
    let (folder, name) = if local || scheme.eq_ignore_ascii_case("file") {
        let path = identity(uri);
        let (folder, name) = path.rsplit_once('/').ok_or_else(|| refused("has no folder"))?;
        (if folder.is_empty() { "/".to_owned() } else { folder.to_owned() }, name.to_owned())
    } else {
        let (folder, name) = uri.rsplit_once('/').ok_or_else(|| refused("has no folder"))?;
        match DataPath::decode(name).map_err(lakebed_delta::DeltaError::from)? {
            DataPath::Relative(name) => (folder.to_owned(), name),
            DataPath::Absolute(_) => return Err(refused("has no name")),
        }
    };
    if !folder.contains(':') && !folder.starts_with('/') {
        return Err(refused("is not named from a root"));
    }
    Ok((open(&folder, &StoreOptions::default())?, name))
}

/// Schemes that name one kind of store.
fn family(scheme: &str) -> &str {
    if scheme.eq_ignore_ascii_case("s3a") || scheme.eq_ignore_ascii_case("s3n") { "s3" } else { scheme }
}

#[cfg(test)]
mod tests {
    use super::locate;
    use bytes::Bytes;
    use lakebed_storage::{Durability, LocalStore, MemoryStore, Store};
    use std::sync::Arc;

    #[tokio::test]
    async fn only_the_kind_of_store_that_holds_the_table_is_opened() {
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::named("elsewhere").below("clone").unwrap());
        let source = MemoryStore::named("elsewhere").below("source").unwrap();
        source.put("a b.parquet", Bytes::from_static(b"rows")).await.unwrap();
        let (store, name) = locate(&memory, "memory://elsewhere/source/a%20b.parquet").unwrap();
        assert_eq!(store.get(&name).await.unwrap(), Some(Bytes::from_static(b"rows")));
        for foreign in ["file:///etc/hostname", "/etc/hostname", "s3://bucket/x.parquet"] {
            let error = locate(&memory, foreign).unwrap_err().to_string();
            assert!(error.contains(foreign) && error.contains("another kind of store"), "{error}");
        }
        let local: Arc<dyn Store> = Arc::new(LocalStore::new("/nowhere", Durability::None).unwrap());
        for spelling in ["file:/a/b%20c/x%23.parquet", "file:///a/b%20c/x%23.parquet", "/a/b c/x%23.parquet"] {
            let (store, name) = locate(&local, spelling).unwrap();
            assert_eq!((store.root(), name.as_str()), ("file:///a/b%20c", "x#.parquet"), "{spelling}");
        }
        assert!(locate(&local, "memory://elsewhere/x").is_err());
    }
}
