//! Where each server comes from: `target/` where its package can be installed there, the system where not.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::python::{self, Environment};
use crate::workspace::{self, Workspace};

const MINISTACK: Environment = Environment {
    folder: "target/stores/ministack",
    requirements: "xtask/stores-requirements.txt",
    options: &[],
    probe: "import ministack",
};

const AZURITE: &str = "azurite@3.37.0";

/// S3 and DynamoDB in one Python process.
pub(super) fn ministack(workspace: &Workspace, data: &Path, port: u16) -> Result<Command, Error> {
    let python = python::made(workspace, &MINISTACK)?;
    let mut command = workspace.command(python.with_file_name("ministack"));
    command
        .env("BIND_HOST", "127.0.0.1")
        .env("GATEWAY_PORT", port.to_string())
        .env("SERVICES", "s3,dynamodb")
        .env("IOT_MTLS_ENABLED", "0")
        .env("LOG_LEVEL", "WARNING")
        .env("S3_PERSIST", "0")
        .env("PERSIST_STATE", "0")
        .env("S3_DATA_DIR", data.join("s3"))
        .env("STATE_DIR", data.join("state"));
    Ok(command)
}

/// Azure Blob Storage, a Node program.
pub(super) fn azurite(workspace: &Workspace, data: &Path, port: u16) -> Result<Command, Error> {
    let home = workspace.path("target/stores/azurite");
    let program = home.join("node_modules/.bin/azurite-blob");
    if !program.exists() {
        std::fs::create_dir_all(&home).map_err(Error::file("make", &home))?;
        let mut install = workspace.command("npm");
        install.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        workspace::output(install.arg(&home).arg(AZURITE), None)?;
    }
    let mut command = workspace.command(program);
    command.args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string(), "--location"]).arg(data);
    command.args(["--skipApiVersionCheck", "--disableTelemetry", "--silent"]);
    Ok(command)
}

/// PostgreSQL, from the system: a cluster of its own, which root may not run.
pub(super) fn postgres(workspace: &Workspace, data: &Path, port: u16) -> Result<Command, Error> {
    let binaries = newest_postgres()
        .ok_or_else(|| Error::Missing("there is no PostgreSQL server (Debian: postgresql)".to_owned()))?;
    let root = workspace::output(workspace.command("id").arg("-u"), None)?.trim() == "0";
    if root {
        workspace::output(workspace.command("chown").arg("postgres").arg(data), None)?;
    }
    // It complains about a working folder that it may not enter.
    let as_owner = |program: PathBuf| {
        let mut command = if root {
            let mut command = workspace.command("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
            command
        } else {
            workspace.command(program)
        };
        command.current_dir("/");
        command
    };
    let cluster = data.join("cluster");
    let mut init = as_owner(binaries.join("initdb"));
    init.arg("-D").arg(&cluster).args(["-A", "trust", "-U", "postgres", "--no-locale", "-E", "UTF8"]);
    workspace::output(&mut init, None)?;
    let mut command = as_owner(binaries.join("postgres"));
    command.arg("-D").arg(&cluster).args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c"]);
    command.arg(format!("unix_socket_directories={}", data.display()));
    Ok(command)
}

/// The folder of the newest PostgreSQL's programs.
fn newest_postgres() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            let binaries = path.join("bin");
            binaries.join("postgres").is_file().then_some((version, binaries))
        })
        .collect();
    found.sort();
    found.pop().map(|(_, binaries)| binaries)
}

/// Redis: the system's, or Debian's package unpacked below `target/`.
pub(super) fn redis(workspace: &Workspace, data: &Path, port: u16) -> Result<Command, Error> {
    let (program, libraries) = redis_server(workspace)?;
    let mut command = workspace.command(program);
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(data);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    Ok(command)
}

/// The server, and where its libraries are when they are not the system's.
fn redis_server(workspace: &Workspace) -> Result<(PathBuf, Option<String>), Error> {
    let installed = PathBuf::from("/usr/bin/redis-server");
    if installed.is_file() {
        return Ok((installed, None));
    }
    let home = workspace.path("target/stores/redis");
    let program = home.join("usr/bin/redis-check-rdb");
    if !program.is_file() {
        std::fs::create_dir_all(&home).map_err(Error::file("make", &home))?;
        if download(workspace, &home).is_err() {
            // The system may never have looked what there is.
            workspace::output(workspace.command("apt-get").args(["update", "-qq"]), None)?;
            download(workspace, &home)?;
        }
        for package in std::fs::read_dir(&home).map_err(Error::file("read", &home))?.flatten() {
            if package.path().extension().is_some_and(|extension| extension == "deb") {
                let mut unpack = workspace.command("dpkg-deb");
                workspace::output(unpack.arg("-x").arg(package.path()).arg(&home), None)?;
            }
        }
    }
    // One program under several names: what it does follows from the one that it is called by.
    let server = home.join("usr/bin/redis-server");
    if !server.exists() {
        std::fs::copy(&program, &server).map_err(Error::file("copy", &program))?;
    }
    let library = home.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    Ok((server, Some(library.display().to_string())))
}

/// Fetches Debian's package of the server and those of its libraries, without installing them.
fn download(workspace: &Workspace, to: &Path) -> Result<(), Error> {
    let mut download = workspace.command("apt-get");
    download.current_dir(to).args(["download", "-qq", "redis-tools", "liblzf1", "libjemalloc2", "liblua5.1-0"]);
    workspace::output(download.args(["lua-cjson", "lua-bitop", "libatomic1"]), None).map(|_| ())
}
