//! `stores ceph`: the tests of S3 on a Ceph RADOS gateway, or on whatever server is named.
//!
//! Not part of the test run: its packages come from the system (they cannot be unpacked below `target/`), and it takes long to start.

use std::path::{Path, PathBuf};

use super::server::free_port;
use super::{Variables, home, set};
use crate::error::Error;
use crate::suite::status;
use crate::workspace::{self, Workspace};

const SCRIPT: &str = "xtask/ceph.sh";
const BUCKET: &str = "lakebed-tests";
/// What the system has to have, and Debian's packages of it.
const PROGRAMS: [&str; 4] = ["radosgw", "ceph-mon", "ceph-osd", "curl"];
/// Tests that go to `$LAKEBED_TEST_S3`.
const TESTS: [&[&str]; 2] = [
    &["test", "--package", "lakebed-storage", "--features", "aws,test-util", "--test", "it", "stores::s3"],
    &["test", "--package", "lakebed-cli", "--test", "it", "probe::tables_live_on_the_clouds"],
];

/// Runs the behaviour suite, the races and whole tables on the server that `$LAKEBED_TEST_S3` and `AWS_…` name, or else on a gateway
/// that is started for it.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Error> {
    if std::env::var_os("LAKEBED_TEST_S3").is_some() {
        return tests(workspace, &Variables::new());
    }
    let folder = home(workspace)?.join("ceph");
    let variables = up(workspace, &folder)?;
    let tested = tests(workspace, &variables);
    let stopped = down(workspace, &folder);
    tested.and(stopped)
}

fn tests(workspace: &Workspace, variables: &Variables) -> Result<(), Error> {
    for arguments in TESTS {
        let mut test = workspace.cargo();
        test.args(arguments).args(["--", "--show-output"]).envs(variables);
        status(&mut test)?;
    }
    Ok(())
}

fn up(workspace: &Workspace, folder: &Path) -> Result<Variables, Error> {
    for program in PROGRAMS {
        if !is_installed(program) {
            return Err(Error::Missing(format!(
                "there is no {program} (Debian: apt-get install --no-install-recommends radosgw ceph-mon ceph-osd curl); \
                 or name a server in LAKEBED_TEST_S3=s3://bucket/folder and AWS_ENDPOINT"
            )));
        }
    }
    if folder.exists() {
        down(workspace, folder)?;
    }
    std::fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
    let port = free_port()?;
    let mut script = workspace.command(workspace.path(SCRIPT));
    workspace::output(script.arg("up").arg(folder).arg(port.to_string()).arg(BUCKET), None)?;
    Ok(set([
        ("LAKEBED_TEST_S3", format!("s3://{BUCKET}/tests")),
        ("AWS_ENDPOINT", format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
    ]))
}

fn down(workspace: &Workspace, folder: &Path) -> Result<(), Error> {
    workspace::output(workspace.command(workspace.path(SCRIPT)).arg("down").arg(folder), None)?;
    std::fs::remove_dir_all(folder).map_err(Error::file("remove", folder))
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder: PathBuf| folder.join(program)).any(|file| file.is_file())
}
