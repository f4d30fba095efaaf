//! Secrets in URLs, options and the environment, and many ways to fail: none is shown, and what helps still is.

use crate::common::{Lakebed, trips};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// In every planted secret, and in nothing else.
const PLANTED: &str = "PLANTED";

/// How a server of ours fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failing {
    /// This status, and a body that repeats the whole request, headers and all.
    Echo(u16),
    /// A success whose body is no answer to anything.
    Nonsense,
}

/// A server that does nothing but fail, until the test ends.
fn server(failing: Failing) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = answer(stream, failing);
        }
    });
    address
}

fn answer(mut stream: TcpStream, failing: Failing) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        length = lower.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap_or(0));
        request += &line;
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let (status, body) = match failing {
        Failing::Echo(status) => {
            (status, format!("<Error><Code>AccessDenied</Code><Message>{request}</Message></Error>"))
        }
        Failing::Nonsense => (200, format!("<html>{request}</html>")),
    };
    write!(stream, "HTTP/1.1 {status} No\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Everything that a store can be asked by.
fn commands(url: &str) -> Vec<Vec<String>> {
    [
        "show U",
        "history U",
        "scan U",
        "create U --format delta --schema id",
        "create U --format delta --schema id~long",
        "create U --format lance --schema id~long",
        "append U trips.csv",
        "delete U --where id=1",
        "set U a=b",
        "vacuum U",
        "checkpoint U",
        "changes U --from 1",
        "outcome U 00000000-0000-4000-8000-000000000000",
        "bench U --format delta --writers 1 --commits 1",
        "probe U --rounds 1",
    ]
    .into_iter()
    .map(|line| line.split(' ').map(|word| word.replace('~', " ").replace('U', url)).collect())
    .collect()
}

/// Runs a command, telling all that it can; everything that it wrote.
fn said(lakebed: &Lakebed, args: &[String], more: &[&str], environment: &[(&str, String)]) -> String {
    let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).chain(["-v"]).collect();
    // What libraries would log, and what a panic would show, is asked for too.
    let loud = [("RUST_LOG", "trace".to_owned()), ("RUST_BACKTRACE", "full".to_owned())];
    let run = lakebed.run_in(&args, &[environment, &loud].concat());
    assert_ne!(run.code, 0, "{args:?}: {run:?}");
    run.stdout + &run.stderr
}

fn hides(shown: &str, what: &str) {
    let at = shown.find(PLANTED).map(|at| shown[..at].chars().rev().take(300).collect::<Vec<_>>());
    assert!(at.is_none(), "{what}: …{}{PLANTED}", at.unwrap_or_default().into_iter().rev().collect::<String>());
    assert!(!shown.is_empty(), "{what}: nothing is said");
}

/// Field case 136, by the program: servers that repeat what they were sent, one that is not there, and URLs with secrets in every
/// place.
#[test]
fn planted_secrets_are_shown_nowhere() {
    let lakebed = trips();
    let secrets = [
        ("AWS_ACCESS_KEY_ID", "PLANTEDkeyid"),
        ("AWS_SECRET_ACCESS_KEY", "PLANTEDsecret"),
        ("AWS_SESSION_TOKEN", "PLANTEDtoken"),
    ];
    let environment: Vec<(&str, String)> = secrets.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    let options: Vec<String> =
        secrets.iter().map(|(key, value)| format!("{}={value}", key.to_ascii_lowercase())).collect();
    for failing in [Failing::Echo(403), Failing::Echo(400), Failing::Nonsense] {
        let endpoint = format!("http://me:PLANTEDuser@{}", server(failing));
        for args in commands("s3://bucket/folder") {
            let what = format!("{failing:?} {args:?}");
            let mut with_endpoint = environment.clone();
            with_endpoint.push(("AWS_ENDPOINT", endpoint.clone()));
            with_endpoint.push(("AWS_ALLOW_HTTP", "true".to_owned()));
            with_endpoint.push(("AWS_REGION", "us-east-1".to_owned()));
            hides(&said(&lakebed, &args, &["--json"], &with_endpoint), &what);
            let endpoint_option = format!("endpoint={endpoint}");
            let mut more = vec!["--storage-option", &endpoint_option, "--storage-option", "region=us-east-1"];
            more.extend(options.iter().flat_map(|option| ["--storage-option", option.as_str()]));
            let shown = said(&lakebed, &args, &more, &[]);
            hides(&shown, &what);
            assert!(shown.contains("bucket/folder") || args.iter().any(|arg| arg == "id"), "{what}: {shown}");
        }
    }
    for failing in [Failing::Echo(403), Failing::Echo(400), Failing::Nonsense] {
        let endpoint = format!("http://me:PLANTEDuser@{}", server(failing));
        let azure = [
            ("AZURE_STORAGE_ENDPOINT", endpoint.clone()),
            ("AZURE_STORAGE_ACCOUNT_NAME", "account".to_owned()),
            ("AZURE_STORAGE_TOKEN", "PLANTEDtoken".to_owned()),
            ("AZURE_STORAGE_USE_EMULATOR", "false".to_owned()),
        ];
        let google = [("GOOGLE_BASE_URL", endpoint), ("GOOGLE_BEARER_TOKEN", "PLANTEDtoken".to_owned())];
        for (url, variables) in [("az://container/folder", &azure[..]), ("gs://bucket/folder", &google[..])] {
            for args in commands(url).into_iter().step_by(2) {
                let what = format!("{failing:?} {args:?}");
                hides(&said(&lakebed, &args, &[], variables), &what);
                let options: Vec<String> =
                    variables.iter().map(|(key, value)| format!("{}={value}", key.to_ascii_lowercase())).collect();
                let more: Vec<&str> = options.iter().flat_map(|option| ["--storage-option", option.as_str()]).collect();
                hides(&said(&lakebed, &args, &more, &[]), &what);
            }
        }
    }
    for url in [
        "s3://user:PLANTEDa@bucket/folder",
        "s3://bucket/folder?sig=PLANTEDb#PLANTEDc",
        "az://container/folder?sig=PLANTEDd",
        "abfss://container:PLANTEDl@account.dfs.core.windows.net/folder",
        "gs://bucket/folder?token=PLANTEDm",
        "acme://user:PLANTEDe@host/folder?token=PLANTEDf",
        "file://user:PLANTEDg@host/folder?token=PLANTEDh",
        "memory://user:PLANTEDi@name/folder?token=PLANTEDj",
    ] {
        for args in commands(url).into_iter().step_by(3) {
            hides(
                &said(&lakebed, &args, &["--storage-option", "no_such_option=PLANTEDk"], &environment),
                &format!("{args:?}"),
            );
        }
    }
}

