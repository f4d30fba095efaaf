//! Why a Delta table could not be read or a commit could not be built.

use lakebed_commit::FormatError;
use lakebed_naming::NameError;

/// Why a Delta table could not be read or a commit could not be built. The message names the object and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// Bytes that are not what the protocol says.
    #[error("{object} is damaged: {problem}; {advice}")]
    Damaged {
        /// The object, or `_delta_log` for the log as a whole.
        object: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        advice: String,
    },
    /// The table uses something that is not known here.
    #[error("{object} needs {feature}, which is not supported here; {advice}")]
    Unsupported {
        /// The object or table.
        object: String,
        /// The feature, by the protocol's name.
        feature: String,
        /// What to do.
        advice: String,
    },
    /// The names in the log contradict each other or do not reach the version asked for.
    #[error(transparent)]
    Names(#[from] NameError),
    /// A value given by the caller does not fit the table.
    #[error("invalid: {problem}; {advice}")]
    Invalid {
        /// What is wrong.
        problem: String,
        /// What to do.
        advice: String,
    },
}

impl DeltaError {
    pub(crate) fn damaged(object: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Damaged {
            object: object.into(),
            problem: problem.into(),
            advice: "restore the object from a copy, or read an older version".into(),
        }
    }

    pub(crate) fn unsupported(feature: impl Into<String>) -> Self {
        Self::Unsupported {
            object: "the table".into(),
            feature: feature.into(),
            advice: "use a client that knows the feature, or drop the feature from the table".into(),
        }
    }

    pub(crate) fn invalid(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Invalid { problem: problem.into(), advice: advice.into() }
    }
}

impl From<DeltaError> for FormatError {
    fn from(error: DeltaError) -> Self {
        match error {
            DeltaError::Damaged { object, problem, advice } => Self::Damaged { object, problem, advice },
            DeltaError::Unsupported { object, feature, advice } => Self::Unsupported { object, feature, advice },
            DeltaError::Names(error) => {
                Self::Invalid { problem: error.to_string(), advice: "list the log again".into() }
            }
            DeltaError::Invalid { problem, advice } => Self::Invalid { problem, advice },
        }
    }
}
