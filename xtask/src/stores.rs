//! `stores up|down`: the servers that the tests of stores and indexes need, from nothing, on free ports of this machine.

pub(crate) mod ceph;
mod server;
mod setup;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Error;
use crate::workspace::Workspace;
use server::SERVERS;

/// Where state, logs and process ids are.
const FOLDER: &str = "target/stores";
/// What `up` printed, for `down` and for a second `up`.
const STATE: &str = "environment.txt";

/// What the tests read, by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// Starts every server that can be had here, and prints what the tests read, a line `export NAME=value` for each; on standard
/// error what cannot be had, and why.
pub(crate) fn up(workspace: &Workspace) -> Result<(), Error> {
    let (variables, missing) = start(workspace)?;
    for (name, value) in &variables {
        println!("export {name}='{value}'");
    }
    for reason in missing {
        eprintln!("stores: {reason}");
    }
    Ok(())
}

/// Starts what does not run yet; what the tests read, and why some servers cannot be had.
pub(crate) fn start(workspace: &Workspace) -> Result<(Variables, Vec<String>), Error> {
    start_those(workspace, &|_| true)
}

/// The same with one server alone.
pub(crate) fn start_only(workspace: &Workspace, name: &str) -> Result<(Variables, Vec<String>), Error> {
    start_those(workspace, &|server| server == name)
}

fn start_those(workspace: &Workspace, wanted: &dyn Fn(&str) -> bool) -> Result<(Variables, Vec<String>), Error> {
    let home = home(workspace)?;
    // Who was killed left its servers behind.
    stop(workspace)?;
    let (mut variables, mut missing) = (Variables::new(), Vec::new());
    for server in SERVERS.iter().filter(|server| wanted(server.name)) {
        match server.start(workspace, &home) {
            Ok(given) => variables.extend(given),
            Err(error) => missing.push(format!("{} cannot be had: {error}", server.name)),
        }
    }
    let text: String = variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    let state = home.join(STATE);
    std::fs::write(&state, text).map_err(Error::file("write", &state))?;
    Ok((variables, missing))
}

/// Stops every server that `up` started, and forgets what they held.
pub(crate) fn stop(workspace: &Workspace) -> Result<(), Error> {
    let home = home(workspace)?;
    for server in SERVERS {
        server.stop(&home);
        let data = server.data(&home);
        if data.exists() {
            std::fs::remove_dir_all(&data).map_err(Error::file("remove", &data))?;
        }
    }
    let state = home.join(STATE);
    if state.exists() {
        std::fs::remove_file(&state).map_err(Error::file("remove", &state))?;
    }
    Ok(())
}

fn home(workspace: &Workspace) -> Result<PathBuf, Error> {
    let home = workspace.path(FOLDER);
    std::fs::create_dir_all(&home).map_err(Error::file("make", &home))?;
    Ok(home)
}

/// The servers run no longer than this is held.
pub(crate) struct Running<'a>(pub(crate) &'a Workspace);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Err(error) = stop(self.0) {
            eprintln!("stores: {error}");
        }
    }
}

/// The variables of a server by name.
fn set<const N: usize>(pairs: [(&str, String); N]) -> Variables {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::server::SERVERS;

    #[test]
    fn every_server_has_a_name_of_its_own() {
        let mut names: Vec<&str> = SERVERS.iter().map(|server| server.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SERVERS.len());
    }
}
