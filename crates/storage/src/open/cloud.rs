//! What the clients of all clouds have in common.

use super::{StoreOptions, unusable};
use crate::redact::Secrets;
use crate::{Probed, PutIfAbsent, Store, StoreError};
use object_store::{ObjectStore, RetryConfig};
use percent_encoding::percent_decode_str;
use std::str::FromStr;
use std::sync::Arc;

/// Where a URL points.
pub(super) struct Place {
    /// Bucket or container.
    pub(super) bucket: String,
    /// The host behind an `@`, which only Azure's URLs have.
    #[cfg_attr(not(feature = "azure"), expect(dead_code, reason = "the others are told by the bucket alone"))]
    pub(super) host: Option<String>,
    /// Percent-decoded as in any URL, without a `/` at its end.
    pub(super) folder: String,
}

/// Takes a URL apart; `advice` says how it is written.
pub(super) fn place(url: &str, rest: &str, takes_host: bool, advice: &str) -> Result<Place, StoreError> {
    let wrong = |problem: &str| unusable(url, problem.to_owned(), advice);
    let rest = rest.strip_prefix("//").ok_or_else(|| wrong("there is no `//` after the scheme"))?;
    if rest.contains(['?', '#']) {
        return Err(wrong("it has a query string or a fragment"));
    }
    let (authority, folder) = rest.split_once('/').unwrap_or((rest, ""));
    let (bucket, host) = match authority.split_once('@') {
        Some((bucket, host)) if takes_host => (bucket, Some(host.to_owned())),
        Some(_) | None => (authority, None),
    };
    if authority.contains(':') || bucket.contains('@') || host.as_ref().is_some_and(|host| host.contains('@')) {
        return Err(wrong("it holds a user, a password or a port"));
    }
    if bucket.is_empty() {
        return Err(wrong("it names no bucket"));
    }
    let folder = percent_decode_str(folder).decode_utf8().map_err(|_| wrong("the folder is not UTF-8"))?;
    Ok(Place { bucket: bucket.to_owned(), host, folder: folder.trim_end_matches('/').to_owned() })
}

/// Gives a client the options; stronger than what the environment gave it.
pub(super) fn configured<B, K: FromStr>(
    url: &str,
    cloud: &str,
    mut builder: B,
    pairs: &[(String, String)],
    with: impl Fn(B, K, &str) -> B,
) -> Result<B, StoreError> {
    for (key, value) in pairs {
        let known = key.to_ascii_lowercase().parse().map_err(|_| {
            unusable(
                url,
                format!("option `{key}` is not known for {cloud}"),
                "use object_store's names, such as aws_region, azure_storage_account_name, google_service_account or endpoint",
            )
        })?;
        builder = with(builder, known, value);
    }
    Ok(builder)
}

/// Whether an endpoint is spoken to without TLS.
pub(super) fn is_plain(endpoint: Option<&str>) -> bool {
    endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"))
}

/// Whether an endpoint is one of the cloud's own, by the end of its host's name; no endpoint at all is.
pub(super) fn is_home(endpoint: Option<&str>, ends: &[&str]) -> bool {
    let Some(endpoint) = endpoint else { return true };
    let host = url::Url::parse(endpoint).ok().and_then(|url| url.host_str().map(str::to_ascii_lowercase));
    host.is_some_and(|host| ends.iter().any(|end| host == *end || host.ends_with(&format!(".{end}"))))
}

/// Everything that came in as an option but for what helps to find a mistake, and what the environment gave of these.
pub(super) fn secrets(known: impl IntoIterator<Item = Option<String>>, pairs: &[(String, String)]) -> Vec<String> {
    const SHOWN: [&str; 7] = ["region", "endpoint", "bucket", "url", "container", "account_name", "path"];
    let given = pairs.iter().filter(|(key, value)| {
        let key = key.to_ascii_lowercase();
        !SHOWN.iter().any(|shown| key.contains(shown)) && !matches!(value.as_str(), "true" | "false")
    });
    known.into_iter().flatten().chain(given.map(|(_, value)| value.clone())).collect()
}

/// A client that retries a create can meet its own object and call it somebody else's.
pub(super) fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// Whatever the process uses already stays; only where nothing was chosen yet does this choose.
pub(super) fn choose_cryptography() {
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// The error of a client that cannot be made.
pub(super) fn not_built(url: &str, secrets: &[String], error: &object_store::Error, variables: &str) -> StoreError {
    let hidden = Secrets::new(secrets.to_vec());
    unusable(
        url,
        hidden.clean(&error.to_string()),
        &format!("check the URL, the {variables} environment variables and the storage options"),
    )
}

/// What an opened store consists of.
pub(super) struct Clients {
    pub(super) reads: Arc<dyn ObjectStore>,
    pub(super) creates: Arc<dyn ObjectStore>,
    pub(super) secrets: Vec<String>,
    /// Whether listings come in byte order.
    pub(super) sorted: bool,
    /// Whether the maker of the store is known to promise an atomic create.
    pub(super) promised: bool,
}

impl Clients {
    /// The store of a URL, to be tried out where nobody is known to promise anything.
    pub(super) fn store(self, url: &str, folder: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
        let store =
            PutIfAbsent::new(self.reads, folder, url)?.with_creates_through(self.creates).with_secrets(self.secrets);
        let store: Arc<dyn Store> = Arc::new(if self.sorted { store.with_sorted_listings() } else { store });
        if self.promised || !options.probe {
            return Ok(store);
        }
        let key = format!("{} with {:x}", store.root(), options.identity());
        Ok(Arc::new(Probed::once_for(key, store)))
    }
}
