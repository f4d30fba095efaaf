//! What the logs hold, read without our own replay, beside what the writers were told.

use super::driver::Told;
use crate::support::{Python, alone, integers, list};
use lakebed_storage::{Store, StoreOptions};
use lakebed_table::{ScanRequest, Table, TableFormat};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a log holds: the versions at which each id stands, and the ids that are live in the newest one, ascending.
#[derive(Debug, Default)]
struct Log {
    at: BTreeMap<i64, Vec<u64>>,
    live: Vec<i64>,
    versions: usize,
}

/// Audits one table; what is wrong fails the test.
pub(super) async fn audit(python: &Python, format: TableFormat, url: &str, told: &mut Told) {
    let log = match format {
        TableFormat::Delta => delta(python, url).await,
        TableFormat::Lance => lance(python, url).await,
    };
    told.unheard = agree(told, &log).unwrap_or_else(|wrong| panic!("{url}: {wrong}"));
    told.versions = log.versions;
}

/// Compares beliefs and log; answers how many commits stand unheard, or what is wrong.
fn agree(told: &Told, log: &Log) -> Result<usize, String> {
    let holds = |right: bool, wrong: &dyn Fn() -> String| if right { Ok(()) } else { Err(wrong()) };
    for (id, version) in &told.committed {
        let at = log.at.get(id).map(Vec::as_slice).unwrap_or_default();
        holds(at.len() == 1, &|| format!("the acknowledged commit of {id} stands at the versions {at:?}"))?;
        holds(version.is_none_or(|version| at == [version]), &|| format!("{id}: told {version:?}, stands at {at:?}"))?;
    }
    for id in &told.refused {
        holds(!log.at.contains_key(id), &|| format!("{id} was refused and stands at {:?}", log.at.get(id)))?;
    }
    for (id, at) in &log.at {
        holds(at.len() == 1, &|| format!("{id} stands at the versions {at:?}"))?;
        holds(told.tried.contains(id), &|| format!("nobody tried {id}, which stands at {at:?}"))?;
    }
    let all: Vec<i64> = log.at.keys().copied().collect();
    holds(log.live == all, &|| format!("live are {:?}, committed {all:?}", log.live))?;
    Ok(log.at.len() - told.committed.len())
}

/// The commits of the log as plain JSON, without checkpoints; then the rows as deltalake reads them, and as we do.
async fn delta(python: &Python, url: &str) -> Log {
    let store = lakebed_storage::open(url, &StoreOptions::new()).unwrap();
    let mut log = Log::default();
    while let Some(bytes) = store.get(&format!("_delta_log/{:020}.json", log.versions)).await.unwrap() {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        for action in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            assert!(action.get("remove").is_none(), "nobody removes: {action}");
            if let Some(add) = action.get("add") {
                let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
                assert_eq!(stats["numRecords"], 1);
                let id = stats["minValues"]["id"].as_i64().unwrap();
                log.at.entry(id).or_default().push(log.versions as u64);
            }
        }
        log.versions += 1;
    }
    assert_eq!(newest_commit(&*store).await, log.versions as u64 - 1, "no version is missing below the newest");

    let table = Table::open(url, &alone()).await.unwrap();
    assert_eq!(table.version().get(), log.versions as u64 - 1);
    let mut ours = Vec::new();
    for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
        let ids = batch.column_by_name("id").unwrap().as_any().downcast_ref::<arrow_array::Int64Array>().unwrap();
        ours.extend(ids.values().iter().copied());
    }
    ours.sort_unstable();
    log.live = if url.contains("://") {
        ours
    } else {
        let theirs = integers(&python.run("delta_read.py", &[url]).await["ids"]);
        assert_eq!(ours, theirs, "our rows and deltalake's");
        theirs
    };
    log
}

async fn newest_commit(store: &dyn Store) -> u64 {
    let mut newest = 0;
    let mut after = None;
    loop {
        let page = store.list("_delta_log", after.as_deref(), 1_000).await.unwrap();
        let Some(last) = page.last() else { return newest };
        after = Some(last.name.clone());
        let commits = page.iter().filter_map(|one| one.name.strip_prefix("_delta_log/")?.strip_suffix(".json"));
        let numbers = commits.filter(|name| name.len() == 20).filter_map(|name| name.parse().ok());
        newest = numbers.fold(newest, u64::max);
    }
}

/// The transactions and the newest version's files as pylance reads them, and its files as we do.
async fn lance(python: &Python, url: &str) -> Log {
    let read = python.run("lance_appended.py", &[url]).await;
    let mut log = Log::default();
    let mut named = BTreeMap::new();
    let mut ids = BTreeMap::new();
    for version in list(&read["versions"]) {
        log.versions += 1;
        assert_eq!(version["version"].as_u64(), Some(log.versions as u64));
        let uuid = version["uuid"].as_str().unwrap().to_owned();
        assert_eq!(ids.insert(uuid, log.versions), None, "a transaction stands in two versions");
        for path in list(&version["paths"]) {
            let path = path.as_str().unwrap();
            let text = version["mark"].as_str().or_else(|| path.strip_suffix(".lance")).unwrap();
            let id: i64 = text.parse().unwrap();
            log.at.entry(id).or_default().push(log.versions as u64);
            named.insert(path.to_owned(), id);
        }
    }
    let paths: Vec<&str> = list(&read["live"]).iter().map(|path| path.as_str().unwrap()).collect();
    log.live =
        paths.iter().map(|path| *named.get(*path).unwrap_or_else(|| panic!("no version appended {path}"))).collect();
    log.live.sort_unstable();

    let table = Table::open(url, &alone()).await.unwrap();
    assert_eq!(table.version().get(), log.versions as u64);
    let ours: Vec<String> = table.snapshot().fragments().into_iter().flat_map(|fragment| fragment.files).collect();
    assert_eq!(ours, paths, "our fragments and pylance's");
    log
}

/// Beliefs and a log of the ids 1 to 3 at those versions, with 4 refused and 3 unheard.
fn sound() -> (Told, Log) {
    let told = Told {
        tried: [1, 2, 3, 4, 5].into(),
        committed: [(1, Some(1)), (2, None)].into(),
        refused: [4].into(),
        ..Told::default()
    };
    (told, Log { at: (1..4).map(|id| (id, vec![id as u64])).collect(), live: vec![1, 2, 3], versions: 4 })
}

#[test]
fn the_audit_counts_what_landed_unheard() {
    let (told, log) = sound();
    assert_eq!(agree(&told, &log), Ok(1));
}

/// What is done to a sound account and a sound log.
type Damage = fn(&mut Told, &mut Log);

#[test]
fn the_audit_finds_every_kind_of_damage() {
    let damages: [(&str, Damage); 7] = [
        ("lost", |_, log| {
            log.at.remove(&2);
            log.live = vec![1, 3];
        }),
        ("lost later", |_, log| log.live = vec![1, 3]),
        ("doubled", |_, log| log.at.entry(3).or_default().push(4)),
        ("doubled rows", |_, log| log.live = vec![1, 2, 2, 3]),
        ("at another version", |_, log| log.at.entry(1).or_default()[0] = 9),
        ("refused and there", |told, _| told.refused.extend([3])),
        ("nobody's", |told, _| told.tried.retain(|id| *id != 3)),
    ];
    for (name, damage) in damages {
        let (mut told, mut log) = sound();
        damage(&mut told, &mut log);
        assert!(agree(&told, &log).is_err(), "{name}");
    }
}
