//! One server: how it is started, how it is known to be ready, how it is stopped.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Variables, set, setup};
use crate::error::Error;
use crate::workspace::{self, Workspace};

/// Looks at whether a server is ready, after which it is given up: a minute.
const READY_LOOKS: u32 = 1_200;
/// Looks at whether it has stopped, after which it is ended: ten seconds.
const STOP_LOOKS: u32 = 200;
const POLL: Duration = Duration::from_millis(50);

/// A kind of server.
pub(super) struct Server {
    pub(super) name: &'static str,
    /// The command that runs it in the foreground, given its data folder and its port; installs what is missing first.
    command: fn(&Workspace, &Path, u16) -> Result<Command, Error>,
    /// Makes what the tests expect to be there; what they read.
    prepare: fn(u16) -> Result<Variables, Error>,
}

/// All of them.
pub(super) const SERVERS: &[Server] = &[
    Server { name: "ministack", command: setup::ministack, prepare: ministack_ready },
    Server { name: "azurite", command: setup::azurite, prepare: azurite_ready },
    Server { name: "postgres", command: setup::postgres, prepare: postgres_ready },
    Server { name: "redis", command: setup::redis, prepare: redis_ready },
];

fn ministack_ready(port: u16) -> Result<Variables, Error> {
    let bucket = "lakebed-tests";
    http(port, "PUT", &format!("/{bucket}"), &[])?;
    let endpoint = format!("http://127.0.0.1:{port}");
    Ok(set([
        ("LAKEBED_TEST_S3", format!("s3://{bucket}/tests")),
        ("LAKEBED_TEST_DYNAMODB", endpoint.clone()),
        ("AWS_ENDPOINT", endpoint.clone()),
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
    ]))
}

/// What lets anybody make a container in the emulator: signed with the key that its documentation gives to everybody.
const AZURITE_SIGNATURE: &str = "sv=2021-08-06&ss=b&srt=sco&sp=rwdlac&se=2099-01-01T00%3A00%3A00Z&sig=96c2EygB3PgwPw%2FPybbUy3WlHCPrp0h%2FIdLehWe2UEU%3D";

fn azurite_ready(port: u16) -> Result<Variables, Error> {
    let container = "lakebed-tests";
    let path = format!("/devstoreaccount1/{container}?restype=container&{AZURITE_SIGNATURE}");
    http(port, "PUT", &path, &[])?;
    Ok(set([
        ("LAKEBED_TEST_AZURE", format!("az://{container}/tests")),
        ("AZURE_STORAGE_USE_EMULATOR", "true".to_owned()),
        ("AZURITE_BLOB_STORAGE_URL", format!("http://127.0.0.1:{port}")),
    ]))
}

fn postgres_ready(port: u16) -> Result<Variables, Error> {
    Ok(set([("LAKEBED_TEST_POSTGRES", format!("postgres://postgres@127.0.0.1:{port}/postgres"))]))
}

fn redis_ready(port: u16) -> Result<Variables, Error> {
    Ok(set([("LAKEBED_TEST_REDIS", format!("redis://127.0.0.1:{port}/0"))]))
}

impl Server {
    /// Starts it, waits until it answers, and prepares it.
    pub(super) fn start(&self, workspace: &Workspace, home: &Path) -> Result<Variables, Error> {
        let data = self.data(home);
        std::fs::create_dir_all(&data).map_err(Error::file("make", &data))?;
        let port = free_port()?;
        let mut command = (self.command)(workspace, &data, port)?;
        let log = home.join(format!("{}.log", self.name));
        let out = File::create(&log).map_err(Error::file("write", &log))?;
        let err = out.try_clone().map_err(Error::file("write", &log))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        apart(&mut command);
        let program = workspace::describe(&command);
        let mut child = command.spawn().map_err(|source| Error::Start { program: program.clone(), source })?;
        let pid = self.pid_file(home);
        std::fs::write(&pid, child.id().to_string()).map_err(Error::file("write", &pid))?;
        for look in 0..=READY_LOOKS {
            if TcpStream::connect(("127.0.0.1", port)).is_ok()
                && let Ok(variables) = (self.prepare)(port)
            {
                return Ok(variables);
            }
            let ended = child.try_wait().map_err(|source| Error::Start { program: program.clone(), source })?;
            if ended.is_some() || look == READY_LOOKS {
                self.stop(home);
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let last: String = said.lines().rev().take(5).collect::<Vec<_>>().join(" | ");
                let status = ended.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
                return Err(Error::Program { program, status, detail: format!(": {last}") });
            }
            std::thread::sleep(POLL);
        }
        Err(Error::Missing(format!("{} did not start", self.name)))
    }

    /// Asks it to stop, and ends it if it does not; nothing happens when it does not run.
    pub(super) fn stop(&self, home: &Path) {
        let file = self.pid_file(home);
        let Some(pid) = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u32>().ok()) else {
            return;
        };
        let signal = |name: &str| {
            // PostgreSQL would wait for its clients at TERM; the data is thrown away anyway.
            let sent = Command::new("kill").args([name, &pid.to_string()]).stderr(Stdio::null()).status();
            sent.is_ok_and(|status| status.success())
        };
        if signal(if self.name == "postgres" { "-INT" } else { "-TERM" }) {
            for _ in 0..STOP_LOOKS {
                if is_gone(pid) {
                    break;
                }
                std::thread::sleep(POLL);
            }
            if !is_gone(pid) {
                signal("-KILL");
            }
        }
        // Whoever is not there any more is stopped.
        let _ = std::fs::remove_file(&file);
    }

    pub(super) fn data(&self, home: &Path) -> PathBuf {
        home.join(format!("{}-data", self.name))
    }

    fn pid_file(&self, home: &Path) -> PathBuf {
        home.join(format!("{}.pid", self.name))
    }
}

/// Whether a process has ended; one that its parent has not asked about yet counts as ended.
fn is_gone(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}

/// A process group of its own, so that the end of a terminal or of a test run is not the server's.
fn apart(command: &mut Command) {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
}

/// A port that nobody listens on at this moment.
pub(super) fn free_port() -> Result<u16, Error> {
    let start = |source| Error::Start { program: "a listener on 127.0.0.1".to_owned(), source };
    let listener = TcpListener::bind("127.0.0.1:0").map_err(start)?;
    Ok(listener.local_addr().map_err(start)?.port())
}

/// One request without a body; the answer's status must be good.
pub(super) fn http(port: u16, method: &str, path: &str, headers: &[(&str, String)]) -> Result<String, Error> {
    let program = format!("{method} http://127.0.0.1:{port}{path}");
    let start = |source| Error::Start { program: program.clone(), source };
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(start)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(start)?;
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: 0\r\nconnection: close\r\n{more}\r\n"
    );
    stream.write_all(request.as_bytes()).map_err(start)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(start)?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
    if status.starts_with('2') { Ok(answer) } else { Err(Error::Program { program, status, detail: String::new() }) }
}
