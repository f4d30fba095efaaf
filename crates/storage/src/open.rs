//! From a URL to a store.

#[cfg(feature = "azure")]
mod azure;
#[cfg(feature = "cloud")]
mod cloud;
#[cfg(feature = "gcp")]
mod gcs;
#[cfg(feature = "aws")]
mod s3;

use crate::redact;
use crate::{Durability, LocalStore, MemoryStore, Store, StoreError};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// How to open a store.
#[derive(Clone)]
pub struct StoreOptions {
    durability: Durability,
    probe: bool,
    pairs: Vec<(String, String)>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { durability: Durability::default(), probe: true, pairs: Vec::new() }
    }
}

impl StoreOptions {
    /// [`Durability::Full`], a probe where it is needed, and what the environment says.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What an answered write to a local store survives.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Leaves out the probe ([`crate::Probed`]) of a store that nobody is known to vouch for: for those who know better, who may
    /// not remove objects, or whose creates do not go through this store ([`crate::Indexed`]).
    #[must_use]
    pub fn without_probe(mut self) -> Self {
        self.probe = false;
        self
    }

    /// An option of the cloud client by `object_store`'s name for it, such as `aws_region` or `endpoint`; stronger than
    /// the environment. The value is treated as a secret.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.pairs.push((key.into(), value.into()));
        self
    }
}

impl StoreOptions {
    /// A number that is equal for options that lead to the same objects, and that gives no value away.
    #[must_use]
    pub fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.pairs.hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for StoreOptions {
    /// Keys are shown, values are not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.pairs.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("StoreOptions")
            .field("durability", &self.durability)
            .field("probe", &self.probe)
            .field("options", &keys)
            .finish()
    }
}

/// Opens the store at a local path or a URL.
///
/// | URL | store |
/// |---|---|
/// | a path, `file:///path`, `file:/path` | [`LocalStore`]; the URL forms are percent-decoded |
/// | `memory:`, `memory://name/folder` | [`MemoryStore`], the same for everybody in this process who names it |
/// | `s3://bucket/folder`, `s3a://…` (feature `aws`) | [`crate::PutIfAbsent`] over S3 or what speaks like it; options from the environment (`AWS_…`) |
/// | `gs://bucket/folder` (feature `gcp`) | the same over Google Cloud Storage (`GOOGLE_…`) |
/// | `az://container/folder`, `abfs://…`, `abfss://container@account.dfs.core.windows.net/folder` (feature `azure`) | the same over Azure Blob Storage (`AZURE_…`) |
///
/// In a cloud's URL the folder is percent-decoded; options from `options` are stronger than those from the environment; plain HTTP is
/// spoken where the endpoint says so. Where the endpoint is not the cloud's own (MinIO, R2, Ceph, an emulator), nobody is
/// known to promise that creates are atomic, and the store is a [`crate::Probed`] one, unless [`StoreOptions::without_probe`] says not.
///
/// Nothing is asked of the store here. No message shows user information, a query string or an option's value.
///
/// # Errors
/// [`StoreError::Unusable`]: the scheme is unknown or not part of this build, or the URL or an option is wrong. An unknown
/// scheme is never opened as something else: only a store that is known to create atomically may take commits.
pub fn open(url: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    let Some((scheme, rest)) = scheme_of(url) else {
        return local(url, options);
    };
    match scheme.to_ascii_lowercase().as_str() {
        "file" => local_url(url, options),
        "memory" => memory(url, rest),
        "s3" | "s3a" => s3(url, rest, options),
        "gs" => gcs(url, rest, options),
        "az" | "abfs" | "abfss" => azure(url, rest, options),
        other => Err(unusable(
            url,
            format!("nothing is known about scheme `{other}`, not even whether it creates objects atomically"),
            "use a local path, file:, memory:, s3:, gs:, az: or abfss:; for another store, implement lakebed_storage::Store or wrap \
             its object_store in PutIfAbsent and hand that in; a local path with a colon starts with ./",
        )),
    }
}

/// Splits `scheme:rest`. One letter is a drive, and a path says so by its first character.
fn scheme_of(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let letters = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    (scheme.len() > 1 && letters && scheme.as_bytes().first()?.is_ascii_alphabetic()).then_some((scheme, rest))
}

fn local(path: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(LocalStore::new(path, options.durability)?))
}

fn local_url(url: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    let absolute = url.split_once(':').is_some_and(|(_, rest)| rest.starts_with('/'));
    let parsed =
        url::Url::parse(url).ok().filter(|parsed| absolute && parsed.query().is_none() && parsed.fragment().is_none());
    match parsed.and_then(|parsed| parsed.to_file_path().ok()) {
        Some(path) => Ok(Arc::new(LocalStore::new(path, options.durability)?)),
        None => Err(unusable(
            url,
            "this is no absolute local file URL".to_owned(),
            "write file:///folder, with %23 for # and %3F for ?, or the plain path",
        )),
    }
}

fn memory(url: &str, rest: &str) -> Result<Arc<dyn Store>, StoreError> {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (name, folder) = rest.split_once('/').unwrap_or((rest, ""));
    if name.contains(['@', '?', '#']) {
        return Err(unusable(url, "a store in memory has a plain name".to_owned(), "write memory://name"));
    }
    Ok(Arc::new(MemoryStore::named(name).below(folder)?))
}

#[cfg(feature = "aws")]
fn s3(url: &str, rest: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    s3::open(url, rest, options)
}

#[cfg(not(feature = "aws"))]
fn s3(url: &str, _rest: &str, _options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    Err(not_built_in(url, "S3", "aws"))
}

#[cfg(feature = "gcp")]
fn gcs(url: &str, rest: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    gcs::open(url, rest, options)
}

#[cfg(not(feature = "gcp"))]
fn gcs(url: &str, _rest: &str, _options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    Err(not_built_in(url, "Google Cloud Storage", "gcp"))
}

#[cfg(feature = "azure")]
fn azure(url: &str, rest: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    azure::open(url, rest, options)
}

#[cfg(not(feature = "azure"))]
fn azure(url: &str, _rest: &str, _options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    Err(not_built_in(url, "Azure Blob Storage", "azure"))
}

#[cfg(not(all(feature = "aws", feature = "gcp", feature = "azure")))]
fn not_built_in(url: &str, cloud: &str, feature: &str) -> StoreError {
    let advice = format!("build lakebed-storage (or what depends on it) with feature `{feature}`");
    unusable(url, format!("this build has no {cloud}"), &advice)
}

fn unusable(url: &str, problem: String, advice: &str) -> StoreError {
    StoreError::Unusable { url: redact::url(url), problem, advice: advice.to_owned() }
}
