//! What an `object_store` error means.

use super::statuses::{self, Meaning, Said};
use crate::redact::{Secrets, Told};
use crate::{Create, StoreError};
use object_store::Error;
use object_store::path::Path;

/// What to do about a store without the condition.
pub(crate) const NO_CONDITION: &str = "keep its commits in an external index (--index, lakebed_storage::Indexed), or use a \
                                       store that honours If-None-Match; docs/stores.md lists them";

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
        let said = said(error, &text);
        match statuses::answer(said, &text, was_retried(&text)).meaning {
            Meaning::Exists => Ok(Create::Exists),
            Meaning::NotNow => Ok(Create::NotNow { after_ms: 0 }),
            Meaning::Refused if matches!(said, Said::Unsupported | Said::Status(501)) => Err(self.unsupported(&text)),
            Meaning::Refused => Err(self.error(name, error)),
            // A success that the client does not believe in is none that we can tell anybody.
            Meaning::Unknown | Meaning::Created => Ok(Create::Unknown(self.secrets.clean(&text))),
        }
    }

    /// What a move answers that the store did not acknowledge.
    pub(super) fn refused_move(&self, name: &str, error: &Error) -> Result<Create, StoreError> {
        // What was to be moved is not there: an earlier try may have moved it.
        if matches!(error, Error::NotFound { .. }) {
            return Ok(Create::Unknown(self.secrets.clean(&error.to_string())));
        }
        self.refused_create(name, error)
    }

    fn unsupported(&self, text: &str) -> StoreError {
        StoreError::Unusable {
            url: self.root.clone(),
            problem: format!("it cannot create an object only where there is none ({})", self.secrets.clean(text)),
            advice: NO_CONDITION.to_owned(),
        }
    }
}

/// What was said, as the table knows it.
fn said(error: &Error, text: &str) -> Said {
    let status = status_of(text);
    let or = |default| Said::Status(status.unwrap_or(default));
    match error {
        Error::NotModified { .. } => or(304),
        Error::Unauthenticated { .. } => or(401),
        Error::PermissionDenied { .. } => or(403),
        Error::NotFound { .. } => or(404),
        Error::AlreadyExists { .. } => or(409),
        Error::Precondition { .. } => or(412),
        Error::NotSupported { .. } | Error::NotImplemented { .. } | Error::UnknownConfigurationKey { .. } => {
            Said::Unsupported
        }
        Error::InvalidPath { .. } => Said::Status(400),
        Error::Generic { .. } | Error::JoinError { .. } | _ => match status {
            Some(status) => Said::Status(status),
            None if text.contains("redirect without LOCATION") => Said::NoDirection,
            None => of_the_connection(error),
        },
    }
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

/// What became of the connection.
#[cfg(feature = "cloud")]
fn of_the_connection(error: &Error) -> Said {
    use object_store::client::{HttpError, HttpErrorKind};
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(http) = inner.downcast_ref::<HttpError>() {
            return match http.kind() {
                HttpErrorKind::Connect => Said::NoConnection,
                HttpErrorKind::Timeout => Said::Timeout,
                // `Request` is also what a connection is called that was closed without an answer.
                HttpErrorKind::Interrupted | HttpErrorKind::Request => Said::Reset,
                HttpErrorKind::Decode | HttpErrorKind::Unknown | _ => Said::Other,
            };
        }
        cause = inner.source();
    }
    Said::Other
}

#[cfg(not(feature = "cloud"))]
fn of_the_connection(_error: &Error) -> Said {
    Said::Other
}
