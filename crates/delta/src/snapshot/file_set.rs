//! The files of a table at one version, sharing memory with the versions before it.

use super::entry::{Entry, KeyHash, Live};
use crate::action::{Add, Remove};
use hashbrown::HashTable;
use std::sync::Arc;

/// Some files, each once, in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    entries: Vec<Entry>,
    /// Where in `entries` a file stands, by the hash of its key.
    places: HashTable<Place>,
}

/// A place in the entries of a layer, with the hash of the key that stands there: growing and looking past others read no entry.
#[derive(Clone, Copy, Debug)]
struct Place {
    hash: KeyHash,
    at: u32,
}

impl Layer {
    /// Makes room for so many more files.
    pub(super) fn reserve(&mut self, more: usize) {
        self.entries.reserve(more);
        self.places.reserve(more, |place| place.hash.spread());
    }

    /// Takes the newer word about a file.
    pub(super) fn set(&mut self, entry: Entry) {
        let hash = entry.hash();
        if let Some(at) = self.find(hash, || entry.key()) {
            if let Some(slot) = self.entries.get_mut(at) {
                *slot = entry;
            }
            return;
        }
        // So many files no memory holds.
        let Ok(at) = u32::try_from(self.entries.len()) else { return };
        self.places.insert_unique(hash.spread(), Place { hash, at }, |place| place.hash.spread());
        self.entries.push(entry);
    }

    fn find<'k>(&self, hash: KeyHash, key: impl Fn() -> &'k str) -> Option<usize> {
        let is = |place: &Place| {
            place.hash == hash && self.entries.get(place.at as usize).is_some_and(|entry| entry.key() == key())
        };
        self.places.find(hash.spread(), is).map(|place| place.at as usize)
    }

    fn get<'k>(&self, hash: KeyHash, key: impl Fn() -> &'k str) -> Option<&Entry> {
        self.entries.get(self.find(hash, key)?)
    }

    fn knows(&self, entry: &Entry) -> bool {
        self.find(entry.hash(), || entry.key()).is_some()
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
            if let Some(live) = self.get(entry.hash(), || entry.key()).and_then(Entry::as_live) {
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

    fn get<'k>(&self, hash: KeyHash, key: impl Fn() -> &'k str) -> Option<&Entry> {
        self.layers.iter().rev().find_map(|layer| layer.get(hash, &key))
    }

    /// The live file of this key.
    pub(super) fn live(&self, key: &str) -> Option<&Arc<Add>> {
        self.get(KeyHash::of(key), || key)?.as_live().map(Live::add)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.layers.iter().enumerate().flat_map(move |(depth, layer)| {
            let newer = self.layers.get(depth + 1..).unwrap_or(&[]);
            layer.entries.iter().filter(move |entry| !newer.iter().any(|layer| layer.knows(entry)))
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
