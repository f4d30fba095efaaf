//! Errors of a store.

/// A store could not be asked, or refused. Messages name the store's root and the object, never a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The URL or the name cannot be used.
    #[error("{url}: {problem}; {advice}")]
    Unusable {
        /// The URL without credentials, or the name.
        url: String,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        advice: String,
    },
    /// Permission was refused.
    #[error("{root}: access to {name} was denied ({detail}); check the credentials and what they allow")]
    Denied {
        /// The store's root.
        root: String,
        /// The object.
        name: String,
        /// The store's words.
        detail: String,
    },
    /// The object that the request needs is not there.
    #[error("{root}: {name} is not there")]
    Absent {
        /// The store's root.
        root: String,
        /// The object.
        name: String,
    },
    /// The store turned the request away for now.
    #[error("{root}: the store is busy ({name}: {detail}); try again later")]
    Busy {
        /// The store's root.
        root: String,
        /// The object.
        name: String,
        /// The store's words.
        detail: String,
    },
    /// Anything else, with the cause below it.
    #[error("{root}: request for {name} failed: {source}")]
    Failed {
        /// The store's root.
        root: String,
        /// The object.
        name: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
