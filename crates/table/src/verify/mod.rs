//! Whether a table is what its log says: every file there, every account of its state the same.

mod accounts;
mod files;
mod lance;
mod log;

use crate::load::list_all;
use crate::snapshot::Snapshot;
use crate::{Table, TableError};
use files::Storage;
use lakebed_naming::Version;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong, in one word: `missing`, `size`, `vector`, `log`, `checkpoint`, `checksum`, `id`, `time`, `rows`, `version`.
    pub kind: &'static str,
    /// The object, relative to the table's root, or the id.
    pub object: String,
    /// The version that shows it.
    pub version: Option<Version>,
    /// What is wrong with it.
    pub problem: String,
    /// What it would take.
    pub remedy: String,
}

/// What a look at the whole table came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The oldest and the newest version that were looked at.
    pub versions: Option<(Version, Version)>,
    /// Objects whose presence and size were checked.
    pub objects_checked: u64,
    /// Checkpoints that were held against the log.
    pub checkpoints_checked: u64,
    /// Checksum files that were held against the log.
    pub checksums_checked: u64,
    /// What is wrong. None: the table is sound.
    pub findings: Vec<Finding>,
    /// What is worth knowing and no fault.
    pub notes: Vec<String>,
    /// Objects that no version names, and their sizes in bytes.
    pub strays: Vec<(String, u64)>,
}

impl Verified {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    fn wrong(&mut self, kind: &'static str, object: &str, version: Option<Version>, problem: String, remedy: &str) {
        self.findings.push(Finding { kind, object: object.to_owned(), version, problem, remedy: remedy.to_owned() });
    }
}

impl Table {
    /// Looks at every version that the log still gives: that all files it names stand with the right size, that log, checkpoints
    /// and checksum files tell one story, that no id stands twice, and that times grow. `step` is called once for each version.
    ///
    /// # Errors
    /// The store cannot be asked. What is wrong with the table is no error but a finding.
    pub async fn verify(&self, mut step: impl FnMut(Version)) -> Result<Verified, TableError> {
        let mut newest = self.clone();
        newest.refresh().await?;
        let listed = list_all(&**self.store(), "", None).await?;
        let mut verified = Verified::default();
        let storage = Storage::of(&listed);
        match &newest.snapshot {
            Snapshot::Delta(held) => {
                let seen = log::walk(&newest, held, &listed, &mut verified, &mut step).await?;
                files::check(&newest, held, &seen, &storage, &mut verified).await?;
                files::strays(&seen, &storage, &listed, &mut verified);
            }
            Snapshot::Lance(held) => lance::check(&newest, held, &storage, &listed, &mut verified, &mut step).await?,
        }
        Ok(verified)
    }
}
