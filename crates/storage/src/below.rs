//! A folder of a store as a store of its own.

use crate::name::{check_folder, check_name};
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// The objects of a store below one folder, under names that are relative to it.
///
/// What lies beside the folder can be read, where [`Below::reaching`] says how its names begin: a branch of a table names files
/// of the table that it was made of by where that table lies.
#[derive(Debug)]
pub struct Below {
    inner: Arc<dyn Store>,
    root: String,
    /// With its `/`.
    prefix: String,
    /// Spellings of the inner store's root, without a `/` at the end.
    outside: Vec<String>,
}

impl Below {
    /// The objects of `inner` below `folder`.
    ///
    /// # Errors
    /// `folder` is not a usable name.
    pub fn new(inner: Arc<dyn Store>, folder: &str) -> Result<Self, StoreError> {
        check_name(folder)?;
        let root = format!("{}/{folder}", inner.root().trim_end_matches('/'));
        Ok(Self { inner, root, prefix: format!("{folder}/"), outside: Vec::new() })
    }

    /// Reads names that begin with one of these spellings of the inner store's root, and a `/`, from there.
    #[must_use]
    pub fn reaching(mut self, roots: impl IntoIterator<Item = String>) -> Self {
        self.outside = roots.into_iter().map(|root| root.trim_end_matches('/').to_owned()).collect();
        self
    }

    /// The name to read, in the inner store.
    fn source(&self, name: &str) -> Result<String, StoreError> {
        let rest = |root: &String| name.strip_prefix(root.as_str())?.strip_prefix('/');
        match self.outside.iter().filter(|root| !root.is_empty()).find_map(rest) {
            Some(rest) => check_name(rest).map(|()| rest.to_owned()),
            None => self.name(name),
        }
    }

    fn name(&self, name: &str) -> Result<String, StoreError> {
        check_name(name)?;
        Ok(format!("{}{name}", self.prefix))
    }

    fn shown(&self, listed: Listed) -> Listed {
        let name = listed.name.strip_prefix(&self.prefix).map(str::to_owned);
        Listed { name: name.unwrap_or(listed.name), ..listed }
    }
}

#[async_trait]
impl Store for Below {
    fn root(&self) -> &str {
        &self.root
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(&self.source(name)?).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.inner.get_range(&self.source(name)?, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        Ok(self.inner.head(&self.source(name)?).await?.map(|listed| self.shown(listed)))
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let folder = format!("{}{}", self.prefix, check_folder(prefix)?);
        let after = after.map(|after| format!("{}{after}", self.prefix));
        let listed = self.inner.list(folder.trim_end_matches('/'), after.as_deref(), limit).await?;
        Ok(listed.into_iter().map(|listed| self.shown(listed)).collect())
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.put(&self.name(name)?, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.inner.create(&self.name(name)?, bytes).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.inner.copy(&self.name(from)?, &self.name(to)?).await
    }

    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        self.inner.swap(&self.name(name)?, old, new).await
    }

    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        let all = self.inner.strays().await?;
        let below = all.into_iter().filter(|listed| listed.name.starts_with(&self.prefix));
        Ok(below.map(|listed| self.shown(listed)).collect())
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete(&self.name(name)?).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        let names = names.iter().map(|name| self.name(name)).collect::<Result<Vec<_>, _>>()?;
        self.inner.delete_all(&names).await
    }
}
