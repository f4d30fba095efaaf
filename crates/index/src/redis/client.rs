//! As much of the Redis protocol (RESP2) as the index needs: words out, one reply in, over one connection at a time.

use crate::failure::{Failure, Why};
use lakebed_storage::Secrets;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

const PORT: u16 = 6_379;
/// From sending to the last byte of the reply.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// A reply that says to be longer than this is none of ours.
const REPLY_BYTES_MAX: usize = 64 << 20;
const REPLY_PARTS_MAX: usize = 1 << 20;

/// Where the server is, and as whom to speak to it.
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: u32,
    user: Option<String>,
    password: Option<String>,
}

impl Address {
    pub(super) fn parse(url: &str) -> Option<Self> {
        let url = url::Url::parse(url).ok()?;
        if url.scheme() != "redis" || url.query().is_some() || url.fragment().is_some() {
            return None;
        }
        let decode = |text: &str| percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned());
        let database = match url.path().trim_matches('/') {
            "" => 0,
            number => number.parse().ok()?,
        };
        let user = if url.username().is_empty() { None } else { Some(decode(url.username())?) };
        let password = match url.password() {
            Some(password) => Some(decode(password)?),
            None => None,
        };
        // Without a password a name would be dropped without a word.
        if user.is_some() && password.is_none() {
            return None;
        }
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        Some(Self { host, port: url.port().unwrap_or(PORT), database, user, password })
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.port, self.database)
    }
}

/// One reply of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Nothing,
    Text(String),
    Number(i64),
    List(Vec<Reply>),
}

/// One connection, made when it is needed and again after it broke.
#[derive(Debug)]
pub(super) struct Client {
    address: Address,
    secrets: Secrets,
    connection: Mutex<Option<BufStream<TcpStream>>>,
}

impl Client {
    pub(super) fn new(address: Address) -> Self {
        // A server that does not know a command repeats its words.
        let secrets = Secrets::new(address.password.clone());
        Self { address, secrets, connection: Mutex::new(None) }
    }

    /// Sends one command and waits for its reply.
    pub(super) async fn ask(&self, words: &[&str]) -> Result<Reply, Failure> {
        self.asked(words).await.map_err(|failure| failure.without(&self.secrets))
    }

    async fn asked(&self, words: &[&str]) -> Result<Reply, Failure> {
        let mut slot = self.connection.lock().await;
        // Taken out, so that a caller who goes away in the middle leaves no half of a reply to the next.
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let reply = exchange(&mut connection, words).await?;
        *slot = Some(connection);
        reply.map_err(|said| refusal(&said))
    }

    async fn connect(&self) -> Result<BufStream<TcpStream>, Failure> {
        let to = (self.address.host.as_str(), self.address.port);
        let busy = |said: String| Failure::new(Why::Busy, said);
        let connected = tokio::time::timeout(CONNECT_WAIT, TcpStream::connect(to)).await;
        let stream = match connected {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(busy(error.to_string())),
            Err(_) => return Err(busy("no connection within 10 seconds".to_owned())),
        };
        // Replies would wait for more to send otherwise.
        stream.set_nodelay(true).map_err(|error| busy(error.to_string()))?;
        let mut connection = BufStream::new(stream);
        let database = self.address.database.to_string();
        let mut greeting: Vec<Vec<&str>> = Vec::new();
        match (&self.address.user, &self.address.password) {
            (Some(user), Some(password)) => greeting.push(vec!["AUTH", user, password]),
            (None, Some(password)) => greeting.push(vec!["AUTH", password]),
            (Some(_) | None, None) => {}
        }
        if self.address.database != 0 {
            greeting.push(vec!["SELECT", &database]);
        }
        for words in greeting {
            // Nothing that matters was sent yet, so what gets lost here is only lost time.
            let reply = exchange(&mut connection, &words).await.map_err(|failure| busy(failure.said))?;
            reply.map_err(|said| Failure::new(Why::Denied, said))?;
        }
        Ok(connection)
    }
}

/// What the server says instead of a reply. It carried nothing out then: a script is refused before it runs.
fn refusal(said: &str) -> Failure {
    let why = match said.split(' ').next().unwrap_or_default() {
        "LOADING" | "BUSY" | "OOM" | "CLUSTERDOWN" | "TRYAGAIN" | "MASTERDOWN" => Why::Busy,
        "NOAUTH" | "NOPERM" | "WRONGPASS" => Why::Denied,
        "ERR" | "WRONGTYPE" | "READONLY" | "MISCONF" | "MOVED" | "ASK" | "NOSCRIPT" => Why::Refused,
        _ => Why::Unknown,
    };
    Failure::new(why, said)
}

/// Sends words and reads a reply, or what the server says instead.
async fn exchange(connection: &mut BufStream<TcpStream>, words: &[&str]) -> Result<Result<Reply, String>, Failure> {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    let exchanged = async {
        connection.write_all(request.as_bytes()).await?;
        connection.flush().await?;
        reply(connection).await
    };
    match tokio::time::timeout(ANSWER_WAIT, exchanged).await {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(error)) => Err(Failure::new(Why::Unknown, error.to_string())),
        Err(_) => Err(Failure::new(Why::Unknown, "no answer within 30 seconds")),
    }
}

async fn reply(connection: &mut BufStream<TcpStream>) -> std::io::Result<Result<Reply, String>> {
    let (kind, rest) = line(connection).await?;
    if kind != b'*' {
        return part(connection, kind, rest).await;
    }
    let mut parts = Vec::new();
    for _ in 0..length(&rest, REPLY_PARTS_MAX)?.unwrap_or(0) {
        let (kind, rest) = line(connection).await?;
        match part(connection, kind, rest).await? {
            Ok(found) => parts.push(found),
            Err(said) => return Ok(Err(said)),
        }
    }
    Ok(Ok(Reply::List(parts)))
}

/// A reply that is no list.
async fn part(connection: &mut BufStream<TcpStream>, kind: u8, rest: String) -> std::io::Result<Result<Reply, String>> {
    match kind {
        b'+' => Ok(Ok(Reply::Text(rest))),
        b'-' => Ok(Err(rest)),
        b':' => rest.parse().map(|number| Ok(Reply::Number(number))).map_err(|_| strange()),
        b'$' => {
            let Some(length) = length(&rest, REPLY_BYTES_MAX)? else { return Ok(Ok(Reply::Nothing)) };
            let mut bytes = vec![0; length + 2];
            connection.read_exact(&mut bytes).await?;
            bytes.truncate(length);
            String::from_utf8(bytes).map(|text| Ok(Reply::Text(text))).map_err(|_| strange())
        }
        _ => Err(strange()),
    }
}

async fn line(connection: &mut BufStream<TcpStream>) -> std::io::Result<(u8, String)> {
    let mut line = Vec::new();
    let limit = u64::try_from(REPLY_BYTES_MAX).unwrap_or(u64::MAX);
    connection.take(limit).read_until(b'\n', &mut line).await?;
    let Some(body) = line.strip_suffix(b"\r\n") else {
        return Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the server closed the connection"));
    };
    match body.split_first() {
        Some((kind, rest)) => Ok((*kind, String::from_utf8_lossy(rest).into_owned())),
        None => Err(strange()),
    }
}

/// A length; `None` for −1, which stands for nothing.
fn length(text: &str, most: usize) -> std::io::Result<Option<usize>> {
    if text == "-1" {
        return Ok(None);
    }
    text.parse().ok().filter(|length| *length <= most).map(Some).ok_or_else(strange)
}

fn strange() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, "this is no reply of a Redis server")
}
