//! What each answer to a conditional put means, as data.

use std::fmt;

/// What a server or the network said to a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Said {
    /// This HTTP status.
    Status(u16),
    /// This HTTP status, with this word in the body.
    Word(u16, &'static str),
    /// An HTTP status from the first to the second.
    Statuses(u16, u16),
    /// The client was asked for what it does not have; nothing was sent.
    Unsupported,
    /// A redirect that does not say where to.
    NoDirection,
    /// No connection could be made; nothing was sent.
    NoConnection,
    /// No answer in time.
    Timeout,
    /// The connection was closed or reset before the answer.
    Reset,
    /// The client had sent the request more than once by itself.
    Retried,
    /// Anything else, such as an answer that cannot be read.
    Other,
}

/// What it means for a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// [`crate::Create::Created`].
    Created,
    /// [`crate::Create::Exists`]: read it back.
    Exists,
    /// [`crate::Create::NotNow`]: the same again, later.
    NotNow,
    /// [`crate::Create::Unknown`]: it may have happened, or may still.
    Unknown,
    /// An error: certainly nothing was created, and asking again would not help.
    Refused,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CreateAnswer {
    /// What was said.
    pub said: Said,
    /// What it means.
    pub meaning: Meaning,
    /// Why.
    pub why: &'static str,
}

const fn row(said: Said, meaning: Meaning, why: &'static str) -> CreateAnswer {
    CreateAnswer { said, meaning, why }
}

/// What [`crate::PutIfAbsent`] makes of each answer to a create; the first row that fits holds.
pub const CREATE_ANSWERS: [CreateAnswer; 20] = [
    row(Said::Statuses(200, 299), Meaning::Created, "the object is stored"),
    row(Said::Status(304), Meaning::Exists, "the condition does not hold, in the word of some servers"),
    row(
        Said::Status(409),
        Meaning::Exists,
        "an object stands there, or another create of the name is under way (S3: ConditionalRequestConflict) and may \
         still fail, so there may be none",
    ),
    row(Said::Status(412), Meaning::Exists, "the condition does not hold: an object stands there, perhaps our own"),
    row(
        Said::Retried,
        Meaning::Unknown,
        "whatever the last try was told, one before it may have stored the object; `open` makes clients that send a create once",
    ),
    row(Said::Unsupported, Meaning::Refused, "this client has no conditional put"),
    row(Said::NoDirection, Meaning::Refused, "the region or the endpoint is wrong"),
    row(Said::Statuses(300, 399), Meaning::Refused, "a redirect: the region or the endpoint is wrong"),
    row(
        Said::Word(400, "RequestTimeout"),
        Meaning::Unknown,
        "S3 waited for bytes and gave up; it is not said when that was",
    ),
    row(Said::Status(408), Meaning::Unknown, "the server waited for bytes and gave up; it is not said when that was"),
    row(Said::Status(429), Meaning::NotNow, "turned away before anything was done"),
    row(Said::Statuses(400, 499), Meaning::Refused, "permission, name, size, a bucket that is not there"),
    row(Said::Status(501), Meaning::Refused, "the server does not know the condition and says so"),
    row(Said::Status(503), Meaning::NotNow, "turned away before anything was done (S3: SlowDown, Azure: ServerBusy)"),
    row(Said::Statuses(500, 599), Meaning::Unknown, "something broke, before or after the object was stored"),
    row(Said::NoConnection, Meaning::NotNow, "the request never left"),
    row(Said::Timeout, Meaning::Unknown, "the request may have arrived, or may still"),
    row(Said::Reset, Meaning::Unknown, "the request may have arrived"),
    row(Said::Statuses(100, 199), Meaning::Unknown, "no final answer"),
    row(Said::Other, Meaning::Unknown, "an answer that cannot be read is none"),
];

/// The row that holds.
pub(super) fn answer(said: Said, text: &str, retried: bool) -> &'static CreateAnswer {
    let fits = |row: &&CreateAnswer| match (row.said, said) {
        (Said::Retried, _) => retried,
        (Said::Other, _) => true,
        (Said::Word(at, word), Said::Status(status)) => at == status && text.contains(word),
        (Said::Statuses(first, last), Said::Status(status)) => (first..=last).contains(&status),
        (row, said) => row == said,
    };
    // The last row fits everything.
    CREATE_ANSWERS.iter().find(fits).unwrap_or(&CREATE_ANSWERS[CREATE_ANSWERS.len() - 1])
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::Word(status, word) => write!(f, "status {status} with `{word}`"),
            Self::Statuses(first, last) => write!(f, "status {first} to {last}"),
            Self::Unsupported => f.write_str("not supported, by the client"),
            Self::NoDirection => f.write_str("a redirect without a location"),
            Self::NoConnection => f.write_str("no connection"),
            Self::Timeout => f.write_str("a timeout"),
            Self::Reset => f.write_str("a connection that was reset or closed"),
            Self::Retried => f.write_str("any of the following, after the client tried more than once"),
            Self::Other => f.write_str("anything else"),
        }
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::Exists => "exists",
            Self::NotNow => "not now",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
        })
    }
}

/// The table as Markdown, for `docs/stores.md`.
#[must_use]
pub fn create_answers_markdown() -> String {
    let mut text = "| said to a create | means | because |\n|---|---|---|\n".to_owned();
    for CreateAnswer { said, meaning, why } in &CREATE_ANSWERS {
        text.push_str(&format!("| {said} | *{meaning}* | {why} |\n"));
    }
    text
}