/// An index that repeats what it is sent, in the words of its kind.
#[derive(Clone, Copy, Debug)]
enum Repeating {
    /// DynamoDB refuses the request, and quotes it.
    DynamoDb,
    /// PostgreSQL asks for the password in clear, and quotes it.
    Postgres,
    /// Redis does not know the command, and quotes its words.
    Redis,
}

/// A server of that kind, until the test ends.
fn repeating(kind: Repeating) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = match kind {
                Repeating::DynamoDb => repeat_http(stream),
                Repeating::Postgres => repeat_password(stream),
                Repeating::Redis => repeat_words(stream),
            };
        }
    });
    address
}

/// What has arrived, as text on one line.
fn arrived(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = [0; 16_384];
    let length = stream.read(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    Ok(text.chars().map(|c| if c.is_control() || matches!(c, '"' | '\\') { ' ' } else { c }).collect())
}

fn repeat_http(mut stream: TcpStream) -> std::io::Result<()> {
    let request = arrived(&mut stream)?;
    let body = format!(r#"{{"__type":"x#AccessDeniedException","message":"{request}"}}"#);
    write!(stream, "HTTP/1.1 400 No\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn repeat_password(mut stream: TcpStream) -> std::io::Result<()> {
    arrived(&mut stream)?;
    // `R`: authentication by a password in clear is asked for.
    stream.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 3])?;
    let password = arrived(&mut stream)?;
    let fields = format!("SFATAL\0C28P01\0Mno such password: {}\0\0", password.trim());
    let length = u32::try_from(fields.len() + 4).unwrap();
    stream.write_all(&[&b"E"[..], &length.to_be_bytes(), fields.as_bytes()].concat())
}

fn repeat_words(mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        let words = arrived(&mut stream)?;
        if words.is_empty() {
            return Ok(());
        }
        write!(stream, "-ERR unknown command, with args beginning with: {words}\r\n")?;
    }
}

/// Field case 136 with an index: passwords stand in its URL, keys in the environment, and its server repeats both.
#[test]
fn secrets_of_an_index_are_shown_nowhere() {
    let lakebed = trips();
    let keys = [
        ("AWS_ACCESS_KEY_ID", "PLANTEDkeyid".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "PLANTEDsecret".to_owned()),
        ("AWS_SESSION_TOKEN", "PLANTEDtoken".to_owned()),
    ];
    for kind in [Repeating::DynamoDb, Repeating::Postgres, Repeating::Redis] {
        let address = repeating(kind);
        let index = match kind {
            Repeating::DynamoDb => "dynamodb:commits?layout=delta".to_owned(),
            Repeating::Postgres => format!("postgres://me:PLANTEDpassword@{address}/x"),
            Repeating::Redis => format!("redis://me:PLANTEDpassword@{address}/0"),
        };
        let endpoint = ("AWS_ENDPOINT_URL_DYNAMODB", format!("http://me:PLANTEDuser@{address}"));
        let environment = [keys.as_slice(), &[endpoint]].concat();
        let by_variable = [environment.as_slice(), &[("LAKEBED_INDEX", index.clone())]].concat();
        let commands = commands("trips").into_iter().filter(|args| {
            // These look at the store alone.
            !matches!(args[0].as_str(), "bench" | "probe" | "outcome") && args[1] == "trips"
        });
        for args in commands {
            let what = format!("{kind:?} {args:?}");
            let shown = said(&lakebed, &args, &["--index", &index], &environment);
            hides(&shown, &what);
            assert!(args[0] == "create" || shown.contains("index"), "{what}: {shown}");
            hides(&said(&lakebed, &args, &["--json"], &by_variable), &what);
        }
    }
    for index in [
        "redis://me:PLANTEDa@127.0.0.1:1/0",
        "redis://me:PLANTEDb@127.0.0.1:1/0?c=PLANTEDd",
        "postgres://me:PLANTEDe@127.0.0.1:1/x",
        "postgres://me:PLANTEDf@127.0.0.1:port/x",
        "postgres:password=PLANTEDg host=",
        "dynamodb:commits?key=PLANTEDh",
        "sqlite:/no/such/folder/index.db",
        "acme://me:PLANTEDi@127.0.0.1",
        "PLANTEDj",
    ] {
        for args in [["show", "trips"], ["vacuum", "trips"]] {
            let args = args.map(str::to_owned);
            hides(&said(&lakebed, &args, &["--index", index], &keys), index);
        }
    }
}
