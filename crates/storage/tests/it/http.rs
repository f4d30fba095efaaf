//! What S3's client makes of answers on the wire: one request per create, and the right word for each status.

use lakebed_storage::{Create, Store, StoreError, StoreOptions, open};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Answers every request alike and keeps what was asked; `None` closes the connection without a word.
struct Server {
    address: String,
    requests: Arc<AtomicUsize>,
    last: Arc<Mutex<String>>,
}

fn serve(answer: Option<&'static str>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (requests, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(String::new())));
    let (seen, kept) = (Arc::clone(&requests), Arc::clone(&last));
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let request = read_request(&mut stream);
            seen.fetch_add(1, Ordering::SeqCst);
            *kept.lock().expect("a lock") = request;
            if let Some(status) = answer {
                let body = "<Error><Code>Scripted</Code><Message>SECRET-TWO</Message></Error>";
                let length = body.len();
                let answer =
                    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
                // A client that has gone away already is no matter here.
                drop(stream.write_all(answer.as_bytes()));
            }
        }
    });
    Server { address, requests, last }
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

fn store(server: &Server) -> Arc<dyn Store> {
    let options = StoreOptions::new()
        .option("endpoint", &server.address)
        .option("access_key_id", "SECRET-ONE")
        .option("secret_access_key", "SECRET-TWO")
        .option("conditional_put", "disabled");
    open("s3://bucket/table", &options).expect("a store")
}

async fn create(server: &Server) -> Result<Create, StoreError> {
    let created = store(server).create("a b/%.json", "body".into()).await;
    assert_eq!(server.requests.load(Ordering::SeqCst), 1, "a create is sent once: {created:?}");
    assert!(!format!("{created:?}").contains("SECRET"), "{created:?}");
    created
}

#[tokio::test]
async fn a_create_carries_the_condition_and_the_name_as_it_is() {
    let server = serve(Some("200 OK"));
    // Our server gives no ETag, without which the client does not believe in the success.
    assert!(matches!(create(&server).await, Ok(Create::Unknown(_))));
    let request = server.last.lock().expect("a lock").clone();
    assert!(request.starts_with("PUT /bucket/table/a%20b/%25.json HTTP/1.1"), "{request}");
    assert!(request.to_ascii_lowercase().contains("if-none-match: *"), "{request}");
}

/// Field cases 130 and 139, on the wire.
#[tokio::test]
async fn each_status_has_its_word() {
    for status in ["412 Precondition Failed", "409 Conflict", "304 Not Modified"] {
        assert_eq!(create(&serve(Some(status))).await.expect(status), Create::Exists);
    }
    for status in ["429 Too Many Requests", "503 Slow Down"] {
        assert_eq!(create(&serve(Some(status))).await.expect(status), Create::NotNow { after_ms: 0 });
    }
    for status in ["500 Internal Server Error", "502 Bad Gateway", "504 Gateway Timeout", "408 Request Timeout"] {
        let answer = create(&serve(Some(status))).await.expect(status);
        assert!(matches!(&answer, Create::Unknown(text) if text.contains(&status[..3])), "{answer:?}");
    }
    for status in ["403 Forbidden", "401 Unauthorized"] {
        assert!(matches!(create(&serve(Some(status))).await, Err(StoreError::Denied { .. })), "{status}");
    }
    for status in ["400 Bad Request", "404 Not Found", "413 Payload Too Large"] {
        let error = create(&serve(Some(status))).await.expect_err(status);
        assert!(matches!(error, StoreError::Failed { .. }), "{error}");
        assert!(error.to_string().contains(&status[..3]), "{error}");
    }
}

/// A connection that the server closes without an answer is what a retrying client would hide, and then meet its own object.
#[tokio::test]
async fn a_closed_connection_is_unknown() {
    assert!(matches!(create(&serve(None)).await, Ok(Create::Unknown(_))));
}
