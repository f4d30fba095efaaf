//! S3 and what speaks like it.

use super::unusable;
use crate::redact::Secrets;
use crate::{PutIfAbsent, Store, StoreError};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::{ClientConfigKey, RetryConfig};
use percent_encoding::percent_decode_str;
use std::sync::Arc;

pub(super) fn open(url: &str, rest: &str, pairs: &[(String, String)]) -> Result<Arc<dyn Store>, StoreError> {
    let (bucket, folder) = parts(url, rest)?;
    // Whatever the process uses already stays; only where nothing was chosen yet does this choose.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = AmazonS3Builder::from_env();
    for (key, value) in pairs {
        let known: AmazonS3ConfigKey = key.to_ascii_lowercase().parse().map_err(|_| {
            unusable(
                url,
                format!("option `{key}` is not known for S3"),
                "use object_store's names, such as aws_region or endpoint",
            )
        })?;
        builder = builder.with_config(known, value);
    }
    let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
        .iter()
        .find_map(|key| builder.get_config_value(key));
    if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_config(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp), "true");
    }
    let secrets = secrets_of(&builder, pairs);
    let express = builder.get_config_value(&AmazonS3ConfigKey::S3Express).is_some_and(|value| value == "true")
        || bucket.ends_with("--x-s3");
    // A commit stands on the condition, so nobody may switch it off.
    let builder = builder.with_bucket_name(&bucket).with_conditional_put(S3ConditionalPut::ETagMatch);
    let build = |builder: AmazonS3Builder| -> Result<AmazonS3, StoreError> {
        let hidden = Secrets::new(secrets.clone());
        builder.build().map_err(|error| {
            unusable(
                url,
                hidden.clean(&error.to_string()),
                "check the URL, the AWS_… environment variables and the storage options",
            )
        })
    };
    let reads = build(builder.clone())?;
    // A client that retries a create can meet its own object and call it somebody else's.
    let no_retries = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    let creates = build(builder.with_retry(no_retries).with_credentials(Arc::clone(reads.credentials())))?;
    let store =
        PutIfAbsent::new(Arc::new(reads), &folder, url)?.with_creates_through(Arc::new(creates)).with_secrets(secrets);
    Ok(Arc::new(if express { store } else { store.with_sorted_listings() }))
}

/// Bucket and folder, the latter percent-decoded as in any URL.
fn parts(url: &str, rest: &str) -> Result<(String, String), StoreError> {
    const ADVICE: &str = "write s3://bucket/folder, and give keys and options in the environment or as storage options";
    let wrong = |problem: &str| unusable(url, problem.to_owned(), ADVICE);
    let rest = rest.strip_prefix("//").ok_or_else(|| wrong("there is no `//` after the scheme"))?;
    if rest.contains(['?', '#']) {
        return Err(wrong("it has a query string or a fragment"));
    }
    let (bucket, folder) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.contains(['@', ':']) {
        return Err(wrong("it holds a user, a password or a port"));
    }
    if bucket.is_empty() {
        return Err(wrong("it names no bucket"));
    }
    let folder = percent_decode_str(folder).decode_utf8().map_err(|_| wrong("the folder is not UTF-8"))?;
    Ok((bucket.to_owned(), folder.trim_end_matches('/').to_owned()))
}

/// Everything that came in as an option but for what helps to find a mistake, and the keys that the environment gave.
fn secrets_of(builder: &AmazonS3Builder, pairs: &[(String, String)]) -> Vec<String> {
    const KEYS: [AmazonS3ConfigKey; 3] =
        [AmazonS3ConfigKey::AccessKeyId, AmazonS3ConfigKey::SecretAccessKey, AmazonS3ConfigKey::Token];
    const SHOWN: [&str; 4] = ["region", "endpoint", "bucket", "url"];
    let given = pairs.iter().filter(|(key, value)| {
        let key = key.to_ascii_lowercase();
        !SHOWN.iter().any(|shown| key.contains(shown)) && !matches!(value.as_str(), "true" | "false")
    });
    KEYS.iter().filter_map(|key| builder.get_config_value(key)).chain(given.map(|(_, value)| value.clone())).collect()
}
