//! RESTORE: a new version that equals an old one.
//!
//! Source: what Spark's RESTORE writes. Files that the old version has and the newest has not come back, with their row ids and
//! deletion vectors as they were; the others go. The protocol never goes down.

use crate::OpsError;
use lakebed_delta::Snapshot;
use lakebed_delta::action::{Action, Add, DomainMetadata, Metadata, Protocol};
use lakebed_naming::delta::{DataPath, DeletionVectorName};
use std::collections::BTreeSet;

/// The domain in which the row-id high-water mark stands: ids are never given out twice.
const ROW_TRACKING_DOMAIN: &str = "delta.rowTracking";
/// The highest id that a column ever had: it never goes down either.
const COLUMN_ID_MAX: &str = "delta.columnMapping.maxColumnId";

/// What a RESTORE commits.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// The actions, without `commitInfo`. None: the newest version equals the old one already.
    pub actions: Vec<Action>,
    /// What it counted, by Delta's names.
    pub metrics: Vec<(String, String)>,
    /// The objects that come back, relative to the table's root: look whether they are still there.
    pub objects: BTreeSet<String>,
}

/// Plans a RESTORE of `newest` to `old`, both of one table.
///
/// # Errors
/// The two are not versions of one table, or their protocols list features that no protocol can join.
pub fn restore(newest: &Snapshot, old: &Snapshot, now_ms: i64) -> Result<Restored, OpsError> {
    let mut actions: Vec<Action> = Vec::new();
    actions.extend(joined(newest.protocol(), old.protocol()).map(Action::Protocol));
    let metadata = metadata(newest, old);
    if metadata != *newest.metadata() {
        actions.push(Action::Metadata(metadata));
    }
    actions.extend(domains(newest, old).into_iter().map(Action::Domain));
    let (mut gone, mut back, mut objects) = (Sum::default(), Sum::default(), BTreeSet::new());
    for add in newest.files().filter(|add| old.file(&add.key()).is_none()) {
        gone.count(add.size);
        actions.push(Action::Remove(add.to_remove(now_ms, true)));
    }
    for add in old.files().filter(|add| newest.file(&add.key()).is_none()) {
        back.count(add.size);
        // Of files outside of the table nobody here knows whether they are there.
        if let Ok(DataPath::Relative(name)) = DataPath::decode(&add.path) {
            objects.insert(name);
        }
        objects.extend(vector_object(add));
        actions.push(Action::Add(Add { data_change: true, ..(**add).clone() }));
    }
    let metric = |name: &str, number: String| (name.to_owned(), number);
    let metrics = vec![
        metric("numRestoredFiles", back.files.to_string()),
        metric("removedFilesSize", gone.size_bytes.to_string()),
        metric("numRemovedFiles", gone.files.to_string()),
        metric("restoredFilesSize", back.size_bytes.to_string()),
        metric("numOfFilesAfterRestore", old.num_files().to_string()),
        metric("tableSizeAfterRestore", old.size_bytes().to_string()),
    ];
    Ok(Restored { actions, metrics, objects })
}

#[derive(Default)]
struct Sum {
    files: u64,
    size_bytes: i64,
}

impl Sum {
    fn count(&mut self, size_bytes: i64) {
        self.files += 1;
        self.size_bytes = self.size_bytes.saturating_add(size_bytes);
    }
}

/// The file of a deletion vector below the table's root.
fn vector_object(add: &Add) -> Option<String> {
    let vector = add.deletion_vector.as_ref().filter(|vector| vector.storage_type == "u")?;
    DeletionVectorName::from_descriptor(&vector.path_or_inline_dv).ok().map(|name| name.path())
}

/// The newest protocol with what the old one needs on top; `None` where it has everything.
fn joined(newest: &Protocol, old: &Protocol) -> Option<Protocol> {
    let union = |ours: &Option<Vec<String>>, theirs: &Option<Vec<String>>| -> Vec<String> {
        let all: BTreeSet<&String> = ours.iter().chain(theirs).flatten().collect();
        all.into_iter().cloned().collect()
    };
    let lacks = |feature: &&String| !newest.supports(feature);
    let missing = old.writer_features.iter().chain(&old.reader_features).flatten().any(|feature| lacks(&feature));
    let higher =
        old.min_reader_version > newest.min_reader_version || old.min_writer_version > newest.min_writer_version;
    if !missing && !higher {
        return None;
    }
    let min_reader_version = newest.min_reader_version.max(old.min_reader_version);
    let min_writer_version = newest.min_writer_version.max(old.min_writer_version);
    Some(Protocol {
        min_reader_version,
        min_writer_version,
        reader_features: (min_reader_version == lakebed_delta::READER_VERSION_MAX)
            .then(|| union(&newest.reader_features, &old.reader_features)),
        writer_features: (min_writer_version == lakebed_delta::WRITER_VERSION_MAX)
            .then(|| union(&newest.writer_features, &old.writer_features)),
    })
}

/// The old schema and properties; what counts upwards stays up.
fn metadata(newest: &Snapshot, old: &Snapshot) -> Metadata {
    let mut metadata = old.metadata().clone();
    let highest = |snapshot: &Snapshot| snapshot.properties().get(COLUMN_ID_MAX)?.parse::<i64>().ok();
    if let (Some(now), Some(then)) = (highest(newest), highest(old))
        && now > then
    {
        metadata.configuration.set(COLUMN_ID_MAX, Some(&now.to_string()));
    }
    metadata
}

/// The documents that differ, as they were.
fn domains(newest: &Snapshot, old: &Snapshot) -> Vec<DomainMetadata> {
    let then = old.domain_metadata();
    let now = newest.domain_metadata();
    let restored =
        then.iter().filter(|(name, domain)| now.get(*name) != Some(domain)).map(|(_, domain)| domain.clone());
    let gone = now.iter().filter(|(name, _)| !then.contains_key(*name));
    let gone = gone.map(|(_, domain)| DomainMetadata { removed: true, ..domain.clone() });
    restored.chain(gone).filter(|domain| domain.domain != ROW_TRACKING_DOMAIN).collect()
}
