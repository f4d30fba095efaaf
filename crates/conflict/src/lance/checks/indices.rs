//! Index entries against everything that moves rows or changes values under them.

use super::{PLAN_AGAIN, check, shared_fields};
use crate::lance::{IndexFacts, IndexRole, LanceFacts, RewriteGroup, UpdateMode};
use lakebed_transaction::{Evidence, Register};

check! {
    /// The format prunes the fragments from ours' coverage.
    COVERAGE_PRUNED, Rebase, "coverage-pruned",
    "landed rewrote a column that ours indexes; the rewritten fragments leave the new index's coverage",
    "nothing to do; index the fragments again later",
    coverage_pruned,
}

check! {
    /// A tagged history is trimmed in place, so only who touches the same entry is in the way.
    SYSTEM_ENTRY_TWICE, Retryable, "system-index-written-twice",
    "both transactions write the same system index",
    PLAN_AGAIN,
    system_entry_twice,
}

check! {
    /// Two segments of one name, built without knowledge of each other.
    INDEX_NAME_TWICE, Retryable, "index-name-twice",
    "both transactions build an index of the same name",
    "read the newest version; if the index there serves, keep it, else build again",
    |ours, landed| {
        let mut regular = ours.new_indices.iter().filter(|index| is_regular(index));
        regular.find(|index| landed.new_indices.iter().any(|other| is_regular(other) && other.name == index.name)).map(named)
    },
}

check! {
    /// The segments would outlive the index that they belong to.
    INDEX_GROWN_AND_DROPPED, Retryable, "index-grown-and-dropped",
    "one transaction adds segments to an index, the other removes segments of it",
    PLAN_AGAIN,
    |ours, landed| grown_and_dropped(ours, landed).or_else(|| grown_and_dropped(landed, ours)),
}

check! {
    /// Two plain drops of one entry pass.
    INDEX_REPLACED_TWICE, Retryable, "index-replaced-twice",
    "both transactions take out the same index entry, and one puts another in its place",
    PLAN_AGAIN,
    replaced_twice,
}

check! {
    /// A tagged history can only be trimmed by who saw all of it.
    HISTORY_TRIMMED, Retryable, "reuse-history-trimmed",
    "one transaction trims the history of fragment reuse and the other touches it",
    PLAN_AGAIN,
    |ours, landed| {
        let meets = (ours.trims_history && touches_reuse(landed)) || (landed.trims_history && touches_reuse(ours));
        meets.then(|| Evidence::text("the fragment-reuse index"))
    },
}

check! {
    /// Whether a group is recorded in the fragment-reuse index decides; stable row ids make no difference.
    COVERS_REWRITTEN, Retryable, "index-covers-rewritten",
    "landed rewrote fragments whose rows are in ours' new index, or may be",
    "build the index on the newest version, or let compaction record where rows went",
    covers_rewritten,
}

check! {
    /// Such an index cannot follow the record of where rows went.
    NGRAM_REWRITTEN, Retryable, "ngram-index-over-recorded-rewrite",
    "landed rewrote fragments with a deferred remap, which ours' new n-gram index cannot follow",
    "build the index on the newest version",
    |ours, landed| {
        let mut ngrams = ours.new_indices.iter().filter(|index| index.role == IndexRole::NGram);
        ngrams.find_map(|index| {
            deferred_groups(ours, landed).find(|group| group.old.iter().any(|id| index.may_cover(*id))).map(|_| named(index))
        })
    },
}

check! {
    /// The index holds the values under the overlay.
    OVERLAY_FOLDED, Retryable, "index-over-folded-overlay",
    "landed folded overlays into rewritten fragments, and ours' new index cannot be withdrawn from those cells",
    "build the index on the newest version",
    |ours, landed| {
        let mut groups = deferred_groups(ours, landed).filter(|group| group.folds_overlays);
        groups.find_map(|group| ours.new_indices.iter().find(|index| group.old.iter().any(|id| index.may_cover(*id)))).map(named)
    },
}

check! {
    /// The drop names the old entry; the rewrite has put in a new one under the same name.
    CAUTION_DROP_MISSES, Compatible, "dropped-index-survives",
    "landed replaced an index entry that ours takes out: pylance accepts, and the index is still there",
    "drop the index again",
    |ours, landed| {
        let remapped = &landed.rewrite.as_ref()?.remapped;
        ours.removed_indices.iter().find(|index| remapped.contains(&index.uuid)).map(named)
    },
}

check! {
    /// A drop goes by the name: the format puts the entries in its place that stand under the name by then.
    DROP_FOLLOWS, Rebase, "dropped-index-followed",
    "landed replaced an index entry that ours takes out; what stands under the name is taken out",
    "nothing to do",
    |ours, landed| if ours.new_indices.is_empty() { (CAUTION_DROP_MISSES.fires)(ours, landed) } else { None },
}

