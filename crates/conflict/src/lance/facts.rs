//! What only Lance has, typed, without its wire form.

use crate::lance::KeyFilter;
use lakebed_transaction::{Footprint, RowSet, UnitId, UnitSet};
use std::sync::Arc;

/// What one Lance transaction does, as far as the rules look at it.
///
/// The default does nothing. Fragments are in [`LanceFacts::footprint`]: `updated_units` are the fragments that stay and
/// change (a Delete's and an Update's updated fragments, the targets of a DataReplacement or DataOverlay),
/// `removed_units` those that go (removed whole, or the sources of a Rewrite), `added_units` the new ones, `rows` the
/// physical rows that ours deletes or moves. Everything else here comes from the transaction's message, but for what is
/// said to be known to the writer alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanceFacts {
    /// Reads and writes in neutral terms.
    pub footprint: Footprint,
    /// Ours only: `footprint.rows` names every row that a Delete or Update takes out of each fragment that it updates or
    /// removes, so that a rebase can be decided by rows. Never in a message.
    pub affected_rows_known: bool,
    /// The data files of the updated fragments as the transaction leaves them, ascending by fragment.
    pub files_written: Vec<(u64, FileList)>,
    /// Ours only: the data files, at the version that was read, of every fragment that it updates or removes,
    /// ascending by fragment.
    pub files_read: Vec<(u64, FileList)>,
    /// Whether values were written that were checked against the nullability of the schema that was read (Append,
    /// Update, DataReplacement, DataOverlay).
    pub relies_on_nullability: bool,
    /// The new schema of an Overwrite, Merge or Project.
    pub schema: Option<SchemaChange>,
    /// What an Update says beyond its fragments.
    pub update: Option<UpdateFacts>,
    /// Index entries that are put in by a CreateIndex.
    pub new_indices: Vec<IndexFacts>,
    /// Index entries that are taken out by a CreateIndex.
    pub removed_indices: Vec<IndexFacts>,
    /// Groups of a Rewrite.
    pub rewrite: Option<RewriteFacts>,
    /// Whether the table's fragment-reuse index holds tagged transitions at the version that this side was built on.
    pub tagged_history: bool,
    /// Whether a CreateIndex only trims a tagged history of fragment reuse.
    pub trims_history: bool,
    /// A DataReplacement's new files: fragment, and the ids of the fields in the file.
    pub replacements: Vec<(u64, Vec<i64>)>,
    /// A DataOverlay's cells.
    pub overlays: Vec<OverlayFacts>,
    /// Maps that are changed (an Overwrite's configuration stands here too).
    pub config: ConfigFacts,
    /// Generations of memtable shards that this transaction brings in: an Update's, an UpdateMemWalState's, or those in
    /// the MemWAL entry that a CreateIndex puts in.
    pub shards: Vec<(ShardId, u64)>,
    /// Whether some of the shards could not be read, so that any shard of the other side may be among them.
    pub shards_unknown: bool,
    /// Base paths that are added.
    pub bases: Vec<BaseFacts>,
    /// The version that a Restore makes current.
    pub restore_to: Option<u64>,
    /// Landed only: fields of the version before that are gone in the version that it made, or have another name, type or parent
    /// there, or may not be NULL any more. All of them where values must be stored in another form since. Filled where both
    /// versions are at hand.
    pub fields_changed: Vec<i64>,
    /// Landed only: whether it changed the list of fields in any way. Filled where both versions are at hand.
    pub schema_changed: bool,
    /// Ours only: the fields whose values it wrote, by which it looked for rows, which it indexes, or whose metadata it changes.
    /// `None`: any.
    pub fields_used: Option<Vec<i64>>,
    /// Ours only: whether it brings the schema that it read, with its metadata, back as the new one.
    pub keeps_schema: bool,
}

/// The data files of one fragment, compared as a whole: equal exactly if every file has the same path, fields, columns,
/// format version, size and base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileList(Arc<[u8]>);

impl FileList {
    /// The list whose unambiguous encoding this is; which encoding does not matter as long as it is always the same.
    #[must_use]
    pub fn of(encoding: &[u8]) -> Self {
        Self(Arc::from(encoding))
    }
}

/// A set of fragment ids, made for the coverage of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FragmentSet(RowSet);

impl FragmentSet {
    /// Whether the fragment is in the set.
    #[must_use]
    pub fn contains(&self, fragment: u64) -> bool {
        self.0.contains(fragment)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first fragment of `units` that is in the set.
    #[must_use]
    pub fn first_of(&self, units: &UnitSet) -> Option<UnitId> {
        units.as_slice().iter().find(|unit| matches!(unit, UnitId::Fragment(id) if self.contains(*id))).cloned()
    }
}

impl IndexFacts {
    /// Whether rows of the fragment may be in the index: it covers it, or does not say what it covers.
    #[must_use]
    pub fn may_cover(&self, fragment: u64) -> bool {
        self.coverage.as_ref().is_none_or(|coverage| coverage.contains(fragment))
    }
}

impl FromIterator<u64> for FragmentSet {
    fn from_iter<I: IntoIterator<Item = u64>>(fragments: I) -> Self {
        Self(fragments.into_iter().collect())
    }
}

/// Who replaces the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOrigin {
    /// All fragments are new as well.
    Overwrite,
    /// Columns are added or rewritten.
    Merge,
    /// Columns are dropped, renamed or get another nullability.
    Project,
}

