//! Memtable shards and base paths.

use super::check;
use crate::lance::{IndexRole, LanceFacts};
use lakebed_transaction::Evidence;
use std::fmt::Write;

check! {
    /// What ours brings in is already in the table.
    SHARD_NOT_NEWER, Incompatible, "shard-generation-not-newer",
    "landed brought in the same generation of a memtable shard that ours brings in, or a newer one",
    "drop what is already in the table and go on with the next generation",
    |ours, landed| shard_where(ours, landed, |mine, theirs| theirs >= mine),
}

check! {
    /// Ours may still follow, once planned on the newer state.
    SHARD_NEWER, Retryable, "shard-generation-newer",
    "landed brought in an older generation of a memtable shard than ours does",
    super::PLAN_AGAIN,
    |ours, landed| shard_where(ours, landed, |mine, theirs| theirs < mine),
}

check! {
    /// Fails closed.
    SHARD_UNREAD, Retryable, "shards-unreadable",
    "both transactions bring in generations of memtable shards, and those of one cannot be read",
    super::PLAN_AGAIN,
    |ours, landed| {
        let met = (ours.shards_unknown && brings_in(landed)) || (landed.shards_unknown && brings_in(ours));
        met.then(|| Evidence::text("memtable shards"))
    },
}

check! {
    /// Each shard keeps its higher generation.
    MEMWAL_ENTRY, Rebase, "memwal-entry-rebased",
    "landed changed the state of memtable shards, which ours' MemWAL entry takes over: of each shard the higher generation stays",
    "nothing to do",
    |ours, _| {
        let mut entries = ours.new_indices.iter().filter(|index| index.role == IndexRole::MemWal);
        entries.next().map(|index| Evidence::text(format!("index {}", index.name)))
    },
}

check! {
    /// A number of 0 is given at commit and never clashes.
    BASE_TWICE, Incompatible, "base-clash",
    "both transactions add a base path with the same number, name or path",
    "use the base that is there, or another number, name and path",
    base_clash,
}

const fn brings_in(facts: &LanceFacts) -> bool {
    facts.shards_unknown || !facts.shards.is_empty()
}

fn shard_where(ours: &LanceFacts, landed: &LanceFacts, holds: fn(u64, u64) -> bool) -> Option<Evidence> {
    let pairs = ours.shards.iter().flat_map(|mine| landed.shards.iter().map(move |theirs| (mine, theirs)));
    pairs
        .filter(|(mine, theirs)| mine.0 == theirs.0 && holds(mine.1, theirs.1))
        .map(|(mine, theirs)| {
            let mut text = "shard ".to_owned();
            for byte in mine.0.0 {
                let _ = write!(text, "{byte:02x}");
            }
            Evidence::text(format!("{text}, generation {} against {}", mine.1, theirs.1))
        })
        .next()
}

fn base_clash(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let mut pairs = ours.bases.iter().flat_map(|mine| landed.bases.iter().map(move |theirs| (mine, theirs)));
    pairs.find_map(|(mine, theirs)| {
        if mine.id != 0 && mine.id == theirs.id {
            return Some(Evidence::text(format!("base {}", mine.id)));
        }
        if mine.name.is_some() && mine.name == theirs.name {
            return mine.name.as_ref().map(|name| Evidence::text(format!("base named {name}")));
        }
        (mine.path == theirs.path).then(|| Evidence::text(format!("base at {}", mine.path)))
    })
}
