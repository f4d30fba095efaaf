//! From URLs to stores, and what no message may show.

use lakebed_storage::{Create, Durability, StoreError, StoreOptions, open};

fn refused(url: &str, options: &StoreOptions) -> String {
    let error = open(url, options).expect_err(url);
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    format!("{error} {error:?}")
}

#[tokio::test]
async fn paths_and_file_urls_open_the_same_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("my table");
    let path = path.to_str().expect("a UTF-8 path");
    let options = StoreOptions::new().durability(Durability::None);
    let by_path = open(path, &options).expect("a path");
    assert_eq!(by_path.create("x", "1".into()).await.expect("an answer"), Create::Created);
    for url in
        [format!("file://{}", path.replace(' ', "%20")), format!("file:{path}"), format!("FILE://localhost{path}/")]
    {
        let store = open(&url, &options).expect(&url);
        assert_eq!(store.get("x").await.expect("an answer"), Some("1".into()), "{url}");
        assert!(store.root().starts_with("file:///"), "{}", store.root());
    }
    assert!(format!("{by_path:?}").contains("None"));
    for url in ["file:relative", "file:///x?y", "file:///x#y", "file://elsewhere/x"] {
        assert!(refused(url, &options).contains("file:///folder"), "{url}");
    }
}

#[tokio::test]
async fn two_opens_of_a_name_in_memory_see_the_same_objects() {
    let options = StoreOptions::new();
    let one = open("memory://opening/a", &options).expect("a store");
    assert_eq!(one.create("b/x", "1".into()).await.expect("an answer"), Create::Created);
    let other = open("memory://opening/a/b/", &options).expect("a store");
    assert_eq!(other.create("x", "2".into()).await.expect("an answer"), Create::Exists);
    assert!(refused("memory://u:SECRET1@name", &options).contains("memory://name"));
}

/// Field case 19: an unknown scheme is refused by name, with what to do; nothing unsafe is opened in its place.
#[test]
fn an_unknown_scheme_is_refused_with_advice() {
    for url in ["acme://bucket/table", "s3+ddb://b/t", "http://host/table", "ab:c"] {
        let message = refused(url, &StoreOptions::new());
        let scheme = url.split(':').next().expect("a scheme");
        assert!(message.contains(&format!("scheme `{scheme}`")), "{message}");
        assert!(message.contains("PutIfAbsent") && message.contains("memory:"), "{message}");
    }
    for path in ["./ab:c", "/ab:c", "dir/ab:c", "C:\\table"] {
        open(path, &StoreOptions::new()).expect("a path");
    }
}

