//! `lakebed probe`: whether a store keeps the promise that commits stand on.

use crate::args::{Global, ProbeArgs};
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::{output, progress};
use bytes::Bytes;
use lakebed_storage::{CreateProbe, Indexed, PROBE_FOLDER, Store, StoreError, probe_create, probe_name, probe_race};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What was found.
struct Probed {
    root: String,
    create: CreateProbe,
    /// How many won each round of the race.
    winners: Vec<usize>,
    /// Whether each round left the bytes of its winner.
    kept: bool,
    list_sees_new: bool,
    /// How long each kind of request took, by its name.
    latency_ms: BTreeMap<&'static str, f64>,
}

pub(crate) async fn run(args: ProbeArgs, global: &Global) -> Result<Exit, CliError> {
    let made_here = !Path::new(&args.url).exists();
    let (url, open) = global.locate(&args.url)?;
    // What is tried out here must not be refused before.
    let store = lakebed_storage::open(&url, &open.store.clone().without_probe())?;
    let store: Arc<dyn Store> = match open.index {
        Some(index) => Arc::new(Indexed::new(store, index)),
        None => store,
    };
    let probed = probe(&store, &args).await;
    remove_folders(Path::new(&args.url), made_here);
    let probed = probed?;
    if global.json {
        output::document(&probed.document())?;
    } else {
        output::text(&probed.text(args.clients))?;
    }
    Ok(if probed.holds() { Exit::Done } else { Exit::Error })
}

async fn probe(store: &Arc<dyn Store>, args: &ProbeArgs) -> Result<Probed, StoreError> {
    let create = probe_create(&**store, &probe_name()).await?;
    let (mut winners, mut kept) = (Vec::new(), true);
    let bar = progress::bar(u64::from(args.rounds), "rounds");
    for _ in 0..args.rounds {
        let race = probe_race(store, &probe_name(), usize::try_from(args.clients).unwrap_or(usize::MAX)).await?;
        winners.push(race.winners);
        kept &= race.kept;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (list_sees_new, latency_ms) = one_by_one(&**store).await?;
    Ok(Probed { root: store.root().to_owned(), create, winners, kept, list_sees_new, latency_ms })
}

/// One request of each kind, timed, and whether a listing right after a create shows the object.
async fn one_by_one(store: &dyn Store) -> Result<(bool, BTreeMap<&'static str, f64>), StoreError> {
    let name = probe_name();
    let mut latency_ms = BTreeMap::new();
    let mut since = clock::instant();
    let mut lap = |what| {
        latency_ms.insert(what, (clock::ms(since.elapsed()) * 1_000.0).round() / 1_000.0);
        since = clock::instant();
    };
    drop(store.create(&name, Bytes::from_static(b"one")).await?);
    lap("create");
    let listed = store.list(PROBE_FOLDER, None, usize::MAX).await?;
    lap("list");
    store.get(&name).await?;
    lap("get");
    store.put(&name, Bytes::from_static(b"two")).await?;
    lap("put");
    store.delete(&name).await?;
    lap("delete");
    Ok((listed.iter().any(|listed| listed.name == name), latency_ms))
}

/// The folder of the objects stays behind on a local disk, and the place itself where the probe made it.
fn remove_folders(root: &Path, made_here: bool) {
    let _ = std::fs::remove_dir(root.join(PROBE_FOLDER));
    if made_here {
        let _ = std::fs::remove_dir(root);
    }
}

impl Probed {
    fn creates_atomically(&self) -> bool {
        self.create == CreateProbe::Kept && self.kept && self.winners.iter().all(|winners| *winners <= 1)
    }

    fn holds(&self) -> bool {
        self.creates_atomically() && self.list_sees_new
    }

    fn document(&self) -> Value {
        json!({
            "root": self.root,
            "create_if_absent": self.creates_atomically(),
            "race_winners": self.winners,
            "list_sees_new": self.list_sees_new,
            "latency_ms": self.latency_ms,
        })
    }

    fn text(&self, clients: u32) -> String {
        let second = match self.create {
            CreateProbe::Kept => "a second create of an object is refused",
            CreateProbe::Broken => "a second create of an object is taken, and replaces it",
            CreateProbe::Unclear => "a second create of an object was not answered clearly",
        };
        let bad = self.winners.iter().filter(|winners| **winners > 1).count();
        let listing = if self.list_sees_new { "shows" } else { "does not show" };
        let latencies: Vec<String> = self.latency_ms.iter().map(|(what, ms)| format!("{what} {ms:.2}")).collect();
        let verdict = if self.holds() {
            "commits are safe here"
        } else {
            "commits would be lost here; keep them in an external index (--index), or use another store (docs/stores.md)"
        };
        format!(
            "{}\n{second}\n{} of {clients} clients for one object: {bad} with several winners\n\
             a listing {listing} what was just created\nmilliseconds: {}\n{verdict}\n",
            self.root,
            output::count(self.winners.len() as u64, "race"),
            latencies.join(", "),
        )
    }
}
