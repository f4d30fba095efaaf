//! What the clients make of answers on the wire: one request per create, and the right word for each status and for each way in which
//! a connection ends. The server is a script of ours that answers as it is told.

use lakebed_storage::{Create, Store, StoreError, StoreOptions, open};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug)]
enum Answer {
    /// This status; a success names an ETag, as real stores do.
    Status(u16),
    /// This status with this code in its body.
    Code(u16, &'static str),
    /// A success without an ETag.
    Plain,
    /// The connection is closed after the request was read.
    Closed,
    /// The connection is closed before, so that the kernel resets it.
    Reset,
    /// The connection is kept, and nothing is said.
    Silence,
}

#[derive(Clone, Copy, Debug)]
enum Cloud {
    S3,
    Gcs,
    Azure,
}

const CLOUDS: [Cloud; 3] = [Cloud::S3, Cloud::Gcs, Cloud::Azure];

/// Answers every request as it was last told and keeps what was asked.
struct Server {
    address: String,
    answer: Arc<Mutex<Answer>>,
    requests: Arc<AtomicUsize>,
    last: Arc<Mutex<String>>,
}

impl Server {
    fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let server =
            Self { address, answer: Arc::new(Mutex::new(answer)), requests: Arc::default(), last: Arc::default() };
        let (answer, seen, kept) = (Arc::clone(&server.answer), Arc::clone(&server.requests), Arc::clone(&server.last));
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            while let Ok((mut stream, _)) = listener.accept() {
                seen.fetch_add(1, Ordering::SeqCst);
                let answer = *answer.lock().expect("a lock");
                if matches!(answer, Answer::Reset) {
                    continue;
                }
                *kept.lock().expect("a lock") = read_request(&mut stream);
                match answer {
                    Answer::Status(status) => say(&mut stream, status, "etag: \"1\"\r\n", "Scripted"),
                    Answer::Code(status, code) => say(&mut stream, status, "", code),
                    Answer::Plain => say(&mut stream, 200, "", "Scripted"),
                    Answer::Closed | Answer::Reset => {}
                    Answer::Silence => silent.push(stream),
                }
            }
        });
        server
    }

    fn tell(&self, answer: Answer) {
        *self.answer.lock().expect("a lock") = answer;
        self.requests.store(0, Ordering::SeqCst);
    }
}

fn say(stream: &mut TcpStream, status: u16, header: &str, code: &str) {
    let body = format!("<Error><Code>{code}</Code><Message>SECRET-TWO</Message></Error>");
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {status} Scripted\r\n{header}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
    // A client that has gone away already is no matter here.
    drop(stream.write_all(answer.as_bytes()));
}

fn read_request(stream: &mut TcpStream) -> String {
    let (mut read, mut buffer) = (Vec::new(), [0; 4_096]);
    loop {
        let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
        if let Some(end) = text.find("\r\n\r\n") {
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0_usize);
            if read.len() >= end + 4 + length {
                return String::from_utf8_lossy(&read).into_owned();
            }
        }
        let count = stream.read(&mut buffer).unwrap_or(0);
        if count == 0 {
            return String::from_utf8_lossy(&read).into_owned();
        }
        read.extend_from_slice(&buffer[..count]);
    }
}

fn store(address: &str, cloud: Cloud) -> Arc<dyn Store> {
    let (url, pairs): (_, &[(&str, &str)]) = match cloud {
        Cloud::S3 => (
            "s3://bucket/table",
            &[
                ("endpoint", address),
                ("access_key_id", "SECRET-ONE"),
                ("secret_access_key", "SECRET-TWO"),
                ("conditional_put", "disabled"),
            ],
        ),
        Cloud::Gcs => ("gs://bucket/table", &[("base_url", address), ("google_bearer_token", "SECRET-TWO")]),
        Cloud::Azure => (
            "az://bucket/table",
            &[
                ("endpoint", address),
                ("account_name", "me"),
                ("azure_storage_token", "SECRET-TWO"),
                ("azure_storage_use_emulator", "false"),
            ],
        ),
    };
    let options = StoreOptions::new().without_probe().option("timeout", "2 seconds");
    open(url, &pairs.iter().fold(options, |options, (key, value)| options.option(*key, *value))).expect("a store")
}

