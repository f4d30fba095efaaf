//! Google Cloud Storage.

use super::StoreOptions;
use super::cloud::{self, Clients};
use crate::{Store, StoreError};
use object_store::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey};
use std::sync::Arc;

const ADVICE: &str = "write gs://bucket/folder, and give keys and options in the environment or as storage options";

/// Google's own hosts.
const HOMES: [&str; 1] = ["googleapis.com"];

pub(super) fn open(url: &str, rest: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    let place = cloud::place(url, rest, false, ADVICE)?;
    cloud::choose_cryptography();
    let set = |builder: GoogleCloudStorageBuilder, key: GoogleConfigKey, value: &str| builder.with_config(key, value);
    let from_env = GoogleCloudStorageBuilder::from_env();
    let mut builder = cloud::configured(url, "Google Cloud Storage", from_env, &options.pairs, set)?;
    let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
    if cloud::is_plain(endpoint.as_deref()) {
        builder = builder.with_config(GoogleConfigKey::Client(ClientConfigKey::AllowHttp), "true");
    }
    let keys = [GoogleConfigKey::ServiceAccountKey, GoogleConfigKey::BearerToken];
    let secrets = cloud::secrets(keys.iter().map(|key| builder.get_config_value(key)), &options.pairs);
    let builder = builder.with_bucket_name(&place.bucket);
    let build = |builder: GoogleCloudStorageBuilder| -> Result<GoogleCloudStorage, StoreError> {
        builder.build().map_err(|error| cloud::not_built(url, &secrets, &error, "GOOGLE_…"))
    };
    let reads = build(builder.clone())?;
    let creates = build(builder.with_retry(cloud::no_retries()).with_credentials(Arc::clone(reads.credentials())))?;
    let promised = cloud::is_home(endpoint.as_deref(), &HOMES);
    let clients = Clients { reads: Arc::new(reads), creates: Arc::new(creates), secrets, sorted: true, promised };
    clients.store(url, &place.folder, options)
}
