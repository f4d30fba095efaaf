//! The files of a table at one version, sharing memory with the versions before it.

use super::entry::{Entry, Live};
use crate::action::{Add, Remove};
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Some files, each once, in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    entries: Vec<Entry>,
    /// Where in `entries` a file stands, by its key.
    places: HashTable<u32>,
    hasher: RandomState,
}

impl Layer {
    /// Takes the newer word about a file.
    pub(super) fn set(&mut self, entry: Entry) {
        let hash = self.hasher.hash_one(entry.key());
        let Self { entries, places, hasher } = self;
        let of = |place: &u32| entries.get(*place as usize).map_or("", Entry::key);
        if let Some(place) = places.find(hash, |place| of(place) == entry.key()) {
            let place = *place as usize;
            if let Some(slot) = entries.get_mut(place) {
                *slot = entry;
            }
            return;
        }
        // So many files no memory holds.
        let Ok(place) = u32::try_from(entries.len()) else { return };
        places.insert_unique(hash, place, |place| hasher.hash_one(of(place)));
        entries.push(entry);
    }

    fn get(&self, key: &str) -> Option<&Entry> {
        let hash = self.hasher.hash_one(key);
        let of = |place: &u32| self.entries.get(*place as usize);
        let place = self.places.find(hash, |place| of(place).is_some_and(|entry| entry.key() == key))?;
        of(place)
    }
}

/// The files of one version: layers, newest last, of which a newer one overrules an older one.
///
/// A commit adds a small layer and shares the others with the version before it. A layer that has grown to half of the one
/// beneath is merged into it, so there are logarithmically many, and each file is copied logarithmically often.
#[derive(Clone, Debug, Default)]
pub(super) struct FileSet {
    layers: Vec<Arc<Layer>>,
    pub(super) num_files: u64,
    pub(super) size_bytes: u64,
}

impl FileSet {
    /// The set with a newer layer on top.
    pub(super) fn with(&self, layer: Layer) -> Self {
        let (mut num_files, mut size_bytes) = (self.num_files, self.size_bytes);
        for entry in &layer.entries {
            if let Some(live) = self.get(entry.key()).and_then(Entry::as_live) {
                num_files = num_files.saturating_sub(1);
                size_bytes = size_bytes.saturating_sub(size_of(live));
            }
            if let Some(live) = entry.as_live() {
                num_files += 1;
                size_bytes = size_bytes.saturating_add(size_of(live));
            }
        }
        let mut layers = self.layers.clone();
        if !layer.entries.is_empty() {
            layers.push(Arc::new(layer));
        }
        while let [.., below, top] = layers.as_slice()
            && top.entries.len().saturating_mul(2) >= below.entries.len()
        {
            let mut merged = Layer::clone(below);
            top.entries.iter().for_each(|entry| merged.set(entry.clone()));
            layers.truncate(layers.len() - 2);
            layers.push(Arc::new(merged));
        }
        Self { layers, num_files, size_bytes }
    }

    fn get(&self, key: &str) -> Option<&Entry> {
        self.layers.iter().rev().find_map(|layer| layer.get(key))
    }

    /// The live file of this key.
    pub(super) fn live(&self, key: &str) -> Option<&Arc<Add>> {
        self.get(key)?.as_live().map(Live::add)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.layers.iter().enumerate().flat_map(move |(depth, layer)| {
            let newer = self.layers.get(depth + 1..).unwrap_or(&[]);
            layer.entries.iter().filter(move |entry| newer.iter().all(|layer| layer.get(entry.key()).is_none()))
        })
    }

    /// The live files, as far as they are told without making their actions.
    pub(super) fn told(&self) -> impl Iterator<Item = &Live> {
        self.entries().filter_map(Entry::as_live)
    }

    /// The live files.
    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<Add>> {
        self.told().map(Live::add)
    }

    /// The files that were taken out and that the log still remembers.
    pub(super) fn tombstones(&self) -> impl Iterator<Item = &Arc<Remove>> {
        self.entries().filter_map(Entry::as_gone)
    }
}

fn size_of(live: &Live) -> u64 {
    u64::try_from(live.facts().size).unwrap_or(0)
}
