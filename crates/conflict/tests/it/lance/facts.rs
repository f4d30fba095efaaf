//! Facts from text: a kind, then words.

use lakebed_conflict::lance::{
    BaseFacts, FileList, IndexFacts, IndexRole, KeyFilter, KeySet, LanceFacts, MapEdit, OverlayFacts, RewriteFacts,
    RewriteGroup, SchemaChange, SchemaOrigin, ShardId, UpdateFacts, UpdateMode,
};
use lakebed_transaction::{Kind, LanceKind, Unit, UnitId};
use std::sync::Arc;

/// `Update updated=0 rows=0:1+2 modified=1`: the kind and its facts.
pub(crate) fn facts(text: &str) -> (LanceKind, LanceFacts) {
    let mut words = text.split_whitespace();
    let name = words.next().expect("a kind");
    let kind = *LanceKind::ALL.iter().find(|kind| kind.name() == name).unwrap_or_else(|| panic!("no kind {name}"));
    let mut facts = of_kind(kind);
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let known = [rows_word, update_word, other_word].iter().any(|fill| fill(&mut facts, key, value));
        assert!(known, "what is {word}?");
    }
    (kind, facts)
}

fn of_kind(kind: LanceKind) -> LanceFacts {
    let mut facts = LanceFacts::default();
    let schema =
        |origin| Some(SchemaChange { origin, remaining: vec![0, 1], lost: Vec::new(), preserves_nullability: true });
    match kind {
        LanceKind::Append | LanceKind::DataReplacement | LanceKind::DataOverlay => facts.relies_on_nullability = true,
        LanceKind::Update => {
            facts.relies_on_nullability = true;
            facts.update = Some(UpdateFacts::default());
        }
        LanceKind::Overwrite => facts.schema = schema(SchemaOrigin::Overwrite),
        LanceKind::Merge => facts.schema = schema(SchemaOrigin::Merge),
        LanceKind::Project => facts.schema = schema(SchemaOrigin::Project),
        LanceKind::Rewrite => facts.rewrite = Some(RewriteFacts::default()),
        LanceKind::Restore => facts.restore_to = Some(1),
        LanceKind::Delete
        | LanceKind::CreateIndex
        | LanceKind::ReserveFragments
        | LanceKind::UpdateConfig
        | LanceKind::UpdateMemWalState
        | LanceKind::UpdateBases
        | LanceKind::Clone
        | LanceKind::Unknown => {}
    }
    facts
}

fn rows_word(facts: &mut LanceFacts, key: &str, value: &str) -> bool {
    let print = &mut facts.footprint;
    match key {
        "updated" => {
            print.updated_units = numbers(value).map(UnitId::Fragment).collect();
            facts.files_written = as_read(value).collect();
            facts.files_read.extend(as_read(value));
            facts.files_read.sort_by_key(|(id, _)| *id);
        }
        "removed" => {
            print.removed_units = numbers(value).map(UnitId::Fragment).collect();
            facts.files_read.extend(as_read(value));
            facts.files_read.sort_by_key(|(id, _)| *id);
        }
        "added" => print.added_units = numbers(value).map(|id| Unit::named(UnitId::Fragment(id))).collect(),
        "rows" => {
            let (fragment, rows) = value.split_once(':').expect("fragment:rows");
            let fragment = UnitId::Fragment(fragment.parse().expect("a fragment"));
            print.rows.push((fragment, numbers(rows).collect()));
            facts.affected_rows_known = true;
        }
        "rewritten" => facts.files_written.iter_mut().for_each(|(_, files)| *files = FileList::of(b"others")),
        "unread" => facts.files_read.clear(),
        "overlay" => {
            let [fragment, field, rows] = parts(value);
            facts.overlays.push(OverlayFacts {
                fragment: fragment.parse().expect("a fragment"),
                field: field.parse().expect("a field"),
                rows: (rows != "?").then(|| numbers(rows).collect()),
            });
            facts.footprint.updated_units.insert(UnitId::Fragment(fragment.parse().expect("a fragment")));
        }
        "replace" => {
            let [fragment, fields] = parts(value);
            let fragment = fragment.parse().expect("a fragment");
            facts.replacements.push((fragment, signed(fields)));
            print.updated_units.insert(UnitId::Fragment(fragment));
        }
        _ => return false,
    }
    true
}