check! {
    /// The same where ours puts another entry in its place.
    REPLACED_ENTRY_REMAPPED, Retryable, "replaced-index-remapped",
    "landed replaced an index entry that ours replaces as well",
    PLAN_AGAIN,
    CAUTION_DROP_MISSES.fires,
}

check! {
    /// An index is judged by its name: what ours did with it rests on what stood there.
    INDEX_NAME_WRITTEN, Retryable, "index-name-written",
    "both transactions build, replace or drop an index of the same name",
    "read the newest version and look what stands under the name",
    |ours, landed| {
        let theirs = || landed.new_indices.iter().chain(&landed.removed_indices);
        let mut mine = ours.new_indices.iter().chain(&ours.removed_indices).filter(|index| is_regular(index));
        mine.find(|index| theirs().any(|other| other.name == index.name)).map(named)
    },
}

check! {
    /// Whatever the fragments.
    INDEXED_COLUMN_REPLACED, Retryable, "indexed-column-replaced",
    "one transaction replaces data files of a column that the other indexes",
    PLAN_AGAIN,
    |ours, landed| replaced_and_indexed(ours, landed).or_else(|| replaced_and_indexed(landed, ours)),
}

check! {
    /// A Merge and the state of memtable shards.
    MEMWAL_AND_MERGE, Retryable, "memwal-entry-meets-merge",
    "one transaction writes the MemWAL entry, the other replaces the columns of every fragment",
    PLAN_AGAIN,
    |ours, landed| ours.new_indices.iter().chain(&landed.new_indices).find(|index| index.role == IndexRole::MemWal).map(named),
}

check! {
    /// Only where the history of fragment reuse is tagged.
    TAGGED_FIELD_LOST, Retryable, "indexed-field-lost",
    "one transaction indexes a column that the other drops or retypes, and the history of fragment reuse is tagged",
    PLAN_AGAIN,
    |ours, landed| {
        if !(ours.tagged_history || landed.tagged_history) {
            return None;
        }
        let lost = [super::schema::lost(ours), super::schema::lost(landed)].concat();
        ours.new_indices.iter().chain(&landed.new_indices).find_map(|index| shared_fields(&index.fields, &lost))
    },
}

check! {
    /// A rewrite and the fragment-reuse entry: only an entry that stands alone can be followed.
    REUSE_ENTRY_MIXED, Incompatible, "reuse-index-changed",
    "landed wrote the fragment-reuse index in a way that ours' rewrite cannot follow",
    "compact again on the newest version",
    reuse_entry_mixed,
}

check! {
    /// Ours remaps now, and knows nothing of the index.
    REWRITES_COVERED, Retryable, "rewritten-fragment-indexed",
    "landed indexed rows of a fragment that ours rewrites, or may have",
    "compact again on the newest version",
    rewrites_covered,
}

check! {
    /// Ours records where rows went, and the index must be able to follow.
    REWRITES_PARTLY_COVERED, Retryable, "rewritten-group-partly-indexed",
    "landed built an index that cannot follow ours' deferred remap: it covers part of a group, does not say what it covers, or holds row ids",
    "compact again on the newest version",
    rewrites_partly_covered,
}

check! {
    /// Each transition consumes its sources once.
    TRANSITION_CONSUMED, Incompatible, "reuse-transition-consumed",
    "landed rewrote fragments that ours' tagged rewrite reads or makes",
    "compact again on the newest version",
    |ours, landed| {
        let rewrite = ours.rewrite.as_ref().filter(|_| ours.tagged_history)?;
        let mut used = rewrite.groups.iter().flat_map(|group| group.old.iter().chain(&group.new));
        let taken = |id: &&u64| old_fragments(landed).any(|other| other == **id);
        used.find(taken).map(|id| Evidence::Units(vec![lakebed_transaction::UnitId::Fragment(*id)]))
    },
}

fn named(index: &IndexFacts) -> Evidence {
    Evidence::Register(Register::Index(index.name.clone()))
}

fn is_regular(index: &IndexFacts) -> bool {
    match index.role {
        IndexRole::Regular | IndexRole::NGram => true,
        IndexRole::FragmentReuse | IndexRole::MemWal => false,
    }
}

fn is_reuse(index: &IndexFacts) -> bool {
    index.role == IndexRole::FragmentReuse
}

fn touches_reuse(facts: &LanceFacts) -> bool {
    facts.new_indices.iter().chain(&facts.removed_indices).any(is_reuse)
}

fn groups(facts: &LanceFacts) -> &[RewriteGroup] {
    facts.rewrite.as_ref().map_or(&[], |rewrite| &rewrite.groups)
}