async fn create(store: &Arc<dyn Store>, server: &Server) -> Result<Create, StoreError> {
    let created = store.create("a b/%.json", "body".into()).await;
    assert_eq!(server.requests.load(Ordering::SeqCst), 1, "a create is sent once: {created:?}");
    assert!(!format!("{created:?}").contains("SECRET"), "{created:?}");
    created
}

#[tokio::test]
async fn a_create_carries_the_condition_and_the_name_as_it_is() {
    for cloud in CLOUDS {
        let server = Server::start(Answer::Plain);
        // Our server gives no ETag, without which the client does not believe in the success.
        assert!(matches!(create(&store(&server.address, cloud), &server).await, Ok(Create::Unknown(_))), "{cloud:?}");
        let request = server.last.lock().expect("a lock").clone();
        let (name, condition) = match cloud {
            Cloud::S3 | Cloud::Azure => ("table/a%20b/%25.json", "if-none-match: *"),
            Cloud::Gcs => ("table%2Fa%20b%2F%25%2Ejson", "x-goog-if-generation-match: 0"),
        };
        assert!(request.starts_with(&format!("PUT /bucket/{name} HTTP/1.1")), "{request}");
        assert!(request.to_ascii_lowercase().contains(condition), "{request}");
    }
}

/// What each status means, as the documentation of HTTP and of the stores has it.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Created,
    Exists,
    NotNow,
    Unknown,
    Denied,
    Failed,
    Unusable,
}

const fn expected(status: u16) -> Word {
    match status {
        200..=299 => Word::Created,
        304 | 409 | 412 => Word::Exists,
        401 | 403 => Word::Denied,
        408 => Word::Unknown,
        429 | 503 => Word::NotNow,
        501 => Word::Unusable,
        300..=499 => Word::Failed,
        _ => Word::Unknown,
    }
}

fn word(answer: &Result<Create, StoreError>) -> Word {
    match answer {
        Ok(Create::Created) => Word::Created,
        Ok(Create::Exists) => Word::Exists,
        Ok(Create::NotNow { .. }) => Word::NotNow,
        Ok(Create::Unknown(_)) => Word::Unknown,
        Err(StoreError::Denied { .. }) => Word::Denied,
        Err(StoreError::Unusable { .. }) => Word::Unusable,
        Err(_) => Word::Failed,
    }
}

/// Field cases 130 and 139, on the wire: every status there may be, from the client of every cloud.
#[tokio::test]
async fn each_status_has_its_word() {
    for cloud in CLOUDS {
        let server = Server::start(Answer::Silence);
        let store = store(&server.address, cloud);
        for status in (200..=202).chain(300..=599) {
            server.tell(Answer::Status(status));
            let answer = create(&store, &server).await;
            assert_eq!(word(&answer), expected(status), "{cloud:?} {status}: {answer:?}");
            if let Err(error) = answer {
                let shown = error.to_string();
                assert!(shown.contains(&status.to_string()) || shown.contains("redirect"), "{shown}");
            }
        }
        server.tell(Answer::Code(400, "RequestTimeout"));
        assert!(matches!(create(&store, &server).await, Ok(Create::Unknown(_))), "{cloud:?}");
        server.tell(Answer::Code(400, "EntityTooLarge"));
        assert!(matches!(create(&store, &server).await, Err(StoreError::Failed { .. })), "{cloud:?}");
        server.tell(Answer::Code(409, "ConditionalRequestConflict"));
        assert_eq!(create(&store, &server).await.expect("an answer"), Create::Exists, "{cloud:?}");
    }
}

/// A connection that the server closes without an answer is what a retrying client would hide, and then meet its own object.
#[tokio::test]
async fn connections_that_end_are_unknown() {
    for cloud in CLOUDS {
        for answer in [Answer::Closed, Answer::Reset, Answer::Silence] {
            let server = Server::start(answer);
            let answered = create(&store(&server.address, cloud), &server).await;
            assert!(matches!(answered, Ok(Create::Unknown(_))), "{cloud:?} {answer:?}: {answered:?}");
        }
    }
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    for cloud in CLOUDS {
        let answered = store(&address, cloud).create("x", "1".into()).await;
        assert_eq!(answered.expect("an answer"), Create::NotNow { after_ms: 0 }, "{cloud:?}");
    }
}
