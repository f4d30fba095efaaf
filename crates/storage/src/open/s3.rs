//! S3 and what speaks like it.

use super::StoreOptions;
use super::cloud::{self, Clients};
use crate::{Store, StoreError};
use object_store::ClientConfigKey;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use std::sync::Arc;

const ADVICE: &str = "write s3://bucket/folder, and give keys and options in the environment or as storage options";

/// Amazon's own hosts.
const HOMES: [&str; 2] = ["amazonaws.com", "amazonaws.com.cn"];

/// The end of the name of a bucket of S3 Express One Zone.
const EXPRESS: &str = "--x-s3";

pub(super) fn open(url: &str, rest: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    let place = cloud::place(url, rest, false, ADVICE)?;
    cloud::choose_cryptography();
    let set = |builder: AmazonS3Builder, key: AmazonS3ConfigKey, value: &str| builder.with_config(key, value);
    let mut builder = cloud::configured(url, "S3", AmazonS3Builder::from_env(), &options.pairs, set)?;
    let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
        .iter()
        .find_map(|key| builder.get_config_value(key));
    if cloud::is_plain(endpoint.as_deref()) {
        builder = builder.with_config(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp), "true");
    }
    let keys = [AmazonS3ConfigKey::AccessKeyId, AmazonS3ConfigKey::SecretAccessKey, AmazonS3ConfigKey::Token];
    let secrets = cloud::secrets(keys.iter().map(|key| builder.get_config_value(key)), &options.pairs);
    let express = place.bucket.ends_with(EXPRESS)
        || builder.get_config_value(&AmazonS3ConfigKey::S3Express).is_some_and(|value| value == "true");
    // A commit stands on the condition, so nobody may switch it off.
    let builder = builder
        .with_bucket_name(&place.bucket)
        .with_s3_express(express)
        .with_conditional_put(S3ConditionalPut::ETagMatch);
    let build = |builder: AmazonS3Builder| -> Result<AmazonS3, StoreError> {
        builder.build().map_err(|error| cloud::not_built(url, &secrets, &error, "AWS_…"))
    };
    let reads = build(builder.clone())?;
    let creates = build(builder.with_retry(cloud::no_retries()).with_credentials(Arc::clone(reads.credentials())))?;
    let promised = cloud::is_home(endpoint.as_deref(), &HOMES);
    let clients = Clients { reads: Arc::new(reads), creates: Arc::new(creates), secrets, sorted: !express, promised };
    clients.store(url, &place.folder, options)
}