/// Field case 136: secrets never show, the rest of the URL does.
#[test]
fn no_secret_is_shown() {
    let options = StoreOptions::new().option("secret_access_key", "SECRET1").option("no_such_option", "SECRET2");
    let mut shown = format!("{options:?}");
    assert!(shown.contains("no_such_option"), "{shown}");
    for url in [
        "acme://u:SECRET3@host/path?sig=SECRET4#SECRET5",
        "s3://key:SECRET3@bucket/path?sig=SECRET4",
        "s3://bucket/path",
    ] {
        let message = refused(url, &options);
        assert!(message.contains("/path"), "{message}");
        shown += &message;
    }
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[test]
fn a_scheme_that_is_not_compiled_in_names_its_feature() {
    let clouds = [
        ("s3://bucket/table", "aws", cfg!(feature = "aws")),
        ("gs://bucket/table", "gcp", cfg!(feature = "gcp")),
        ("az://container/table", "azure", cfg!(feature = "azure")),
        ("abfss://container@account.dfs.core.windows.net/table", "azure", cfg!(feature = "azure")),
    ];
    for (url, feature, _) in clouds.into_iter().filter(|(.., built_in)| !built_in) {
        assert!(refused(url, &StoreOptions::new()).contains(&format!("feature `{feature}`")), "{url}");
    }
}

#[cfg(feature = "azure")]
mod azure {
    use super::refused;
    use lakebed_storage::{StoreOptions, open};

    #[test]
    fn urls_are_checked() {
        let real = StoreOptions::new().option("azure_storage_use_emulator", "false");
        let options = real.clone().option("account_name", "me").option("azure_storage_token", "SECRET1");
        for url in [
            "az:box",
            "az://",
            "az://box:9000/x",
            "abfss://box:SECRET2@me.dfs.core.windows.net/x",
            "az://b/x?sig=SECRET3",
        ] {
            let message = refused(url, &options);
            assert!(message.contains("az://container/folder") && !message.contains("SECRET"), "{message}");
        }
        let message = refused("abfss://box@elsewhere.example/x", &options);
        assert!(message.contains("abfss://box@elsewhere.example/x"), "{message}");
        assert!(refused("az://box/x", &options.clone().option("acount_name", "x")).contains("`acount_name`"));
        let without = real.option("azure_storage_token", "SECRET1");
        let message = refused("az://box/x", &without);
        assert!(message.to_lowercase().contains("account") && !message.contains("SECRET"), "{message}");
    }

    /// The container is part of the root, because the key of an index is made of it.
    #[test]
    fn every_form_opens() {
        let options = StoreOptions::new().option("account_name", "me").option("azure_storage_token", "SECRET1");
        for url in [
            "az://box/a%20b/",
            "abfs://box/a",
            "abfss://box@me.dfs.core.windows.net/a",
            "abfss://box@me.blob.core.windows.net/a",
            "abfss://box@onelake.dfs.fabric.microsoft.com/a",
        ] {
            let store = open(url, &options).expect(url);
            assert_eq!(store.root(), url);
            assert!(!format!("{store:?}").contains("SECRET"));
        }
    }
}

#[cfg(feature = "gcp")]
mod gcs {
    use super::refused;
    use lakebed_storage::{StoreOptions, open};

    #[test]
    fn urls_and_options_are_checked() {
        let options = StoreOptions::new().option("google_bearer_token", "SECRET1");
        for url in ["gs:bucket", "gs://", "gs://bucket:9000/x", "gs://me@bucket/x", "gs://bucket/x?generation=3"] {
            assert!(refused(url, &options).contains("gs://bucket/folder"), "{url}");
        }
        let message = refused("gs://bucket/x", &options.clone().option("google_service_acount", "SECRET2"));
        assert!(message.contains("google_service_acount") && !message.contains("SECRET"), "{message}");
        let message = refused("gs://bucket/x", &options.clone().option("google_service_account_key", "{SECRET3"));
        assert!(!message.contains("SECRET"), "{message}");
        let store = open("gs://bucket/a%20b/", &options).expect("a store");
        assert_eq!(store.root(), "gs://bucket/a%20b/");
        assert!(!format!("{store:?} {options:?}").contains("SECRET"));
    }
}

/// Where the endpoint is the cloud's own, nobody tries anything out.
#[cfg(all(feature = "aws", feature = "azure", feature = "gcp"))]
#[test]
fn only_endpoints_of_others_are_tried_out() {
    let token = |key: &str| StoreOptions::new().option(key, "SECRET").option("allow_http", "true");
    let azure =
        || token("azure_storage_token").option("account_name", "me").option("azure_storage_use_emulator", "false");
    // What tests on a server read.
    let elsewhere = std::env::var_os("AWS_ENDPOINT").is_some();
    let cases = [
        ("s3://bucket/x", token("session_token"), elsewhere),
        ("s3://bucket--use1-az4--x-s3/x", token("session_token"), elsewhere),
        ("s3://bucket/x", token("session_token").option("endpoint", "https://s3.eu-west-1.amazonaws.com"), false),
        ("s3://bucket/x", token("session_token").option("endpoint", "https://id.r2.cloudflarestorage.com"), true),
        ("s3://bucket/x", token("session_token").option("endpoint", "https://amazonaws.com.example"), true),
        ("s3://bucket/x", token("session_token").option("endpoint", "https://notamazonaws.com"), true),
        ("gs://bucket/x", token("google_bearer_token"), false),
        ("gs://bucket/x", token("google_bearer_token").option("google_base_url", "http://127.0.0.1:1"), true),
        ("az://box/x", azure(), false),
        ("az://box/x", token("azure_storage_token").option("azure_storage_use_emulator", "true"), true),
        ("az://box/x", azure().option("endpoint", "https://me.blob.core.windows.net"), false),
    ];
    for (url, options, tried) in cases {
        let opened = |options: &StoreOptions| format!("{:?}", open(url, options).expect(url));
        assert_eq!(opened(&options).starts_with("Probed"), tried, "{url} {options:?}");
        assert!(!opened(&options.clone().without_probe()).starts_with("Probed"), "{url}");
    }
}

#[cfg(feature = "aws")]
mod s3 {
    use super::refused;
    use lakebed_storage::{StoreOptions, open};

    #[test]
    fn urls_are_checked() {
        let options = StoreOptions::new();
        for url in ["s3:bucket", "s3://", "s3://bucket:9000/x", "s3://bucket/x?versionId=3", "s3a:///x"] {
            assert!(refused(url, &options).contains("s3://bucket/folder"), "{url}");
        }
        assert!(refused("s3://bucket/a/../b", &options).contains(".."));
    }

    #[test]
    fn unknown_options_are_named() {
        let message = refused("s3://bucket/x", &StoreOptions::new().option("acces_key", "SECRET1"));
        assert!(message.contains("acces_key") && !message.contains("SECRET1"), "{message}");
    }

    /// The connection is refused before anything is sent: a create may simply be asked again, and a read fails with the
    /// endpoint in its message but no key.
    #[tokio::test]
    async fn messages_of_a_client_hide_its_keys() {
        let options = [
            ("endpoint", "http://me:SECRET1@127.0.0.1:1"),
            ("access_key_id", "SECRET2"),
            ("secret_access_key", "SECRET3"),
            ("session_token", "SECRET4"),
            ("region", "us-east-1"),
        ];
        let options = options.into_iter().fold(StoreOptions::new(), |options, (key, value)| options.option(key, value));
        let store = open("s3a://bucket/a%20b/", &options).expect("a store");
        assert_eq!(store.root(), "s3a://bucket/a%20b/");
        let created = store.create("x", "1".into()).await;
        assert!(matches!(created, Ok(lakebed_storage::Create::NotNow { .. })), "{created:?}");
        assert!(!format!("{store:?} {options:?}").contains("SECRET"));
    }
}
