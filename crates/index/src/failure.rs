//! What a failed request to an index means for a reservation.

use lakebed_storage::{Reserve, StoreError};

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It was not carried out, and may be asked again.
    Busy,
    /// It was not carried out, for lack of permission.
    Denied,
    /// It was not carried out.
    Refused,
    /// It may or may not have been carried out.
    Unknown,
}

/// A request to an index that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) why: Why,
    /// The words of the index or of the network, without secrets.
    pub(crate) said: String,
}

impl Failure {
    pub(crate) fn new(why: Why, said: impl Into<String>) -> Self {
        Self { why, said: said.into() }
    }

    /// The same without what must not be shown: servers and what stands before them repeat what they were sent.
    #[cfg(any(feature = "dynamodb", feature = "postgres", feature = "redis"))]
    pub(crate) fn without(self, secrets: &lakebed_storage::Secrets) -> Self {
        Self { why: self.why, said: secrets.clean(&self.said) }
    }

    /// The error of a request that is no reservation.
    pub(crate) fn error(self, location: &str, name: &str) -> StoreError {
        let (root, name, detail) = (location.to_owned(), name.to_owned(), self.said);
        match self.why {
            Why::Busy => StoreError::Busy { root, name, detail },
            Why::Denied => StoreError::Denied { root, name, detail },
            Why::Refused | Why::Unknown => StoreError::Failed { root, name, source: detail.into() },
        }
    }

    /// The answer to a reservation.
    pub(crate) fn reserve(self, location: &str, name: &str) -> Result<Reserve, StoreError> {
        match self.why {
            Why::Unknown => Ok(Reserve::Unknown(self.said)),
            Why::Busy | Why::Denied | Why::Refused => Err(self.error(location, name)),
        }
    }
}
