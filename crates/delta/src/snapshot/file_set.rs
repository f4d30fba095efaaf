//! The files of a table at one version, sharing memory with the versions before it.

use crate::action::{Add, Remove};
use std::collections::HashMap;
use std::sync::Arc;

/// What the newest action about one file says.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Live(Arc<Add>),
    Gone(Arc<Remove>),
}

/// Some files, each once, in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    entries: Vec<(Arc<str>, Entry)>,
    places: HashMap<Arc<str>, usize>,
}

impl Layer {
    /// Takes the newer word about a file.
    pub(super) fn set(&mut self, key: Arc<str>, entry: Entry) {
        if let Some(slot) = self.places.get(&key).and_then(|place| self.entries.get_mut(*place)) {
            slot.1 = entry;
        } else {
            self.places.insert(Arc::clone(&key), self.entries.len());
            self.entries.push((key, entry));
        }
    }

    fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(*self.places.get(key)?).map(|(_, entry)| entry)
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
        for (key, entry) in &layer.entries {
            if let Some(Entry::Live(add)) = self.get(key) {
                num_files = num_files.saturating_sub(1);
                size_bytes = size_bytes.saturating_sub(size_of(add));
            }
            if let Entry::Live(add) = entry {
                num_files += 1;
                size_bytes = size_bytes.saturating_add(size_of(add));
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
            top.entries.iter().for_each(|(key, entry)| merged.set(Arc::clone(key), entry.clone()));
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
        match self.get(key)? {
            Entry::Live(add) => Some(add),
            Entry::Gone(_) => None,
        }
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.layers.iter().enumerate().flat_map(move |(depth, layer)| {
            let newer = self.layers.get(depth + 1..).unwrap_or(&[]);
            layer
                .entries
                .iter()
                .filter(move |(key, _)| newer.iter().all(|layer| layer.get(key).is_none()))
                .map(|(_, entry)| entry)
        })
    }

    /// The live files.
    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<Add>> {
        self.entries().filter_map(|entry| match entry {
            Entry::Live(add) => Some(add),
            Entry::Gone(_) => None,
        })
    }

    /// The files that were taken out and that the log still remembers.
    pub(super) fn tombstones(&self) -> impl Iterator<Item = &Arc<Remove>> {
        self.entries().filter_map(|entry| match entry {
            Entry::Live(_) => None,
            Entry::Gone(remove) => Some(remove),
        })
    }
}

fn size_of(add: &Add) -> u64 {
    u64::try_from(add.size).unwrap_or(0)
}
