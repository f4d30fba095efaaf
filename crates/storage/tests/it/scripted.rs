//! A server of ours that speaks as much of Google Cloud Storage's XML interface, or of S3 Express One Zone's, as a client needs to keep a
//! table. It is no emulator that anybody else wrote or checked: it shows that our client side says and understands what the
//! documentation of these stores describes, not what the stores do.

use percent_encoding::percent_decode_str;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// Names in one page of a listing: few, so that every listing has several.
const PAGE: usize = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `x-goog-if-generation-match`, generations, sorted listings with `start-after`.
    Gcs,
    /// `If-None-Match`, bulk removal, listings in no order and without `start-after`, whose prefix ends in `/`.
    S3Express,
}

/// What becomes of the condition of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Honoured,
    Ignored,
    /// Looked at so many milliseconds before the object is stored, and not under one lock with that.
    LookedAt(u64),
}

struct Object {
    bytes: Vec<u8>,
    generation: u64,
    modified: jiff::Timestamp,
}

#[derive(Default)]
struct Bucket {
    objects: BTreeMap<String, Object>,
    generation: u64,
}

/// Runs until the test process ends.
pub(crate) struct Server {
    pub(crate) endpoint: String,
    state: Arc<State>,
}

struct State {
    dialect: Dialect,
    condition: Condition,
    bucket: Mutex<Bucket>,
    /// Conditional puts that were seen.
    conditional: Mutex<u64>,
}

impl Server {
    pub(crate) fn start(dialect: Dialect, condition: Condition) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(State { dialect, condition, bucket: Mutex::default(), conditional: Mutex::default() });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || while let Some(()) = state.serve(&stream) {});
            }
        });
        Self { endpoint, state }
    }

    /// How many conditional puts there were.
    pub(crate) fn conditional_puts(&self) -> u64 {
        *self.state.conditional.lock().expect("a lock")
    }

    /// The names of all objects.
    pub(crate) fn names(&self) -> Vec<String> {
        self.state.bucket().objects.keys().cloned().collect()
    }
}

struct Request {
    method: String,
    key: String,
    query: HashMap<String, String>,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// Status, headers, body.
type Answer = (u16, Vec<(&'static str, String)>, Vec<u8>);

fn empty(status: u16) -> Answer {
    (status, Vec::new(), Vec::new())
}

fn xml(body: String) -> Answer {
    (200, vec![("content-type", "application/xml".to_owned())], body.into_bytes())
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().expect("UTF-8").into_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let query = query.split('&').map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key.to_owned(), decoded(&value.replace('+', " ")))
        });
        let key = path.trim_start_matches('/').split_once('/').map_or(String::new(), |(_, key)| decoded(key));
        Some(Self { method, key, query: query.collect(), headers, body })
    }
}