/// A schema that takes the place of the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaChange {
    /// The operation.
    pub origin: SchemaOrigin,
    /// The ids of all fields in the new schema, nested ones too.
    pub remaining: Vec<i64>,
    /// Fields of the schema that this side was built on that are gone or have another type.
    pub lost: Vec<i64>,
    /// The writer's promise that no field that was there becomes less nullable. Always true for an Overwrite.
    pub preserves_nullability: bool,
}

/// What an Update wrote anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateMode {
    /// Whole rows, moved to new fragments.
    #[default]
    RewriteRows,
    /// Some columns, in the same fragments.
    RewriteColumns,
}

/// What an Update says beyond its fragments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateFacts {
    /// Rows or columns.
    pub mode: UpdateMode,
    /// Ids of the fields whose values were written anew.
    pub fields_modified: Vec<i64>,
    /// The keys of rows that it may have inserted, which must not have been inserted by another.
    pub inserted_rows: Option<KeyFilter>,
}

/// What an index entry is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexRole {
    /// Answers queries.
    #[default]
    Regular,
    /// Answers queries by n-grams; its entries cannot follow a deferred remap.
    NGram,
    /// `__lance_frag_reuse`: where rows of compacted fragments went.
    FragmentReuse,
    /// `__lance_mem_wal`: state of memtable shards.
    MemWal,
}

/// One entry of the index list: a segment of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexFacts {
    /// The name; segments of one index share it.
    pub name: Arc<str>,
    /// The segment's id.
    pub uuid: [u8; 16],
    /// Ids of key fields and covering fields.
    pub fields: Vec<i64>,
    /// Fragments whose rows are in the index; `None` where the entry does not say.
    pub coverage: Option<FragmentSet>,
    /// What it is for.
    pub role: IndexRole,
    /// Whether it stores stable row ids instead of addresses (only on tables that have them).
    pub stores_row_ids: bool,
}

/// What a Rewrite says beyond its fragments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RewriteFacts {
    /// Its groups, each rewritten on its own.
    pub groups: Vec<RewriteGroup>,
    /// Ours only: the remap of indices is left to the fragment-reuse index, which this commit extends. Never in a
    /// message.
    pub extends_reuse_index: bool,
    /// Index entries that leave because the rewrite carried them over to new ones, by id.
    pub remapped: Vec<[u8; 16]>,
}

/// Fragments that were rewritten together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RewriteGroup {
    /// The sources, in order.
    pub old: Vec<u64>,
    /// The results, in order.
    pub new: Vec<u64>,
    /// Landed only: the newest fragment-reuse index records where the group's rows went.
    pub recorded: bool,
    /// The group folded overlays into its results, and an index cannot be withdrawn from the cells concerned.
    pub folds_overlays: bool,
}

/// Cells of one field of one fragment that an overlay covers.
#[derive(Clone, Debug, PartialEq)]
pub struct OverlayFacts {
    /// The fragment.
    pub fragment: u64,
    /// The field's id.
    pub field: i64,
    /// Physical rows that have a new value; `None` where that could not be read, which counts as all.
    pub rows: Option<RowSet>,
}

/// Changes to the maps of a table; an absent map is not touched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigFacts {
    /// The table's configuration.
    pub config: Option<MapEdit>,
    /// Metadata of the table.
    pub table_metadata: Option<MapEdit>,
    /// Metadata of the schema.
    pub schema_metadata: Option<MapEdit>,
    /// Metadata of fields, by id.
    pub field_metadata: Vec<(i64, MapEdit)>,
}

/// Changes to one map of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapEdit {
    /// Keys that get a value.
    pub upserts: Vec<Arc<str>>,
    /// Keys that go.
    pub deletes: Vec<Arc<str>>,
    /// Keys that are not named go as well.
    pub replace: bool,
}

impl MapEdit {
    /// Whether anything can change.
    #[must_use]
    pub const fn changes(&self) -> bool {
        self.replace || !self.upserts.is_empty() || !self.deletes.is_empty()
    }

    /// Every key that is named.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.upserts.iter().chain(&self.deletes)
    }
}

/// The id of a memtable shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub [u8; 16]);

/// A base path that is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseFacts {
    /// The number; 0: to be given at commit.
    pub id: u32,
    /// The name, where it has one.
    pub name: Option<Arc<str>>,
    /// The path as written.
    pub path: Arc<str>,
}
