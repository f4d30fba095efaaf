//! What an `object_store` error means.

use crate::redact::{Secrets, Told};
use crate::{Create, StoreError};
use object_store::Error;
use object_store::path::Path;

/// Turns foreign errors into ours, without secrets.
#[derive(Clone)]
pub(super) struct Answers {
    pub(super) root: String,
    pub(super) secrets: Secrets,
}

impl Answers {
    /// A name as it is: `Path::from` would encode it, and a name from a listing would then be encoded twice.
    pub(super) fn path(&self, name: &str) -> Result<Path, StoreError> {
        Path::parse(name).map_err(|error| StoreError::Unusable {
            url: format!("{}: {name:?}", self.root),
            problem: error.to_string(),
            advice: "use a relative name like folder/object".to_owned(),
        })
    }

    /// *Not found* is no error.
    pub(super) fn found<T>(&self, name: &str, answer: object_store::Result<T>) -> Result<Option<T>, StoreError> {
        match answer {
            Ok(value) => Ok(Some(value)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.error(name, &error)),
        }
    }

    /// Whether the store may be refusing the range rather than the request.
    pub(super) fn may_be_range(&self, error: &Error) -> bool {
        matches!(error, Error::Generic { .. }) && status_of(&error.to_string()).is_none_or(|status| status == 416)
    }

    /// The error of anything but a create.
    pub(super) fn error(&self, name: &str, error: &Error) -> StoreError {
        let text = error.to_string();
        let (root, name, detail) = (self.root.clone(), name.to_owned(), self.secrets.clean(&text));
        if matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. }) {
            return StoreError::Denied { root, name, detail };
        }
        if matches!(status_of(&text), Some(429 | 503)) {
            return StoreError::Busy { root, name, detail };
        }
        StoreError::Failed { root, name, source: Box::new(Told(detail)) }
    }

    /// What a create answers that the store did not acknowledge.
    pub(super) fn refused_create(&self, name: &str, error: &Error) -> Result<Create, StoreError> {
        let text = error.to_string();
        let unknown = || Create::Unknown(self.secrets.clean(&text));
        if matches!(error, Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. }) {
            return Ok(Create::Exists);
        }
        // Whatever the last try says, an earlier one may have stored the object.
        if was_retried(&text) {
            return Ok(unknown());
        }
        if is_certain_refusal(error) {
            return Err(self.error(name, error));
        }
        match status_of(&text) {
            Some(304 | 409 | 412) => Ok(Create::Exists),
            Some(429 | 503) => Ok(Create::NotNow { after_ms: 0 }),
            // 408, and 400 with S3's code RequestTimeout: the store waited for bytes and cannot be sure that none came.
            Some(408) => Ok(unknown()),
            Some(400..=499) if !text.contains("RequestTimeout") => Err(self.error(name, error)),
            Some(_) => Ok(unknown()),
            None if never_connected(error) => Ok(Create::NotNow { after_ms: 0 }),
            None => Ok(unknown()),
        }
    }
}

fn is_certain_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. }
            | Error::InvalidPath { .. }
            | Error::NotFound { .. }
            | Error::UnknownConfigurationKey { .. }
    )
}

/// The HTTP status in the text of an error: `object_store` keeps the type that holds it private.
fn status_of(text: &str) -> Option<u16> {
    let (_, after) = text.split_once("status code: ")?;
    let digits = after.get(..3)?;
    digits.parse().ok()
}

/// `object_store` appends its count of retries when there were any.
fn was_retried(text: &str) -> bool {
    text.contains(" retries, max_retries: ")
}

/// The request never left, because no connection could be made.
#[cfg(feature = "aws")]
fn never_connected(error: &Error) -> bool {
    use object_store::client::{HttpError, HttpErrorKind};
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(http) = inner.downcast_ref::<HttpError>() {
            return http.kind() == HttpErrorKind::Connect;
        }
        cause = inner.source();
    }
    false
}

#[cfg(not(feature = "aws"))]
fn never_connected(_error: &Error) -> bool {
    false
}