fn update_word(facts: &mut LanceFacts, key: &str, value: &str) -> bool {
    let print = &mut facts.footprint;
    match key {
        "columns" => facts.update.as_mut().expect("an Update").mode = UpdateMode::RewriteColumns,
        "modified" => facts.update.as_mut().expect("an Update").fields_modified = signed(value),
        "keys" => {
            let [fields, keys] = parts(value);
            facts.update.as_mut().expect("an Update").inserted_rows =
                Some(KeyFilter { field_ids: signed(fields), keys: key_set(keys) });
        }
        "group" => {
            let (groups, flags) = value.split_once('/').unwrap_or((value, ""));
            let (old, new) = groups.split_once('>').expect("old>new");
            let group = RewriteGroup {
                old: numbers(old).collect(),
                new: numbers(new).collect(),
                recorded: flags.contains("recorded"),
                folds_overlays: flags.contains("folds"),
            };
            group.old.iter().for_each(|id| print.removed_units.insert(UnitId::Fragment(*id)));
            print.added_units.extend(group.new.iter().map(|id| Unit::named(UnitId::Fragment(*id))));
            facts.rewrite.as_mut().expect("a Rewrite").groups.push(group);
        }
        "extends" => facts.rewrite.as_mut().expect("a Rewrite").extends_reuse_index = true,
        "remapped" => facts.rewrite.as_mut().expect("a Rewrite").remapped.push(id(value)),
        _ => return false,
    }
    true
}

fn as_read(fragments: &str) -> impl Iterator<Item = (u64, FileList)> + '_ {
    numbers(fragments).map(|id| (id, FileList::of(b"as read")))
}

fn other_word(facts: &mut LanceFacts, key: &str, value: &str) -> bool {
    match key {
        "tightens" => facts.schema.as_mut().expect("a schema").preserves_nullability = false,
        "remaining" => facts.schema.as_mut().expect("a schema").remaining = signed(value),
        "lost" => facts.schema.as_mut().expect("a schema").lost = signed(value),
        "tagged" => facts.tagged_history = true,
        "trims" => facts.trims_history = true,
        "new" => facts.new_indices.push(index(value)),
        "drop" => facts.removed_indices.push(index(value)),
        "config" => facts.config.config = Some(edit(value)),
        "table" => facts.config.table_metadata = Some(edit(value)),
        "schema" => facts.config.schema_metadata = Some(edit(value)),
        "field" => {
            let (field, keys) = value.split_once('/').expect("field/keys");
            facts.config.field_metadata.push((field.parse().expect("a field"), edit(keys)));
        }
        "shard" => {
            let (shard, generation) = value.split_once('/').expect("shard/generation");
            facts.shards.push((ShardId(id(shard)), generation.parse().expect("a generation")));
        }
        "shards-unknown" => facts.shards_unknown = true,
        "base" => {
            let [number, name, path] = parts(value);
            facts.bases.push(BaseFacts {
                id: number.parse().expect("a number"),
                name: (!name.is_empty()).then(|| Arc::from(name)),
                path: Arc::from(path),
            });
        }
        _ => return false,
    }
    true
}

/// `name/id/fields/coverage` and then what it is for; coverage `?` is unknown.
fn index(value: &str) -> IndexFacts {
    let mut words = value.split('/');
    let mut next = || words.next().unwrap_or("");
    let (name, uuid, fields, coverage, role) = (next(), next(), next(), next(), next());
    IndexFacts {
        name: Arc::from(name),
        uuid: id(uuid),
        fields: signed(fields),
        coverage: (coverage != "?").then(|| numbers(coverage).collect()),
        role: match role {
            "" | "row-ids" => IndexRole::Regular,
            "ngram" => IndexRole::NGram,
            "reuse" => IndexRole::FragmentReuse,
            "memwal" => IndexRole::MemWal,
            other => panic!("no index role {other}"),
        },
        stores_row_ids: role == "row-ids",
    }
}

/// `+a+b` sets, `-c` deletes, `!` replaces.
fn edit(value: &str) -> MapEdit {
    let mut edit = MapEdit { replace: value.contains('!'), ..MapEdit::default() };
    let rest = value.replace('!', "");
    for word in rest.split_inclusive(|_: char| true).collect::<Vec<_>>().chunks(2) {
        let key = Arc::from(word[1]);
        if word[0] == "+" { edit.upserts.push(key) } else { edit.deletes.push(key) }
    }
    edit
}

/// `exact:7+8`, `bloom:<items>:<bytes>`, `unknown`.
fn key_set(text: &str) -> KeySet {
    let mut words = text.split(':');
    match words.next() {
        Some("exact") => KeySet::exact(numbers(words.next().unwrap_or("")).collect()),
        Some("bloom") => {
            let items = words.next().expect("items").parse().expect("a number");
            let bytes: Vec<u8> =
                numbers(words.next().unwrap_or("")).map(|byte| u8::try_from(byte).expect("a byte")).collect();
            KeySet::bloom(&bytes, items, 0.0)
        }
        Some("unknown") => KeySet::Unknown,
        other => panic!("no key set {other:?}"),
    }
}

fn numbers(text: &str) -> impl Iterator<Item = u64> + '_ {
    text.split('+').filter(|word| !word.is_empty()).map(|word| word.parse().expect("a number"))
}

fn signed(text: &str) -> Vec<i64> {
    numbers(text).map(|number| i64::try_from(number).expect("small")).collect()
}

fn id(text: &str) -> [u8; 16] {
    [text.parse().expect("a number below 256"); 16]
}

fn parts<const N: usize>(value: &str) -> [&str; N] {
    value.splitn(N, '/').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{value} has not {N} parts"))
}
