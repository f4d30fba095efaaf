//! DynamoDB's wire form: signed JSON over HTTP.

use crate::failure::{Failure, Why};
use lakebed_storage::Secrets;
use object_store::ClientOptions;
use object_store::CredentialProvider;
use object_store::aws::{AmazonS3Builder, AwsAuthorizer, AwsCredential};
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, ReqwestConnector};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Where DynamoDB is, as whom to speak to it.
pub(super) struct Client {
    endpoint: String,
    region: String,
    credentials: Arc<dyn CredentialProvider<Credential = AwsCredential>>,
    http: HttpClient,
}

impl Client {
    /// Credentials and region from the environment, as for S3.
    pub(super) fn from_env(endpoint: Option<String>, region: &str) -> object_store::Result<Self> {
        // Whatever the process uses already stays; only where nothing was chosen yet does this choose.
        drop(rustls::crypto::ring::default_provider().install_default());
        let endpoint = endpoint.unwrap_or_else(|| format!("https://dynamodb.{region}.amazonaws.com"));
        // The bucket is never asked for; the builder wants one.
        let store = AmazonS3Builder::from_env().with_bucket_name("none").with_region(region).build()?;
        let options = ClientOptions::new().with_allow_http(endpoint.starts_with("http://"));
        let http = ReqwestConnector::default().connect(&options)?;
        let endpoint = format!("{}/", endpoint.trim_end_matches('/'));
        Ok(Self { endpoint, region: region.to_owned(), credentials: Arc::clone(store.credentials()), http })
    }

    /// Carries out one operation. What it says of a failure holds nothing of the credentials, whatever the server repeats.
    pub(super) async fn ask(&self, operation: &str, body: &Value) -> Result<Value, Answered> {
        let credential = self.credentials.get_credential().await;
        let credential = credential.map_err(|error| {
            let said = Secrets::default().clean(&error.to_string());
            Answered::Failed(Failure::new(Why::Denied, said))
        })?;
        let answered = self.sent(operation, body, &credential).await;
        answered.map_err(|answered| match answered {
            Answered::ConditionFailed => Answered::ConditionFailed,
            Answered::Failed(failure) => Answered::Failed(failure.without(&secrets(&credential))),
        })
    }

    async fn sent(&self, operation: &str, body: &Value, credential: &AwsCredential) -> Result<Value, Answered> {
        let request = self.request(operation, body, credential).map_err(Answered::Failed)?;
        let unknown = |error: HttpError| Answered::Failed(lost(&error));
        let response = self.http.execute(request).await.map_err(unknown)?;
        let status = response.status().as_u16();
        let bytes = response.into_body().bytes().await.map_err(unknown)?;
        if status == 200 {
            return serde_json::from_slice(&bytes)
                .map_err(|error| Answered::Failed(Failure::new(Why::Unknown, format!("no JSON: {error}"))));
        }
        Err(refusal(status, &bytes))
    }

    fn request(&self, operation: &str, body: &Value, credential: &AwsCredential) -> Result<HttpRequest, Failure> {
        let refused = |said: String| Failure::new(Why::Refused, said);
        let mut request = http::Request::post(&self.endpoint)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
            .body(body.to_string().into())
            .map_err(|error| refused(error.to_string()))?;
        let denied = |error: object_store::Error| Failure::new(Why::Denied, error.to_string());
        AwsAuthorizer::new(credential, "dynamodb", &self.region).try_authorize(&mut request, None).map_err(denied)?;
        Ok(request)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("region", &self.region).finish_non_exhaustive()
    }
}

/// An operation that was not carried out, or may not have been.
#[derive(Debug)]
pub(super) enum Answered {
    /// The row is not as the condition says.
    ConditionFailed,
    /// Anything else.
    Failed(Failure),
}

impl Answered {
    /// The failure of an operation without a condition.
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::ConditionFailed => Failure::new(Why::Refused, "a condition failed that was not set"),
            Self::Failed(failure) => failure,
        }
    }
}

fn secrets(credential: &AwsCredential) -> Secrets {
    let AwsCredential { key_id, secret_key, token } = credential;
    Secrets::new([key_id.clone(), secret_key.clone()].into_iter().chain(token.clone()))
}

/// A request that got no answer.
fn lost(error: &HttpError) -> Failure {
    let why = if error.kind() == HttpErrorKind::Connect { Why::Busy } else { Why::Unknown };
    Failure::new(why, error.to_string())
}

fn refusal(status: u16, bytes: &[u8]) -> Answered {
    let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let kind = body.get("__type").and_then(Value::as_str).unwrap_or_default();
    let kind = kind.rsplit('#').next().unwrap_or_default();
    let message = body.get("message").or_else(|| body.get("Message")).and_then(Value::as_str).unwrap_or_default();
    let why = match (kind, status) {
        ("ConditionalCheckFailedException", _) => return Answered::ConditionFailed,
        ("ProvisionedThroughputExceededException" | "ThrottlingException" | "RequestLimitExceeded", _) => Why::Busy,
        (_, 429 | 503) => Why::Busy,
        ("AccessDeniedException" | "UnrecognizedClientException" | "MissingAuthenticationTokenException", _) => {
            Why::Denied
        }
        ("IncompleteSignatureException" | "InvalidSignatureException" | "ExpiredTokenException", _) => Why::Denied,
        (_, 400..=499) => Why::Refused,
        _ => Why::Unknown,
    };
    let message: String = message.chars().take(300).collect();
    Answered::Failed(Failure::new(why, format!("status {status}: {kind} {message}")))
}
