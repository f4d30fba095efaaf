//! Azure Blob Storage, with a flat or a hierarchical namespace.

use super::StoreOptions;
use super::cloud::{self, Clients};
use crate::{Store, StoreError};
use object_store::ClientConfigKey;
use object_store::azure::{AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use std::sync::Arc;

const ADVICE: &str = "write az://container/folder (the account in azure_storage_account_name) or \
                      abfss://container@account.dfs.core.windows.net/folder, and give keys and options in the environment \
                      or as storage options";

/// Microsoft's own hosts.
const HOMES: [&str; 2] = ["core.windows.net", "fabric.microsoft.com"];

pub(super) fn open(url: &str, rest: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    let place = cloud::place(url, rest, true, ADVICE)?;
    cloud::choose_cryptography();
    let set = |builder: MicrosoftAzureBuilder, key: AzureConfigKey, value: &str| builder.with_config(key, value);
    let mut builder = cloud::configured(url, "Azure", MicrosoftAzureBuilder::from_env(), &options.pairs, set)?;
    let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
    if cloud::is_plain(endpoint.as_deref()) {
        builder = builder.with_config(AzureConfigKey::Client(ClientConfigKey::AllowHttp), "true");
    }
    let emulated = builder.get_config_value(&AzureConfigKey::UseEmulator).is_some_and(|value| value == "true");
    let keys = [AzureConfigKey::AccessKey, AzureConfigKey::ClientSecret, AzureConfigKey::SasKey, AzureConfigKey::Token];
    let secrets = cloud::secrets(keys.iter().map(|key| builder.get_config_value(key)), &options.pairs);
    let builder = match &place.host {
        // The client takes account and endpoint from the host's name, and knows which hosts there are.
        Some(host) => builder.with_url(format!("abfss://{}@{host}", place.bucket)),
        None => builder.with_container_name(&place.bucket),
    };
    let build = |builder: MicrosoftAzureBuilder| -> Result<MicrosoftAzure, StoreError> {
        builder.build().map_err(|error| cloud::not_built(url, &secrets, &error, "AZURE_…"))
    };
    let reads = build(builder.clone())?;
    let mut once = builder.with_retry(cloud::no_retries());
    if !emulated {
        once = once.with_credentials(Arc::clone(reads.credentials()));
    }
    let creates = build(once)?;
    let promised = !emulated && cloud::is_home(endpoint.as_deref(), &HOMES);
    let clients = Clients { reads: Arc::new(reads), creates: Arc::new(creates), secrets, sorted: true, promised };
    clients.store(url, &place.folder, options)
}