fn old_fragments(facts: &LanceFacts) -> impl Iterator<Item = u64> {
    groups(facts).iter().flat_map(|group| group.old.iter().copied())
}

fn coverage_pruned(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let update = landed.update.as_ref().filter(|update| update.mode == UpdateMode::RewriteColumns)?;
    ours.new_indices.iter().find_map(|index| {
        let unit = index.coverage.as_ref()?.first_of(&landed.footprint.updated_units)?;
        shared_fields(&index.fields, &update.fields_modified).map(|_| Evidence::Units(vec![unit]))
    })
}

fn system_entry_twice(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let mut system = ours.new_indices.iter().filter(|index| !is_regular(index));
    system.find(|index| landed.new_indices.iter().any(|other| other.role == index.role)).map(named)
}

fn has_name(indices: &[IndexFacts], name: &str) -> bool {
    indices.iter().any(|index| &*index.name == name)
}

fn grown_and_dropped(grows: &LanceFacts, drops: &LanceFacts) -> Option<Evidence> {
    let mut grown = grows.new_indices.iter().filter(|index| !has_name(&grows.removed_indices, &index.name));
    grown.find(|index| has_name(&drops.removed_indices, &index.name)).map(named)
}

fn replaced_twice(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let mut both =
        ours.removed_indices.iter().filter(|index| landed.removed_indices.iter().any(|other| other.uuid == index.uuid));
    both.find(|index| has_name(&ours.new_indices, &index.name) || has_name(&landed.new_indices, &index.name)).map(named)
}

/// Whether the record of fragment reuse speaks for this group. An untagged record speaks for a rewrite as a whole.
fn is_deferred(group: &RewriteGroup, tagged: bool, all_recorded: bool) -> bool {
    if tagged { group.recorded } else { all_recorded }
}

fn split_groups<'a>(
    ours: &LanceFacts,
    landed: &'a LanceFacts,
    deferred: bool,
) -> impl Iterator<Item = &'a RewriteGroup> + use<'a> {
    let tagged = ours.tagged_history || landed.tagged_history;
    let all_recorded = groups(landed).iter().all(|group| group.recorded);
    groups(landed).iter().filter(move |group| is_deferred(group, tagged, all_recorded) == deferred)
}

fn deferred_groups<'a>(ours: &LanceFacts, landed: &'a LanceFacts) -> impl Iterator<Item = &'a RewriteGroup> + use<'a> {
    split_groups(ours, landed, true)
}

fn covers_rewritten(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    split_groups(ours, landed, false).find_map(|group| {
        ours.new_indices
            .iter()
            .find(|index| index.coverage.is_none() || group.old.iter().any(|id| index.may_cover(*id)))
            .map(named)
    })
}

fn replaced_and_indexed(replaces: &LanceFacts, indexes: &LanceFacts) -> Option<Evidence> {
    let mut replaced = replaces.replacements.iter().flat_map(|(_, fields)| fields);
    let field = replaced.find(|field| indexes.new_indices.iter().any(|index| index.fields.contains(field)))?;
    Some(Evidence::Fields(vec![*field]))
}

fn reuse_entry_mixed(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let entry = landed.new_indices.iter().find(|index| is_reuse(index))?;
    let alone = if ours.rewrite.as_ref().is_some_and(|rewrite| rewrite.extends_reuse_index) {
        landed.new_indices.iter().chain(&landed.removed_indices).all(is_reuse)
    } else {
        landed.new_indices.len() == 1 && landed.removed_indices.len() == 1
    };
    (!alone).then(|| named(entry))
}

fn rewrites_covered(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let rewrite = ours.rewrite.as_ref().filter(|rewrite| !rewrite.extends_reuse_index)?;
    let mut built = landed.new_indices.iter().filter(|index| !is_reuse(index));
    let covered = |index: &&IndexFacts| {
        index.coverage.is_none() || rewrite.groups.iter().any(|group| group.old.iter().any(|id| index.may_cover(*id)))
    };
    built.find(covered).map(named)
}

fn rewrites_partly_covered(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let rewrite = ours.rewrite.as_ref().filter(|rewrite| rewrite.extends_reuse_index)?;
    let mut built = landed.new_indices.iter().filter(|index| !is_reuse(index));
    let cannot_follow = |index: &&IndexFacts| {
        index.stores_row_ids
            || index.coverage.as_ref().is_none_or(|coverage| {
                rewrite.groups.iter().any(|group| {
                    let inside = group.old.iter().filter(|id| coverage.contains(**id)).count();
                    inside != 0 && inside != group.old.len()
                })
            })
    };
    built.find(cannot_follow).map(named)
}
