//! The simulated store: objects with the times at which they were written.

use bytes::Bytes;
use lakebed_commit::{Answer, Listed, ObjectName, Request};
use std::collections::BTreeMap;
use std::ops::Bound;

/// One object.
#[derive(Clone, Debug)]
struct Object {
    bytes: Bytes,
    modified_ms: u64,
}

/// Objects under names. Every request takes effect at one moment, in full.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    objects: BTreeMap<ObjectName, Object>,
    /// The store hands out names in any order; its client sorts them.
    shuffled: bool,
}

impl Store {
    pub(crate) const fn new(shuffled: bool) -> Self {
        Self { objects: BTreeMap::new(), shuffled }
    }

    pub(crate) fn get(&self, name: &ObjectName) -> Option<&Bytes> {
        self.objects.get(name).map(|object| &object.bytes)
    }

    pub(crate) fn contains(&self, name: &ObjectName) -> bool {
        self.objects.contains_key(name)
    }

    pub(crate) fn put(&mut self, name: ObjectName, bytes: Bytes, now_ms: u64) {
        self.objects.insert(name, Object { bytes, modified_ms: now_ms });
    }

    pub(crate) fn delete(&mut self, name: &ObjectName) -> bool {
        self.objects.remove(name).is_some()
    }

    /// Answers a read; `None` where the request is none.
    pub(crate) fn read(&self, request: &Request) -> Option<Answer> {
        match request {
            Request::Get(name) => Some(self.get(name).map_or(Answer::Absent, |bytes| Answer::Bytes(bytes.clone()))),
            Request::GetRange(name, range) => Some(self.get(name).map_or(Answer::Absent, |bytes| {
                let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(bytes.len());
                let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
                Answer::Bytes(bytes.slice(start..end))
            })),
            Request::List { prefix, after, limit } => Some(Answer::Names(self.list(prefix, after.as_ref(), *limit))),
            Request::Put(..) | Request::Create(..) | Request::Delete(_) | Request::Wait { .. } => None,
        }
    }

    /// A page in byte order. Where the store has no order, its client takes all names, sorts them and cuts the page.
    fn list(&self, prefix: &ObjectName, after: Option<&ObjectName>, limit: usize) -> Vec<Listed> {
        let folder = ObjectName::new(format!("{prefix}/"));
        let begin = match after {
            Some(after) if *after >= folder => Bound::Excluded(after),
            Some(_) | None => Bound::Included(&folder),
        };
        let inside = self.objects.range((begin, Bound::Unbounded));
        let inside = inside.take_while(|(name, _)| name.as_str().starts_with(folder.as_str()));
        let listed = |(name, object): (&ObjectName, &Object)| Listed {
            name: name.clone(),
            size_bytes: object.bytes.len() as u64,
            modified_ms: i64::try_from(object.modified_ms).unwrap_or(i64::MAX),
        };
        if !self.shuffled {
            return inside.take(limit).map(listed).collect();
        }
        let mut all: Vec<Listed> = inside.map(listed).collect();
        all.sort_by_key(|entry| crate::rng::mix(entry.size_bytes ^ entry.name.as_str().len() as u64));
        all.reverse();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.truncate(limit);
        all
    }
}
