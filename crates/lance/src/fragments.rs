//! The fragments of a version, shared with the versions before it.
//!
//! A manifest lists every fragment, and most commits only add to the list. So the list of a version that we build is that of the
//! version before and what was added: nothing is copied, and the bytes that say so in a manifest are those of before with more
//! behind them. Whoever asks for the list as one slice makes it one, once.

use crate::proto::table::DataFragment;
use crate::proto::table::data_fragment::{CreatedAtVersionSequence, LastUpdatedAtVersionSequence, RowIdSequence};
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// From so many additions on, the list is made one piece again.
const RUNS_MAX: usize = 256;

/// In place of a field id: the field is no longer read from this file.
pub(crate) const TOMBSTONE: i32 = -2;

/// The fragments of a version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fragments {
    base: Arc<Vec<DataFragment>>,
    runs: Vec<Arc<[DataFragment]>>,
    whole: OnceLock<Arc<Vec<DataFragment>>>,
    traits: Traits,
    encoded: Option<Encoded>,
}

/// How the first fragments stand in a manifest: fields one after another, each with its key.
#[derive(Clone, Debug)]
struct Encoded {
    bytes: Bytes,
    fragments: usize,
}

impl Fragments {
    pub(crate) fn new(fragments: Vec<DataFragment>) -> Self {
        let traits = Traits::of(&fragments);
        Self { base: Arc::new(fragments), traits, ..Self::default() }
    }

    /// With the fields that stand for all of them in a manifest.
    pub(crate) fn with_encoded(self, bytes: Bytes) -> Self {
        let fragments = self.len();
        Self { encoded: Some(Encoded { bytes, fragments }), ..self }
    }

    /// What is derived from them.
    pub(crate) const fn traits(&self) -> &Traits {
        &self.traits
    }

    pub(crate) fn len(&self) -> usize {
        self.base.len() + self.runs.iter().map(|run| run.len()).sum::<usize>()
    }

    /// All of them as one slice.
    pub(crate) fn all(&self) -> &[DataFragment] {
        if self.runs.is_empty() { &self.base } else { self.whole() }
    }

    fn whole(&self) -> &Arc<Vec<DataFragment>> {
        self.whole.get_or_init(|| Arc::new(self.pieces().flatten().cloned().collect()))
    }

    fn pieces(&self) -> impl Iterator<Item = &[DataFragment]> {
        std::iter::once(self.base.as_slice()).chain(self.runs.iter().map(|run| &run[..]))
    }

    pub(crate) fn get(&self, id: u64) -> Option<&DataFragment> {
        if !self.traits.ascending {
            // Old writers left fragments in any order.
            return self.pieces().flatten().find(|fragment| fragment.id == id);
        }
        let piece = match self.runs.partition_point(|run| run.first().is_some_and(|first| first.id <= id)) {
            0 => self.base.as_slice(),
            after => self.runs.get(after - 1)?,
        };
        piece.binary_search_by_key(&id, |fragment| fragment.id).ok().and_then(|at| piece.get(at))
    }

    /// Whether these can follow as they are: no id is out of order, and nothing in either is to be put right first.
    pub(crate) fn can_be_followed_by(&self, new: &[DataFragment]) -> bool {
        let added = Traits::of(new);
        self.traits.is_tidy()
            && added.is_tidy()
            && new.first().is_none_or(|first| self.traits.greatest < Some(first.id))
    }

    /// These with new ones behind them.
    pub(crate) fn followed_by(self, new: Vec<DataFragment>) -> Self {
        if new.is_empty() {
            return self;
        }
        let traits = self.traits.and(&Traits::of(&new), new.first());
        let (base, mut runs) = match self.whole.get() {
            Some(whole) => (Arc::clone(whole), Vec::new()),
            None if self.runs.len() >= RUNS_MAX => (Arc::clone(self.whole()), Vec::new()),
            None => (self.base, self.runs),
        };
        runs.push(new.into());
        Self { base, runs, whole: OnceLock::new(), traits, encoded: self.encoded }
    }