impl State {
    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().expect("a lock")
    }

    /// One request; `None` when the client has gone.
    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let request = Request::read(stream)?;
        let (status, headers, body) = self.answer(&request);
        let mut head = format!("HTTP/1.1 {status} Said\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let length = body.len();
        // A head carries the length of what is left out.
        if request.method != "HEAD" {
            head.push_str(&format!("content-length: {length}\r\n"));
        }
        head.push_str("\r\n");
        let mut whole = head.into_bytes();
        if request.method != "HEAD" {
            whole.extend(body);
        }
        stream.write_all(&whole).ok()
    }

    fn answer(&self, request: &Request) -> Answer {
        match request.method.as_str() {
            "PUT" if request.headers.keys().any(|name| name.ends_with("-copy-source")) => self.copy(request),
            "PUT" => self.put(request),
            "GET" if request.key.is_empty() => self.list(request),
            "GET" | "HEAD" => self.get(request),
            "DELETE" => self.delete(&request.key),
            "POST" if request.query.contains_key("delete") => self.delete_all(request),
            _ => empty(405),
        }
    }

    fn put(&self, request: &Request) -> Answer {
        let (absent, same) = match self.dialect {
            Dialect::Gcs => ("x-goog-if-generation-match", "x-goog-if-generation-match"),
            Dialect::S3Express => ("if-none-match", "if-match"),
        };
        let must_be_absent = request.headers.get(absent).is_some_and(|value| matches!(value.as_str(), "0" | "*"));
        let expected = request.headers.get(same).filter(|value| *value != "0").cloned();
        *self.conditional.lock().expect("a lock") += u64::from(must_be_absent);
        let refused = |bucket: &Bucket| {
            let there = bucket.objects.get(&request.key).map(|object| object.generation.to_string());
            (must_be_absent && there.is_some())
                || expected.as_ref().is_some_and(|expected| Some(expected.trim_matches('"')) != there.as_deref())
        };
        let mut bucket = self.bucket();
        if self.condition != Condition::Ignored && refused(&bucket) {
            return empty(412);
        }
        if let (Condition::LookedAt(ms), true) = (self.condition, must_be_absent) {
            drop(bucket);
            std::thread::sleep(std::time::Duration::from_millis(ms));
            bucket = self.bucket();
        }
        let generation = bucket.store(&request.key, request.body.clone());
        (200, headers_of(generation), Vec::new())
    }

    fn copy(&self, request: &Request) -> Answer {
        let source = request.headers.iter().find(|(name, _)| name.ends_with("-copy-source"));
        let source = source.map(|(_, value)| decoded(value.trim_start_matches('/'))).unwrap_or_default();
        let from = source.split_once('/').map_or("", |(_, from)| from);
        let mut bucket = self.bucket();
        let Some(bytes) = bucket.objects.get(from).map(|object| object.bytes.clone()) else {
            return empty(404);
        };
        let generation = bucket.store(&request.key, bytes);
        xml(format!("<CopyObjectResult><ETag>\"{generation}\"</ETag></CopyObjectResult>"))
    }

    fn get(&self, request: &Request) -> Answer {
        let bucket = self.bucket();
        let Some(object) = bucket.objects.get(&request.key) else { return empty(404) };
        let mut headers = headers_of(object.generation);
        let modified = object.modified.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        headers.push(("last-modified", modified));
        if request.method == "HEAD" {
            headers.push(("content-length", object.bytes.len().to_string()));
            return (200, headers, Vec::new());
        }
        let Some(range) = request.headers.get("range").and_then(|range| range.strip_prefix("bytes=")) else {
            return (200, headers, object.bytes.clone());
        };
        let (first, last) = range.split_once('-').unwrap_or((range, ""));
        let first: usize = first.parse().expect("a range from its start");
        let end = last.parse().map_or(usize::MAX, |last: usize| last.saturating_add(1)).min(object.bytes.len());
        let Some(bytes) = object.bytes.get(first..end).filter(|bytes| !bytes.is_empty()) else {
            return empty(416);
        };
        headers.push(("content-range", format!("bytes {first}-{}/{}", end - 1, object.bytes.len())));
        (206, headers, bytes.to_vec())
    }

    fn delete(&self, key: &str) -> Answer {
        let removed = self.bucket().objects.remove(key).is_some();
        empty(if removed || self.dialect == Dialect::S3Express { 204 } else { 404 })
    }

    fn delete_all(&self, request: &Request) -> Answer {
        let body = String::from_utf8(request.body.clone()).expect("UTF-8");
        let mut bucket = self.bucket();
        let mut answer = "<DeleteResult>".to_owned();
        for part in body.split("<Key>").skip(1) {
            let key = part.split("</Key>").next().unwrap_or_default();
            bucket.objects.remove(&unescaped(key));
            answer.push_str(&format!("<Deleted><Key>{key}</Key></Deleted>"));
        }
        xml(answer + "</DeleteResult>")
    }

    fn list(&self, request: &Request) -> Answer {
        let word = |name: &str| request.query.get(name).map_or("", String::as_str);
        let (prefix, express) = (word("prefix"), self.dialect == Dialect::S3Express);
        if express && !prefix.is_empty() && !prefix.ends_with('/') {
            return empty(400);
        }
        let after = if express { "" } else { word("start-after") };
        let bucket = self.bucket();
        let mut keys: Vec<&String> =
            bucket.objects.keys().filter(|key| key.starts_with(prefix) && key.as_str() > after).collect();
        if express {
            keys.reverse();
        }
        let token = word("continuation-token");
        let begin = if token.is_empty() { 0 } else { keys.iter().position(|key| *key == token).map_or(0, |at| at + 1) };
        let page = &keys[begin..keys.len().min(begin + PAGE)];
        let mut body = "<ListBucketResult>".to_owned();
        for key in page {
            let Object { bytes, generation, modified } = &bucket.objects[*key];
            let (key, size) = (escaped(key), bytes.len());
            body.push_str(&format!(
                "<Contents><Key>{key}</Key><LastModified>{modified}</LastModified><ETag>\"{generation}\"</ETag><Size>{size}</Size></Contents>"
            ));
        }
        if let Some(last) = page.last().filter(|_| begin + PAGE < keys.len()) {
            body.push_str(&format!("<NextContinuationToken>{}</NextContinuationToken>", escaped(last)));
        }
        xml(body + "</ListBucketResult>")
    }
}

fn headers_of(generation: u64) -> Vec<(&'static str, String)> {
    vec![("etag", format!("\"{generation}\"")), ("x-goog-generation", generation.to_string())]
}

impl Bucket {
    fn store(&mut self, key: &str, bytes: Vec<u8>) -> u64 {
        self.generation += 1;
        let object = Object { bytes, generation: self.generation, modified: jiff::Timestamp::now() };
        self.objects.insert(key.to_owned(), object);
        self.generation
    }
}