    /// The fields that are known to stand for the first of them, and the fragments after those.
    pub(crate) fn to_encode(&self) -> (&[u8], Vec<&[DataFragment]>) {
        let (bytes, mut known) =
            self.encoded.as_ref().map_or((&[][..], 0), |first| (&first.bytes[..], first.fragments));
        let rest = self.pieces().filter_map(|piece| {
            let (_, rest) = piece.split_at(known.min(piece.len()));
            known -= piece.len() - rest.len();
            (!rest.is_empty()).then_some(rest)
        });
        let rest = rest.collect();
        (bytes, rest)
    }
}

/// What is derived from fragments.
#[derive(Clone, Debug)]
pub(crate) struct Traits {
    /// Each id is greater than the one before.
    pub(crate) ascending: bool,
    /// The greatest id.
    pub(crate) greatest: Option<u64>,
    /// Some fragment has a deletion file.
    pub(crate) deletion_files: bool,
    /// Some fragment has cells that overlays replace.
    pub(crate) overlays: bool,
    /// Row ids or row versions of some fragment stand in a data file.
    pub(crate) spilled_lineage: bool,
    /// The first fragment without row ids.
    pub(crate) without_row_ids: Option<u64>,
    /// Some fragment has a data file of which no field is read, or more deleted rows than rows.
    untidy: bool,
}

impl Default for Traits {
    /// Those of no fragments.
    fn default() -> Self {
        Self::of(&[])
    }
}

impl Traits {
    fn of(fragments: &[DataFragment]) -> Self {
        Self {
            ascending: fragments.is_sorted_by(|a, b| a.id < b.id),
            greatest: fragments.iter().map(|fragment| fragment.id).max(),
            deletion_files: fragments.iter().any(|fragment| fragment.deletion_file.is_some()),
            overlays: fragments.iter().any(|fragment| !fragment.overlays.is_empty()),
            spilled_lineage: fragments.iter().any(spills_lineage),
            without_row_ids: fragments
                .iter()
                .find(|fragment| fragment.row_id_sequence.is_none())
                .map(|fragment| fragment.id),
            untidy: fragments.iter().any(|fragment| has_dead_files(fragment) || deletes_too_much(fragment)),
        }
    }

    /// Those of these fragments and others behind them, of which `first` is the first.
    fn and(&self, others: &Self, first: Option<&DataFragment>) -> Self {
        Self {
            ascending: self.ascending
                && others.ascending
                && first.is_none_or(|first| self.greatest.is_none_or(|greatest| greatest < first.id)),
            greatest: self.greatest.max(others.greatest),
            deletion_files: self.deletion_files || others.deletion_files,
            overlays: self.overlays || others.overlays,
            spilled_lineage: self.spilled_lineage || others.spilled_lineage,
            without_row_ids: self.without_row_ids.or(others.without_row_ids),
            untidy: self.untidy || others.untidy,
        }
    }

    /// Whether they may stand in the next manifest as they are.
    const fn is_tidy(&self) -> bool {
        self.ascending && !self.untidy
    }
}

/// Whether row ids or row versions of the fragment stand in a data file.
const fn spills_lineage(fragment: &DataFragment) -> bool {
    matches!(fragment.row_id_sequence, Some(RowIdSequence::ColumnRowIds(_)))
        || matches!(
            fragment.last_updated_at_version_sequence,
            Some(LastUpdatedAtVersionSequence::ColumnLastUpdatedAtVersions(_))
        )
        || matches!(fragment.created_at_version_sequence, Some(CreatedAtVersionSequence::ColumnCreatedAtVersions(_)))
}

/// Whether some data file is one of which no field is read any more.
fn has_dead_files(fragment: &DataFragment) -> bool {
    fragment.files.iter().any(|file| is_dead(&file.fields))
}

/// Whether a data file with these fields is one of which no field is read any more.
pub(crate) fn is_dead(fields: &[i32]) -> bool {
    !fields.is_empty() && fields.iter().all(|field| *field == TOMBSTONE)
}

/// Whether more rows are deleted than there are.
pub(crate) fn deletes_too_much(fragment: &DataFragment) -> bool {
    let deleted = fragment.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows);
    fragment.physical_rows > 0 && deleted > fragment.physical_rows
}
